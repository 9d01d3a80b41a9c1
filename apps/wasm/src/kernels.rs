use tabia_arena::Timer as _;
use tabia_model::transformer::Level;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::stopwatch::PageTimer;

/// Finds out which of this build's instructions are fastest here, which takes some tens of milliseconds, and says so. Networks that
/// are opened from then on run on those; the answers are the same on all.
#[wasm_bindgen(js_name = chooseKernels)]
pub fn choose_kernels() -> String {
    let level = Level::race(|| PageTimer.now());
    level.prefer();
    level.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_runs_here_and_is_taken() {
        let chosen = choose_kernels();
        assert_eq!(Level::best().to_string(), chosen);
    }
}
