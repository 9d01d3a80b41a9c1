//! "You played like N" against the ratings of players.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Position as _};
use tabia_data::Filter;
use tabia_encoding::{OwnedSituation, RatingPool};
use tabia_practice::{RATINGS, RatingEvidence, RatingModel, at_ratings};

use crate::{EvalError, EvalModel, SelectedGame, Workers};

/// The numbers of games that an estimate is made from.
const SIZES: [usize; 3] = [1, 5, 20];

/// The ratings that can be estimated.
const RANGE: std::ops::RangeInclusive<u16> = 600..=2800;

/// Which games and moves count.
#[derive(Clone, Copy, Debug)]
pub struct RatingFilter {
    /// First ply used.
    pub first_ply: u32,
    /// The most moves of a player in a game.
    pub moves: usize,
    /// The most sides of games in a rating pool: half of them of players with many games.
    pub sides: usize,
}

/// A player's side of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatedSide {
    /// The index of the game.
    pub game: usize,
    /// The colour.
    pub color: Color,
    /// Hash of the player's name.
    pub player: u32,
    /// Rating pool.
    pub pool: RatingPool,
    /// The player's rating.
    pub rating: u16,
}

impl RatingFilter {
    /// Selects sides of games. Only players with a rating from 600 to 2800 count; a player without a name has one game.
    ///
    /// # Errors
    /// If a game is invalid.
    pub fn select(&self, games: &[SelectedGame]) -> Result<Vec<RatedSide>, EvalError> {
        let mut players: BTreeMap<(usize, u32), Vec<RatedSide>> = BTreeMap::new();
        for (number, game) in games.iter().enumerate() {
            let head = game.parse()?.head;
            for color in Color::ALL {
                let rating = head.ratings.get(color).filter(|rating| RANGE.contains(&rating.0));
                if let Some(rating) = rating {
                    let unnamed = || (2 * number + usize::from(color.is_white())) as u32;
                    let player = head.players.get(color).map_or_else(unnamed, |player| player.0);
                    let pool = head.pool;
                    let side = RatedSide { game: number, color, player, pool, rating: rating.0 };
                    players.entry((pool.index(), player)).or_default().push(side);
                }
            }
        }
        let mut pools: BTreeMap<usize, Vec<Vec<RatedSide>>> = BTreeMap::new();
        for ((pool, _), sides) in players {
            pools.entry(pool).or_default().push(sides);
        }
        let most = SIZES[SIZES.len() - 1];
        let mut chosen = Vec::new();
        for mut players in pools.into_values() {
            // Players are in the order of a hash: the first of equals are a random choice.
            players.sort_by_key(|sides| std::cmp::Reverse(sides.len().min(most)));
            let many = players.iter().flat_map(|sides| sides.iter().take(most)).take(self.sides / 2);
            let many: Vec<RatedSide> = many.copied().collect();
            let once = players.iter().rev().filter_map(|sides| sides.first()).take(self.sides - many.len());
            let once: Vec<RatedSide> = once.filter(|side| !many.contains(side)).copied().collect();
            chosen.extend(many.into_iter().chain(once));
        }
        Ok(chosen)
    }

    /// The evidence of each side.
    ///
    /// # Errors
    /// If a game is invalid or inference fails.
    pub fn evidence(
        &self,
        games: &[SelectedGame],
        sides: &[RatedSide],
        model: &EvalModel,
        workers: &Workers<'_>,
    ) -> Result<Vec<SideEvidence>, EvalError> {
        workers.map(sides, |side| {
            let (game, mut moves) = (&games[side.game], Vec::new());
            let filter = Filter { min_ply: self.first_ply, ..Filter::default() };
            let replayed = game.parse()?.replay(&filter, |situation, sample| {
                if situation.position.turn() == side.color && moves.len() < self.moves {
                    moves.push((OwnedSituation::of(situation), sample.played));
                }
            });
            replayed.map_err(|error| game.invalid(error))?;
            let mut evidence = RatingEvidence::default();
            for (situation, played) in &moves {
                let asked = at_ratings(&situation.get()).map(|told| OwnedSituation::of(&told));
                evidence.add(&model.evaluate(&asked)?, *played);
            }
            (workers.on_progress)(1);
            let RatedSide { player, pool, rating, .. } = *side;
            Ok(SideEvidence { player, pool, rating, evidence })
        })
    }
}

/// The evidence of a side, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideEvidence {
    /// Hash of the player's name.
    pub player: u32,
    /// Rating pool.
    pub pool: RatingPool,
    /// The player's rating.
    pub rating: u16,
    /// The evidence.
    pub evidence: RatingEvidence,
}

