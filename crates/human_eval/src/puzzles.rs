//! Which puzzles a network solves by its likeliest move alone, or a player as it plays, and what rating that is.

use std::collections::BTreeMap;

use serde::Serialize;
use shakmaty::{ByColor, Chess, Move, Position};
use tabia_data::{Filter, GameBytes, GameRecord, RecordError};
use tabia_encoding::{Elo, OwnedSituation, PlayerInfo, RatingPool, Situation};
use tabia_game::History;
use tabia_search::{Limits, NoControl, Player};

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

/// Makes a player whose chances come from a seed, or says why it cannot.
pub type MakePlayer<'a> = &'a (dyn Fn(u64) -> Result<Box<dyn Player>, String> + Sync);

/// A player who is given puzzles as people meet it: with its own dials, and dice where it throws them.
pub struct PuzzlePlayer<'a> {
    /// What it is called.
    pub name: String,
    /// The rating it plays at.
    pub asked: Elo,
    /// Makes it, anew for every puzzle.
    pub make: MakePlayer<'a>,
}

/// Who solves puzzles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// A network's likeliest moves.
    Network,
    /// A player, as it plays.
    Player,
}

/// Which puzzles some networks and players solve.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleReport {
    /// How many puzzles there were.
    pub puzzles: u64,
    /// The mean of their ratings.
    pub mean_rating: f64,
    /// One for each network and rating it was asked to play at, then one for each player.
    pub figures: Vec<PuzzleFigures>,
}

/// How one network or player does.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleFigures {
    /// The network or player.
    pub model: String,
    /// Which of the two.
    pub solver: Solver,
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
    /// Gives every puzzle to every network, at each of the ratings if it heeds them, and to every player.
    ///
    /// # Errors
    /// If a network or a player fails.
    pub fn new(
        puzzles: &[SelectedGame],
        subjects: &[Subject],
        ratings: &[Elo],
        players: &[PuzzlePlayer<'_>],
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
        let attempts = work.map(puzzles, |puzzle| {
            let mut attempts = attempt(puzzle, &asked, terms)?;
            for player in players {
                attempts.push(play(puzzle, player, terms)?);
            }
            (work.done)(1);
            Ok(attempts)
        })?;
        let ratings = attempts.iter().filter_map(|of| of.first()).map(|attempt| f64::from(attempt.rating.0));
        let mean_rating = ratings.sum::<f64>() / attempts.len().max(1) as f64;
        let networks = asked.iter().map(|(subject, rating)| (subject.name(), Solver::Network, *rating));
        let playing = players.iter().map(|player| (player.name.as_str(), Solver::Player, Some(player.asked)));
        let figures = networks.chain(playing).enumerate().map(|(number, (name, solver, rating))| {
            let of_one = attempts.iter().filter_map(|of| of.get(number).copied());
            PuzzleFigures::of(name, solver, rating, &of_one.collect::<Vec<_>>())
        });
        Ok(PuzzleReport { puzzles: attempts.len() as u64, mean_rating, figures: figures.collect() })
    }
}

impl PuzzleFigures {
    fn of(name: &str, solver: Solver, asked: Option<Elo>, attempts: &[Attempt]) -> PuzzleFigures {
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
            model: name.to_owned(),
            solver,
            asked: asked.map(|rating| rating.0),
            solved: all.solved.share(),
            first_move: all.first_move.share(),
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
            solved: self.solved.share(),
            first_move: self.first_move.share(),
        }
    }
}

/// What each network makes of one puzzle.
fn attempt(
    puzzle: &SelectedGame,
    asked: &[(Subject, Option<Elo>)],
    terms: &PuzzleTerms,
) -> Result<Vec<Attempt>, JudgeError> {
    let fault = |error| JudgeError::Game { key: puzzle.key, error };
    let bytes = GameBytes::parse(&puzzle.bytes).map_err(fault)?;
    let rating = bytes.head.ratings.white.unwrap_or(Elo(0));
    let (mut kept, mut solution) = (Vec::new(), Vec::new());
    let solver = bytes.replay(&Filter::default(), |situation, sample| {
        // The puzzle's own rating would tell how hard the move is to find.
        let hidden = PlayerInfo::default();
        let told = Situation { mover: hidden, opponent: hidden, pool: terms.pool, ..*situation };
        kept.push(OwnedSituation::of(&told));
        solution.push(sample.played);
    });
    solver.map_err(fault)?;
    let attempts = asked.iter().map(|(subject, _)| {
        let said = subject.ask(&kept)?;
        let found = said.iter().zip(&kept).zip(&solution).map(|((said, at), &solution)| {
            let best = said.policy.as_ref().and_then(tabia_model::Policy::best);
            best.is_some_and(|best| best.mv == solution || mates(at.get().position, best.mv))
        });
        let found: Vec<bool> = found.collect();
        let first_move = found.first().copied().unwrap_or(false);
        Ok(Attempt { rating, first_move, solved: first_move && found.iter().all(|found| *found) })
    });
    attempts.collect()
}

/// What a player makes of one puzzle. Its first wrong move ends it.
fn play(
    puzzle: &SelectedGame,
    player: &PuzzlePlayer<'_>,
    terms: &PuzzleTerms,
) -> Result<Attempt, JudgeError> {
    let fault = |error| JudgeError::Game { key: puzzle.key, error };
    let failed = |error: String| JudgeError::Player { name: player.name.clone(), error };
    let record = GameRecord::from_bytes(&puzzle.bytes).map_err(fault)?;
    let rating = record.head.ratings.white.unwrap_or(Elo(0));
    let mut playing = (player.make)(puzzle.key.0 ^ u64::from(player.asked.0)).map_err(failed)?;
    let mut history = History::new(record.start, ByColor::default()).under(terms.pool, None);
    let (mut first_move, mut solved) = (false, true);
    for (number, ply) in record.plies.iter().enumerate() {
        // The solver's moves are the first, the third and so on.
        if number % 2 == 0 {
            let choice = playing.choose(&history, &Limits::default(), &NoControl);
            let mv = choice.map_err(|error| failed(error.to_string()))?.mv;
            solved = mv == ply.played || mates(history.current(), mv);
            if !solved {
                break;
            }
            first_move = true;
        }
        history.push(ply.played, None);
    }
    Ok(Attempt { rating, first_move, solved })
}

/// Whether a move gives mate: any that does solves a puzzle, whichever the author had in mind.
fn mates(position: &Chess, m: Move) -> bool {
    let mut after = position.clone();
    after.play_unchecked(m);
    after.is_checkmate()
}
