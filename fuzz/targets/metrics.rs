//! Whatever a run's metrics are, what travels is few whole lines of JSON, and reading those again changes nothing.
#![no_main]

use tabia_runs::Metrics;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let metrics = Metrics::read(bytes, 8).expect("memory can be read");
    assert!(metrics.next <= bytes.len() as u64);
    assert!(metrics.text.lines().count() <= 2 * 8);
    let again = Metrics::read(metrics.text.as_bytes(), 8).expect("memory can be read");
    assert_eq!((again.text, again.unreadable), (metrics.text, 0));
});
