use std::time::Duration;

use tabia_arena::Timer;
use tabia_players::SearchControl;

/// The real time since its start. There is no stop: work is done in slices.
pub(crate) struct Stopwatch {
    /// In milliseconds.
    began: f64,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch { began: now() }
    }
}

impl SearchControl for Stopwatch {
    fn elapsed(&self) -> Duration {
        Duration::try_from_secs_f64((now() - self.began) / 1000.0).unwrap_or_default()
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// The clock of games.
pub(crate) struct PageTimer;

impl Timer for PageTimer {
    fn now(&self) -> Duration {
        Duration::try_from_secs_f64(now() / 1000.0).unwrap_or_default()
    }
}

/// Milliseconds since a moment that is the same for all threads.
#[cfg(target_family = "wasm")]
fn now() -> f64 {
    use wasm_bindgen::prelude::wasm_bindgen;

    #[wasm_bindgen]
    extern "C" {
        /// The same in windows, workers and Node.
        #[wasm_bindgen(js_namespace = performance, js_name = now)]
        fn performance_now() -> f64;
        /// When this thread's worker began.
        #[wasm_bindgen(thread_local_v2, js_namespace = performance, js_name = timeOrigin)]
        static TIME_ORIGIN: f64;
    }
    TIME_ORIGIN.with(|origin| *origin) + performance_now()
}

/// A stand-in for the browser's clock in tests.
#[cfg(not(target_family = "wasm"))]
fn now() -> f64 {
    use std::{sync::OnceLock, time::Instant};

    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed().as_secs_f64() * 1000.0
}
