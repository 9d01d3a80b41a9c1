//! Whatever is read as a game can be written, and what was written reads as the same game.
#![no_main]

use tabia_game::{PgnReader, read_game, write_game};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for game in PgnReader::new(bytes).flatten() {
        let mut written = Vec::new();
        write_game(&game, &mut written).expect("writing to memory");
        let again = read_game(&written).expect("what was written is readable");
        assert_eq!(game.mainline().count(), again.mainline().count());
    }
});
