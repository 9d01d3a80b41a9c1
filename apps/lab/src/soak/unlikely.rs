//! How often players choose unlikely moves in time trouble, compared with people.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use shakmaty::{Move, Position as _};
use tabia_arena::{Entrant, PlayerLifetime};
use tabia_cli::figures::{percent, signed_percent};
use tabia_encoding::{Elo, OwnedSituation, RatingPool};
use tabia_human_eval::{ClusteredMean, UNLIKELY};
use tabia_model::{Model, Policy};
use tabia_players::{Player, Wrapped};

/// The time left of moves that count.
const TIME_LEFT: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10);
/// The first ply that counts.
const FIRST_PLY: u32 = 10;

/// How often people with 1 to 10 seconds left play a move that the network gives less than 1%, by rating: `tabia eval human`
/// on games it was not trained on (docs/guides/strength.md).
const PEOPLE: [(f64, f64); 5] =
    [(900.0, 0.036), (1300.0, 0.036), (1600.0, 0.025), (2000.0, 0.021), (2600.0, 0.027)];

/// The lowest ratings of the bands.
const BANDS: [u16; 4] = [600, 1200, 1600, 2000];

/// Batch size.
const TOGETHER: usize = 32;

/// The recorded moves of players.
#[derive(Clone, Default)]
pub(super) struct Recorder {
    games: Arc<Mutex<Vec<Recorded>>>,
}

/// The moves of one player in one game.
struct Recorded {
    rating: Elo,
    moves: Vec<(OwnedSituation, Move)>,
}

/// The moves of one rating band.
struct Band {
    least: u16,
    moves: u64,
    /// The share of unlikely ones.
    share: ClusteredMean,
    /// The excess over people of the same ratings.
    excess: ClusteredMean,
}

impl Recorder {
    /// Records the moves of an entrant of this rating.
    pub(super) fn record<'a>(&self, entrant: impl Entrant + 'a, rating: Elo) -> impl Entrant + 'a {
        RecordedEntrant { entrant, rating, recorder: self.clone() }
    }

    /// Prints how often moves were unlikely.
    ///
    /// # Errors
    /// If that is significantly more often than people play such moves.
    pub(super) fn report(&self, network: &Model, jobs: NonZeroUsize) -> Result<()> {
        let mut bands = BANDS.map(|least| Band {
            least,
            moves: 0,
            share: ClusteredMean::default(),
            excess: ClusteredMean::default(),
        });
        for Judged { rating, moves, unlikely } in self.judge(network, jobs)? {
            let of_rating = bands.iter_mut().rev().find(|band| band.least <= rating.0);
            if let Some(band) = of_rating {
                band.moves += moves;
                band.share.add_game(moves, unlikely as f64);
                band.excess.add_game(moves, unlikely as f64 - moves as f64 * people(rating));
            }
        }
        println!("moves with 1 to 10 s left that the network gives less than 1%, and people's share:");
        let mut too_often = Vec::new();
        for band in bands.iter().filter(|band| band.moves > 0) {
            let (share, excess) = (band.share.proportion(), band.excess.mean());
            let of_people = 100.0 * (share.value - excess.value);
            println!(
                "{:>6}+ {:>7} moves  {:>20}  people {of_people:.1}%",
                band.least,
                band.moves,
                percent(share)
            );
            if excess.low.is_some_and(|low| low > 0.0) {
                too_often.push(format!(
                    "{} from {} up: {}",
                    percent(share),
                    band.least,
                    signed_percent(excess)
                ));
            }
        }
        if !too_often.is_empty() {
            bail!("unlikely moves are played more often than by people: {}", too_often.join("; "));
        }
        Ok(())
    }

    /// Evaluates every move.
    fn judge(&self, network: &Model, jobs: NonZeroUsize) -> Result<Vec<Judged>> {
        let games = std::mem::take(&mut *self.games.lock().unwrap_or_else(PoisonError::into_inner));
        let judge = |games: &[Recorded]| games.iter().map(|game| game.judge(network)).collect();
        let judged: Result<Vec<Vec<Judged>>> = std::thread::scope(|scope| {
            let chunks = games.chunks(games.len().div_ceil(jobs.get()).max(1));
            let threads: Vec<_> = chunks.map(|chunk| scope.spawn(move || judge(chunk))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        Ok(judged?.into_iter().flatten().collect())
    }
}

/// The unlikely moves of one player in one game.
struct Judged {
    rating: Elo,
    moves: u64,
    unlikely: u64,
}

impl Recorded {
    fn judge(&self, network: &Model) -> Result<Judged> {
        let mut unlikely = 0;
        for some in self.moves.chunks(TOGETHER) {
            let situations: Vec<_> = some.iter().map(|(kept, _)| kept.get()).collect();
            for (said, (_, played)) in network.evaluate(&situations)?.iter().zip(some) {
                let candidates = said.policy.iter().flat_map(Policy::candidates);
                let played = candidates.into_iter().find(|candidate| candidate.mv == *played);
                unlikely += u64::from(played.is_none_or(|played| played.probability < UNLIKELY));
            }
        }
        Ok(Judged { rating: self.rating, moves: self.moves.len() as u64, unlikely })
    }
}

/// People's share at a rating, by linear interpolation.
fn people(Elo(rating): Elo) -> f64 {
    let rating = f64::from(rating);
    let above = PEOPLE.partition_point(|(knot, _)| *knot <= rating);
    match (above.checked_sub(1).map(|below| PEOPLE[below]), PEOPLE.get(above)) {
        (Some((low, from)), Some((high, to))) => from + (to - from) * (rating - low) / (high - low),
        (Some((_, share)), None) => share,
        (None, Some((_, share))) => *share,
        (None, None) => 0.0,
    }
}

struct RecordedEntrant<E> {
    entrant: E,
    rating: Elo,
    recorder: Recorder,
}

impl<E: Entrant> Entrant for RecordedEntrant<E> {
    fn name(&self) -> String {
        self.entrant.name()
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String> {
        let mut game_record = GameGuard {
            recorded: Recorded { rating: self.rating, moves: Vec::new() },
            recorder: self.recorder.clone(),
        };
        let rating = self.rating;
        Ok(Box::new(Wrapped::new(self.entrant.build(seed)?, move |player, game, limits, control| {
            let decision = player.decide(game, limits, control)?;
            let (position, turn) = (game.current(), game.current().turn());
            let ply = 2 * (position.fullmoves().get() - 1) + u32::from(turn.is_black());
            if let Some(clocks) = limits.clocks.filter(|_| ply >= FIRST_PLY)
                && TIME_LEFT.contains(&clocks[turn].remaining)
            {
                let mut situation = game.situation();
                situation.mover.rating = Some(rating);
                situation.mover.time_left = Some(clocks[turn].remaining);
                situation.opponent.time_left = Some(clocks[turn.other()].remaining);
                situation.pool = RatingPool::Lichess;
                game_record.recorded.moves.push((OwnedSituation::of(&situation), decision.choice.mv));
            }
            Ok(decision)
        })))
    }

    fn lifetime(&self) -> PlayerLifetime {
        // One player per game: the moves of a game are not independent.
        PlayerLifetime::PerGame
    }
}

/// Hands in the moves of a game when its player is dropped.
struct GameGuard {
    recorded: Recorded,
    recorder: Recorder,
}

impl Drop for GameGuard {
    fn drop(&mut self) {
        let recorded =
            Recorded { rating: self.recorded.rating, moves: std::mem::take(&mut self.recorded.moves) };
        self.recorder.games.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    }
}
