#![no_main]

use tabia_game::EpdRecord;

libfuzzer_sys::fuzz_target!(|text: &str| drop(EpdRecord::parse_all(text)));
