//! Puzzle solving by a network's most probable moves, or by a player.

use std::collections::BTreeMap;

use serde::Serialize;
use shakmaty::{ByColor, Chess, Move, Position};
use tabia_data::{Filter, GameBytes, GameRecord, RecordError};
use tabia_encoding::{Elo, OwnedSituation, PlayerInfo, RatingPool, Situation};
use tabia_game::History;
use tabia_players::{Limits, NoControl, Player};

use crate::ClusteredMean;
use crate::band::Band;
use crate::{Estimate, EvalError, EvalModel, Grouping, PuzzleRating, SelectedGame, Workers};

/// Network input besides the position.
#[derive(Clone, Copy, Debug)]
pub struct PuzzleContext {
    /// Pool of the target rating.
    pub pool: RatingPool,
}

impl PuzzleContext {
    /// 1 for a puzzle with a rating and a solution, otherwise 0.
    ///
    /// # Errors
    /// Never; the signature is that of [`GameSelection::select`](crate::GameSelection::select).
    pub fn count(&self, game: &GameBytes<'_>) -> Result<u64, RecordError> {
        let is_puzzle = game.head.pool == RatingPool::Puzzle && game.head.ratings.white.is_some();
        Ok(u64::from(is_puzzle && game.plies > 0))
    }
}

/// Builds a player from a random seed.
pub type BuildPlayer<'a> = &'a (dyn Fn(u64) -> Result<Box<dyn Player>, String> + Sync);

/// A player with its own strength settings and randomness.
pub struct PuzzlePlayer<'a> {
    /// Display name.
    pub name: String,
    /// Rating it plays at.
    pub elo: Elo,
    /// Builds the player for each puzzle.
    pub build: BuildPlayer<'a>,
}

/// Kind of solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Most probable moves of a network.
    Network,
    /// A player.
    Player,
}

/// Puzzle results of networks and players.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleReport {
    /// Number of puzzles.
    pub puzzles: u64,
    /// Mean rating of the puzzles.
    pub mean_rating: f64,
    /// One entry per network and target rating, then one per player.
    pub figures: Vec<PuzzleMetrics>,
}

/// Results of one solver.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleMetrics {
    /// Name of the network or player.
    pub model: String,
    /// Kind of solver.
    pub solver: Solver,
    /// Target rating, if the solver is conditioned on one.
    #[serde(rename = "asked")]
    pub elo: Option<u16>,
    /// Proportion of puzzles with all moves found.
    pub solved: Estimate,
    /// Proportion of puzzles with the first move found.
    pub first_move: Estimate,
    /// Puzzle rating that fits the results.
    pub rating: Option<PuzzleRating>,
    /// Results by puzzle rating.
    pub bands: Vec<PuzzleBand>,
}

/// Results on puzzles of one rating band.
#[derive(Clone, Debug, Serialize)]
pub struct PuzzleBand {
    /// Label of the band.
    pub band: String,
    /// Number of puzzles.
    pub puzzles: u64,
    /// Proportion with all moves found.
    pub solved: Estimate,
    /// Proportion with the first move found.
    pub first_move: Estimate,
}

#[derive(Clone, Copy)]
struct Attempt {
    rating: Elo,
    first_move: bool,
    solved: bool,
}

#[derive(Default)]
struct Tally {
    solved: ClusteredMean,
    first_move: ClusteredMean,
    puzzles: u64,
}

