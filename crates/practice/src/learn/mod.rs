//! Learning an [`Adapter`] from the games of one person.
//!
//! The network stays as it is: it is asked about the person's moves, and everything else is convex. Each part of the
//! adapter is kept only if it predicts games it was not learned from better (cross-validation over games).
//!
//! A [`Learner`] has [tasks](Learner::tasks), which may run in any order and on any thread within a stage:
//!
//! 1. the rating to tell the network, from some of the moves;
//! 2. the network's predictions of the moves;
//! 3. the weights of features, for each penalty and each part of the games left out;
//! 4. the choice of what to keep, and the final fit.

mod games;
mod minimise;
mod score;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use shakmaty::Move;
use tabia_encoding::{Elo, RatingPool, TIME_BINS};
use tabia_game::History;
use tabia_model::{Candidate, Model};
use tabia_players::{Adapter, AdapterGain, AdapterNetwork, FEATURES, MemoryMove, OpeningMemory};
use tabia_runtime::RunError;

pub use games::PersonGame;
pub use score::{MoveScores, PersonScore, score_game};

use games::{OwnMove, told};
use minimise::minimise;
use table::{FLOOR, Likelihood, Penalty, Table, fit_pace, rounded, time_likelihood};

/// The fewest games to learn from.
pub const LEAST_GAMES: usize = 20;

/// Parts that the games are split into for cross-validation: in order, because people change.
const FOLDS: usize = 5;
/// Moves from which the rating to tell is found.
const RATED_MOVES: usize = 200;
/// Shifts of the rating that are tried.
const SHIFTS: [i16; 6] = [-600, -400, -200, 200, 400, 600];
/// Ratings that are tried for a person without one.
const RATINGS: [u16; 7] = [800, 1100, 1400, 1700, 2000, 2300, 2600];
/// The plies of a game that the memory looks at.
const MEMORY_PLIES: usize = 40;
/// The most positions in a memory.
const MEMORY_POSITIONS: usize = 1000;
/// The weights of the network in a memory that are tried; infinite is no memory.
const ALPHAS: [f64; 7] = [f64::INFINITY, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0];
/// The penalties that are tried, after no weights at all.
const PENALTIES: [Penalty; 4] = [
    Penalty { style: 30.0, squares: 30.0 },
    Penalty { style: 60.0, squares: 60.0 },
    Penalty { style: 120.0, squares: 120.0 },
    Penalty { style: 300.0, squares: 300.0 },
];
/// A part is kept if its gain exceeds this many standard errors.
const CAUTION: f64 = 0.5;
/// The penalty of the pace.
const PACE_PENALTY: f64 = 20.0;
const ITERATIONS: usize = 60;
const TOLERANCE: f64 = 1e-6;

/// What to learn from.
#[derive(Clone, Debug)]
pub struct LearnSettings {
    /// The person's name, as the adapter shows it.
    pub name: String,
    /// The newest of the games that are used.
    pub games: usize,
    /// The most moves that the network is asked about. The memory uses all.
    pub moves: usize,
}

impl LearnSettings {
    /// The usual limits.
    pub fn new(name: impl Into<String>) -> LearnSettings {
        LearnSettings { name: name.into(), games: 1000, moves: 8000 }
    }
}

/// Why nothing can be learned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// There are too few games.
    #[error("{found} games of {name} (expected at least {LEAST_GAMES})")]
    TooFewGames {
        /// Whose.
        name: String,
        /// How many.
        found: usize,
    },
}

/// What a network says of a move.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// All legal moves, likeliest first.
    pub candidates: Vec<Candidate>,
    /// The probabilities of thinking times.
    pub think_time: Option<[f32; TIME_BINS]>,
}

/// A question to a network: a move of a game, for a person of each of the ratings.
pub struct Asked<'a> {
    /// Identifies the game.
    pub game: u64,
    /// Plies before the move.
    pub ply: usize,
    /// The game before the move.
    pub history: &'a History,
    /// The ratings to tell; `None` is unknown.
    pub ratings: &'a [Option<Elo>],
}

