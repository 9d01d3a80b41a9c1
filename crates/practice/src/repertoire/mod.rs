//! What I play in the opening, and how much of what people play it answers.

mod coverage;
mod pgn;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde::Serialize;
use shakmaty::{Chess, Color, EnPassantMode, Move, Position, san::SanPlus, zobrist::Zobrist64};
use tabia_game::{Game, NodeId, fen_of};

use crate::deck::{Answer, CardKind, NewCard, Origin};

pub use coverage::{Coverage, CoverageLimits, CoverageNode, CoverageWalk, Hole, MoveCoverage, NodeState};
pub use pgn::{RepertoireError, RepertoireFile, guess_color};

/// The longest line that is shown.
const LONGEST_LINE: usize = 12;

/// The moves of one side, by position. Transpositions share what is prepared.
#[derive(Clone, Debug)]
pub struct Repertoire {
    color: Color,
    name: String,
    /// Where the first game starts, or the initial position if any game starts there.
    start: Chess,
    /// Positions in which it is my move, in the order of the games.
    entries: Vec<Entry>,
    by_position: HashMap<u64, usize>,
    /// The opponent's moves in the games, by position, in their order.
    replies: HashMap<u64, Vec<Move>>,
}

#[derive(Clone, Debug)]
struct Entry {
    position: Chess,
    /// The line that leads there, for people.
    line: Vec<Move>,
    start: Chess,
    /// The first is the main one.
    prepared: Vec<Prepared>,
}

#[derive(Clone, Debug)]
struct Prepared {
    m: Move,
    comment: String,
}

/// Where a game left the repertoire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Deviation {
    /// The half-move that left it, from 1.
    pub ply: usize,
    /// What I played, in SAN.
    pub played: String,
    /// What I had prepared, in SAN, the main move first.
    pub prepared: Vec<String>,
    /// The main line I had prepared from there, in SAN.
    pub line: Vec<String>,
    /// The comment on the main move; often empty.
    pub comment: String,
}

/// A move of the opponent that the repertoire does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Unanswered {
    /// The half-move, from 1.
    pub ply: usize,
    /// The move, in SAN.
    pub played: String,
    /// The same in UCI notation.
    pub uci: String,
    /// The replies that are answered, in SAN.
    pub answered: Vec<String>,
}

/// Where a game in progress stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case", tag = "kind", content = "at")]
pub enum RepertoireStatus {
    /// The game has not reached the repertoire.
    Outside,
    /// In the repertoire.
    Inside,
    /// At the end of a line.
    Ended,
    /// I played something else.
    Left(Deviation),
    /// The opponent played something else.
    Unanswered(Unanswered),
}

/// A line from the start to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct RepertoireLine {
    /// In SAN.
    pub moves: Vec<String>,
    /// The position at its end.
    pub fen: String,
}

