//! What the page shows of a game.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;
use shakmaty::{Chess, Position};
use tabia_encoding::Pace;
use tabia_game::{NodeId, Notes, fen_of};
use tsify::Tsify;

use super::GameTree;
use crate::{Side, notation, notation::Opinion};

/// One move of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct MoveNode {
    /// The node.
    pub id: u32,
    /// The node it was played from; 0 is the start.
    pub parent: u32,
    /// Half-moves from the start.
    pub ply: u32,
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// Whether it belongs to the main line.
    pub mainline: bool,
    /// What the mover's clock showed after the move, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<f64>,
    /// How many seconds the move took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent: Option<f64>,
    /// An opinion of the position after the move, for White.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<NodeEvaluation>,
    /// The comment after the move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Judgements, as PGN numbers them.
    pub nags: Vec<u8>,
}

/// An opinion of a position, for White, and how deep it looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct NodeEvaluation {
    /// Hundredths of a pawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cp: Option<i32>,
    /// Mate in this many moves; negative when Black mates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<i32>,
    /// In plies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
}

/// Whether and how a game ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct GameStatus {
    /// Whether it is over.
    pub over: bool,
    /// The result as PGN writes it.
    #[tsify(type = "\"1-0\" | \"0-1\" | \"1/2-1/2\" | \"*\"")]
    pub result: String,
    /// Why, in words; empty while it goes on.
    pub reason: String,
    /// Whether a draw may be claimed.
    pub claimable: bool,
}

/// Where pieces can go: target squares by the square they stand on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Tsify)]
#[serde(transparent)]
#[tsify(hashmap_as_object)]
pub struct Destinations(pub BTreeMap<String, Vec<String>>);

/// All there is to show of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(hashmap_as_object)]
pub struct GameView {
    /// The position looked at.
    pub fen: String,
    /// The position before the first move.
    pub start_fen: String,
    /// Who is to move.
    pub turn: Side,
    /// The node looked at; 0 is the start.
    pub current: u32,
    /// Half-moves from the start to there.
    pub ply: u32,
    /// Legal moves by the square they begin on.
    pub destinations: Destinations,
    /// Where the king in check stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The squares of the last move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_move: Option<(String, String)>,
    /// Whether and how the game ended.
    pub status: GameStatus,
    /// All moves, each after the one it was played from; of several after the same one, the line's own comes first.
    pub nodes: Vec<MoveNode>,
    /// The tag pairs of the PGN.
    pub headers: Vec<(String, String)>,
}

impl GameTree {
    pub(crate) fn picture(&self) -> GameView {
        let position = self.game.position(self.current);
        let path = self.game.path(self.current);
        let last_move = self.game.move_to(self.current).map(|m| {
            let (from, to) = notation::squares(&position, m);
            (from.to_string(), to.to_string())
        });
        let king = position.is_check().then(|| position.our(shakmaty::Role::King).first()).flatten();
        GameView {
            fen: fen_of(&position),
            start_fen: fen_of(self.game.start()),
            turn: position.turn().into(),
            current: self.current.number(),
            ply: count(path.len()),
            destinations: destinations(&position),
            check: king.map(|square| square.to_string()),
            last_move,
            status: self.standing(),
            nodes: self.move_nodes(),
            headers: self
                .game
                .headers
                .iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    fn move_nodes(&self) -> Vec<MoveNode> {
        let pace = self.game.headers.time_control().pace();
        let root = Visit { node: NodeId::ROOT, mainline: true, ply: 0, position: self.game.start().clone() };
        let mut pending = vec![root];
        let mut nodes = Vec::new();
        while let Some(visit) = pending.pop() {
            let children: Vec<NodeId> = self.game.children(visit.node).collect();
            for (place, child) in children.iter().enumerate().rev() {
                let mut position = visit.position.clone();
                if let Some(m) = self.game.move_to(*child) {
                    position.play_unchecked(m);
                }
                let mainline = visit.mainline && place == 0;
                pending.push(Visit { node: *child, mainline, ply: visit.ply + 1, position });
            }
            // A node's own entry is made by its parent, which knows the position before the move.
            for (place, child) in children.into_iter().enumerate() {
                nodes.extend(self.move_node_after(&visit, child, visit.mainline && place == 0, pace));
            }
        }
        nodes
    }

    fn move_node_after(
        &self,
        parent: &Visit,
        child: NodeId,
        mainline: bool,
        pace: Option<Pace>,
    ) -> Option<MoveNode> {
        let m = self.game.move_to(child)?;
        let notes = self.game.notes(child);
        Some(MoveNode {
            id: child.number(),
            parent: parent.node.number(),
            ply: parent.ply + 1,
            uci: notation::uci(&parent.position, m),
            san: notation::san(&parent.position, m),
            mainline,
            clock: notes.clock.map(|clock| clock.as_secs_f64()),
            spent: self.spent(parent.node, notes, pace).map(|spent| spent.as_secs_f64()),
            evaluation: notes.evaluation.map(|evaluation| {
                let Opinion { cp, mate } = evaluation.score.into();
                NodeEvaluation { cp, mate, depth: evaluation.depth }
            }),
            comment: (!notes.after.is_empty()).then(|| notes.after.clone()),
            nags: notes.nags.iter().map(|nag| nag.0).collect(),
        })
    }

    /// How long a move took: as noted, or as the mover's clock shows.
    fn spent(&self, parent: NodeId, notes: &Notes, pace: Option<Pace>) -> Option<Duration> {
        notes.elapsed.or_else(|| {
            let (pace, after) = (pace?, notes.clock?);
            let before = match self.game.parent(parent) {
                Some(NodeId::ROOT) | None => pace.base,
                Some(own) => self.game.notes(own).clock?,
            };
            (before + pace.increment).checked_sub(after)
        })
    }
}

/// A node on the way through the tree.
struct Visit {
    node: NodeId,
    mainline: bool,
    ply: u32,
    position: Chess,
}

fn destinations(position: &Chess) -> Destinations {
    let mut targets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for m in position.legal_moves() {
        let (from, to) = notation::squares(position, m);
        let targets = targets.entry(from.to_string()).or_default();
        let to = to.to_string();
        // Four promotions are one way to go.
        if !targets.contains(&to) {
            targets.push(to);
        }
    }
    Destinations(targets)
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
