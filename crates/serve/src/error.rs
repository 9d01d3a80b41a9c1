//! Error responses and blocking handlers.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// An error status with a message, sent as JSON.
pub(crate) struct ErrorResponse(pub(crate) StatusCode, pub(crate) String);

impl IntoResponse for ErrorResponse {
    fn into_response(self) -> Response {
        (self.0, Json(json!({ "error": self.1 }))).into_response()
    }
}

impl ErrorResponse {
    pub(crate) fn not_found(message: impl Into<String>) -> ErrorResponse {
        ErrorResponse(StatusCode::NOT_FOUND, message.into())
    }

    pub(crate) fn internal(error: impl fmt::Display) -> ErrorResponse {
        ErrorResponse(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

/// Runs a handler that reads files or decodes games on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    handler: impl FnOnce() -> Result<T, ErrorResponse> + Send + 'static,
) -> Result<T, ErrorResponse> {
    let result = tokio::task::spawn_blocking(handler).await;
    result.unwrap_or_else(|_| Err(ErrorResponse::internal("request handler panicked")))
}
