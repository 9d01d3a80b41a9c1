//! What I play in the opening, and how much of what people play it answers.

use std::collections::HashMap;

use serde::Serialize;
use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, Move, Position, san::SanPlus, zobrist::Zobrist64};
use tabia_game::{Game, History, NodeId, fen_of};

use crate::deck::{Answer, CardKind, NewCard, Origin};

/// The moves of one side, by position. Transpositions share what is prepared.
#[derive(Clone, Debug)]
pub struct Repertoire {
    color: Color,
    name: String,
    /// Positions in which it is my move, in the order of the games.
    entries: Vec<Entry>,
    by_position: HashMap<u64, usize>,
}

#[derive(Clone, Debug)]
struct Entry {
    position: Chess,
    /// The line that leads there, for people.
    line: Vec<Move>,
    start: Chess,
    /// The first is the main one.
    prepared: Vec<Move>,
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
}

/// How far to walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoverageLimits {
    /// Half-moves from the start.
    pub plies: usize,
    /// Lines rarer than this are not followed.
    pub min_probability: f64,
}

impl Default for CoverageLimits {
    fn default() -> CoverageLimits {
        CoverageLimits { plies: 24, min_probability: 0.001 }
    }
}

/// What share of games a repertoire answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The share of games in which every reply was prepared for, down to where the repertoire ends.
    pub covered: f64,
    /// The mean number of my prepared moves in a game.
    pub moves: f64,
    /// Unprepared replies, the likeliest first.
    pub holes: Vec<Hole>,
    /// The share of games in lines too rare to be followed.
    pub unknown: f64,
}

/// A reply that the repertoire does not answer, in a position where it answers others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Hole {
    /// The share of games that come here.
    pub probability: f64,
    /// The position, with me to move.
    pub fen: String,
    /// The moves that lead here, in SAN.
    pub line: Vec<String>,
    /// The same in UCI notation.
    pub uci: Vec<String>,
}

