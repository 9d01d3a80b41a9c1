//! What a player says of its move.

use std::time::Duration;

use serde::Serialize;
use shakmaty::{Chess, Color, Position as _};
use tabia_model::Wdl;
use tabia_search::{Choice, HumanAction, Line};
use tsify::Tsify;

use crate::{Opinion, notation};

/// A chosen move, and what the player thought.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct Thought {
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// The candidates, best first.
    pub lines: Vec<ThoughtLine>,
    /// Positions visited.
    pub nodes: f64,
    /// Seconds it took.
    pub seconds: f64,
    /// Seconds a person would take, within what the clock allows; 0 where the player does not say.
    pub pause: f64,
    /// Whether a person would give up here.
    pub resigns: bool,
    /// Whether a person would offer a draw with the move.
    pub offers_draw: bool,
    /// Whether a person would accept a draw here.
    pub accepts_draw: bool,
}

/// A candidate, and what the player thinks of it. Opinions are for White.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tsify)]
pub struct ThoughtLine {
    /// 1 for the best.
    pub rank: u32,
    /// Plies looked ahead.
    pub depth: u32,
    /// Hundredths of a pawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// Mate in this many moves; negative when Black mates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
    /// The chances that White wins, that nobody does and that Black wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wdl: Option<(f32, f32, f32)>,
    /// How likely the player is to play it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<f32>,
    /// Positions visited.
    pub nodes: f64,
    /// The candidate and what should follow, in UCI notation.
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

    /// Adds what a person would do.
    pub(crate) fn behave(&mut self, action: HumanAction) {
        self.pause = action.pause.as_secs_f64();
        self.resigns = action.resigns;
        self.offers_draw = action.offers_draw;
        self.accepts_draw = action.accepts_draw;
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

/// The chances that White wins, that nobody does and that Black wins.
pub(crate) fn wdl_for_white(wdl: Wdl, turn: Color) -> (f32, f32, f32) {
    turn.fold_wb((wdl.win, wdl.draw, wdl.loss), (wdl.loss, wdl.draw, wdl.win))
}
