//! Standard output and error that end the program quietly when their reader is gone.
//!
//! In `tabia model info FILE | head -1` the pipe closes while the program still prints. Other Unix programs die of
//! SIGPIPE then. Rust ignores that signal, and `println!` panics. Bringing the signal back would end the program also when
//! a chess engine that it drives dies, as that is a closed pipe too. So the macros here do what the signal would, for the
//! two standard streams alone.
//!
//! A program takes them instead of those of `std` with
//! ```
//! #[macro_use]
//! extern crate tabia_stdio;
//! # fn main() { println!("as usual") }
//! ```
#![forbid(unsafe_code)]

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// What a shell says of a program that died of SIGPIPE: 128 + 13.
pub const READER_GONE: i32 = 141;

/// Standard output: a write that nobody can read any more ends the program.
pub fn stdout() -> Ending<io::Stdout> {
    Ending(io::stdout())
}

/// Standard error: a write that nobody can read any more ends the program.
pub fn stderr() -> Ending<io::Stderr> {
    Ending(io::stderr())
}

/// A stream that ends the program, with the status [`READER_GONE`], when its reader is gone.
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

/// What `print!` does.
///
/// # Panics
/// As `std::print!`, when standard output cannot be written to for another reason than a reader who is gone.
#[doc(hidden)]
pub fn print(text: Arguments<'_>) {
    if let Err(error) = stdout().write_fmt(text) {
        panic!("failed printing to stdout: {error}");
    }
}

/// What `eprint!` does.
///
/// # Panics
/// As `std::eprint!`, when standard error cannot be written to for another reason than a reader who is gone.
#[doc(hidden)]
pub fn eprint(text: Arguments<'_>) {
    if let Err(error) = stderr().write_fmt(text) {
        panic!("failed printing to stderr: {error}");
    }
}

/// `std::print!`, ending the program quietly when nobody reads its output any more.
#[macro_export]
macro_rules! print {
    ($($arg:tt)*) => { $crate::print(::std::format_args!($($arg)*)) };
}

/// `std::println!`, ending the program quietly when nobody reads its output any more.
#[macro_export]
macro_rules! println {
    () => { $crate::print(::std::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::print(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

/// `std::eprint!`, ending the program quietly when nobody reads its errors any more.
#[macro_export]
macro_rules! eprint {
    ($($arg:tt)*) => { $crate::eprint(::std::format_args!($($arg)*)) };
}

/// `std::eprintln!`, ending the program quietly when nobody reads its errors any more.
#[macro_export]
macro_rules! eprintln {
    () => { $crate::eprint(::std::format_args!("\n")) };
    ($($arg:tt)*) => { $crate::eprint(::std::format_args!("{}\n", ::std::format_args!($($arg)*))) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream with an error of its own.
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
    fn other_errors_are_told() {
        let mut full = Ending(Failing(ErrorKind::StorageFull));
        assert_eq!(full.write(b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(full.flush().unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