impl Repertoire {
    /// The moves of `color` in games with variations. Every variation is prepared; the first move of a position is its main
    /// one.
    pub fn new<'a>(color: Color, name: &str, games: impl IntoIterator<Item = &'a Game>) -> Repertoire {
        let mut repertoire =
            Repertoire { color, name: name.to_owned(), entries: Vec::new(), by_position: HashMap::new() };
        for game in games {
            repertoire.add(game);
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
                let moves: Vec<_> = children.iter().map(|&(_, m)| m).collect();
                self.prepare(game.start(), &position, &line, &moves);
            }
            for (child, m) in children.into_iter().rev() {
                let mut after = position.clone();
                after.play_unchecked(m);
                stack.push((child, after, joined(&line, m)));
            }
        }
    }

    fn prepare(&mut self, start: &Chess, position: &Chess, line: &[Move], moves: &[Move]) {
        if moves.is_empty() {
            return;
        }
        let index = *self.by_position.entry(key(position)).or_insert(self.entries.len());
        if index == self.entries.len() {
            let (position, line, start) = (position.clone(), line.to_vec(), start.clone());
            self.entries.push(Entry { position, line, start, prepared: Vec::new() });
        }
        let prepared = &mut self.entries[index].prepared;
        for &m in moves {
            if !prepared.contains(&m) {
                prepared.push(m);
            }
        }
    }

    /// My side.
    pub fn color(&self) -> Color {
        self.color
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
    pub fn prepared(&self, position: &Chess) -> &[Move] {
        self.by_position.get(&key(position)).map_or(&[], |&index| &self.entries[index].prepared)
    }

    /// A card for every position with a prepared move.
    pub fn cards(&self) -> Vec<NewCard> {
        let card = |entry: &Entry| {
            let uci = |m: &Move| m.to_uci(CastlingMode::Standard).to_string();
            let answers = entry
                .prepared
                .iter()
                .map(|m| Answer { uci: uci(m), chance: None, line: Vec::new() })
                .collect();
            let ply = u32::try_from(entry.line.len() + 1).ok();
            NewCard {
                kind: CardKind::Repertoire,
                fen: fen_of(&entry.position),
                answers,
                played: None,
                loss: 0.0,
                peers: Vec::new(),
                stronger: Vec::new(),
                opening: Some(self.name.clone()),
                phase: None,
                origin: Some(Origin { source: sans(&entry.start, &entry.line).join(" "), ply }),
            }
        };
        self.entries.iter().map(card).collect()
    }

    /// The first of my moves that left the repertoire, in the game that begins at `start`.
    pub fn deviation(&self, start: &Chess, moves: &[Move]) -> Option<Deviation> {
        let mut position = start.clone();
        for (index, &m) in moves.iter().enumerate() {
            if position.turn() == self.color {
                let prepared = self.prepared(&position);
                if !prepared.is_empty() && !prepared.contains(&m) {
                    let san = |m: Move| SanPlus::from_move(position.clone(), m).to_string();
                    return Some(Deviation {
                        ply: index + 1,
                        played: san(m),
                        prepared: prepared.iter().map(|&m| san(m)).collect(),
                        line: self.main_line(&position),
                    });
                }
            }
            position.play_unchecked(m);
        }
        None
    }

    /// The main line from a position with a prepared move, in SAN: my main moves and the first reply I have an answer to.
    fn main_line(&self, position: &Chess) -> Vec<String> {
        const LONGEST: usize = 12;
        let (mut position, mut line) = (position.clone(), Vec::new());
        while line.len() < LONGEST {
            let next = if position.turn() == self.color {
                self.prepared(&position).first().copied()
            } else {
                self.first_answered(&position)
            };
            let Some(m) = next else { break };
            line.push(SanPlus::from_move_and_play_unchecked(&mut position, m).to_string());
        }
        line
    }

    /// Walks what people play against the main moves. `replies` is the probability of each move of the opponent.
    ///
    /// # Errors
    /// Those of `replies`.
    pub fn coverage<E>(
        &self,
        start: &History,
        limits: CoverageLimits,
        mut replies: impl FnMut(&History) -> Result<Vec<(Move, f32)>, E>,
    ) -> Result<Coverage, E> {
        let mut coverage = Coverage { covered: 0.0, moves: 0.0, holes: Vec::new(), unknown: 0.0 };
        let first = start.current().clone();
        let mut stack = vec![(start.clone(), Vec::new(), 1.0)];
        while let Some((history, line, probability)) = stack.pop() {
            let position = history.current().clone();
            if line.len() >= limits.plies || position.is_game_over() {
                coverage.covered += probability;
                continue;
            }
            if position.turn() == self.color {
                match self.prepared(&position).first() {
                    Some(&m) => {
                        coverage.moves += probability;
                        stack.push((after(&history, m), joined(&line, m), probability));
                    }
                    None if line.is_empty() => coverage.unknown += probability,
                    None => coverage.holes.push(hole(&first, &line, &position, probability)),
                }
                continue;
            }
            if self.first_answered(&position).is_none() {
                // The repertoire ends here on purpose.
                coverage.covered += probability;
                continue;
            }
            if probability < limits.min_probability {
                coverage.unknown += probability;
                continue;
            }
            for (m, share) in replies(&history)? {
                let probability = probability * f64::from(share);
                if probability > 0.0 {
                    stack.push((after(&history, m), joined(&line, m), probability));
                }
            }
        }
        coverage.holes.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Ok(coverage)
    }

    /// A reply to this position that I have an answer to.
    fn first_answered(&self, position: &Chess) -> Option<Move> {
        position.legal_moves().into_iter().find(|&m| {
            let mut after = position.clone();
            after.play_unchecked(m);
            !self.prepared(&after).is_empty()
        })
    }
}

fn key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

fn after(history: &History, m: Move) -> History {
    let mut history = history.clone();
    history.push(m, None);
    history
}

fn joined(line: &[Move], m: Move) -> Vec<Move> {
    [line, &[m]].concat()
}

fn sans(start: &Chess, line: &[Move]) -> Vec<String> {
    let mut position = start.clone();
    line.iter().map(|&m| SanPlus::from_move_and_play_unchecked(&mut position, m).to_string()).collect()
}

