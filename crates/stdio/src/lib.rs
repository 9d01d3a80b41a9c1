//! Standard output and error that end the program quietly when the pipe is closed.
//!
//! In `tabia model info FILE | head -1` the pipe is closed while the program still prints. Other Unix programs are killed
//! by SIGPIPE. Rust ignores that signal, and `println!` panics. Restoring the signal would also end the program when a UCI
//! engine that it runs dies. So the macros here emulate the signal for the two standard streams only.
//!
//! To replace the macros of `std`:
//! ```
//! #[macro_use]
//! extern crate tabia_stdio;
//! # fn main() { println!("as usual") }
//! ```
#![forbid(unsafe_code)]

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// Exit status in a shell after SIGPIPE: 128 + 13.
pub const READER_GONE: i32 = 141;

/// Standard output; a write to a closed pipe ends the program.
pub fn stdout() -> Ending<io::Stdout> {
    Ending(io::stdout())
}

/// Standard error; a write to a closed pipe ends the program.
pub fn stderr() -> Ending<io::Stderr> {
    Ending(io::stderr())
}

/// A stream that ends the program with the status [`READER_GONE`] when its pipe is closed.
#[derive(Debug)]
pub struct Ending<W>(W);

impl<W: Write> Write for Ending<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(end_if_gone)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(end_if_gone)
    }
}

#[expect(clippy::disallowed_methods, reason = "ending the program is what this crate is for")]
fn end_if_gone(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::BrokenPipe {
        std::process::exit(READER_GONE);
    }
    error
}

/// Implementation of `print!`.
///
/// # Panics
/// On other write errors, like `std::print!`.
#[doc(hidden)]
pub fn print(text: Arguments<'_>) {
    if let Err(error) = stdout().write_fmt(text) {
        panic!("failed printing to stdout: {error}");
    }
}

/// Implementation of `eprint!`.
///
/// # Panics
/// On other write errors, like `std::eprint!`.
#[doc(hidden)]
pub fn eprint(text: Arguments<'_>) {
    if let Err(error) = stderr().write_fmt(text) {
        panic!("failed printing to stderr: {error}");
    }
}

/// `std::print!` that ends the program quietly when the pipe is closed.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::print(::std::format_args!($($arg)*)) };
}

/// `std::println!` that ends the program quietly when the pipe is closed.
#[macro_export]
macro_rules! println {
    () => { $crate::print(::std::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

/// `std::eprint!` that ends the program quietly when the pipe is closed.
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::eprint(::std::format_args!($($arg)*)) };
}

/// `std::eprintln!` that ends the program quietly when the pipe is closed.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint(::std::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::eprint(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that fails.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn other_errors_are_returned() {
        let mut full = Ending(Failing(ErrorKind::StorageFull));
        assert_eq!(full.write(b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(full.flush().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
