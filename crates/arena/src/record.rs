use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Color, KnownOutcome, Position as _};
use tabia_encoding::{ForMover, Score};
use tabia_game::{Evaluation, Game, NodeId, fen_of};

use crate::{PlayedGame, PlayedMove, PlayerId, Rules, ScheduledGame, statistics::Points, uci_of};

/// Result of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GameResult {
    /// White won.
    #[serde(rename = "1-0")]
    WhiteWins,
    /// Black won.
    #[serde(rename = "0-1")]
    BlackWins,
    /// Draw.
    #[serde(rename = "1/2-1/2")]
    Draw,
}

impl GameResult {
    /// Result of a known outcome; `None` for an unfinished game.
    pub fn from_outcome(outcome: shakmaty::Outcome) -> Option<GameResult> {
        Some(match outcome.known()? {
            KnownOutcome::Decisive { winner } => winner.fold_wb(GameResult::WhiteWins, GameResult::BlackWins),
            KnownOutcome::Draw => GameResult::Draw,
        })
    }

    /// Points of a side.
    pub fn points(self, color: Color) -> Points {
        let white = match self {
            GameResult::WhiteWins => Points::Win,
            GameResult::BlackWins => Points::Loss,
            GameResult::Draw => Points::Draw,
        };
        color.fold_wb(white, white.inverted())
    }
}

/// A finished game in a ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRecord {
    /// Game number.
    pub game: u32,
    /// Pair number.
    pub pair: u32,
    /// Index of the opening.
    pub opening: usize,
    /// Name of the opening, or its FEN.
    pub opening_label: String,
    /// Position after the opening.
    pub fen: String,
    /// Player with White.
    pub white: PlayerId,
    /// Player with Black.
    pub black: PlayerId,
    /// Result.
    pub result: GameResult,
    /// Why the game ended.
    pub reason: String,
    /// Whether a player lost by a forfeit.
    pub by_fault: bool,
    /// Moves after the opening in UCI notation.
    pub moves: Vec<String>,
}

impl GameRecord {
    /// `None` for a game without a result.
    pub fn of(scheduled: &ScheduledGame, played: &PlayedGame) -> Option<GameRecord> {
        Some(GameRecord {
            game: scheduled.game,
            pair: scheduled.pair,
            opening: scheduled.opening,
            opening_label: played.opening.label(),
            fen: fen_of(played.opening.position()),
            white: scheduled.players.white,
            black: scheduled.players.black,
            result: GameResult::from_outcome(played.outcome.result())?,
            reason: played.reason(),
            by_fault: played.forfeit.is_some(),
            moves: played.uci_moves(),
        })
    }

    /// Player with a colour.
    pub fn player(&self, color: Color) -> PlayerId {
        color.fold_wb(self.white, self.black)
    }

    /// Colour of a player.
    pub fn color_of(&self, player: PlayerId) -> Option<Color> {
        Color::ALL.into_iter().find(|color| self.player(*color) == player)
    }

    /// Points of a player.
    pub fn points_of(&self, player: PlayerId) -> Option<Points> {
        self.color_of(player).map(|color| self.result.points(color))
    }
}

/// PGN tags that do not follow from the moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgnTags {
    /// Event.
    pub event: String,
    /// Date such as `2026.01.31`; may be empty.
    pub date: String,
    /// Pair number and game number within the pair, such as `12.1`.
    pub round: String,
    /// Player names.
    pub names: ByColor<String>,
    /// Time controls of both sides; may be empty.
    pub time_controls: ByColor<String>,
}

impl PgnTags {
    pub(crate) fn new(
        event: &str,
        date: &str,
        scheduled: &ScheduledGame,
        names: ByColor<String>,
        rules: &Rules,
    ) -> PgnTags {
        PgnTags {
            event: event.to_owned(),
            date: date.to_owned(),
            round: format!("{}.{}", scheduled.pair + 1, scheduled.game % 2 + 1),
            names,
            time_controls: rules
                .seated(scheduled.players)
                .budget
                .controls()
                .map(|controls| controls.map(ToString::to_string))
                .unwrap_or_default(),
        }
    }
}

impl PlayedGame {
    /// The game as PGN with score and depth (`[%eval]`), clock (`[%clk]`), time (`[%emt]`), nodes and MultiPV lines.
    pub fn to_pgn(&self, tags: &PgnTags) -> Game {
        let mut game = Game::from_position(self.opening.start().clone());
        let mut set = |name, value: &str| {
            if !value.is_empty() {
                game.headers.set(name, value).expect("a valid tag name");
            }
        };
        set("Event", &tags.event);
        set("Date", &tags.date);
        set("Round", &tags.round);
        set("White", &tags.names.white);
        set("Black", &tags.names.black);
        let ByColor { white, black } = &tags.time_controls;
        if white == black {
            set("TimeControl", white);
        } else {
            set("WhiteTimeControl", white);
            set("BlackTimeControl", black);
        }
        set("Opening", &self.opening.name);
        let mut at = NodeId::ROOT;
        for m in self.opening.moves() {
            at = game.add_move(at, *m).expect("opening moves are legal");
        }
        if !self.opening.moves().is_empty() {
            game.notes_mut(at).after = "end of book".to_owned();
        }
        let mut turn = self.opening.position().turn();
        for played in &self.moves {
            at = game.add_move(at, played.mv).expect("played moves are legal");
            let notes = game.notes_mut(at);
            notes.evaluation = played.score().map(|score| Evaluation {
                score: score.for_white(turn),
                depth: played.lines.first().map(|line| line.depth).filter(|depth| *depth > 0),
            });
            notes.clock = played.clock.map(in_milliseconds);
            notes.elapsed = Some(in_milliseconds(played.elapsed)).filter(|time| !time.is_zero());
            notes.after = self.comment(played);
            turn = !turn;
        }
        game.finish(self.outcome);
        if self.forfeit.is_some() {
            let last = game.last();
            let notes = game.notes_mut(last);
            let separator = if notes.after.is_empty() { "" } else { "; " };
            notes.after = format!("{}{separator}{}", notes.after, self.reason());
        }
        game
    }

    /// Nodes, and the lines if there are several or they have probabilities.
    fn comment(&self, played: &PlayedMove) -> String {
        let mut parts = Vec::new();
        if played.nodes > 0 {
            parts.push(format!("nodes {}", played.nodes));
        }
        let with_lines = played.lines.len() > 1 || played.lines.iter().any(|line| line.probability.is_some());
        for line in played.lines.iter().filter(|_| with_lines) {
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
