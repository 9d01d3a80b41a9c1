//! Game review, one move at a time.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;
use shakmaty::{ByColor, Color, Position as _};
use tabia_encoding::{RatingPool, parse_uci};
use tabia_game::Phase;
use tabia_players::{Limits, SearchControl};
use tabia_practice::{
    ESTIMATED, GameMove, MIN_MOVES, MIN_PHASE_MOVES, Mark, RatingEstimate, RatingEvidence, RatingModel,
    ReviewInProgress, ReviewSettings, Reviewer, WhiteScore, game_accuracy,
};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Engine, Fault, GameInput, Opinion,
    engine::input::{duration, elo},
    stopwatch::Stopwatch,
};

/// The share of the time of a move that the search of its position takes, and that after each move that people play. Two or
/// three of those are searched on average, so that a move takes the time given, besides the network.
const POSITION_SHARE: f64 = 0.7;
const CANDIDATE_SHARE: f64 = 0.1;

/// The review of a move.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedMove {
    /// Plies from the start, this one included.
    pub ply: u32,
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// The evaluation before the move, from White's point of view.
    pub before: Opinion,
    /// The evaluation after the move; a mate on the board is a mate in one.
    pub after: Opinion,
    /// The best move in UCI notation.
    pub best: String,
    /// The same in algebraic notation.
    pub best_san: String,
    /// The mover's winning chance before the move.
    pub win_before: f64,
    /// The winning chance after the move.
    pub win_after: f64,
    /// The probability that a person of the rating plays the move.
    pub probability: f32,
    /// The probability of the best move.
    pub best_probability: f32,
    /// Its mark.
    pub mark: MoveMark,
    /// Whether it is a bad move that most people of the rating would play, or one where most of them would err.
    pub understandable: bool,
    /// The probability that a person of the rating errs here: loses 10 points of winning chance or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub errs: Option<f64>,
    /// The winning chance that a person of the rating loses here on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub peer_loss: Option<f64>,
    /// The rating from which most people find a good move here; 600 if all do, missing if nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub found_from: Option<u16>,
}

/// What a review says about the whole game.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ReviewSummary {
    /// White's side.
    pub white: SideSummary,
    /// Black's side.
    pub black: SideSummary,
    /// The ratings of the curves.
    pub ratings: Vec<u16>,
    /// Whose ratings the estimates are: those of Lichess, Chess.com or FIDE.
    pub scale: String,
}

/// A player's side of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SideSummary {
    /// Its accuracy, from 0 to 100; missing without moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub accuracy: Option<f64>,
    /// Moves with a choice, by which the rating is estimated; 0 if the network does not use ratings.
    pub moves: u32,
    /// The rating that the side played like; missing after too few moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub played_like: Option<PlayedLike>,
    /// The probability of each rating; empty after too few moves.
    pub curve: Vec<f32>,
    /// The opening, the middlegame and the endgame.
    pub phases: Vec<PhaseSummary>,
}

/// A phase of a side.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct PhaseSummary {
    /// `opening`, `middlegame` or `endgame`.
    pub name: String,
    /// Moves with a choice.
    pub moves: u32,
    /// The rating that the side played like; missing after too few moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub played_like: Option<PlayedLike>,
}

/// An estimated rating and its 95% interval, in tens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct PlayedLike {
    /// The estimate.
    pub rating: u16,
    /// Lower bound.
    pub low: u16,
    /// Upper bound.
    pub high: u16,
}

impl From<&RatingEstimate> for PlayedLike {
    fn from(estimate: &RatingEstimate) -> PlayedLike {
        let [rating, low, high] = estimate.in_tens();
        PlayedLike { rating, low, high }
    }
}

/// The mark of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum MoveMark {
    /// None.
    #[serde(rename = "")]
    None,
    /// It lost a little.
    Inaccuracy,
    /// It lost much.
    Mistake,
    /// It may have lost the game.
    Blunder,
    /// The only good move, and few people play it.
    Good,
    /// The only good move by far, and hardly anybody plays it.
    Brilliant,
    /// The only good move was missed, as most people would.
    HardToFind,
}

impl From<Mark> for MoveMark {
    fn from(mark: Mark) -> MoveMark {
        match mark {
            Mark::None => MoveMark::None,
            Mark::Inaccuracy => MoveMark::Inaccuracy,
            Mark::Mistake => MoveMark::Mistake,
            Mark::Blunder => MoveMark::Blunder,
            Mark::Good => MoveMark::Good,
            Mark::Brilliant => MoveMark::Brilliant,
            Mark::HardToFind => MoveMark::HardToFind,
        }
    }
}

/// The moves of a player that an estimate of the rating needs.
#[wasm_bindgen(js_name = movesForEstimate)]
pub fn moves_for_estimate() -> u32 {
    MIN_MOVES
}