impl Repertoire {
    /// The moves of `color` in games with variations. Every variation is prepared; the first move of a position is its main
    /// one.
    pub fn new<'a>(color: Color, name: &str, games: impl IntoIterator<Item = &'a Game>) -> Repertoire {
        let mut repertoire = Repertoire {
            color,
            name: name.to_owned(),
            start: Chess::default(),
            entries: Vec::new(),
            by_position: HashMap::new(),
            replies: HashMap::new(),
        };
        let mut starts = Vec::new();
        for game in games {
            starts.push(game.start().clone());
            repertoire.add(game);
        }
        let normal = starts.iter().any(|start| *start == Chess::default());
        if let Some(first) = starts.into_iter().next().filter(|_| !normal) {
            repertoire.start = first;
        }
        repertoire
    }

    fn add(&mut self, game: &Game) {
        // Not recursive: games may be long.
        let mut stack = vec![(NodeId::ROOT, game.start().clone(), Vec::new())];
        while let Some((node, position, line)) = stack.pop() {
            let children: Vec<_> =
                game.children(node).filter_map(|child| Some((child, game.move_to(child)?))).collect();
            if position.turn() == self.color {
                let prepared =
                    |&(child, m): &(NodeId, Move)| Prepared { m, comment: plain_comment(game, child) };
                self.prepare(game.start(), &position, &line, children.iter().map(prepared));
            } else if !children.is_empty() {
                let known = self.replies.entry(key(&position)).or_default();
                for &(_, m) in &children {
                    if !known.contains(&m) {
                        known.push(m);
                    }
                }
            }
            for (child, m) in children.into_iter().rev() {
                let mut after = position.clone();
                after.play_unchecked(m);
                stack.push((child, after, joined(&line, m)));
            }
        }
    }

    fn prepare(
        &mut self,
        start: &Chess,
        position: &Chess,
        line: &[Move],
        moves: impl ExactSizeIterator<Item = Prepared>,
    ) {
        if moves.len() == 0 {
            return;
        }
        let index = *self.by_position.entry(key(position)).or_insert(self.entries.len());
        if index == self.entries.len() {
            let (position, line, start) = (position.clone(), line.to_vec(), start.clone());
            self.entries.push(Entry { position, line, start, prepared: Vec::new() });
        }
        let prepared = &mut self.entries[index].prepared;
        for new in moves {
            if !prepared.iter().any(|known| known.m == new.m) {
                prepared.push(new);
            }
        }
    }

    /// My side.
    pub fn color(&self) -> Color {
        self.color
    }

    /// Where its games start: the initial position if any starts there, else where the first starts.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// The number of positions with a prepared move.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is prepared.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The prepared moves in a position, the main one first.
    pub fn prepared(&self, position: &Chess) -> impl ExactSizeIterator<Item = Move> {
        self.entry(position).map_or(&[][..], |entry| &entry.prepared).iter().map(|prepared| prepared.m)
    }

    fn entry(&self, position: &Chess) -> Option<&Entry> {
        self.by_position.get(&key(position)).map(|&index| &self.entries[index])
    }

    fn is_answered(&self, position: &Chess) -> bool {
        self.by_position.contains_key(&key(position))
    }

    /// A card for every position with a prepared move, tagged with the name of the repertoire.
    pub fn cards(&self) -> Vec<NewCard> {
        let card = |entry: &Entry| {
            let mode = entry.position.castles().mode();
            let uci = |prepared: &Prepared| prepared.m.to_uci(mode).to_string();
            let answers = entry.prepared.iter().map(|prepared| Answer {
                uci: uci(prepared),
                chance: None,
                line: Vec::new(),
            });
            let ply = u32::try_from(entry.line.len() + 1).ok();
            let line = numbered(&entry.start, &entry.line);
            let source = if line.is_empty() { self.name.clone() } else { format!("{}: {line}", self.name) };
            NewCard {
                kind: CardKind::Repertoire,
                fen: fen_of(&entry.position),
                answers: answers.collect(),
                played: None,
                loss: 0.0,
                peers: Vec::new(),
                stronger: Vec::new(),
                opening: Some(self.name.clone()),
                phase: None,
                origin: Some(Origin { source, ply }),
                tags: [self.name.clone()].into(),
            }
        };
        self.entries.iter().map(card).collect()
    }

    /// The lines, each from the start to where nothing more is prepared, at most so many.
    pub fn lines(&self, most: usize) -> Vec<RepertoireLine> {
        let mut lines = Vec::new();
        let mut stack = vec![(self.start.clone(), Vec::new(), vec![key(&self.start)])];
        while let Some((position, line, seen)) = stack.pop() {
            if lines.len() == most {
                break;
            }
            let next: Vec<Move> = if position.turn() == self.color {
                self.prepared(&position).collect()
            } else {
                self.answered(&position)
            };
            let before = stack.len();
            for m in next.into_iter().rev() {
                let mut after = position.clone();
                after.play_unchecked(m);
                let at = key(&after);
                // A line that repeats a position ends there.
                if !seen.contains(&at) {
                    stack.push((after, joined(&line, m), [&seen[..], &[at]].concat()));
                }
            }
            if stack.len() == before && !line.is_empty() {
                lines.push(RepertoireLine { moves: sans(&self.start, &line), fen: fen_of(&position) });
            }
        }
        lines
    }

    /// The first of my moves that left the repertoire, in the game that begins at `start`.
    pub fn deviation(&self, start: &Chess, moves: &[Move]) -> Option<Deviation> {
        let mut position = start.clone();
        for (index, &m) in moves.iter().enumerate() {
            if let Some(deviation) = self.deviation_at(&position, m, index + 1) {
                return Some(deviation);
            }
            position.play_unchecked(m);
        }
        None
    }

    fn deviation_at(&self, position: &Chess, m: Move, ply: usize) -> Option<Deviation> {
        let entry = self.entry(position)?;
        if entry.prepared.iter().any(|prepared| prepared.m == m) {
            return None;
        }
        let san = |m: Move| SanPlus::from_move(position.clone(), m).to_string();
        Some(Deviation {
            ply,
            played: san(m),
            prepared: entry.prepared.iter().map(|prepared| san(prepared.m)).collect(),
            line: self.main_line(position),
            comment: entry.prepared.first().map(|main| main.comment.clone()).unwrap_or_default(),
        })
    }

    /// Where the game that begins at `start` stands after some moves. A game that left the repertoire may come back to it.
    pub fn status(&self, start: &Chess, moves: &[Move]) -> RepertoireStatus {
        let mut position = start.clone();
        let mut status = RepertoireStatus::Outside;
        let mut last = None;
        for (index, &m) in moves.iter().enumerate() {
            status = self.at(&position, last, status);
            if let Some(deviation) = self.deviation_at(&position, m, index + 1) {
                status = RepertoireStatus::Left(deviation);
            }
            last = Some((position.clone(), m, index + 1));
            position.play_unchecked(m);
        }
        self.at(&position, last, status)
    }

    /// The status in a position, given the one before the `last` move.
    fn at(
        &self,
        position: &Chess,
        last: Option<(Chess, Move, usize)>,
        before: RepertoireStatus,
    ) -> RepertoireStatus {
        use RepertoireStatus::{Ended, Inside, Unanswered as NoAnswer};
        if position.turn() == self.color {
            return match (before, last) {
                _ if self.is_answered(position) => Inside,
                (Inside, Some((from, m, ply))) => NoAnswer(Unanswered {
                    ply,
                    played: SanPlus::from_move(from.clone(), m).to_string(),
                    uci: m.to_uci(from.castles().mode()).to_string(),
                    answered: (self.answered(&from).into_iter())
                        .map(|m| SanPlus::from_move(from.clone(), m).to_string())
                        .collect(),
                }),
                (before, _) => before,
            };
        }
        let goes_on = self.first_answered(position).is_some();
        match before {
            Inside if !goes_on => Ended,
            RepertoireStatus::Outside if goes_on => Inside,
            before => before,
        }
    }

    /// The main line from a position with a prepared move, in SAN: my main moves and the first reply I have an answer to.
    fn main_line(&self, position: &Chess) -> Vec<String> {
        let (mut position, mut line) = (position.clone(), Vec::new());
        while line.len() < LONGEST_LINE {
            let next = if position.turn() == self.color {
                self.prepared(&position).next()
            } else {
                self.first_answered(&position)
            };
            let Some(m) = next else { break };
            line.push(SanPlus::from_move_and_play_unchecked(&mut position, m).to_string());
        }
        line
    }

    /// The replies to this position that I have an answer to: those of the games first, then transpositions.
    fn answered(&self, position: &Chess) -> Vec<Move> {
        self.possible_replies(position).filter(|&m| self.answers(position, m)).collect()
    }

    fn first_answered(&self, position: &Chess) -> Option<Move> {
        self.possible_replies(position).find(|&m| self.answers(position, m))
    }

    fn possible_replies(&self, position: &Chess) -> impl Iterator<Item = Move> {
        let known = self.replies.get(&key(position)).map_or(&[][..], |known| known);
        let legal = position.legal_moves().into_iter();
        known.iter().copied().chain(legal.filter(move |m| !known.contains(m)))
    }

    fn answers(&self, position: &Chess, m: Move) -> bool {
        let mut after = position.clone();
        after.play_unchecked(m);
        self.is_answered(&after)
    }
}