/// What predicts moves: a network, or what it said before.
pub trait Predict {
    /// One prediction for each rating.
    ///
    /// # Errors
    /// If the network fails.
    fn predict(&self, asked: &Asked<'_>) -> Result<Vec<Prediction>, RunError>;
}

impl Predict for Model {
    fn predict(&self, asked: &Asked<'_>) -> Result<Vec<Prediction>, RunError> {
        let situations: Vec<_> = asked.ratings.iter().map(|rating| told(asked.history, *rating)).collect();
        let said = self.evaluate(&situations)?.into_iter().map(|said| Prediction {
            candidates: said.policy.map_or(Vec::new(), |policy| policy.candidates().to_vec()),
            think_time: said.think_time,
        });
        Ok(said.collect())
    }
}

/// What the network is told of the person's rating.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// The rating in the game.
    AsIs,
    /// The same with a shift.
    Shifted(i16),
    /// A rating for all games.
    Fixed(u16),
}

impl Told {
    fn rating(self, game: &PersonGame) -> Option<Elo> {
        match self {
            Told::AsIs => game.rating(),
            Told::Shifted(shift) => Some(Elo(game.rating()?.0.saturating_add_signed(shift).max(1))),
            Told::Fixed(rating) => Some(Elo(rating)),
        }
    }
}

/// A part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task(TaskKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskKind {
    /// The index of a game.
    Rate(usize),
    Observe(usize),
    Fit {
        penalty: usize,
        fold: usize,
    },
    Finish,
}

/// A task that was performed.
pub struct Performed(Done);

enum Done {
    /// For each option: gains over the rating as it is, one per move.
    Rated(Vec<Vec<f64>>),
    Observed(usize, Table),
    Fitted {
        penalty: usize,
        fold: usize,
        weights: Vec<f64>,
    },
    Finished(Box<Adapter>),
}

/// The stage of learning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearnStage {
    /// Finding the rating to tell the network.
    Rating,
    /// Asking the network about the person's moves.
    Moves,
    /// Fitting and choosing.
    Fitting,
    /// The adapter is there.
    Done,
}

/// What predicts best.
struct Kept {
    /// The index of the penalty of the weights; `None` without weights.
    penalty: Option<usize>,
    /// Infinite without a memory.
    alpha: f64,
    /// Of each move.
    gains: Vec<f64>,
}

/// Learns an adapter.
pub struct Learner {
    settings: LearnSettings,
    network: AdapterNetwork,
    /// In the order they were played.
    games: Vec<PersonGame>,
    /// The person's positions and moves in the opening of each game.
    openings: Vec<Vec<(u64, MemoryMove)>>,
    /// In all games.
    own_moves: usize,
    options: Vec<Told>,
    told: Told,
    tasks: Vec<Task>,
    /// Of the tasks of this stage.
    done: usize,
    stage: LearnStage,
    /// By option.
    gains: Vec<Vec<f64>>,
    observed: BTreeMap<usize, Table>,
    table: Table,
    /// By penalty and fold.
    fitted: HashMap<(usize, usize), Vec<f64>>,
    adapter: Option<Adapter>,
}

