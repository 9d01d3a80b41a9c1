//! Training runs: the page that plots them and its API.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tabia_runs::{FileId, FindError, FoundRun, RunFolder, find, page};

use crate::error::{ErrorResponse, blocking};
use crate::{etag, unique_name};

/// Folders searched for runs on every request, because runs may start while the server is up.
pub(crate) struct RunStore {
    folders: Vec<PathBuf>,
}

impl RunStore {
    /// # Errors
    /// If a folder cannot be read.
    pub(crate) fn open(folders: &[PathBuf]) -> Result<RunStore, FindError> {
        for folder in folders {
            find(folder)?;
        }
        Ok(RunStore { folders: folders.to_owned() })
    }

    /// Current runs under unique names. Names in requests are looked up here, never used as paths.
    fn runs(&self) -> Vec<FoundRun> {
        let mut runs: Vec<FoundRun> = Vec::new();
        // Folders that were removed meanwhile have no runs.
        for mut run in self.folders.iter().flat_map(|folder| find(folder).unwrap_or_default()) {
            run.name = unique_name(&run.name, |name| runs.iter().any(|known| known.name == name));
            runs.push(run);
        }
        runs
    }

    fn run(&self, name: &str) -> Result<RunFolder, ErrorResponse> {
        let found = self.runs().into_iter().find(|run| run.name == name);
        found.map(|run| run.folder).ok_or_else(|| ErrorResponse::not_found(format!("unknown run `{name}`")))
    }

    pub(crate) fn summary(&self) -> String {
        let line = |folder: &PathBuf| {
            let runs = find(folder).map_or(0, |runs| runs.len());
            format!("{}: {runs} training {}", folder.display(), if runs == 1 { "run" } else { "runs" })
        };
        self.folders.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Routes of the page, at `/runs`.
pub(crate) fn page_routes() -> Router {
    let html = page::served("/runs/page.css", "/runs/page.js");
    let script = page::script();
    Router::new()
        .route("/", get(async move || typed("text/html; charset=utf-8", html)))
        .route("/page.css", get(async || typed("text/css; charset=utf-8", page::STYLE)))
        .route("/page.js", get(async move || typed("text/javascript; charset=utf-8", script)))
}

fn typed(content_type: &'static str, text: impl IntoResponse) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, content_type)], text)
}

/// Routes of the API, at `/api/runs`.
pub(crate) fn routes(store: RunStore) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/about", get(about))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(store))
}

type Store = State<Arc<RunStore>>;

async fn list(State(store): Store, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    let runs = blocking(move || {
        let entry = |run: &FoundRun| json!({ "name": run.name, "glance": run.folder.summary() });
        Ok(store.runs().iter().map(entry).collect::<Vec<Value>>())
    })
    .await?;
    Ok(etag::json(&headers, &json!({ "runs": runs })))
}

#[derive(Deserialize)]
struct RunQuery {
    run: String,
}

async fn about(State(store): Store, Query(query): Query<RunQuery>) -> Result<Json<Value>, ErrorResponse> {
    blocking(move || Ok(Json(store.run(&query.run)?.about()))).await
}

#[derive(Deserialize)]
struct MetricsQuery {
    run: String,
    /// Byte offset of the first line wanted.
    #[serde(default)]
    from: u64,
    /// File that the offset refers to.
    #[serde(default)]
    file: String,
}

async fn metrics(State(store): Store, Query(query): Query<MetricsQuery>) -> Result<Response, ErrorResponse> {
    blocking(move || {
        let run = store.run(&query.run)?;
        let metrics = run
            .metrics_since(&FileId::new(&query.file), query.from, page::MAX_LINES)
            .map_err(|error| ErrorResponse::internal(format!("metrics of `{}`: {error}", query.run)))?;
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
        for (name, value) in [
            ("tabia-file", metrics.file.as_str().to_owned()),
            ("tabia-from", metrics.from.to_string()),
            ("tabia-next", metrics.next.to_string()),
            ("tabia-unreadable", metrics.unreadable.to_string()),
        ] {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        Ok((headers, metrics.text).into_response())
    })
    .await
}