/// Estimates of the ratings of players from their moves, against their ratings.
#[derive(Clone, Debug, Serialize)]
pub struct RatingReport {
    /// By pool and number of games; the pool `None` is all pools together.
    pub groups: Vec<RatingGroup>,
}

/// Estimates from a number of games.
#[derive(Clone, Debug, Serialize)]
pub struct RatingGroup {
    /// Rating pool; all if `None`.
    pub pool: Option<RatingPool>,
    /// Number of games of each estimate.
    pub games: usize,
    /// Number of players.
    pub players: usize,
    /// Number of estimates.
    pub estimates: usize,
    /// Mean absolute error.
    pub error: f64,
    /// Mean error; positive if the estimates are too high.
    pub bias: f64,
    /// Share of the 95% intervals that hold the rating.
    pub coverage: f64,
    /// Mean width of the intervals.
    pub width: f64,
    /// Mean absolute error of guessing the median rating of these players.
    pub baseline: f64,
}

/// An estimate and the truth.
struct Judged {
    player: u32,
    rating: f64,
    estimate: f64,
    covered: bool,
    width: f64,
}

impl RatingReport {
    /// Compares estimates with ratings. `model` is that of a pool.
    pub fn new(sides: &[SideEvidence], model: &dyn Fn(RatingPool) -> RatingModel) -> RatingReport {
        let mut players: BTreeMap<(usize, u32), Vec<(f64, &RatingEvidence)>> = BTreeMap::new();
        for side in sides.iter().filter(|side| side.evidence.moves > 0) {
            let own = players.entry((side.pool.index(), side.player)).or_default();
            own.push((f64::from(side.rating), &side.evidence));
        }
        let mut groups = Vec::new();
        let used = |pool: &RatingPool| players.keys().any(|(index, _)| *index == pool.index());
        let pools = RatingPool::ALL.into_iter().filter(used).map(Some);
        for pool in pools.chain([None]) {
            for games in SIZES {
                let mut judged = Vec::new();
                for ((index, player), own) in &players {
                    let of = RatingPool::ALL[*index];
                    if pool.is_none_or(|pool| pool == of) {
                        let parts = own.chunks_exact(games);
                        judged.extend(parts.filter_map(|part| judge(*player, part, &model(of))));
                    }
                }
                if !judged.is_empty() {
                    groups.push(RatingGroup::of(pool, games, &judged));
                }
            }
        }
        RatingReport { groups }
    }
}

fn judge(player: u32, games: &[(f64, &RatingEvidence)], model: &RatingModel) -> Option<Judged> {
    let mut all = RatingEvidence::default();
    games.iter().for_each(|(_, evidence)| all.merge(evidence));
    let rating = games.iter().map(|(rating, _)| rating).sum::<f64>() / games.len() as f64;
    let estimate = all.estimate(model)?;
    Some(Judged {
        player,
        rating,
        estimate: estimate.rating,
        covered: (estimate.low..=estimate.high).contains(&rating),
        width: estimate.high - estimate.low,
    })
}

impl RatingGroup {
    fn of(pool: Option<RatingPool>, games: usize, judged: &[Judged]) -> RatingGroup {
        let mean = |of: &dyn Fn(&Judged) -> f64| judged.iter().map(of).sum::<f64>() / judged.len() as f64;
        let mut players: Vec<u32> = judged.iter().map(|judged| judged.player).collect();
        players.sort_unstable();
        players.dedup();
        let mut ratings: Vec<f64> = judged.iter().map(|judged| judged.rating).collect();
        ratings.sort_by(f64::total_cmp);
        let median = ratings[ratings.len() / 2];
        RatingGroup {
            pool,
            games,
            players: players.len(),
            estimates: judged.len(),
            error: mean(&|judged| (judged.estimate - judged.rating).abs()),
            bias: mean(&|judged| judged.estimate - judged.rating),
            coverage: mean(&|judged| f64::from(u8::from(judged.covered))),
            width: mean(&|judged| judged.width),
            baseline: mean(&|judged| (judged.rating - median).abs()),
        }
    }
}