impl Learner {
    /// Learns from the newest of the games, which may be in any order.
    ///
    /// # Errors
    /// If they are too few.
    pub fn new(
        settings: LearnSettings,
        network: AdapterNetwork,
        mut games: Vec<PersonGame>,
    ) -> Result<Learner, LearnError> {
        games.retain(|game| game.own_moves() > 0);
        if games.len() < LEAST_GAMES {
            return Err(LearnError::TooFewGames { name: settings.name, found: games.len() });
        }
        games.sort_by(|one, other| one.date().cmp(other.date()));
        games.drain(..games.len().saturating_sub(settings.games.max(LEAST_GAMES)));
        let rated = games.iter().filter(|game| game.rating().is_some()).count();
        let mut options = vec![Told::AsIs];
        if 2 * rated >= games.len() {
            options.extend(SHIFTS.map(Told::Shifted));
        } else {
            options.extend(RATINGS.map(Told::Fixed));
        }
        let openings = games.iter().map(|game| game.opening(MEMORY_PLIES)).collect();
        let tasks = (0..games.len()).map(|game| Task(TaskKind::Rate(game))).collect();
        Ok(Learner {
            settings,
            network,
            own_moves: games.iter().map(PersonGame::own_moves).sum(),
            games,
            openings,
            gains: vec![Vec::new(); options.len()],
            options,
            told: Told::AsIs,
            tasks,
            done: 0,
            stage: LearnStage::Rating,
            observed: BTreeMap::new(),
            table: Table::default(),
            fitted: HashMap::new(),
            adapter: None,
        })
    }

    /// The tasks of this stage, in any order. All must be accepted before there are others; none are left at the end.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The stage, and how many of its tasks are done, of how many.
    pub fn progress(&self) -> (LearnStage, usize, usize) {
        (self.stage, self.done, self.tasks.len())
    }

    /// The adapter, at the end.
    pub fn adapter(&self) -> Option<&Adapter> {
        self.adapter.as_ref()
    }

    /// Performs and accepts the next task; `false` at the end.
    ///
    /// # Errors
    /// If the network fails.
    pub fn step(&mut self, network: &dyn Predict) -> Result<bool, RunError> {
        let Some(&task) = self.tasks.get(self.done) else { return Ok(false) };
        let performed = self.perform(task, network)?;
        self.accept(performed);
        Ok(self.adapter.is_none())
    }

    /// Performs a task of this stage.
    ///
    /// # Errors
    /// If the network fails.
    pub fn perform(&self, task: Task, network: &dyn Predict) -> Result<Performed, RunError> {
        Ok(Performed(match task.0 {
            TaskKind::Rate(game) => Done::Rated(self.rate(&self.games[game], network)?),
            TaskKind::Observe(game) => Done::Observed(game, self.observe(game, network)?),
            TaskKind::Fit { penalty, fold } => Done::Fitted {
                penalty,
                fold,
                weights: self.fit(penalty, &self.outside(fold), &[0.0; FEATURES]),
            },
            TaskKind::Finish => Done::Finished(Box::new(self.finish())),
        }))
    }

    /// Accepts a task that was performed.
    pub fn accept(&mut self, performed: Performed) {
        match performed.0 {
            Done::Rated(gains) => {
                for (all, more) in self.gains.iter_mut().zip(gains) {
                    all.extend(more);
                }
            }
            Done::Observed(game, table) => {
                self.observed.insert(game, table);
            }
            Done::Fitted { penalty, fold, weights } => {
                self.fitted.insert((penalty, fold), weights);
            }
            Done::Finished(adapter) => self.adapter = Some(*adapter),
        }
        self.done += 1;
        if self.done == self.tasks.len() {
            self.advance();
        }
    }

    /// The next stage.
    fn advance(&mut self) {
        self.done = 0;
        (self.stage, self.tasks) = match self.stage {
            LearnStage::Rating => {
                self.told = self.best_rating();
                (LearnStage::Moves, (0..self.games.len()).map(|game| Task(TaskKind::Observe(game))).collect())
            }
            LearnStage::Moves => {
                self.table = Table::of_parts(std::mem::take(&mut self.observed).into_values());
                let folds = |penalty| (0..FOLDS).map(move |fold| Task(TaskKind::Fit { penalty, fold }));
                (LearnStage::Fitting, (0..PENALTIES.len()).flat_map(folds).collect())
            }
            LearnStage::Fitting if self.adapter.is_none() => {
                (LearnStage::Fitting, vec![Task(TaskKind::Finish)])
            }
            LearnStage::Fitting | LearnStage::Done => (LearnStage::Done, Vec::new()),
        };
    }

