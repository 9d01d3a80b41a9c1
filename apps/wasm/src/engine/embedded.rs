//! The model inside the module, of builds with `cargo xtask wasm --embed FILE`.

use tsify::{Ts, Tsify as _};
use wasm_bindgen::prelude::wasm_bindgen;

use super::{Engine, ModelFacts};
use crate::Fault;

/// The name for specs, and the bytes of the file.
#[cfg(feature = "embed")]
const MODEL: (&str, &[u8]) = (env!("TABIA_EMBED_NAME"), include_bytes!(env!("TABIA_EMBED_FILE")));
/// A stand-in for tests.
#[cfg(not(feature = "embed"))]
const MODEL: (&str, &[u8]) =
    ("challenge-reference", include_bytes!("../../../../models/challenge-reference.onnx"));

/// The name of the embedded model: that of its file without the ending.
#[wasm_bindgen(js_name = embeddedModel)]
pub fn embedded_model() -> String {
    MODEL.0.to_owned()
}

#[wasm_bindgen]
impl Engine {
    /// Opens the embedded model under its name.
    #[wasm_bindgen(js_name = loadEmbedded)]
    pub fn load_embedded(&mut self) -> Result<Ts<ModelFacts>, Fault> {
        Ok(self.open_embedded()?.into_ts()?)
    }
}

impl Engine {
    fn open_embedded(&mut self) -> Result<ModelFacts, Fault> {
        let (name, bytes) = MODEL;
        self.open_with(name, bytes, None)?;
        self.facts(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GameInput, LimitsInput};

    #[test]
    fn the_embedded_model_plays_under_its_name() {
        let mut engine = Engine::new(1.0);
        let facts = engine.open_embedded().unwrap();
        assert_eq!(facts.name, embedded_model());
        assert_eq!(facts.bytes, MODEL.1.len() as f64);
        if facts.evaluates {
            let spec = format!("net:{}", facts.name);
            let thought = engine.think(&spec, &GameInput::default(), &LimitsInput::default()).unwrap();
            assert!(!thought.uci.is_empty());
        }
    }
}
