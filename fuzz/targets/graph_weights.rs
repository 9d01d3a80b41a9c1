#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tabia_train::fuzz::graph_weights(bytes));
