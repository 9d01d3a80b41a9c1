//! Whatever is read as a message can be written, and what was written reads as the same message.
#![no_main]

use tabia_uci::{
    Lines,
    message::{Command, Reply},
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for line in Lines::new(bytes, 1 << 12).flatten() {
        if let Ok(command) = line.parse::<Command>() {
            if let Command::Position(position) = &command {
                drop(position.resolve());
            }
            assert_eq!(command.to_string().parse(), Ok(command));
        }
        if let Ok(reply) = line.parse::<Reply>() {
            assert_eq!(reply.to_string().parse(), Ok(reply));
        }
    }
});
