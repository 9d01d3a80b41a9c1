use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Color, KnownOutcome, Position as _};
use tabia_encoding::{ForMover, Score};
use tabia_game::{Evaluation, Game, NodeId, fen_of};

use crate::{Fixture, PlayedGame, PlayedMove, PlayerId, statistics::Points, uci_of};

/// Who took the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GameResult {
    /// White won.
    #[serde(rename = "1-0")]
    WhiteWins,
    /// Black won.
    #[serde(rename = "0-1")]
    BlackWins,
    /// Nobody did.
    #[serde(rename = "1/2-1/2")]
    Draw,
}

impl GameResult {
    /// The result of a finished game; `None` where there is none.
    pub fn from_outcome(outcome: shakmaty::Outcome) -> Option<GameResult> {
        match outcome {
            shakmaty::Outcome::Known(KnownOutcome::Decisive { winner: Color::White }) => {
                Some(GameResult::WhiteWins)
            }
            shakmaty::Outcome::Known(KnownOutcome::Decisive { winner: Color::Black }) => {
                Some(GameResult::BlackWins)
            }
            shakmaty::Outcome::Known(KnownOutcome::Draw) => Some(GameResult::Draw),
            shakmaty::Outcome::Unknown => None,
        }
    }

    /// What a side takes from the game.
    pub fn points(self, color: Color) -> Points {
        let white = match self {
            GameResult::WhiteWins => Points::Win,
            GameResult::BlackWins => Points::Loss,
            GameResult::Draw => Points::Draw,
        };
        color.fold_wb(white, white.of_opponent())
    }
}

/// A finished game as a ledger keeps it: all that reports need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRecord {
    /// The number of the game.
    pub game: u32,
    /// The number of its pair.
    pub pair: u32,
    /// The opening, by place in the set.
    pub opening: usize,
    /// The opening's name, or else its FEN.
    pub opening_label: String,
    /// The position in which the players began to think.
    pub fen: String,
    /// Who had White.
    pub white: PlayerId,
    /// Who had Black.
    pub black: PlayerId,
    /// Who took the point.
    pub result: GameResult,
    /// Why the game ended, in a few words.
    pub reason: String,
    /// Whether a player lost by an illegal move, an error, a crash or on time.
    pub by_fault: bool,
    /// The moves after the opening, in UCI notation.
    pub moves: Vec<String>,
}

impl GameRecord {
    /// `None` for a game without a result.
    pub fn of(fixture: &Fixture, played: &PlayedGame) -> Option<GameRecord> {
        Some(GameRecord {
            game: fixture.game,
            pair: fixture.pair,
            opening: fixture.opening,
            opening_label: played.opening.label(),
            fen: fen_of(played.opening.position()),
            white: fixture.players.white,
            black: fixture.players.black,
            result: GameResult::from_outcome(played.outcome.result())?,
            reason: played.reason(),
            by_fault: played.fault.is_some(),
            moves: played.uci_moves(),
        })
    }

    /// Who had a colour.
    pub fn player(&self, color: Color) -> PlayerId {
        color.fold_wb(self.white, self.black)
    }

    /// The colour a player had, if it played.
    pub fn color_of(&self, player: PlayerId) -> Option<Color> {
        Color::ALL.into_iter().find(|color| self.player(*color) == player)
    }

    /// What a player took from the game, if it played.
    pub fn points_of(&self, player: PlayerId) -> Option<Points> {
        self.color_of(player).map(|color| self.result.points(color))
    }
}

/// The tags of a game that do not come from the game itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgnTags {
    /// What the run is called.
    pub event: String,
    /// When, as `2026.01.31`; unknown when empty.
    pub date: String,
    /// The number of the pair and of the game in it, `12.1`.
    pub round: String,
    /// The players' names.
    pub names: ByColor<String>,
    /// The clocks' control; unknown when empty.
    pub time_control: String,
}

impl PlayedGame {
    /// The game as PGN: each move with the player's score and depth (`[%eval]`), clock (`[%clk]`), time used (`[%emt]`),
    /// nodes, and its other candidates.
    pub fn to_pgn(&self, tags: &PgnTags) -> Game {
        let mut game = Game::from_position(self.opening.start().clone());
        let mut set = |name, value: &str| {
            if !value.is_empty() {
                game.headers.set(name, value).expect("a plain word can be a tag's name");
            }
        };
        set("Event", &tags.event);
        set("Date", &tags.date);
        set("Round", &tags.round);
        set("White", &tags.names.white);
        set("Black", &tags.names.black);
        set("TimeControl", &tags.time_control);
        set("Opening", &self.opening.name);
        let mut at = NodeId::ROOT;
        for m in self.opening.moves() {
            at = game.add_move(at, *m).expect("an opening's moves are legal");
        }
        if !self.opening.moves().is_empty() {
            game.notes_mut(at).after = "end of book".to_owned();
        }
        let mut turn = self.opening.position().turn();
        for played in &self.moves {
            at = game.add_move(at, played.mv).expect("a played move is legal");
            let notes = game.notes_mut(at);
            notes.evaluation = played.score().map(|score| Evaluation {
                score: score.for_white(turn),
                depth: played.lines.first().map(|line| line.depth).filter(|depth| *depth > 0),
            });
            notes.clock = played.clock.map(in_milliseconds);
            notes.elapsed = Some(in_milliseconds(played.elapsed)).filter(|time| !time.is_zero());
            notes.after = self.remarks(played);
            turn = !turn;
        }
        game.finish(self.outcome);
        if self.fault.is_some() {
            let last = game.last();
            let notes = game.notes_mut(last);
            let separator = if notes.after.is_empty() { "" } else { "; " };
            notes.after = format!("{}{separator}{}", notes.after, self.reason());
        }
        game
    }

    /// Nodes, and the candidates when there are several or they have probabilities.
    fn remarks(&self, played: &PlayedMove) -> String {
        let mut parts = Vec::new();
        if played.nodes > 0 {
            parts.push(format!("nodes {}", played.nodes));
        }
        let shows = played.lines.len() > 1 || played.lines.iter().any(|line| line.probability.is_some());
        for line in played.lines.iter().filter(|_| shows) {
            let Some(first) = line.moves.first() else { continue };
            let mut text = uci_of(*first, self.opening.start());
            if let Some(probability) = line.probability {
                text.push_str(&format!(" {:.1}%", 100.0 * probability));
            }
            if let Some(ForMover(score)) = line.score {
                text.push_str(&match score {
                    Score::Centipawns(cp) => format!(" {:+.2}", f64::from(cp) / 100.0),
                    Score::Mate(moves) => format!(" #{moves}"),
                });
            }
            parts.push(text);
        }
        parts.join("; ")
    }
}

fn in_milliseconds(time: std::time::Duration) -> std::time::Duration {
    std::time::Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}
