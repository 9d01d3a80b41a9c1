use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use indicatif::HumanCount;
use tabia_data::stats::{Category as _, Pool, Tally};
use tabia_data::{GameRules, PoolRule, Side, Split, SplitBy};
use tabia_human_eval::GameSelection;

/// Which networks are asked.
#[derive(Args)]
pub(super) struct ModelArgs {
    /// A network with a move head: human, human:FILE, maia:FILE or a model file; several are asked about the same
    /// positions [default: human].
    #[arg(long = "model", value_name = "SPEC")]
    pub(super) models: Vec<String>,
}

/// Which games or puzzles count, and how the work is done.
#[derive(Args)]
pub(super) struct ChoiceArgs {
    /// Only what training keeps aside: PPM of a million records, by their keys, as `cargo lab train` divides them
    /// [without a number: 10000, as trainings do unless told otherwise].
    #[arg(long, value_name = "PPM", num_args = 0..=1, default_missing_value = "10000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) held_out: Option<u32>,
    /// Threads [default: one a core].
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// Write all figures to this file too.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

/// Which scales the networks were told, for so many games of each, and who says so. A set says it itself.
pub(super) fn pools_said(rule: PoolRule, games: &Tally<Pool>, inputs: &[PathBuf]) -> String {
    let met = games.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> =
        met.map(|(pool, count)| format!("{} {}", HumanCount(count), pool.label())).collect();
    let are_sets = inputs.iter().all(|input| input.join("set.json").is_file());
    let source = match rule {
        _ if are_sets => "as the set says",
        PoolRule::Auto => "assumed from tags and clocks; --pool overrides",
        PoolRule::Is(_) => "by --pool",
    };
    format!("rating pool of the games: {} ({source})", counts.join(", "))
}

impl ChoiceArgs {
    pub(super) fn jobs(&self) -> NonZeroUsize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.jobs.unwrap_or_else(cores)
    }

    pub(super) fn choice(&self, pool: PoolRule, positions: Option<u64>) -> GameSelection {
        let (split, side) = match self.held_out {
            Some(ppm) => (Split::of_training(ppm, SplitBy::Record), Side::HeldOut),
            None => (Split::NONE, Side::All),
        };
        let rules = GameRules { pool, ..GameRules::default() };
        GameSelection { rules, split, side, positions, jobs: self.jobs() }
    }
}