/// A review in progress. It needs the model `value` and one with a policy head.
#[wasm_bindgen]
pub struct Review {
    /// One per thread, as long as there are threads.
    reviewers: Vec<Reviewer>,
    game: ReviewInProgress,
    total: u32,
    pool: RatingPool,
    /// Who made each move, and the mover's winning chance before and after it.
    chances: Vec<(Color, f64, f64)>,
}

#[wasm_bindgen]
impl Review {
    /// A review for people of a rating, by a model with a policy head, with this much engine time per position.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        game: &Ts<GameInput>,
        model: &str,
        rating: Option<f64>,
        #[wasm_bindgen(js_name = secondsPerMove)] seconds_per_move: f64,
    ) -> Result<Review, Fault> {
        Review::of(engine, &game.to_rust()?, model, rating, duration("secondsPerMove", seconds_per_move)?)
    }

    /// The number of moves.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Reviews the next moves, as many as there are threads; none at the end.
    pub fn step(&mut self) -> Result<Vec<Ts<ReviewedMove>>, Fault> {
        self.next()?.into_iter().map(|reviewed| Ok(reviewed.into_ts()?)).collect()
    }

    /// Accuracy and estimated ratings of both sides, by the moves reviewed so far.
    pub fn summary(&self) -> Result<Ts<ReviewSummary>, Fault> {
        Ok(self.summarise().into_ts()?)
    }
}

impl Review {
    fn next(&mut self) -> Result<Vec<ReviewedMove>, Fault> {
        let clock = || -> Box<dyn SearchControl> { Box::new(Stopwatch::start()) };
        let reviewed = Reviewer::step_together(&mut self.reviewers, &mut self.game, &clock)?;
        let chances = reviewed.iter().map(|one| (one.color, one.win_before, one.win_after));
        self.chances.extend(chances);
        Ok(reviewed.into_iter().map(ReviewedMove::from).collect())
    }

    fn summarise(&self) -> ReviewSummary {
        let evidence = ByColor::new_with(|color| self.game.evidence(color));
        ReviewSummary::new(self.pool, evidence, &self.chances)
    }

    fn of(
        engine: &Engine,
        game: &GameInput,
        model: &str,
        rating: Option<f64>,
        time: Duration,
    ) -> Result<Review, Fault> {
        let before_first = GameInput { moves: Vec::new(), ..game.clone() };
        // What the clocks show now is not what they showed then.
        let seats = [game.white, game.black].map(|seat| crate::PlayerInput { remaining: None, ..seat });
        let [white, black] = seats;
        let history = GameInput { white, black, ..before_first }.history()?;
        let mut position = history.current().clone();
        let mut moves = VecDeque::new();
        for (place, uci) in game.moves.iter().enumerate() {
            let at = || format!("move {} of the game", place + 1);
            let played =
                parse_uci(&position, uci).map_err(|error| Fault::new(format!("{}: {error}", at())))?;
            position.play_unchecked(played);
            let clock = game.clocks.as_ref().and_then(|clocks| clocks.get(place).copied().flatten());
            let clock = clock.map(|clock| duration(&at(), clock)).transpose()?;
            moves.push_back(GameMove { played, clock, elapsed: None });
        }
        let rating = rating.map(|rating| elo("rating", rating)).transpose()?;
        // A number alone means what most people mean by it: a rating on a chess site.
        let pool =
            if game.pool.is_none() && rating.is_some() { RatingPool::Online } else { game.rating_pool() };
        let share = |share: f64| Limits { movetime: Some(time.mul_f64(share)), ..Limits::default() };
        let both = ByColor { white: true, black: true };
        let settings = ReviewSettings {
            limits: share(POSITION_SHARE),
            candidate_limits: Some(share(CANDIDATE_SHARE)),
            ratings: ByColor { white: rating, black: rating },
            pool: Some(pool),
            peers: both,
            evidence: both,
        };
        let reviewers: Result<Vec<Reviewer>, Fault> =
            (0..engine.threads()).map(|_| engine.reviewer(model)).collect();
        let mut reviewers = reviewers?;
        let total = u32::try_from(moves.len()).unwrap_or(u32::MAX);
        let game = reviewers[0].start_from(history, moves, settings);
        Ok(Review { reviewers, game, total, pool, chances: Vec::new() })
    }
}

impl ReviewSummary {
    /// By the evidence of both sides, and who made each move with the mover's winning chance before and after it.
    pub(crate) fn new(
        pool: RatingPool,
        evidence: ByColor<&[RatingEvidence; 3]>,
        chances: &[(Color, f64, f64)],
    ) -> ReviewSummary {
        let side = |color: Color| {
            let chances = chances.iter().map(|(mover, before, after)| (*mover == color, *before, *after));
            let accuracy = game_accuracy(&chances.collect::<Vec<_>>());
            SideSummary::new(pool, evidence[color], accuracy)
        };
        ReviewSummary {
            white: side(Color::White),
            black: side(Color::Black),
            ratings: (ESTIMATED.0..=ESTIMATED.1).step_by(usize::from(ESTIMATED.2)).collect(),
            scale: match pool {
                RatingPool::ChessCom => "Chess.com",
                RatingPool::OverTheBoard => "FIDE",
                RatingPool::Lichess | RatingPool::Online | RatingPool::Puzzle | RatingPool::Unknown => {
                    "Lichess"
                }
            }
            .to_owned(),
        }
    }
}

