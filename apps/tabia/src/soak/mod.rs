//! `tabia soak`: many games of the human player at random ratings and clocks, which must all end by the rules.

mod unlikely;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use fastrand::Rng;
use tabia_arena::{
    Budget, Entrant, Finished, Format, GameRecord, Openings, PlayerId, Rules, Run, Schedule, Stop, WallTimer,
};
use tabia_encoding::Elo;
use tabia_search::{HumanPlay, HumanSpec, Pause, Spec};

use self::unlikely::Recorder;
use crate::arena::{Thinking, Watcher, entrants, heed_interrupts, today};
use crate::cli::SoakArgs;
use crate::players::PlayerFactory;

/// Clocks in seconds and seconds a move; none is without.
const CLOCKS: [&str; 5] = ["", "5+0.1", "20", "3+0.2", "40"];

/// Of clocks that are nearly down: seconds left, and seconds a move.
const SECONDS_LEFT: std::ops::RangeInclusive<u32> = 1..=10;
const INCREMENTS: [f32; 4] = [0.0, 0.1, 0.5, 1.0];
/// Sittings of games with such clocks.
const TIME_TROUBLES: usize = 10;
/// After this many half-moves a game with such clocks is a draw: nobody makes any number of moves in a second.
const SCRAMBLE_PLIES: u32 = 60;

/// Human players of each sitting, and the levels they also meet.
const HUMANS: usize = 6;
const LEVELS: [&str; 2] = ["level:1", "level:3"];

/// How much longer than the clock a move may take: what passes on a busy machine between the clock and the player.
const MARGIN: Duration = Duration::from_millis(100);

/// The games of a sitting.
struct Played {
    records: Vec<GameRecord>,
    /// What went wrong, in which game.
    faults: Vec<String>,
}

/// Some games with the same clock.
struct SteppedMatch {
    /// As in PGN; empty is without.
    clock: String,
    /// Clocks are nearly down.
    time_trouble: bool,
}

pub(crate) fn run(args: &SoakArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let stop = Arc::new(Stop::new());
    heed_interrupts(&stop)?;
    let mut rng = Rng::with_seed(args.seed);
    let recorder = Recorder::default();
    let sittings = sittings(args.time_trouble, &mut rng);
    let (mut records, mut faults): (Vec<GameRecord>, Vec<String>) = (Vec::new(), Vec::new());
    for (number, sitting) in sittings.iter().enumerate() {
        let left = args.games.saturating_sub(u32::try_from(records.len())?);
        let games = left.div_ceil(u32::try_from(sittings.len() - number)?);
        if games == 0 {
            break;
        }
        let played = sit(args, sitting, games, &mut rng, &recorder, &players, &stop)?;
        records.extend(played.records);
        faults.extend(played.faults);
    }
    let plies: usize = records.iter().map(|record| record.moves.len()).sum();
    let promoted = records.iter().flat_map(|record| &record.moves).filter(|uci| uci.len() == 5).count();
    let under =
        records.iter().flat_map(|record| &record.moves).filter(|uci| uci.len() == 5 && !uci.ends_with('q'));
    println!(
        "{} games, {plies} moves, {promoted} promotions, {} of them not to a queen",
        records.len(),
        under.count()
    );
    faults.iter().for_each(|fault| println!("{fault}"));
    if faults.is_empty() {
        println!("no fault");
    }
    let network = match &args.model {
        Some(file) => players.open(file)?,
        None => players.human()?,
    };
    recorder.report(&network, jobs(args))?;
    if !faults.is_empty() {
        bail!("{} games ended by a fault", faults.len());
    }
    Ok(())
}

/// The sittings to divide the games among.
fn sittings(only_time_trouble: bool, rng: &mut Rng) -> Vec<SteppedMatch> {
    let usual = CLOCKS.iter().filter(|_| !only_time_trouble);
    let usual = usual.map(|clock| SteppedMatch { clock: (*clock).to_owned(), time_trouble: false });
    let mut seconds: Vec<u32> = SECONDS_LEFT.collect();
    rng.shuffle(&mut seconds);
    let low = seconds.into_iter().cycle().zip(INCREMENTS.into_iter().cycle());
    let low = low.map(|(seconds, increment)| SteppedMatch {
        clock: format!("{seconds}+{increment}"),
        time_trouble: true,
    });
    let count = if only_time_trouble { TIME_TROUBLES } else { 1 };
    usual.chain(low.take(count)).collect()
}

