//! What a model is, for the page's list.

use serde::Serialize;
use shakmaty::Chess;
use tabia_encoding::{Batch, Elo, PlayerInfo, Situation};
use tabia_model::Model;
use tabia_players::admit;
use tsify::Tsify;

/// What a model is and what it can do.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    /// What specs call it.
    pub name: String,
    /// The format of its file.
    pub format: String,
    /// The size of its file.
    pub bytes: f64,
    /// How many numbers it has learnt.
    pub parameters: f64,
    /// What it sees of a game.
    pub encoding: String,
    /// Its architecture, in words; empty where nobody says.
    pub architecture: String,
    /// The hash of its file.
    pub sha256: String,
    /// Whether it says which moves are likely.
    pub plays: bool,
    /// Whether it says who is better.
    pub evaluates: bool,
    /// Whether it says how long people would think.
    pub thinks: bool,
    /// Whether it looks at ratings.
    pub rated: bool,
    /// Whether it may take part in the Chess Challenge.
    pub challenge: bool,
    /// Why it may not; empty if it may.
    pub challenge_problem: String,
    /// How strong it was found to be at the ratings it is asked for, from the lowest to the highest.
    pub strength: Vec<MeasuredRating>,
    /// What else is known of it: names and values.
    pub card: Vec<(String, String)>,
}

/// A rating that was asked for and the one that games showed, with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Tsify)]
pub struct MeasuredRating {
    /// The rating asked for.
    pub asked: u16,
    /// The rating shown.
    pub shown: f32,
    /// The lower bound.
    pub low: f32,
    /// The upper bound.
    pub high: f32,
}

pub(super) fn of(name: &str, model: &Model) -> ModelFacts {
    let card = model.card();
    let admission = admit(model);
    let mut rows = Vec::new();
    let mut row = |name: &str, value: Option<String>| {
        rows.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    row("name", card.name.clone());
    row("licence", card.licence.clone());
    row("authors", card.authors.clone());
    row("training data", card.training_data.clone());
    row("notes", card.notes.clone());
    row("runtime", Some(model.runtime().to_string()));
    row("multiply-adds", Some(model.graph().multiply_adds.to_string()));
    row("challenge", admission.as_ref().ok().and_then(|warning| Some(warning.as_ref()?.to_string())));
    ModelFacts {
        name: name.to_owned(),
        format: model.format().to_string(),
        bytes: model.file_bytes() as f64,
        parameters: model.parameters() as f64,
        encoding: card.encoding.clone(),
        architecture: card.architecture.clone().unwrap_or_default(),
        sha256: model.sha256().to_owned(),
        plays: card.policy.is_some(),
        evaluates: card.value.is_some() || card.wdl.is_some(),
        thinks: card.think_time.is_some(),
        rated: looks_at_ratings(model),
        challenge: admission.is_ok(),
        challenge_problem: admission.err().map_or(String::new(), |problem| problem.to_string()),
        strength: measured(model),
        card: rows,
    }
}

fn measured(model: &Model) -> Vec<MeasuredRating> {
    let knots = model.card().strength.iter().flat_map(|strength| &strength.knots);
    let rows = knots.filter_map(|knot| {
        let shown = knot.shown?;
        Some(MeasuredRating { asked: knot.asked, shown: shown.rating, low: shown.low, high: shown.high })
    });
    rows.collect()
}

/// Whether a rating changes what the network is shown.
fn looks_at_ratings(model: &Model) -> bool {
    let position = Chess::default();
    let shown = |rating| {
        let mut batch = Batch::new(model.encoding());
        let mover = PlayerInfo { rating: Some(Elo(rating)), time_left: None };
        batch.push(&Situation { mover, ..Situation::of(&position) });
        batch.columns().to_vec()
    };
    shown(1000) != shown(2400)
}