/// The line from ratings to ratings told under which the moves are likeliest.
fn fit_line(sides: &[SideEvidence]) -> (f64, f64) {
    let lines = (0..=20)
        .flat_map(|offset| (4..=12).map(move |slope| (f64::from(offset) * 50.0, f64::from(slope) * 0.1)));
    let likelihood = |&(offset, slope): &(f64, f64)| {
        let model = RatingModel { offset, slope, tempering: 1.0, spread: 0.0, mean: 0.0, deviation: 1.0 };
        let of = |side: &SideEvidence| model.log_likelihood(&side.evidence, f64::from(side.rating));
        sides.iter().map(of).sum::<f64>()
    };
    let best =
        lines.map(|line| (likelihood(&line), line)).max_by(|(one, _), (other, _)| one.total_cmp(other));
    best.map_or((0.0, 1.0), |(_, line)| line)
}

/// Fits the model of a pool: the line of ratings told, the population's mean and deviation, and the tempering and spread whose intervals hold the
/// rating 95% of the time for each number of games, with the smallest error.
pub fn fit_ratings(sides: &[SideEvidence], pool: RatingPool) -> Option<RatingModel> {
    let is_own = |side: &&SideEvidence| side.pool == pool && side.evidence.moves > 0;
    let sides: Vec<SideEvidence> = sides.iter().filter(is_own).copied().collect();
    if sides.len() < 2 * RATINGS {
        return None;
    }
    let count = sides.len() as f64;
    let mean = sides.iter().map(|side| f64::from(side.rating)).sum::<f64>() / count;
    let square = |side: &SideEvidence| (f64::from(side.rating) - mean).powi(2);
    let deviation = (sides.iter().map(square).sum::<f64>() / count).sqrt().max(100.0);
    let (offset, slope) = fit_line(&sides);
    let candidates = (1..=10).flat_map(|tempering| {
        (0..=5).map(move |spread| RatingModel {
            offset,
            slope,
            tempering: f64::from(tempering) * 0.1,
            spread: f64::from(spread) * 50.0,
            mean: mean.round(),
            deviation: deviation.round(),
        })
    });
    let cost = |model: &RatingModel| {
        let report = RatingReport::new(&sides, &|_| *model);
        let groups = report.groups.iter().filter(|group| group.pool.is_some());
        // A point of coverage is worth two points of rating.
        groups.map(|group| group.error + 200.0 * (group.coverage - 0.95).abs()).sum::<f64>()
    };
    candidates
        .map(|model| (cost(&model), model))
        .min_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, model)| model)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sides of players whose evidence is a normal distribution around the rating plus an error.
    fn sides(deviation: f64) -> Vec<SideEvidence> {
        let mut rng = fastrand::Rng::with_seed(5);
        let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
        let mut all = Vec::new();
        for player in 0..20 {
            let rating = (1600.0 + 250.0 * normal()).clamp(700.0, 2700.0);
            for _ in 0..20 {
                let seen = rating + deviation * normal();
                let log_likelihoods = tabia_practice::EVIDENCE_RATINGS
                    .map(|told| -((f64::from(told) - seen) / deviation).powi(2) / 2.0);
                all.push(SideEvidence {
                    player,
                    pool: RatingPool::Lichess,
                    rating: rating as u16,
                    evidence: RatingEvidence { moves: 30, log_likelihoods },
                });
            }
        }
        all
    }

    #[test]
    fn errors_shrink_with_games_and_intervals_hold_the_rating() {
        let sides = sides(200.0);
        let model = RatingModel {
            offset: 0.0,
            slope: 1.0,
            tempering: 1.0,
            spread: 0.0,
            mean: 1600.0,
            deviation: 250.0,
        };
        let report = RatingReport::new(&sides, &|_| model);
        let [one, five, twenty] = [0, 1, 2].map(|group| &report.groups[group]);
        assert_eq!([one.estimates, five.estimates, twenty.estimates], [400, 80, 20]);
        assert!(one.error > five.error && five.error > twenty.error, "{report:?}");
        assert!(one.error < one.baseline && twenty.error < 60.0);
        assert!((0.92..=0.98).contains(&one.coverage), "{}", one.coverage);
        assert_eq!(report.groups.len(), 6, "the pool, and all pools");
    }

    #[test]
    fn the_fit_finds_the_tempering_of_overconfident_evidence() {
        let mut sides = sides(200.0);
        for side in &mut sides {
            side.evidence.log_likelihoods = side.evidence.log_likelihoods.map(|value| 4.0 * value);
        }
        let model = fit_ratings(&sides, RatingPool::Lichess).unwrap();
        assert!((0.1..=0.4).contains(&model.tempering), "{model:?}");
        let told = model.offset + model.slope * 1600.0;
        assert!((told - 1600.0).abs() < 80.0, "{model:?}");
        assert_eq!(fit_ratings(&sides, RatingPool::ChessCom), None);
    }
}
