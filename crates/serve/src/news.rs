//! Answers to those who ask again and again: nothing is sent to who has it already.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

/// `value`, or that nothing has changed since the answer whose tag the asker names.
pub(crate) fn unless_known(asked: &HeaderMap, value: &Value) -> Response {
    let text = value.to_string();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    let known = asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let tag = [(header::ETAG, tag)];
    if known {
        return (StatusCode::NOT_MODIFIED, tag).into_response();
    }
    (tag, [(header::CONTENT_TYPE, "application/json")], text).into_response()
}
