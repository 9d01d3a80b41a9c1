//! The data explorer: positions of training sets with their training targets.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod contents;
mod filter;
mod store;
mod view;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use tabia_data::{LabelStrategy, PositionIndex};

use self::filter::Filter;
pub(crate) use self::store::SetStore;
use self::store::{About, Direction, Found, OpenSet};
use self::view::PositionView;
use crate::error::{ErrorResponse, blocking};

pub(crate) fn routes(store: SetStore) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/{set}", get(about))
        .route("/{set}/position/{index}", get(position))
        .route("/{set}/random", get(random))
        .route("/{set}/next", get(next))
        .with_state(Arc::new(store))
}

type Store = State<Arc<SetStore>>;

async fn list(State(store): Store) -> Json<Vec<About>> {
    Json(store.list())
}

async fn about(State(store): Store, Path(set): Path<String>) -> Result<Json<About>, ErrorResponse> {
    Ok(Json(open_set(&store, &set)?.about()))
}

/// How labels are computed from engine evaluations.
#[derive(Deserialize)]
struct Labels {
    labels: Option<String>,
}

impl Labels {
    fn strategy(&self) -> Result<LabelStrategy, ErrorResponse> {
        let parsed = self.labels.as_deref().map(str::parse).transpose();
        parsed
            .map(Option::unwrap_or_default)
            .map_err(|error| ErrorResponse(StatusCode::BAD_REQUEST, format!("labels: {error}")))
    }
}

async fn position(
    State(store): Store,
    Path((set, index)): Path<(String, u64)>,
    Query(labels): Query<Labels>,
) -> Result<Json<PositionView>, ErrorResponse> {
    let strategy = labels.strategy()?;
    blocking(move || view(&store, &set, PositionIndex(index), strategy)).await
}

#[derive(Deserialize)]
struct Seed {
    seed: Option<u64>,
}

async fn random(
    State(store): Store,
    Path(set): Path<String>,
    Query(Seed { seed }): Query<Seed>,
    Query(labels): Query<Labels>,
    Query(filter): Query<Filter>,
) -> Result<Json<PositionView>, ErrorResponse> {
    let strategy = labels.strategy()?;
    let mut rng = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
    blocking(move || {
        let found = open_set(&store, &set)?.random(&filter, strategy, &mut rng);
        respond(&store, &set, &found.map_err(ErrorResponse::internal)?, strategy)
    })
    .await
}

#[derive(Deserialize)]
struct Step {
    from: u64,
    #[serde(default)]
    direction: Direction,
}

/// The nearest matching position after or before `from`.
async fn next(
    State(store): Store,
    Path(set): Path<String>,
    Query(step): Query<Step>,
    Query(labels): Query<Labels>,
    Query(filter): Query<Filter>,
) -> Result<Json<PositionView>, ErrorResponse> {
    let strategy = labels.strategy()?;
    blocking(move || {
        let found = open_set(&store, &set)?.next(step.from, step.direction, &filter, strategy);
        respond(&store, &set, &found.map_err(ErrorResponse::internal)?, strategy)
    })
    .await
}

fn respond(
    store: &SetStore,
    set: &str,
    found: &Found,
    strategy: LabelStrategy,
) -> Result<Json<PositionView>, ErrorResponse> {
    match *found {
        Found::Position(index) => view(store, set, index, strategy),
        Found::Nothing { scanned } => {
            Err(ErrorResponse::not_found(format!("no match for the filter in {scanned} positions scanned")))
        }
    }
}

fn view(
    store: &SetStore,
    name: &str,
    index: PositionIndex,
    strategy: LabelStrategy,
) -> Result<Json<PositionView>, ErrorResponse> {
    let set = open_set(store, name)?;
    let last = set.positions().saturating_sub(1);
    if index.0 >= set.positions() {
        let message = format!("position {} out of range in `{name}` (expected 0 to {last})", index.0);
        return Err(ErrorResponse::not_found(message));
    }
    set.view(index, strategy).map(Json).map_err(ErrorResponse::internal)
}

fn open_set<'a>(store: &'a SetStore, name: &str) -> Result<&'a OpenSet, ErrorResponse> {
    store.set(name).ok_or_else(|| {
        ErrorResponse::not_found(format!("unknown set `{name}` (expected {})", store.names().join(", ")))
    })
}
