//! `tabia soak`: many games of the human player at random ratings and clocks, which must all end by the rules.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use fastrand::Rng;
use tabia_arena::{
    Budget, Entrant, Finished, Format, GameRecord, Openings, PlayerId, Rules, Run, Schedule, Stop, WallTimer,
};
use tabia_search::Spec;

use crate::arena::{Thinking, Watcher, entrants, heed_interrupts, today};
use crate::cli::SoakArgs;
use crate::players::Makers;

/// Clocks in seconds and seconds a move; none is without.
const CLOCKS: [&str; 5] = ["", "5+0.1", "20", "3+0.2", "40"];

/// Human players of each sitting, and the levels they also meet.
const HUMANS: usize = 6;
const LEVELS: [&str; 2] = ["level:1", "level:3"];

/// How much longer than the clock a move may take: what passes on a busy machine between the clock and the player.
const MARGIN: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &SoakArgs) -> Result<()> {
    let makers = Makers::default();
    let stop = Arc::new(Stop::new());
    heed_interrupts(&stop)?;
    let mut rng = Rng::with_seed(args.seed);
    let mut records: Vec<GameRecord> = Vec::new();
    for (number, clock) in CLOCKS.iter().enumerate() {
        let left = args.games.saturating_sub(u32::try_from(records.len())?);
        let games = left.div_ceil(u32::try_from(CLOCKS.len() - number)?);
        if games == 0 {
            break;
        }
        records.extend(sit(args, clock, games, &mut rng, &makers, &stop)?);
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
    let faults: Vec<&GameRecord> = records.iter().filter(|record| record.by_fault).collect();
    if let Some(first) = faults.first() {
        bail!("{} games ended by a fault, the first: {}", faults.len(), first.reason);
    }
    println!("no fault");
    Ok(())
}

/// Games with one clock, between players drawn by lot.
fn sit(
    args: &SoakArgs,
    clock: &str,
    games: u32,
    rng: &mut Rng,
    makers: &Makers,
    stop: &Arc<Stop>,
) -> Result<Vec<GameRecord>> {
    let mut human = || -> Result<Spec> {
        let pause = if rng.bool() { "on" } else { "off" };
        let (elo, seed) = (rng.u16(400..=3000), rng.u32(..));
        Ok(format!("human,elo={elo},pause={pause},seed={seed}").parse()?)
    };
    let mut specs: Vec<Spec> = (0..HUMANS).map(|_| human()).collect::<Result<_>>()?;
    for level in LEVELS {
        specs.push(level.parse()?);
    }
    let players = entrants(&specs, &Thinking::unlimited(), makers)?;
    let pairs = games.div_ceil(2);
    let pairings: Vec<(PlayerId, PlayerId)> = (0..pairs)
        .map(|_| {
            let first = rng.usize(..HUMANS);
            let second = (first + rng.usize(1..specs.len())) % specs.len();
            (PlayerId(first), PlayerId(second))
        })
        .collect();
    let openings = Openings::challenge().shuffled(rng.u64(..));
    let schedule = Schedule::of_pairings(pairings, players.len(), 1, openings.list().len())?;
    let control = if clock.is_empty() { None } else { Some(clock.parse()?) };
    let margin = if control.is_some() { MARGIN } else { Duration::ZERO };
    let rules = Rules { budget: Budget { control, margin, ..Budget::default() }, ..Rules::default() };
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let run = Run {
        event: "Tabia soak".to_owned(),
        date: today(),
        entrants: players.iter().map(|player| player as &dyn Entrant).collect(),
        openings: &openings,
        schedule: &schedule,
        rules: &rules,
        seed: rng.u64(..),
        jobs: args.jobs.unwrap_or_else(cores),
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
    Ok(records)
}
