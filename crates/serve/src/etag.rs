//! Conditional requests: `ETag` and `If-None-Match`.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;

pub(crate) fn hash(contents: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    contents.hash(&mut hasher);
    hasher.finish()
}

/// Whether the client already has the response with this (quoted) tag.
pub(crate) fn is_current(request: &HeaderMap, etag: &str) -> bool {
    let lists = request.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|known| known.trim().trim_start_matches("W/") == etag)
}

/// `value` as JSON, or 304 if the client already has it.
pub(crate) fn json(request: &HeaderMap, value: &Value) -> Response {
    let text = value.to_string();
    let etag = format!("\"{:016x}\"", hash(&text));
    let status = if is_current(request, &etag) { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let body = if status == StatusCode::OK { text } else { String::new() };
    (status, [(header::ETAG, etag)], [(header::CONTENT_TYPE, "application/json")], body).into_response()
}