    /// The gains of each option over the rating as it is, on some moves of a game.
    fn rate(&self, game: &PersonGame, network: &dyn Predict) -> Result<Vec<Vec<f64>>, RunError> {
        let mut gains = vec![Vec::new(); self.options.len()];
        let ratings: Vec<_> = self.options.iter().map(|option| option.rating(game)).collect();
        game.each(|history, own| {
            // Openings say more about the person than about the rating.
            const FIRST: usize = 10;
            if own.ply < FIRST || !self.is_sampled(game, own, RATED_MOVES) {
                return Ok(());
            }
            let said =
                network.predict(&Asked { game: game.key(), ply: own.ply, history, ratings: &ratings })?;
            let logs: Vec<f64> = said.iter().map(|said| log_of(said, own.played)).collect();
            for (gains, log) in gains.iter_mut().zip(&logs) {
                gains.push(log - logs[0]);
            }
            Ok(())
        })?;
        Ok(gains)
    }

    /// Whether a move is among so many of all games, chosen by a hash.
    fn is_sampled(&self, game: &PersonGame, own: OwnMove, moves: usize) -> bool {
        let hash = (game.key() ^ own.ply as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 11;
        (hash as f64 / (1_u64 << 53) as f64) * (self.own_moves as f64) < moves as f64
    }

    /// The option that gains most, if it surely does.
    fn best_rating(&self) -> Told {
        let sure = |gains: &Vec<f64>| {
            let (mean, error) = mean_and_error(gains);
            mean - 1.5 * error
        };
        let best =
            self.options.iter().zip(&self.gains).skip(1).max_by(|a, b| sure(a.1).total_cmp(&sure(b.1)));
        best.filter(|(_, gains)| sure(gains) > 0.0).map_or(Told::AsIs, |(option, _)| *option)
    }

    fn observe(&self, index: usize, network: &dyn Predict) -> Result<Table, RunError> {
        let game = &self.games[index];
        let mut table = Table::default();
        let mut ratings = vec![game.rating()];
        if self.told != Told::AsIs {
            ratings.push(self.told.rating(game));
        }
        game.each(|history, own| {
            if self.is_sampled(game, own, self.settings.moves) {
                let asked = Asked { game: game.key(), ply: own.ply, history, ratings: &ratings };
                let said = network.predict(&asked)?;
                let (Some(plain), Some(as_told)) = (said.first(), said.last()) else { return Ok(()) };
                table.push(index, &own, &told(history, ratings[ratings.len() - 1]), plain, as_told);
            }
            Ok(())
        })?;
        Ok(table)
    }

    fn fold_of(&self, game: usize) -> usize {
        game * FOLDS / self.games.len()
    }

    /// The moves outside a fold.
    fn outside(&self, fold: usize) -> Vec<usize> {
        let moves = self.table.moves.iter().enumerate();
        moves.filter(|(_, of)| self.fold_of(of.game) != fold).map(|(place, _)| place).collect()
    }

    fn fit(&self, penalty: usize, places: &[usize], start: &[f64]) -> Vec<f64> {
        let likelihood = Likelihood { table: &self.table, places, penalty: PENALTIES[penalty] };
        minimise(&likelihood, start, ITERATIONS, TOLERANCE)
    }

    /// The memory of some of the games.
    fn memory(&self, alpha: f32, of: impl Fn(usize) -> bool) -> OpeningMemory {
        let mut counts: HashMap<u64, (BTreeMap<MemoryMove, u32>, u32, usize)> = HashMap::new();
        for (_, opening) in self.openings.iter().enumerate().filter(|(game, _)| of(*game)) {
            for (place, (key, played)) in opening.iter().enumerate() {
                let (moves, total, first) = counts.entry(*key).or_insert((BTreeMap::new(), 0, place));
                *moves.entry(*played).or_default() += 1;
                *total += 1;
                *first = (*first).min(place);
            }
        }
        let mut kept: Vec<_> = counts.into_iter().collect();
        kept.sort_by_key(|(key, (_, total, first))| (std::cmp::Reverse(*total), *first, *key));
        kept.truncate(MEMORY_POSITIONS);
        let positions = kept.into_iter().map(|(key, (moves, ..))| (key, moves)).collect();
        OpeningMemory { alpha, positions }
    }

    /// Chooses what to keep by cross-validation and fits it to all games.
    fn finish(&self) -> Adapter {
        let memories: Vec<OpeningMemory> =
            (0..FOLDS).map(|fold| self.memory(1.0, |game| self.fold_of(game) != fold)).collect();
        let kept = self.choose(&memories);
        let penalty = kept.as_ref().and_then(|kept| kept.penalty);
        let alpha = kept.as_ref().map(|kept| kept.alpha).filter(|alpha| alpha.is_finite());
        let told = if kept.is_some() { self.told } else { Told::AsIs };
        let all: Vec<usize> = (0..self.table.moves.len()).collect();
        let weights = penalty.map(|penalty| self.fit(penalty, &all, &[0.0; FEATURES]));
        let (rating, pool) = self.rating();
        Adapter {
            name: self.settings.name.clone(),
            network: self.network.clone(),
            games: self.games.len() as u32,
            moves: self.own_moves as u32,
            rating: match told {
                Told::Fixed(rating) => Some(Elo(rating)),
                Told::AsIs | Told::Shifted(_) => rating,
            },
            pool,
            shift: if let Told::Shifted(shift) = told { shift } else { 0 },
            weights: weights.map_or(Vec::new(), |weights| rounded(&weights)),
            memory: alpha.map(|alpha| self.memory(alpha as f32, |_| true)),
            pace: self.pace(),
            gain: self.gain(kept.as_ref(), &memories),
        }
    }

    /// What gains most on games that it was not learned from, if anything does. `memories` lack one fold each.
    fn choose(&self, memories: &[OpeningMemory]) -> Option<Kept> {
        let moves = &self.table.moves;
        let counts: Vec<(u32, u32)> =
            moves.iter().map(|of| memories[self.fold_of(of.game)].count(of.position, of.played)).collect();
        let (mut best, mut most, mut space) = (None, 0.0, Vec::new());
        for penalty in std::iter::once(None).chain((0..PENALTIES.len()).map(Some)) {
            let mut probability = |place: usize| {
                self.table.probability(place, self.weights(penalty, moves[place].game), &mut space)
            };
            let said: Vec<f64> = (0..moves.len()).map(&mut probability).collect();
            for alpha in ALPHAS {
                let gain =
                    |place: usize| log(mixed(alpha, counts[place], said[place])) - log(moves[place].plain);
                let gains: Vec<f64> = (0..moves.len()).map(gain).collect();
                let sure = self.sure_gain(&gains);
                if sure > most {
                    most = sure;
                    best = Some(Kept { penalty, alpha, gains });
                }
            }
        }
        best
    }

    /// The figures of what is kept.
    fn gain(&self, kept: Option<&Kept>, memories: &[OpeningMemory]) -> AdapterGain {
        let moves = &self.table.moves;
        let mut space = Vec::new();
        let mut is_top = |place: usize| {
            let of = &moves[place];
            let Some(kept) = kept else { return of.plain_top };
            let count = |m: MemoryMove| memories[self.fold_of(of.game)].count(of.position, m).1;
            self.table.is_top(place, self.weights(kept.penalty, of.game), kept.alpha, &count, &mut space)
        };
        let mean = |sum: f64| sum / moves.len().max(1) as f64;
        let own_top = (0..moves.len()).filter(|place| is_top(*place)).count();
        let plain_top = moves.iter().filter(|of| of.plain_top).count();
        let plain_loss = mean(moves.iter().map(|of| -log(of.plain)).sum());
        let gained = mean(kept.map_or(0.0, |kept| kept.gains.iter().sum()));
        AdapterGain {
            moves: moves.len() as u32,
            log_loss: [plain_loss, plain_loss - gained],
            top_1: [mean(plain_top as f64), mean(own_top as f64)],
        }
    }

    /// The weights learned without the fold of a game; without a penalty, none.
    fn weights(&self, penalty: Option<usize>, game: usize) -> &[f64] {
        let fitted = penalty.and_then(|penalty| self.fitted.get(&(penalty, self.fold_of(game))));
        fitted.map_or(&[0.0; FEATURES], Vec::as_slice)
    }

    /// The gain of all moves, less some standard errors by game.
    fn sure_gain(&self, gains: &[f64]) -> f64 {
        let mut by_game = vec![0.0; self.games.len()];
        for (of, gain) in self.table.moves.iter().zip(gains) {
            by_game[of.game] += gain;
        }
        let (mean, error) = mean_and_error(&by_game);
        (mean - CAUTION * error) * by_game.len() as f64
    }

    /// The pace, if it gains.
    fn pace(&self) -> f32 {
        let times = |inside: &dyn Fn(usize) -> bool| -> Vec<&([f32; TIME_BINS], usize)> {
            self.table
                .moves
                .iter()
                .filter(|of| inside(self.fold_of(of.game)))
                .filter_map(|of| of.time.as_ref())
                .collect()
        };
        let mut gains = Vec::new();
        for fold in 0..FOLDS {
            let pace = fit_pace(&times(&|of| of != fold), PACE_PENALTY);
            let gain =
                |time: &([f32; TIME_BINS], usize)| time_likelihood(time, pace) - time_likelihood(time, 0.0);
            gains.extend(times(&|of| of == fold).into_iter().map(gain));
        }
        let (mean, error) = mean_and_error(&gains);
        if mean - 2.0 * error <= 0.0 {
            return 0.0;
        }
        let pace = fit_pace(&times(&|_| true), PACE_PENALTY);
        ((pace * 1e3).round() / 1e3) as f32
    }

    /// The mean rating of the newest games in the most frequent pool.
    fn rating(&self) -> (Option<Elo>, RatingPool) {
        const NEWEST: usize = 20;
        let newest = self.games.iter().rev().take(NEWEST);
        let rated: Vec<_> = newest.filter_map(|game| Some((game.rating()?, game.pool()))).collect();
        let often = |pool: RatingPool| rated.iter().filter(|(_, of)| *of == pool).count();
        let Some(pool) =
            RatingPool::ALL.into_iter().max_by_key(|pool| often(*pool)).filter(|_| !rated.is_empty())
        else {
            return (None, self.games.last().map_or(RatingPool::Unknown, PersonGame::pool));
        };
        let sum: u32 =
            rated.iter().filter(|(_, of)| *of == pool).map(|(rating, _)| u32::from(rating.0)).sum();
        (Some(Elo((sum / often(pool) as u32) as u16)), pool)
    }
}

/// The probability of a move that a memory has seen so often, of all times it was in the position.
fn mixed(alpha: f64, (total, count): (u32, u32), probability: f64) -> f64 {
    if alpha.is_finite() {
        (f64::from(count) + alpha * probability) / (f64::from(total) + alpha)
    } else {
        probability
    }
}

fn log_of(said: &Prediction, played: Move) -> f64 {
    let found = said.candidates.iter().find(|candidate| candidate.mv == played);
    log(found.map_or(0.0, |found| f64::from(found.probability)))
}

/// The logarithm of a probability, from a floor on.
fn log(probability: f64) -> f64 {
    probability.max(FLOOR).ln()
}

/// The mean and its standard error; no error where it cannot be known.
fn mean_and_error(of: &[f64]) -> (f64, f64) {
    let count = of.len() as f64;
    if of.len() < 2 {
        return (0.0, f64::INFINITY);
    }
    let mean = of.iter().sum::<f64>() / count;
    let variance = of.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, (variance / count).sqrt())
}
