//! Which puzzles a network solves by its likeliest move alone, and what rating that is.

use std::collections::BTreeMap;

use serde::Serialize;
use shakmaty::{Move, Position};
use tabia_data::{Filter, GameBytes, RecordError};
use tabia_encoding::{Elo, KeptSituation, RatingPool, Seat, Situation};

use crate::band::Band;
use crate::estimate::Clustered;
use crate::{Estimate, JudgeError, PuzzleRating, SelectedGame, Subject, Work};

/// What the networks are told besides the position.
#[derive(Clone, Copy, Debug)]
pub struct PuzzleTerms {
    /// Whose scale the rating that is asked for is on.
    pub pool: RatingPool,
}

impl PuzzleTerms {
    /// 1 for a puzzle with a rating and a solution, 0 for anything else.
    ///
    /// # Errors
    /// None; the form is that of a [choice](crate::Choice).
    pub fn count(&self, game: &GameBytes<'_>) -> Result<u64, RecordError> {
        let is_puzzle = game.head.pool == RatingPool::Puzzle && game.head.ratings.white.is_some();
        Ok(u64::from(is_puzzle && game.plies > 0))
    }
}

/// Which puzzles some networks solve.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleReport {
    /// How many puzzles there were.
    pub puzzles: u64,
    /// The mean of their ratings.
    pub mean_rating: f64,
    /// One for each network and rating it was asked to play at.
    pub figures: Vec<PuzzleFigures>,
}

/// How one network does.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleFigures {
    /// The network.
    pub model: String,
    /// The rating it was asked to play at, if it heeds one.
    pub asked: Option<u16>,
    /// The share of puzzles of which it found every move.
    pub solved: Estimate,
    /// The share of puzzles of which it found the first move.
    pub first_move: Estimate,
    /// The rating of a solver who does as well.
    pub rating: Option<PuzzleRating>,
    /// The same by the puzzles' ratings.
    pub bands: Vec<PuzzleBand>,
}

/// Puzzles of one band of ratings.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleBand {
    /// Which ratings.
    pub band: String,
    /// How many puzzles.
    pub puzzles: u64,
    /// The share of them that were solved.
    pub solved: Estimate,
    /// The share of them whose first move was found.
    pub first_move: Estimate,
}

/// What became of one puzzle.
#[derive(Clone, Copy)]
struct Attempt {
    rating: Elo,
    first_move: bool,
    solved: bool,
}

#[derive(Default)]
struct Tally {
    solved: Clustered,
    first_move: Clustered,
    puzzles: u64,
}

impl PuzzleReport {
    /// Gives every puzzle to every network, at each of the ratings if it heeds them.
    ///
    /// # Errors
    /// If a network fails.
    pub fn new(
        puzzles: &[SelectedGame],
        subjects: &[Subject],
        ratings: &[Elo],
        terms: &PuzzleTerms,
        work: &Work<'_>,
    ) -> Result<PuzzleReport, JudgeError> {
        let mut asked: Vec<(Subject, Option<Elo>)> = Vec::new();
        for subject in subjects {
            if subject.heeds_ratings()? {
                asked.extend(ratings.iter().map(|&rating| (subject.rated(rating), Some(rating))));
            } else {
                asked.push((subject.clone(), None));
            }
        }
        let attempts = work.map(puzzles, |puzzle| attempt(puzzle, &asked, terms, work.done))?;
        let ratings = attempts.iter().filter_map(|of| of.first()).map(|attempt| f64::from(attempt.rating.0));
        let mean_rating = ratings.sum::<f64>() / attempts.len().max(1) as f64;
        let figures = asked.iter().enumerate().map(|(number, (subject, rating))| {
            let of_network = attempts.iter().filter_map(|of| of.get(number).copied());
            PuzzleFigures::of(subject, *rating, &of_network.collect::<Vec<_>>())
        });
        Ok(PuzzleReport { puzzles: attempts.len() as u64, mean_rating, figures: figures.collect() })
    }
}

impl PuzzleFigures {
    fn of(subject: &Subject, asked: Option<Elo>, attempts: &[Attempt]) -> PuzzleFigures {
        let (mut all, mut bands) = (Tally::default(), BTreeMap::<Band, Tally>::new());
        for attempt in attempts {
            for tally in [&mut all, bands.entry(Band::of_rating(attempt.rating)).or_default()] {
                tally.puzzles += 1;
                tally.solved.add_game(1, f64::from(u8::from(attempt.solved)));
                tally.first_move.add_game(1, f64::from(u8::from(attempt.first_move)));
            }
        }
        let rated: Vec<_> = attempts.iter().map(|of| (f64::from(of.rating.0), of.solved)).collect();
        PuzzleFigures {
            model: subject.name().to_owned(),
            asked: asked.map(|rating| rating.0),
            solved: all.solved.estimate(),
            first_move: all.first_move.estimate(),
            rating: PuzzleRating::fit(&rated),
            bands: bands.into_iter().map(|(band, tally)| tally.band(band)).collect(),
        }
    }
}

impl Tally {
    fn band(&self, band: Band) -> PuzzleBand {
        PuzzleBand {
            band: band.to_string(),
            puzzles: self.puzzles,
            solved: self.solved.estimate(),
            first_move: self.first_move.estimate(),
        }
    }
}

/// What each network makes of one puzzle.
fn attempt(
    puzzle: &SelectedGame,
    asked: &[(Subject, Option<Elo>)],
    terms: &PuzzleTerms,
    done: &dyn Fn(u64),
) -> Result<Vec<Attempt>, JudgeError> {
    let fault = |error| JudgeError::Game { key: puzzle.key, error };
    let bytes = GameBytes::parse(&puzzle.bytes).map_err(fault)?;
    let rating = bytes.head.ratings.white.unwrap_or(Elo(0));
    let (mut kept, mut solution) = (Vec::new(), Vec::new());
    let solver = bytes.replay(&Filter::default(), |situation, sample| {
        // The puzzle's own rating would tell how hard the move is to find.
        let hidden = Seat::default();
        let told = Situation { mover: hidden, opponent: hidden, pool: terms.pool, ..*situation };
        kept.push(KeptSituation::of(&told));
        solution.push(sample.played);
    });
    solver.map_err(fault)?;
    let attempts = asked.iter().map(|(subject, _)| {
        let said = subject.ask(&kept)?;
        let found = said.iter().zip(&kept).zip(&solution).map(|((said, at), &solution)| {
            let best = said.policy.as_ref().and_then(tabia_model::Policy::best);
            best.is_some_and(|best| best.mv == solution || mates(&at.get(), best.mv))
        });
        let found: Vec<bool> = found.collect();
        let first_move = found.first().copied().unwrap_or(false);
        Ok(Attempt { rating, first_move, solved: first_move && found.iter().all(|found| *found) })
    });
    let attempts = attempts.collect();
    done(1);
    attempts
}

/// Whether a move gives mate: any that does solves a puzzle, whichever the author had in mind.
fn mates(situation: &Situation<'_>, m: Move) -> bool {
    let mut after = situation.position.clone();
    after.play_unchecked(m);
    after.is_checkmate()
}