fn hole(start: &Chess, line: &[Move], position: &Chess, probability: f64) -> Hole {
    Hole {
        probability,
        fen: fen_of(position),
        line: sans(start, line),
        uci: line.iter().map(|m| m.to_uci(CastlingMode::Standard).to_string()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::san::San;
    use tabia_game::PgnReader;

    use super::*;

    const PGN: &str = "1. e4 e5 (1... c5 2. Nf3 d6 (2... Nc6 3. d4) 3. d4) 2. Nf3 Nc6 3. Bb5 (3. Bc4) *\n";

    fn repertoire(pgn: &str) -> Repertoire {
        let games: Vec<_> = PgnReader::new(pgn.as_bytes()).map(|game| game.unwrap()).collect();
        Repertoire::new(Color::White, "Mine", &games)
    }

    fn start() -> History {
        History::at_start_of(&Game::default())
    }

    fn moves(line: &str) -> Vec<Move> {
        let mut position = Chess::default();
        let play = |san: &str| {
            let m = san.parse::<San>().unwrap().to_move(&position).unwrap();
            position.play_unchecked(m);
            m
        };
        line.split_whitespace().map(play).collect()
    }

    /// Every second game goes on with e5, the others with c5, d5 and so on.
    fn half(history: &History) -> Result<Vec<(Move, f32)>, ()> {
        let position = history.current();
        let replies: &[(&str, f32)] = match position.fullmoves().get() {
            1 => &[("e5", 0.5), ("c5", 0.3), ("d5", 0.2)],
            _ => &[("Nc6", 0.75), ("d6", 0.25)],
        };
        Ok(replies
            .iter()
            .map(|(san, share)| (san.parse::<San>().unwrap().to_move(position).unwrap(), *share))
            .collect())
    }

    #[test]
    fn variations_are_prepared_and_the_first_move_is_the_main_one() {
        let mine = repertoire(PGN);
        assert_eq!(mine.len(), 6);
        let mut position = Chess::default();
        for m in moves("e4 e5 Nf3 Nc6") {
            position.play_unchecked(m);
        }
        let prepared: Vec<_> =
            mine.prepared(&position).iter().map(|&m| San::from_move(&position, m).to_string()).collect();
        assert_eq!(prepared, ["Bb5", "Bc4"]);
        assert_eq!(mine.cards().len(), 6);
        assert!(mine.cards().iter().all(|card| !card.answers.is_empty()));
    }

    #[test]
    fn transpositions_share_what_is_prepared() {
        let mine = repertoire("1. d4 Nf6 2. c4 e6 3. Nc3 *\n\n1. c4 Nf6 2. d4 *\n");
        let mut position = Chess::default();
        for m in moves("c4 Nf6 d4 e6") {
            position.play_unchecked(m);
        }
        assert_eq!(mine.prepared(&position).len(), 1);
    }

    #[test]
    fn leaving_the_repertoire_is_shown_with_the_prepared_line() {
        let mine = repertoire(PGN);
        assert_eq!(
            mine.deviation(&Chess::default(), &moves("e4 e5 Nf3 Nc6 Bc4")),
            None,
            "a variation is prepared"
        );
        assert_eq!(
            mine.deviation(&Chess::default(), &moves("e4 d5 exd5")),
            None,
            "there the opponent left it"
        );
        let deviation = mine.deviation(&Chess::default(), &moves("e4 c5 d4 cxd4")).unwrap();
        assert_eq!((deviation.ply, deviation.played.as_str()), (3, "d4"));
        assert_eq!(deviation.prepared, ["Nf3"]);
        assert_eq!(deviation.line[0], "Nf3");
    }

    #[test]
    fn coverage_is_the_share_of_games_with_an_answer_to_every_reply() {
        let mine = repertoire(PGN);
        let coverage = mine.coverage(&start(), CoverageLimits::default(), half).unwrap();
        // e5 Nc6 and both replies to c5 are answered; d5, and d6 after e5, are not.
        assert!((coverage.covered - (0.5 * 0.75 + 0.3)).abs() < 1e-6, "{coverage:?}");
        let holes: Vec<_> = coverage.holes.iter().map(|hole| hole.line.join(" ")).collect();
        assert_eq!(holes, ["e4 d5", "e4 e5 Nf3 d6"]);
        assert!((coverage.holes[0].probability - 0.2).abs() < 1e-6);
        assert!((coverage.holes[1].probability - 0.125).abs() < 1e-6);
        let all: f64 = coverage.holes.iter().map(|hole| hole.probability).sum::<f64>()
            + coverage.covered
            + coverage.unknown;
        assert!((all - 1.0).abs() < 1e-6);
    }

    #[test]
    fn rare_lines_are_not_followed() {
        let limits = CoverageLimits { min_probability: 0.4, ..CoverageLimits::default() };
        let coverage = repertoire(PGN).coverage(&start(), limits, half).unwrap();
        assert!((coverage.unknown - 0.3).abs() < 1e-6, "{coverage:?}");
    }

    #[test]
    fn an_empty_repertoire_covers_nothing() {
        let coverage = repertoire("").coverage(&start(), CoverageLimits::default(), half).unwrap();
        assert_eq!((coverage.covered, coverage.holes.len(), coverage.unknown), (0.0, 0, 1.0));
    }
}
