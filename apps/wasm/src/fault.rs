use std::fmt;

use wasm_bindgen::JsValue;

/// Why something asked for cannot be done: a sentence for people. The page gets it as an `Error`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    /// A fault with this to say.
    pub fn new(sentence: impl Into<String>) -> Fault {
        Fault(sentence.into())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault(error.to_string())
    }
}

impl From<Fault> for JsValue {
    fn from(fault: Fault) -> JsValue {
        js_sys::Error::new(&fault.0).into()
    }
}
