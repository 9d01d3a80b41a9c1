//! Matches and challenges that were played on this machine, or are being played: how they stand.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod find;
mod shown;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde::Deserialize;
use serde_json::Value;

use self::find::{Found, Kind, find};
use self::shown::Shown;
use crate::OfferError;
use crate::news::unless_known;
use crate::refusal::{Refusal, off_the_async_thread};

/// The folders in which ledgers and scorecards are looked for, again and again: games end while the server is there.
pub(crate) struct Tables {
    folders: Vec<PathBuf>,
    /// What was read last time, for files that have not changed since.
    shown: Mutex<Shown>,
}

impl Tables {
    /// # Errors
    /// If a folder cannot be read.
    pub(crate) fn open(folders: &[PathBuf]) -> Result<Tables, OfferError> {
        for folder in folders {
            find(folder).map_err(|error| OfferError::Unreadable { path: folder.clone(), error })?;
        }
        Ok(Tables { folders: folders.to_owned(), shown: Mutex::default() })
    }

    pub(crate) fn summary(&self) -> String {
        let line = |folder: &PathBuf| {
            let ledgers = find(folder).unwrap_or_default();
            let ledgers = ledgers.iter().filter(|found| found.kind == Kind::Ledger).count();
            format!("{}: {ledgers} {}", folder.display(), if ledgers == 1 { "match" } else { "matches" })
        };
        self.folders.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// What there is now, each under a name of its own. A name is only ever looked up here, never made into a path.
    fn found(&self) -> Vec<Found> {
        let mut all: Vec<Found> = Vec::new();
        for folder in &self.folders {
            // A folder that went away while the server runs holds nothing.
            for mut found in find(folder).unwrap_or_default() {
                let base = found.name.clone();
                let mut number = 2;
                while all.iter().any(|known| known.name == found.name) {
                    found.name = format!("{base}-{number}");
                    number += 1;
                }
                all.push(found);
            }
        }
        all
    }

    fn list(&self) -> Value {
        let found = self.found();
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.refresh(&found);
        shown.list(&found)
    }
}

/// What the page asks for, at `/api/arena`.
pub(crate) fn routes(tables: Tables) -> Router {
    Router::new().route("/", get(list)).route("/pgn", get(pgn)).with_state(Arc::new(tables))
}

type Shared = State<Arc<Tables>>;

async fn list(State(tables): Shared, headers: HeaderMap) -> Result<Response, Refusal> {
    let list = off_the_async_thread(move || Ok(tables.list())).await?;
    Ok(unless_known(&headers, &list))
}

#[derive(Deserialize)]
struct Which {
    #[serde(rename = "match")]
    name: String,
}

/// The games of a match.
async fn pgn(State(tables): Shared, Query(Which { name }): Query<Which>) -> Result<Response, Refusal> {
    off_the_async_thread(move || {
        let found = tables.found();
        let absent = || Refusal::absent(format!("no match is called `{name}`"));
        let found = found.iter().find(|found| found.kind == Kind::Ledger && found.name == name);
        let games = found.and_then(Found::games).ok_or_else(absent)?;
        let text = std::fs::read(games)
            .map_err(|error| Refusal(StatusCode::INTERNAL_SERVER_ERROR, format!("`{name}`: {error}")))?;
        Ok(([(header::CONTENT_TYPE, "application/x-chess-pgn")], text).into_response())
    })
    .await
}