fn jobs(args: &SoakArgs) -> NonZeroUsize {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    args.jobs.unwrap_or_else(cores)
}

/// Games with one clock, between players drawn by lot.
fn sit(
    args: &SoakArgs,
    sitting: &SteppedMatch,
    games: u32,
    rng: &mut Rng,
    recorder: &Recorder,
    players: &PlayerFactory,
    stop: &Arc<Stop>,
) -> Result<Played> {
    let ratings: Vec<Elo> = (0..HUMANS).map(|_| Elo(rng.u16(HumanSpec::RATINGS))).collect();
    let mut specs: Vec<Spec> = Vec::new();
    for rating in &ratings {
        let pause = Some(if rng.bool() { Pause::On } else { Pause::Off });
        let seed = Some(rng.u32(..).into());
        let (file, elo) = (args.model.clone(), Some(*rating));
        specs.push(Spec::Human(HumanSpec { file, elo, play: HumanPlay::AsRated, pool: None, pause, seed }));
    }
    // Levels heed no clock.
    for level in LEVELS.iter().filter(|_| !sitting.time_trouble) {
        specs.push(level.parse()?);
    }
    let count = specs.len();
    let mut ratings = ratings.into_iter();
    let players: Vec<Box<dyn Entrant + '_>> = entrants(&specs, &Thinking::unlimited(), players)?
        .into_iter()
        .map(|entrant| match ratings.next() {
            Some(rating) => Box::new(recorder.watch(entrant, rating)) as Box<dyn Entrant>,
            None => Box::new(entrant),
        })
        .collect();
    let pairs = games.div_ceil(2);
    let pairings: Vec<(PlayerId, PlayerId)> = (0..pairs)
        .map(|_| {
            let first = rng.usize(..HUMANS);
            let second = (first + rng.usize(1..count)) % count;
            (PlayerId(first), PlayerId(second))
        })
        .collect();
    let openings = Openings::challenge().shuffled(rng.u64(..));
    let schedule = Schedule::of_pairings(pairings, players.len(), 1, openings.list().len())?;
    let clock = sitting.clock.as_str();
    let control = if clock.is_empty() { None } else { Some(clock.parse()?) };
    let margin = if control.is_some() { MARGIN } else { Duration::ZERO };
    let rules = Rules {
        budget: Budget { control, margin, ..Budget::default() },
        max_plies: sitting.time_trouble.then_some(SCRAMBLE_PLIES),
        ..Rules::default()
    };
    let run = Run {
        event: "Tabia soak".to_owned(),
        date: today(),
        entrants: players.iter().map(|player| &**player).collect(),
        openings: &openings,
        schedule: &schedule,
        rules: &rules,
        seed: rng.u64(..),
        jobs: jobs(args),
        sprt: None,
    };
    let named = if clock.is_empty() { "without clocks" } else { clock };
    eprintln!("{} games {named}", schedule.games());
    let mut watcher = Watcher::new(0, schedule.games());
    let finished = run.play(None, &WallTimer::new(), stop, &mut |progress| {
        watcher.tell(progress, Format::Pairings);
    });
    watcher.finish();
    let Finished { records, end, .. } = finished?;
    if end != tabia_arena::End::Complete {
        bail!("stopped after {} of {} games", records.len(), schedule.games());
    }
    let fault = |record: &GameRecord| {
        let name = |player: PlayerId| specs[player.0].to_string();
        let (white, black, moves) = (name(record.white), name(record.black), record.moves.len());
        format!("{named}, {white} - {black}: {} after {moves} half-moves", record.reason)
    };
    let faults = records.iter().filter(|record| record.by_fault).map(fault).collect();
    Ok(Played { records, faults })
}
