#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tabia_model::fuzz::torch(bytes));
