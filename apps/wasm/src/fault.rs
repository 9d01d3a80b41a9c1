use std::fmt;

use wasm_bindgen::JsValue;

/// An error message; an `Error` in TypeScript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    /// An error with this message.
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
