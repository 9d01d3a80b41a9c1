//! A question that has no answer, and work that takes longer than other requests should wait.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// A question that has no answer, and why.
pub(crate) struct Refusal(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl Refusal {
    pub(crate) fn absent(what: impl Into<String>) -> Refusal {
        Refusal(StatusCode::NOT_FOUND, what.into())
    }
}

/// Reading files and decoding games takes longer than other requests should wait.
pub(crate) async fn off_the_async_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(Refusal(StatusCode::INTERNAL_SERVER_ERROR, "the answer failed".to_owned())))
}
