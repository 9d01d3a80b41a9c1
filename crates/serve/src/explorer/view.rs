//! JSON view of a position.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::Serialize;
use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::{ByColor, CastlingMode, Chess, Color, EnPassantMode, Move, Position as _};
use tabia_data::stats::{Category as _, Phase, Pool};
use tabia_data::{AnyRecord, GameHead, LabelStrategy, PositionIndex, RecordIndex, entropy};
use tabia_encoding::{ForWhite, Score};

use super::filter::PositionFacts;

/// A position of a record with its training labels.
pub(super) struct Sample {
    position: Chess,
    ply: u32,
    last: Option<Move>,
    labels: Vec<(Move, f32)>,
    rating: Option<u16>,
    depth: Option<u8>,
}

impl Sample {
    /// The position of `record` after `ply` moves.
    pub(super) fn new(record: &AnyRecord, ply: u32, strategy: LabelStrategy) -> Sample {
        match record {
            AnyRecord::Game(game) => {
                let mut position = game.start.clone();
                let before = usize::try_from(ply).unwrap_or(usize::MAX);
                for played in game.plies.iter().take(before) {
                    position.play_unchecked(played.played);
                }
                let rating = game.head.ratings[position.turn()];
                Sample {
                    ply,
                    last: before.checked_sub(1).and_then(|last| Some(game.plies.get(last)?.played)),
                    labels: game.plies.get(before).map(|next| (next.played, 1.0)).into_iter().collect(),
                    rating: rating.map(|elo| elo.0),
                    depth: None,
                    position,
                }
            }
            AnyRecord::Evaluation(analysed) => Sample {
                position: analysed.position.clone(),
                ply: 0,
                last: None,
                labels: strategy.labels(analysed),
                rating: None,
                depth: analysed.sessions.iter().map(|session| session.depth).max(),
            },
        }
    }

    pub(super) fn facts(&self) -> PositionFacts {
        PositionFacts {
            rating: self.rating,
            phase: Phase::of(self.position.board()),
            depth: self.depth,
            // Played moves are one-hot: only engine labels have an entropy.
            entropy: self.depth.map(|_| entropy(&self.labels)),
            ply: self.ply,
        }
    }
}

#[derive(Serialize)]
pub(super) struct PositionView {
    set: String,
    index: u64,
    record: u64,
    ply: u32,
    fen: String,
    /// `white` or `black`.
    turn: &'static str,
    phase: &'static str,
    last_move: Option<String>,
    /// Training target: moves with probabilities that sum to 1, most probable first.
    labels: Vec<Label>,
    /// Entropy of the labels in nats.
    entropy: f32,
    #[serde(skip_serializing_if = "Option::is_none")]
    game: Option<GameView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<SessionView>,
}

#[derive(Serialize)]
struct Label {
    uci: String,
    san: String,
    probability: f32,
    #[serde(flatten)]
    score: Option<ScoreView>,
}

/// Engine score from White's point of view: centipawns, or moves to mate.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum ScoreView {
    Cp(i32),
    Mate(i32),
}

#[derive(Serialize)]
struct GameView {
    white_elo: Option<u16>,
    black_elo: Option<u16>,
    pool: &'static str,
    base_s: Option<f64>,
    increment_s: Option<f64>,
    result: &'static str,
    plies: usize,
    /// Clocks before the move, in seconds.
    white_clock_s: Option<f64>,
    black_clock_s: Option<f64>,
    /// Engine evaluation after the move.
    #[serde(flatten)]
    evaluation: Option<ScoreView>,
}

#[derive(Serialize)]
struct SessionView {
    depth: u8,
    knodes: u64,
    lines: Vec<LineView>,
}

#[derive(Serialize)]
struct LineView {
    uci: String,
    san: String,
    #[serde(flatten)]
    score: ScoreView,
}

impl PositionView {
    pub(super) fn new(
        set: &str,
        index: PositionIndex,
        at: RecordIndex,
        sample: &Sample,
        record: &AnyRecord,
    ) -> PositionView {
        let mut labels: Vec<Label> = sample
            .labels
            .iter()
            .map(|&(m, probability)| Label {
                uci: uci(m),
                san: san(&sample.position, m),
                probability,
                score: best_score(record, m).map(ScoreView::of),
            })
            .collect();
        labels.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        let (game, sessions) = match record {
            AnyRecord::Game(game) => (Some(GameView::of(game, sample.ply)), Vec::new()),
            AnyRecord::Evaluation(analysed) => {
                let session = |session: &tabia_data::Session| SessionView {
                    depth: session.depth,
                    knodes: session.knodes,
                    lines: session
                        .lines
                        .iter()
                        .map(|line| LineView {
                            uci: uci(line.first),
                            san: san(&sample.position, line.first),
                            score: ScoreView::of(line.score),
                        })
                        .collect(),
                };
                (None, analysed.sessions.iter().map(session).collect())
            }
        };
        PositionView {
            set: set.to_owned(),
            index: index.0,
            record: at.0,
            ply: sample.ply,
            fen: Fen::from_position(&sample.position, EnPassantMode::Legal).to_string(),
            turn: sample.position.turn().fold_wb("white", "black"),
            phase: Phase::of(sample.position.board()).label(),
            last_move: sample.last.map(uci),
            entropy: entropy(&sample.labels),
            labels,
            game,
            sessions,
        }
    }
}

/// Score of a move in the first session that contains it.
fn best_score(record: &AnyRecord, m: Move) -> Option<ForWhite<Score>> {
    let AnyRecord::Evaluation(analysed) = record else { return None };
    let lines = analysed.sessions.iter().flat_map(|session| &session.lines);
    lines.into_iter().find(|line| line.first == m).map(|line| line.score)
}

impl ScoreView {
    fn of(score: ForWhite<Score>) -> ScoreView {
        match score.0 {
            Score::Centipawns(cp) => ScoreView::Cp(cp),
            Score::Mate(moves) => ScoreView::Mate(moves.get()),
        }
    }
}

impl GameView {
    fn of(game: &tabia_data::GameRecord, ply: u32) -> GameView {
        let GameHead { ratings, pool, pace, result, .. } = game.head;
        let before = usize::try_from(ply).unwrap_or(usize::MAX);
        // A clock shows its value after the player's last move, initially the base time.
        let mut clocks = ByColor::new_with(|_| pace.map(|pace| pace.base));
        let mut turn = game.start.turn();
        for played in game.plies.iter().take(before) {
            clocks[turn] = played.clock;
            turn = !turn;
        }
        GameView {
            white_elo: ratings.white.map(|elo| elo.0),
            black_elo: ratings.black.map(|elo| elo.0),
            pool: Pool(pool).label(),
            base_s: pace.map(|pace| pace.base.as_secs_f64()),
            increment_s: pace.map(|pace| pace.increment.as_secs_f64()),
            result: match result {
                Some(Some(Color::White)) => "1-0",
                Some(Some(Color::Black)) => "0-1",
                Some(None) => "1/2-1/2",
                None => "*",
            },
            plies: game.plies.len(),
            white_clock_s: clocks.white.map(|clock| clock.as_secs_f64()),
            black_clock_s: clocks.black.map(|clock| clock.as_secs_f64()),
            evaluation: game.plies.get(before).and_then(|next| next.evaluation).map(ScoreView::of),
        }
    }
}

fn uci(m: Move) -> String {
    UciMove::from_move(m, CastlingMode::Standard).to_string()
}

fn san(position: &Chess, m: Move) -> String {
    SanPlus::from_move(position.clone(), m).to_string()
}
