//! Properties of models.

use serde::Serialize;
use tabia_model::Model;
use tabia_players::{ChallengeRules, admit};
use tsify::Tsify;

/// The properties of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    /// Its name in specs.
    pub name: String,
    /// Its file format.
    pub format: String,
    /// Its file size.
    pub bytes: f64,
    /// Its number of parameters.
    pub parameters: f64,
    /// Its encoding.
    pub encoding: String,
    /// Its architecture; empty if unknown.
    pub architecture: String,
    /// The hash of its file.
    pub sha256: String,
    /// Whether it has a policy head.
    pub plays: bool,
    /// Whether it has an evaluation head.
    pub evaluates: bool,
    /// Whether it has a thinking-time head.
    pub thinks: bool,
    /// Whether it uses ratings.
    pub rated: bool,
    /// Whether it is admitted to the Chess Challenge by the original rules.
    pub challenge: bool,
    /// Why not; empty if it is.
    pub challenge_problem: String,
    /// Whether it is admitted by the rules of 2026.
    pub challenge_2026: bool,
    /// Why not; empty if it is.
    pub challenge_2026_problem: String,
    /// Its measured ratings, by rating asked for.
    pub strength: Vec<MeasuredRating>,
    /// The scale of these ratings and how they were measured; empty without any.
    pub strength_method: String,
    /// Other properties: names and values.
    pub card: Vec<(String, String)>,
}

/// A rating asked for and the rating measured in games, with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Tsify)]
pub struct MeasuredRating {
    /// The rating asked for.
    pub asked: u16,
    /// The measured rating.
    pub shown: f32,
    /// The lower bound.
    pub low: f32,
    /// The upper bound.
    pub high: f32,
}

pub(super) fn of(name: &str, model: &Model) -> ModelFacts {
    let card = model.card();
    let admission = admit(model, ChallengeRules::Original);
    let later = admit(model, ChallengeRules::Edition2026);
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
        rated: model.takes_ratings(),
        challenge: admission.is_ok(),
        challenge_problem: admission.err().map_or(String::new(), |problem| problem.to_string()),
        challenge_2026: later.is_ok(),
        challenge_2026_problem: later.err().map_or(String::new(), |problem| problem.to_string()),
        strength: measured(model),
        strength_method: card.strength.as_ref().map_or(String::new(), |strength| strength.method.clone()),
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
