//! `tabia-lab soak`: many games of human-like players at random ratings and time controls; any fault is an error.

mod unlikely;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use fastrand::Rng;
use tabia_arena::{Budget, End, Entrant, GameRecord, Openings, PlayerId, Rules, Run, Schedule, Stop};
use tabia_cli::{PlayerFactory, entrants, jobs, play_run, stop_on_interrupt, today};
use tabia_encoding::Elo;
use tabia_players::{HumanSpec, Spec};

use self::unlikely::Recorder;

#[derive(Args)]
#[command(after_help = "Examples:
  tabia-lab soak --games 1000 --jobs 8
  tabia-lab soak --time-trouble --games 200 --jobs 8      1 to 10 seconds left, on a loaded machine

Games without clocks and with five time controls, against each other and against levels 1 and 3, half of the players with
human thinking times. An illegal move, an error, a crash or a late move is a fault. So is a player that with 1 to 10
seconds left plays moves of a probability below 1% more often than people do. Players mostly wait, so --jobs may exceed
the number of cores.")]
pub(crate) struct SoakArgs {
    /// Network [default: the bundled human-like network].
    model: Option<PathBuf>,
    /// Number of games.
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    games: u32,
    /// Only games with 1 to 10 seconds and an increment of 0 to 1, between human-like players.
    #[arg(long)]
    time_trouble: bool,
    /// Concurrent games [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

/// Time controls in seconds; empty is without clocks.
const TIME_CONTROLS: [&str; 5] = ["", "5+0.1", "20", "3+0.2", "40"];

/// Time trouble: seconds left and increments.
const SECONDS_LEFT: std::ops::RangeInclusive<u32> = 1..=10;
const INCREMENTS: [f32; 4] = [0.0, 0.1, 0.5, 1.0];
/// The number of rounds in time trouble with --time-trouble.
const TIME_TROUBLE_ROUNDS: usize = 10;
/// Such games are drawn after this many plies.
const SCRAMBLE_PLIES: u32 = 60;

/// Human-like players of each round, and the levels they also play.
const HUMANS: usize = 6;
const LEVELS: [&str; 2] = ["level:1", "level:3"];

/// Time margin, for lag on a busy machine.
const MARGIN: Duration = Duration::from_millis(100);

/// The games of a round.
struct Played {
    records: Vec<GameRecord>,
    /// Descriptions of faults.
    faults: Vec<String>,
}

/// Games with one time control.
struct Round {
    /// As in PGN; empty is without clocks.
    clock: String,
    time_trouble: bool,
}

pub(crate) fn run(args: &SoakArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    let mut rng = Rng::with_seed(args.seed);
    let recorder = Recorder::default();
    let rounds = rounds(args.time_trouble, &mut rng);
    let (mut records, mut faults): (Vec<GameRecord>, Vec<String>) = (Vec::new(), Vec::new());
    for (number, round) in rounds.iter().enumerate() {
        let left = args.games.saturating_sub(u32::try_from(records.len())?);
        let games = left.div_ceil(u32::try_from(rounds.len() - number)?);
        if games == 0 {
            break;
        }
        let played = play_round(args, round, games, &mut rng, &recorder, &players, &stop)?;
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
    let network = players.human_or(args.model.as_deref()).context("the network")?;
    recorder.report(&network, jobs(args.jobs))?;
    if !faults.is_empty() {
        bail!("{} games ended by a fault", faults.len());
    }
    Ok(())
}

/// The rounds, among which the games are divided.
fn rounds(only_time_trouble: bool, rng: &mut Rng) -> Vec<Round> {
    let usual = TIME_CONTROLS.iter().filter(|_| !only_time_trouble);
    let usual = usual.map(|clock| Round { clock: (*clock).to_owned(), time_trouble: false });
    let mut seconds: Vec<u32> = SECONDS_LEFT.collect();
    rng.shuffle(&mut seconds);
    let low = seconds.into_iter().cycle().zip(INCREMENTS.into_iter().cycle());
    let low =
        low.map(|(seconds, increment)| Round { clock: format!("{seconds}+{increment}"), time_trouble: true });
    let count = if only_time_trouble { TIME_TROUBLE_ROUNDS } else { 1 };
    usual.chain(low.take(count)).collect()
}

/// Games with one time control between random players.
fn play_round(
    args: &SoakArgs,
    round: &Round,
    games: u32,
    rng: &mut Rng,
    recorder: &Recorder,
    players: &PlayerFactory,
    stop: &Arc<Stop>,
) -> Result<Played> {
    let ratings: Vec<Elo> = (0..HUMANS).map(|_| Elo(rng.u16(HumanSpec::RATINGS))).collect();
    let mut specs: Vec<Spec> = Vec::new();
    for rating in &ratings {
        let pause = Some(rng.bool());
        let seed = Some(rng.u32(..).into());
        let (file, elo) = (args.model.clone(), Some(*rating));
        specs.push(Spec::Human(HumanSpec { file, elo, pause, seed, ..HumanSpec::default() }));
    }
    // Levels ignore the clock.
    for level in LEVELS.iter().filter(|_| !round.time_trouble) {
        specs.push(level.parse()?);
    }
    let count = specs.len();
    let mut ratings = ratings.into_iter();
    let players: Vec<Box<dyn Entrant + '_>> = entrants(&specs, &Budget::default(), players)?
        .into_iter()
        .map(|entrant| match ratings.next() {
            Some(rating) => Box::new(recorder.record(entrant, rating)) as Box<dyn Entrant>,
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
    let openings = Openings::balanced().shuffled(rng.u64(..));
    let schedule = Schedule::of_pairings(pairings, players.len(), 1, openings.list().len())?;
    let clock = round.clock.as_str();
    let control = if clock.is_empty() { None } else { Some(clock.parse()?) };
    let margin = if control.is_some() { MARGIN } else { Duration::ZERO };
    let rules = Rules {
        budget: Budget { control, margin, ..Budget::default() },
        max_plies: round.time_trouble.then_some(SCRAMBLE_PLIES),
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
        jobs: jobs(args.jobs),
        sprt: None,
    };
    let named = if clock.is_empty() { "without clocks" } else { clock };
    eprintln!("{} games {named}", schedule.games());
    let finished = play_run(&run, None, stop)?;
    let records = finished.records;
    if finished.end != End::Complete {
        bail!("stopped after {} of {} games", records.len(), schedule.games());
    }
    let fault = |record: &GameRecord| {
        let name = |player: PlayerId| specs[player.0].to_string();
        let (white, black, moves) = (name(record.white), name(record.black), record.moves.len());
        format!("{named}, {white} - {black}: {} after {moves} plies", record.reason)
    };
    let faults = records.iter().filter(|record| record.by_fault).map(fault).collect();
    Ok(Played { records, faults })
}
