//! Matches and challenges played or in progress on this machine.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod cache;
mod find;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::Value;

use self::cache::Cache;
use self::find::{FoundFile, Kind, find};
use crate::error::{ErrorResponse, blocking};
use crate::{ConfigError, etag, unique_name};

/// Folders searched for ledgers and scorecards on every request, because games end while the server is up.
pub(crate) struct MatchStore {
    folders: Vec<PathBuf>,
    cache: Mutex<Cache>,
}

impl MatchStore {
    /// # Errors
    /// If a folder cannot be read.
    pub(crate) fn open(folders: &[PathBuf]) -> Result<MatchStore, ConfigError> {
        for folder in folders {
            find(folder).map_err(|error| ConfigError::Unreadable { path: folder.clone(), error })?;
        }
        Ok(MatchStore { folders: folders.to_owned(), cache: Mutex::default() })
    }

    pub(crate) fn summary(&self) -> String {
        let line = |folder: &PathBuf| {
            let files = find(folder).unwrap_or_default();
            let matches = files.iter().filter(|file| file.kind == Kind::Ledger).count();
            format!("{}: {matches} {}", folder.display(), if matches == 1 { "match" } else { "matches" })
        };
        self.folders.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Current files under unique names. Names in requests are looked up here, never used as paths.
    fn files(&self) -> Vec<FoundFile> {
        let mut files: Vec<FoundFile> = Vec::new();
        // Folders that were removed meanwhile have no files.
        for mut file in self.folders.iter().flat_map(|folder| find(folder).unwrap_or_default()) {
            file.name = unique_name(&file.name, |name| files.iter().any(|known| known.name == name));
            files.push(file);
        }
        files
    }

    fn list(&self) -> Value {
        let files = self.files();
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.refresh(&files);
        cache.list(&files)
    }
}

/// Routes of the API, at `/api/arena`.
pub(crate) fn routes(store: MatchStore) -> Router {
    Router::new().route("/", get(list)).route("/pgn", get(pgn)).with_state(Arc::new(store))
}

type Store = State<Arc<MatchStore>>;

async fn list(State(store): Store, headers: HeaderMap) -> Result<Response, ErrorResponse> {
    let list = blocking(move || Ok(store.list())).await?;
    Ok(etag::json(&headers, &list))
}

#[derive(Deserialize)]
struct MatchQuery {
    #[serde(rename = "match")]
    name: String,
}

/// Games of a match.
async fn pgn(
    State(store): Store,
    Query(MatchQuery { name }): Query<MatchQuery>,
) -> Result<Response, ErrorResponse> {
    blocking(move || {
        let files = store.files();
        let file = files.iter().find(|file| file.kind == Kind::Ledger && file.name == name);
        let games = file
            .and_then(FoundFile::games)
            .ok_or_else(|| ErrorResponse::not_found(format!("unknown match `{name}`")))?;
        let text = std::fs::read(games)
            .map_err(|error| ErrorResponse::internal(format!("games of `{name}`: {error}")))?;
        Ok(([(header::CONTENT_TYPE, "application/x-chess-pgn")], text).into_response())
    })
    .await
}
