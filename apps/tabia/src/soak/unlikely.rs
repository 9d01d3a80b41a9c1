//! How often players choose moves that the network gives little, against how often people do.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use shakmaty::{Move, Position as _};
use tabia_arena::{Entrant, PlayerLifetime};
use tabia_encoding::{Elo, KeptSituation, RatingPool};
use tabia_game::History;
use tabia_human_eval::{ClusteredMean, UNLIKELY};
use tabia_model::{Model, Policy};
use tabia_search::{Choice, Limits, Player, PlayerError, SearchControl};

use crate::eval::{percent, signed_percent};

/// Time left in which moves count.
const TIME_LEFT: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(10);
/// Openings do not: half-moves before this one.
const FIRST_PLY: u32 = 10;

/// How often people with 1 to 10 seconds left play a move that the network gives less than 1%, by rating: `tabia eval human`
/// on games it was not trained on (docs/guides/strength.md).
const PEOPLE: [(f64, f64); 5] =
    [(900.0, 0.036), (1300.0, 0.036), (1600.0, 0.025), (2000.0, 0.021), (2600.0, 0.027)];

/// The least ratings of the bands that are looked at one by one.
const BANDS: [u16; 4] = [600, 1200, 1600, 2000];

/// Positions the network is asked about together.
const TOGETHER: usize = 32;

/// The moves of some players, as they were asked for.
#[derive(Clone, Default)]
pub(super) struct Recorder {
    games: Arc<Mutex<Vec<Recorded>>>,
}

/// One player's moves of one game.
struct Recorded {
    rating: Elo,
    moves: Vec<(KeptSituation, Move)>,
}

/// Moves with little time left, of players of some ratings.
struct Band {
    least: u16,
    moves: u64,
    /// How many of them were unlikely.
    share: ClusteredMean,
    /// How many more than people of the same ratings play.
    excess: ClusteredMean,
}

impl Recorder {
    /// The entrant, whose moves are recorded as those of a player of this rating.
    pub(super) fn watch<'a>(&self, entrant: impl Entrant + 'a, rating: Elo) -> impl Entrant + 'a {
        RecordedEntrant { entrant, rating, recorder: self.clone() }
    }

    /// Prints how often moves with little time left were unlikely.
    ///
    /// # Errors
    /// If that is more often than people play such moves, beyond what chance explains.
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

    /// Asks the network about every move.
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

/// How many of one player's moves of one game were unlikely.
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

/// People's share at a rating: evenly between those of the table, and as they are beyond its ends.
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
        let recorded = Recorded { rating: self.rating, moves: Vec::new() };
        Ok(Box::new(RecordedPlayer {
            player: self.entrant.build(seed)?,
            recorded,
            recorder: self.recorder.clone(),
        }))
    }

    fn lifetime(&self) -> PlayerLifetime {
        // A player a game: moves of the same game are not independent.
        PlayerLifetime::PerGame
    }
}

struct RecordedPlayer {
    player: Box<dyn Player>,
    recorded: Recorded,
    recorder: Recorder,
}

impl Player for RecordedPlayer {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        let choice = self.player.choose(game, limits, watch)?;
        let position = game.current();
        let ply = 2 * (position.fullmoves().get() - 1) + u32::from(position.turn().is_black());
        if let Some(clocks) = limits.clocks.filter(|_| ply >= FIRST_PLY)
            && TIME_LEFT.contains(&clocks[position.turn()].remaining)
        {
            let mut situation = game.situation();
            situation.mover.rating = Some(self.recorded.rating);
            situation.mover.time_left = Some(clocks[position.turn()].remaining);
            situation.opponent.time_left = Some(clocks[position.turn().other()].remaining);
            situation.pool = RatingPool::Online;
            self.recorded.moves.push((KeptSituation::of(&situation), choice.mv));
        }
        Ok(choice)
    }
}

impl Drop for RecordedPlayer {
    fn drop(&mut self) {
        let recorded =
            Recorded { rating: self.recorded.rating, moves: std::mem::take(&mut self.recorded.moves) };
        self.recorder.games.lock().unwrap_or_else(PoisonError::into_inner).push(recorded);
    }
}
