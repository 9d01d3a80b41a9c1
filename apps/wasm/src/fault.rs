use std::fmt;

use tabia_model::{LoadError, LoadErrorKind};
use wasm_bindgen::JsValue;

/// An error message; an `Error` in TypeScript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    message: String,
    /// The `name` of the error.
    name: Option<&'static str>,
}

/// The name of the error for a valid network that only the module with the feature `rten` runs.
const NO_RUNTIME: &str = "NoRuntime";

impl Fault {
    /// An error with this message.
    pub fn new(sentence: impl Into<String>) -> Fault {
        Fault { message: sentence.into(), name: None }
    }

    /// Why the model `name` cannot be opened.
    pub(crate) fn of_model(name: &str, error: &LoadError) -> Fault {
        let no_runtime = error.kind() == LoadErrorKind::NoRuntime;
        Fault { message: format!("{name}: {error}"), name: no_runtime.then_some(NO_RUNTIME) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::new(error.to_string())
    }
}

impl From<Fault> for JsValue {
    fn from(fault: Fault) -> JsValue {
        let error = js_sys::Error::new(&fault.message);
        if let Some(name) = fault.name {
            error.set_name(name);
        }
        error.into()
    }
}