impl PuzzleReport {
    /// Evaluates every network, at each rating if it is rating-conditioned, and every player on the puzzles.
    ///
    /// # Errors
    /// If a record is invalid, or a network or player fails.
    pub fn new(
        puzzles: &[SelectedGame],
        models: &[EvalModel],
        ratings: &[Elo],
        players: &[PuzzlePlayer<'_>],
        context: &PuzzleContext,
        workers: &Workers<'_>,
    ) -> Result<PuzzleReport, EvalError> {
        let mut networks: Vec<(EvalModel, Option<Elo>)> = Vec::new();
        for model in models {
            if model.is_rating_conditioned()? {
                networks.extend(ratings.iter().map(|&rating| (model.rated(rating), Some(rating))));
            } else {
                networks.push((model.clone(), None));
            }
        }
        let attempts = workers.map(puzzles, |puzzle| {
            let mut attempts = predict(puzzle, &networks, context)?;
            for player in players {
                attempts.push(play(puzzle, player, context)?);
            }
            (workers.on_progress)(1);
            Ok(attempts)
        })?;
        let ratings = attempts.iter().filter_map(|of| of.first()).map(|attempt| f64::from(attempt.rating.0));
        let mean_rating = ratings.sum::<f64>() / attempts.len().max(1) as f64;
        let networks = networks.iter().map(|(model, rating)| (model.name(), Solver::Network, *rating));
        let players = players.iter().map(|player| (player.name.as_str(), Solver::Player, Some(player.elo)));
        let figures = networks.chain(players).enumerate().map(|(index, (name, solver, elo))| {
            let own = attempts.iter().filter_map(|of| of.get(index).copied());
            PuzzleMetrics::of(name, solver, elo, &own.collect::<Vec<_>>())
        });
        Ok(PuzzleReport { puzzles: attempts.len() as u64, mean_rating, figures: figures.collect() })
    }
}

impl PuzzleMetrics {
    fn of(name: &str, solver: Solver, elo: Option<Elo>, attempts: &[Attempt]) -> PuzzleMetrics {
        let (mut all, mut bands) = (Tally::default(), BTreeMap::<Band, Tally>::new());
        for attempt in attempts {
            for tally in
                [&mut all, bands.entry(Band::of_rating(attempt.rating, Grouping::RATING_BAND)).or_default()]
            {
                tally.puzzles += 1;
                tally.solved.add_game(1, f64::from(u8::from(attempt.solved)));
                tally.first_move.add_game(1, f64::from(u8::from(attempt.first_move)));
            }
        }
        let rated: Vec<_> = attempts.iter().map(|of| (f64::from(of.rating.0), of.solved)).collect();
        PuzzleMetrics {
            model: name.to_owned(),
            solver,
            elo: elo.map(|rating| rating.0),
            solved: all.solved.proportion(),
            first_move: all.first_move.proportion(),
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
            solved: self.solved.proportion(),
            first_move: self.first_move.proportion(),
        }
    }
}

/// Attempts of the networks at one puzzle.
fn predict(
    puzzle: &SelectedGame,
    networks: &[(EvalModel, Option<Elo>)],
    context: &PuzzleContext,
) -> Result<Vec<Attempt>, EvalError> {
    let bytes = puzzle.parse()?;
    let rating = bytes.head.ratings.white.unwrap_or(Elo(0));
    let (mut kept, mut solution) = (Vec::new(), Vec::new());
    let replayed = bytes.replay(&Filter::default(), |situation, sample| {
        // The puzzle's rating would leak how hard the move is to find.
        let hidden = PlayerInfo::default();
        kept.push(OwnedSituation::of(&Situation {
            mover: hidden,
            opponent: hidden,
            pool: context.pool,
            ..*situation
        }));
        solution.push(sample.played);
    });
    replayed.map_err(|error| puzzle.invalid(error))?;
    let attempts = networks.iter().map(|(model, _)| {
        let outputs = model.evaluate(&kept)?;
        let found = outputs.iter().zip(&kept).zip(&solution).map(|((output, at), &solution)| {
            let best = output.policy.as_ref().and_then(tabia_model::Policy::best);
            best.is_some_and(|best| best.mv == solution || mates(at.get().position, best.mv))
        });
        let found: Vec<bool> = found.collect();
        let first_move = found.first().copied().unwrap_or(false);
        Ok(Attempt { rating, first_move, solved: first_move && found.iter().all(|found| *found) })
    });
    attempts.collect()
}

/// Attempt of a player at one puzzle, ended by its first wrong move.
fn play(
    puzzle: &SelectedGame,
    player: &PuzzlePlayer<'_>,
    context: &PuzzleContext,
) -> Result<Attempt, EvalError> {
    let failed = |error: String| EvalError::Player { name: player.name.clone(), error };
    let record = GameRecord::from_bytes(&puzzle.bytes).map_err(|error| puzzle.invalid(error))?;
    let rating = record.head.ratings.white.unwrap_or(Elo(0));
    let mut solver = (player.build)(puzzle.key.0 ^ u64::from(player.elo.0)).map_err(failed)?;
    let mut history = History::new(record.start, ByColor::default()).under(context.pool, None);
    let (mut first_move, mut solved) = (false, true);
    for (index, ply) in record.plies.iter().enumerate() {
        // The solver's moves are at even plies.
        if index % 2 == 0 {
            let choice = solver.choose(&history, &Limits::default(), &NoControl);
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

/// Whether a move gives mate. Any mating move solves a puzzle.
fn mates(position: &Chess, m: Move) -> bool {
    let mut after = position.clone();
    after.play_unchecked(m);
    after.is_checkmate()
}
