//! What this server has, for the page to know which of its parts to show.

use axum::response::IntoResponse;
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct About {
    pub(crate) version: &'static str,
    /// Whether there are data sets to explore.
    pub(crate) data: bool,
    /// Whether training runs are shown.
    pub(crate) runs: bool,
    /// Whether matches and challenges are shown.
    pub(crate) arena: bool,
    /// The networks that are offered under `models/given/`.
    pub(crate) given: Vec<String>,
}

pub(crate) async fn about(about: About) -> impl IntoResponse {
    axum::Json(about)
}
