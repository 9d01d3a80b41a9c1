use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use clap::Args;
use tabia_arena::{Stop, StopRequest};
use tabia_cli::{stop_on_interrupt, write_atomically};
use tabia_practice::{LearnSettings, LearnStage, Learner, NameCounter, PersonGame, Predict};
use tabia_report::{Progress, grouped};

use super::{NetworkArgs, show};
use crate::review::games::{Games, Read};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia me learn games.pgn --out me.card
  tabia me learn lichess_me.pgn.zst --name me --newest 500 --out me.card
  tabia play me.card

The adapter is a player in every venue: human:me.card. It holds the moves of the player's openings and weights of features
of moves, in some tens of kilobytes; nothing leaves the machine. docs/guides/me.md explains it.")]
pub(crate) struct LearnArgs {
    /// PGN files (also .zst, .gz, .bz2), or folders of them.
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,
    /// The player [default: the most frequent name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The newest of the games, by their dates.
    #[arg(long, value_name = "N", default_value = "1000")]
    newest: NonZeroUsize,
    /// The most moves that the network is asked about; the openings are learned from all.
    #[arg(long, value_name = "N", default_value = "8000")]
    moves: NonZeroUsize,
    #[command(flatten)]
    network: NetworkArgs,
    /// Number of threads [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

pub(super) fn run(args: &LearnArgs) -> Result<()> {
    let inputs = Games::find(&args.games)?;
    let (model, network) = args.network.open()?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => most_frequent(&inputs)?,
    };
    let meter = Progress::of_bytes(inputs.bytes());
    let mut games = Vec::new();
    let mut names = NameCounter::default();
    inputs.each(&|read| meter.set(read, "reading"), &mut |game| {
        if let Read::Game(game) = game {
            names.add(&game);
            games.extend(PersonGame::of(&game, &name));
        }
        true
    })?;
    meter.finish();
    if games.is_empty() {
        match names.most_frequent() {
            Some((often, count)) => {
                bail!(
                    "no game of {name:?} (the most frequent name is {often:?}, in {} games)",
                    grouped(count)
                )
            }
            None => bail!("there are no games with players' names"),
        }
    }
    let settings = LearnSettings { name, games: args.newest.get(), moves: args.moves.get() };
    let mut learner = Learner::new(settings, network, games)?;
    let stop = std::sync::Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    learn(&mut learner, &*model, tabia_cli::jobs(args.jobs), &stop)?;
    let Some(adapter) = learner.adapter() else { bail!("stopped; nothing was written") };
    let json = adapter.to_json();
    write_atomically(&args.out, json.as_bytes())?;
    show::print(adapter, json.len());
    println!("\n{}: play it with `tabia play {0}`, or as human:{0} anywhere", args.out.display());
    Ok(())
}

fn most_frequent(inputs: &Games) -> Result<String> {
    let mut names = NameCounter::default();
    let meter = Progress::of_bytes(inputs.bytes());
    inputs.each(&|read| meter.set(read, "reading"), &mut |game| {
        if let Read::Game(game) = game {
            names.add(&game);
        }
        true
    })?;
    meter.finish();
    let Some((name, count)) = names.most_frequent() else { bail!("there are no games with players' names") };
    eprintln!("learning from the {} games of {name}; --name NAME chooses another player", grouped(count));
    Ok(name.to_owned())
}

/// Performs the tasks of a learner on several threads, until the end or an interrupt.
fn learn(
    learner: &mut Learner,
    network: &(dyn Predict + Sync),
    jobs: NonZeroUsize,
    stop: &Stop,
) -> Result<()> {
    while !learner.tasks().is_empty() {
        let (stage, _, total) = learner.progress();
        let what = match stage {
            LearnStage::Rating => "games: rating",
            LearnStage::Moves => "games: moves",
            LearnStage::Fitting | LearnStage::Done => "fits",
        };
        let meter = Progress::of(total as u64, what);
        let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        let performed = Mutex::new(Vec::with_capacity(total));
        let shared = &*learner;
        std::thread::scope(|scope| {
            for _ in 0..jobs.get().min(total) {
                scope.spawn(|| {
                    while !failed.load(Ordering::Relaxed) && stop.requested() == StopRequest::Continue {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(task) = shared.tasks().get(index) else { return };
                        let done = shared.perform(*task, network);
                        failed.fetch_or(done.is_err(), Ordering::Relaxed);
                        performed.lock().unwrap_or_else(PoisonError::into_inner).push((index, done));
                        meter.add(1);
                    }
                });
            }
        });
        meter.finish();
        if stop.requested() != StopRequest::Continue {
            bail!("stopped; nothing was written");
        }
        let mut performed = performed.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The order of sums decides their last digits.
        performed.sort_by_key(|(index, _)| *index);
        for (_, done) in performed {
            learner.accept(done?);
        }
    }
    Ok(())
}
