//! The decision of a player for TypeScript.

use std::time::Duration;

use serde::Serialize;
use shakmaty::{Chess, Color, Position as _};
use tabia_model::Wdl;
use tabia_players::{Action, Choice, Decision, Line};
use tsify::Tsify;

use crate::{Opinion, notation};

/// A chosen move and the analysis behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Thought {
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// The candidates, best first.
    pub lines: Vec<ThoughtLine>,
    /// Nodes searched.
    pub nodes: f64,
    /// Seconds taken.
    pub seconds: f64,
    /// Seconds a person would take, within what the clock allows; 0 where the player does not predict it.
    pub pause: f64,
    /// Whether it resigns.
    pub resigns: bool,
    /// Whether it offers a draw with the move.
    pub offers_draw: bool,
    /// Whether it accepts a draw.
    pub accepts_draw: bool,
}

/// A candidate move and its analysis. Scores are from White's point of view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tsify)]
pub struct ThoughtLine {
    /// 1 for the best.
    pub rank: u32,
    /// Search depth in plies.
    pub depth: u32,
    /// Centipawns, positive if White is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// Mate in this many moves; negative when Black mates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
    /// The probabilities of a White win, a draw and a Black win.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wdl: Option<(f32, f32, f32)>,
    /// The probability that the player plays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
    /// Nodes searched.
    pub nodes: f64,
    /// The principal variation in UCI notation.
    pub moves: Vec<String>,
    /// The same in algebraic notation.
    pub san: Vec<String>,
}

impl Thought {
    pub(crate) fn new(position: &Chess, choice: &Choice, took: Duration) -> Thought {
        Thought {
            uci: notation::uci(position, choice.mv),
            san: notation::san(position, choice.mv),
            lines: choice.lines.iter().map(|line| ThoughtLine::new(position, line)).collect(),
            nodes: choice.nodes as f64,
            seconds: took.as_secs_f64(),
            ..Thought::default()
        }
    }

    pub(crate) fn of_decision(position: &Chess, decision: &Decision, took: Duration) -> Thought {
        Thought {
            pause: decision.think_time.as_secs_f64(),
            resigns: decision.action == Action::Resign,
            offers_draw: decision.action == Action::OfferDraw,
            accepts_draw: decision.accepts_draw,
            ..Thought::new(position, &decision.choice, took)
        }
    }
}

impl ThoughtLine {
    fn new(position: &Chess, line: &Line) -> ThoughtLine {
        let turn = position.turn();
        let Opinion { cp, mate } =
            line.score.map_or(Opinion::default(), |score| score.for_white(turn).into());
        let mut at = position.clone();
        let (mut moves, mut san) = (Vec::new(), Vec::new());
        for m in &line.moves {
            moves.push(notation::uci(&at, *m));
            san.push(notation::san(&at, *m));
            at.play_unchecked(*m);
        }
        ThoughtLine {
            rank: u32::try_from(line.rank).unwrap_or(u32::MAX),
            depth: line.depth,
            cp,
            mate,
            wdl: line.wdl.map(|wdl| wdl_for_white(wdl, turn)),
            probability: line.probability,
            nodes: line.nodes as f64,
            moves,
            san,
        }
    }
}

/// The probabilities of a White win, a draw and a Black win.
pub(crate) fn wdl_for_white(wdl: Wdl, turn: Color) -> (f32, f32, f32) {
    turn.fold_wb((wdl.win, wdl.draw, wdl.loss), (wdl.loss, wdl.draw, wdl.win))
}