impl SideSummary {
    fn new(pool: RatingPool, parts: &[RatingEvidence; 3], accuracy: Option<f64>) -> SideSummary {
        let model = RatingModel::of(pool);
        let estimate = |evidence: &RatingEvidence, least: u32| {
            (evidence.moves >= least).then(|| evidence.estimate(&model)).flatten()
        };
        let all = RatingEvidence::sum(parts);
        let whole = estimate(&all, MIN_MOVES);
        let phases = [Phase::Opening, Phase::Middlegame, Phase::Endgame].into_iter().zip(parts);
        SideSummary {
            accuracy,
            moves: all.moves,
            played_like: whole.as_ref().map(PlayedLike::from),
            // Four digits are enough to draw it.
            curve: whole.map_or_else(Vec::new, |whole| {
                whole.curve.iter().map(|share| (share * 1e4).round() as f32 / 1e4).collect()
            }),
            phases: phases
                .map(|(phase, part)| PhaseSummary {
                    name: phase.name().to_owned(),
                    moves: part.moves,
                    played_like: estimate(part, MIN_PHASE_MOVES).as_ref().map(PlayedLike::from),
                })
                .collect(),
        }
    }
}

impl From<tabia_practice::ReviewedMove> for ReviewedMove {
    fn from(of: tabia_practice::ReviewedMove) -> ReviewedMove {
        let understandable = of.is_understandable();
        ReviewedMove {
            ply: of.ply,
            understandable,
            errs: of.peers.map(|peers| peers.errs),
            peer_loss: of.peers.map(|peers| peers.loss),
            found_from: of.found_from,
            before: opinion(of.before),
            after: opinion(of.after),
            uci: of.uci,
            san: of.san,
            best: of.best,
            best_san: of.best_san,
            win_before: of.win_before,
            win_after: of.win_after,
            probability: of.probability,
            best_probability: of.best_probability,
            mark: of.mark.into(),
        }
    }
}

pub(crate) fn opinion(WhiteScore { cp, mate }: WhiteScore) -> Opinion {
    Opinion { cp, mate }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &[u8] = include_bytes!("../../../models/value.safetensors");
    const HUMAN: &[u8] = include_bytes!("../../../fixtures/models/human.safetensors");

    fn review(moves: &str) -> Review {
        let mut engine = Engine::new(7.0);
        engine.open("value", VALUE).unwrap();
        engine.open("human", HUMAN).unwrap();
        let moves = moves.split(' ').map(str::to_owned).collect();
        let game = GameInput { moves, ..GameInput::default() };
        Review::of(&engine, &game, "human", Some(1500.0), Duration::from_millis(2)).unwrap()
    }

    #[test]
    fn moves_have_a_difficulty_and_short_games_no_estimate() {
        let mut review = review("e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7");
        let mut moves = Vec::new();
        while moves.len() < 7 {
            moves.extend(review.next().unwrap());
        }
        assert!(review.next().unwrap().is_empty());
        assert_eq!(moves.len(), 7);
        for reviewed in &moves {
            assert!(reviewed.errs.is_some_and(|errs| (0.0..1.0).contains(&errs)), "{reviewed:?}");
            assert!(reviewed.peer_loss.is_some_and(|loss| (0.0..1.0).contains(&loss)), "{reviewed:?}");
        }
        let summary = review.summarise();
        assert!(summary.white.accuracy > summary.black.accuracy, "{summary:?}");
        assert_eq!((summary.white.moves, summary.black.moves), (4, 3));
        assert_eq!(summary.white.played_like, None);
        assert!(summary.white.curve.is_empty());
    }

    #[test]
    fn ten_moves_give_an_estimate_and_a_curve() {
        let mut review = review(
            "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3 g8f6 d2d3 d7d6 e1g1 e8g8 f1e1 a7a6 c4b3 c5a7 h2h3 h7h6 b1d2 f8e8",
        );
        while !review.next().unwrap().is_empty() {}
        let summary = review.summarise();
        for side in [&summary.white, &summary.black] {
            let like = side.played_like.unwrap();
            assert!(like.low < like.rating && like.rating < like.high, "{like:?}");
            assert_eq!(side.curve.len(), summary.ratings.len());
            assert!((side.curve.iter().sum::<f32>() - 1.0).abs() < 0.02);
            assert_eq!(side.phases.iter().map(|phase| phase.moves).collect::<Vec<_>>(), [10, 0, 0]);
            assert!(side.phases[0].played_like.is_some() && side.phases[2].played_like.is_none());
        }
    }
}
