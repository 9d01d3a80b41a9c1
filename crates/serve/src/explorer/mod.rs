//! The data explorer: positions of training sets, one at a time, with what a network would learn from them.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod filter;
mod store;
mod view;

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use tabia_data::{LabelStrategy, PositionIndex};

use self::filter::Filter;
pub(crate) use self::store::SetStore;
use self::store::{Direction, Found};
use self::view::View;
use crate::refusal::{Refusal, off_the_async_thread};

pub(crate) fn routes(store: SetStore) -> Router {
    Router::new()
        .route("/", get(list))
        .route("/{set}", get(about))
        .route("/{set}/position/{index}", get(position))
        .route("/{set}/random", get(random))
        .route("/{set}/next", get(next))
        .with_state(Arc::new(store))
}

type Shared = State<Arc<SetStore>>;

async fn list(State(store): Shared) -> impl IntoResponse {
    Json(store.list())
}

async fn about(State(store): Shared, Path(set): Path<String>) -> Result<impl IntoResponse, Refusal> {
    let set = store.set(&set).ok_or_else(|| unknown_set(&store, &set))?;
    Ok(Json(set.about()))
}

/// How labels are made of engine evaluations, when the question says so.
#[derive(Deserialize)]
struct Labels {
    labels: Option<String>,
}

impl Labels {
    fn strategy(&self) -> Result<LabelStrategy, Refusal> {
        let named = self.labels.as_deref().map(str::parse).transpose();
        let named = named.map_err(|error| Refusal(StatusCode::BAD_REQUEST, format!("labels: {error}")))?;
        Ok(named.unwrap_or_default())
    }
}

async fn position(
    State(store): Shared,
    Path((set, index)): Path<(String, u64)>,
    Query(labels): Query<Labels>,
) -> Result<Json<View>, Refusal> {
    let strategy = labels.strategy()?;
    off_the_async_thread(move || show(&store, &set, PositionIndex(index), strategy)).await
}

#[derive(Deserialize)]
struct Seed {
    seed: Option<u64>,
}

async fn random(
    State(store): Shared,
    Path(set): Path<String>,
    Query(Seed { seed }): Query<Seed>,
    Query(labels): Query<Labels>,
    Query(filter): Query<Filter>,
) -> Result<Json<View>, Refusal> {
    let strategy = labels.strategy()?;
    let mut rng = seed.map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
    off_the_async_thread(move || {
        let on_shelf = store.set(&set).ok_or_else(|| unknown_set(&store, &set))?;
        let found = on_shelf.random(&filter, strategy, &mut rng).map_err(|error| broken(&error))?;
        answer(&store, &set, &found, strategy)
    })
    .await
}

#[derive(Deserialize)]
struct Step {
    from: u64,
    #[serde(default)]
    direction: Direction,
}

/// The nearest position after (or before) `from` that the filter lets through.
async fn next(
    State(store): Shared,
    Path(set): Path<String>,
    Query(step): Query<Step>,
    Query(labels): Query<Labels>,
    Query(filter): Query<Filter>,
) -> Result<Json<View>, Refusal> {
    let strategy = labels.strategy()?;
    off_the_async_thread(move || {
        let on_shelf = store.set(&set).ok_or_else(|| unknown_set(&store, &set))?;
        let found =
            on_shelf.next(step.from, step.direction, &filter, strategy).map_err(|error| broken(&error))?;
        answer(&store, &set, &found, strategy)
    })
    .await
}

fn answer(
    store: &SetStore,
    set: &str,
    found: &Found,
    strategy: LabelStrategy,
) -> Result<Json<View>, Refusal> {
    match *found {
        Found::Position(index) => show(store, set, index, strategy),
        Found::Nothing { looked_at } => {
            Err(Refusal::absent(format!("none of {looked_at} positions looked at passes the filter")))
        }
    }
}

fn show(
    store: &SetStore,
    set: &str,
    index: PositionIndex,
    strategy: LabelStrategy,
) -> Result<Json<View>, Refusal> {
    let on_shelf = store.set(set).ok_or_else(|| unknown_set(store, set))?;
    let last = on_shelf.positions();
    if index.0 >= last {
        return Err(Refusal::absent(format!(
            "`{set}` has positions 0 to {}, not {}",
            last.saturating_sub(1),
            index.0
        )));
    }
    on_shelf.view(index, strategy).map(Json).map_err(|error| broken(&error))
}

fn unknown_set(store: &SetStore, name: &str) -> Refusal {
    Refusal::absent(format!("no set is called `{name}`; there are: {}", store.names().join(", ")))
}

/// Data on this machine that cannot be read is this machine's fault, not the question's.
fn broken(error: &tabia_data::SetError) -> Refusal {
    Refusal(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