fn key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

fn joined(line: &[Move], m: Move) -> Vec<Move> {
    [line, &[m]].concat()
}

fn sans(start: &Chess, line: &[Move]) -> Vec<String> {
    let mut position = start.clone();
    line.iter().map(|&m| SanPlus::from_move_and_play_unchecked(&mut position, m).to_string()).collect()
}

/// A line with move numbers: `1. e4 c5 2. Nf3`.
fn numbered(start: &Chess, line: &[Move]) -> String {
    let mut position = start.clone();
    let mut text = String::new();
    for (index, &m) in line.iter().enumerate() {
        let number = position.fullmoves();
        if index > 0 {
            text.push(' ');
        }
        if position.turn().is_white() {
            text.push_str(&format!("{number}. "));
        } else if index == 0 {
            text.push_str(&format!("{number}... "));
        }
        text.push_str(&SanPlus::from_move_and_play_unchecked(&mut position, m).to_string());
    }
    text
}

/// The comment on a move, without commands such as arrows.
fn plain_comment(game: &Game, node: NodeId) -> String {
    let mut text = String::new();
    let mut rest = game.notes(node).after.as_str();
    while let Some((plain, command)) = rest.split_once("[%") {
        text.push_str(plain);
        rest = command.split_once(']').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text.trim().to_owned()
}
