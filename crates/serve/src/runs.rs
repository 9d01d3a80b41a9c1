//! Training runs: a page that plots them side by side, and what it asks for while they go on.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tabia_runs::{FileId, FindError, FoundRun, RunFolder, find, page};

use crate::news::unless_known;
use crate::refusal::{Refusal, off_the_async_thread};

/// The folders under which runs are looked for, again and again: runs begin while the server is there.
pub(crate) struct Roots {
    folders: Vec<PathBuf>,
}

impl Roots {
    /// # Errors
    /// If a folder cannot be read.
    pub(crate) fn open(folders: &[PathBuf]) -> Result<Roots, FindError> {
        for folder in folders {
            find(folder)?;
        }
        Ok(Roots { folders: folders.to_owned() })
    }

    /// The runs there are now, each under a name of its own. A name is only ever looked up here, never made into a path.
    fn runs(&self) -> Vec<FoundRun> {
        let mut runs: Vec<FoundRun> = Vec::new();
        for folder in &self.folders {
            // A folder that went away while the server runs has no runs.
            for mut run in find(folder).unwrap_or_default() {
                let base = run.name.clone();
                let mut number = 2;
                while runs.iter().any(|known| known.name == run.name) {
                    run.name = format!("{base}-{number}");
                    number += 1;
                }
                runs.push(run);
            }
        }
        runs
    }

    fn run(&self, name: &str) -> Result<RunFolder, Refusal> {
        let found = self.runs().into_iter().find(|run| run.name == name);
        found.map(|run| run.folder).ok_or_else(|| Refusal::absent(format!("no run is called `{name}`")))
    }

    pub(crate) fn summary(&self) -> String {
        let line = |folder: &PathBuf| {
            let runs = find(folder).map_or(0, |runs| runs.len());
            format!("{}: {runs} training {}", folder.display(), if runs == 1 { "run" } else { "runs" })
        };
        self.folders.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The page, at `/runs`.
pub(crate) fn page_routes() -> Router {
    let html = page::served("/runs/page.css", "/runs/page.js");
    let script = page::script();
    Router::new()
        .route("/", get(async move || typed("text/html; charset=utf-8", html)))
        .route("/page.css", get(async || typed("text/css; charset=utf-8", page::STYLE)))
        .route("/page.js", get(async move || typed("text/javascript; charset=utf-8", script)))
}

fn typed(kind: &'static str, text: impl IntoResponse) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], text)
}

/// What the page asks for, at `/api/runs`.
pub(crate) fn routes(roots: Roots) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/about", get(about))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(roots))
}

type Shared = State<Arc<Roots>>;

/// The runs and how each stands; nothing if that is what the asker has already.
async fn list(State(roots): Shared, headers: HeaderMap) -> Result<Response, Refusal> {
    let runs = off_the_async_thread(move || {
        let entry = |run: &FoundRun| json!({ "name": run.name, "glance": run.folder.glance() });
        Ok(roots.runs().iter().map(entry).collect::<Vec<Value>>())
    })
    .await?;
    Ok(unless_known(&headers, &json!({ "runs": runs })))
}

#[derive(Deserialize)]
struct Which {
    run: String,
}

async fn about(State(roots): Shared, Query(which): Query<Which>) -> Result<Json<Value>, Refusal> {
    off_the_async_thread(move || Ok(Json(roots.run(&which.run)?.about()))).await
}

#[derive(Deserialize)]
struct Part {
    run: String,
    /// The byte from which on lines are wanted.
    #[serde(default)]
    from: u64,
    /// Which file that byte is of.
    #[serde(default)]
    file: String,
}

async fn metrics(State(roots): Shared, Query(part): Query<Part>) -> Result<Response, Refusal> {
    off_the_async_thread(move || {
        let run = roots.run(&part.run)?;
        let metrics = run
            .more_metrics(&FileId::named(&part.file), part.from, page::MOST_LINES)
            .map_err(|error| unreadable(&part.run, &error))?;
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

/// Files on this machine that cannot be read are this machine's fault, not the question's.
fn unreadable(run: &str, error: &io::Error) -> Refusal {
    Refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("the metrics of `{run}`: {error}"))
}
