use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use indicatif::HumanCount;
use tabia_data::stats::{Category as _, Pool, Tally};
use tabia_data::{GameRules, PoolRule, Side, Split, SplitBy};
use tabia_human_eval::GameSelection;

/// The networks to evaluate.
#[derive(Args)]
pub(super) struct ModelArgs {
    /// A network with a policy head: human, human:FILE, maia:FILE or a model file; or maia:FOLDER, networks for one rating
    /// each (maia-1100.pb.gz, ...), of which the nearest to the mover's predicts. Repeat to compare networks on the same
    /// positions [default: human].
    #[arg(long = "model", value_name = "SPEC")]
    pub(super) models: Vec<String>,
}

/// Human games.
#[derive(Args)]
pub(super) struct GameArgs {
    /// PGN files (also .zst, .gz, .bz2), folders of them, sets, or - for standard input.
    #[arg(required = true, value_name = "GAMES")]
    pub(super) games: Vec<PathBuf>,
    /// Rating pool of PGN games; auto detects it from each game's tags and clocks, and prints the result.
    #[arg(long, value_name = "auto|lichess|chess.com|online|over-the-board|unknown", default_value = "auto")]
    pub(super) pool: PoolRule,
    /// Use games with about N positions, sampled deterministically [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) positions: Option<u64>,
}

impl GameArgs {
    /// The rating pools of the games, with counts, and where they come from. Sets store their own.
    pub(super) fn pools_said(&self, games: &Tally<Pool>) -> String {
        let used = games.iter().filter(|(_, count)| *count > 0);
        let counts: Vec<String> =
            used.map(|(pool, count)| format!("{} {}", HumanCount(count), pool.label())).collect();
        let are_sets = self.games.iter().all(|input| input.join("set.json").is_file());
        let source = match self.pool {
            _ if are_sets => "as the set says",
            PoolRule::Auto => "assumed from tags and clocks; --pool overrides",
            PoolRule::Is(_) => "by --pool",
        };
        format!("rating pool of the games: {} ({source})", counts.join(", "))
    }
}

/// The games or puzzles to use, and output options.
#[derive(Args)]
pub(super) struct ChoiceArgs {
    /// Only held-out records: PPM of a million, selected by key as in `cargo lab train`
    /// [without a number: 10000, the default of training].
    #[arg(long, value_name = "PPM", num_args = 0..=1, default_missing_value = "10000", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) held_out: Option<u32>,
    /// Number of threads [default: one per core].
    #[arg(long, value_name = "N")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// Also write all figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub(super) json: Option<PathBuf>,
}

impl ChoiceArgs {
    pub(super) fn jobs(&self) -> NonZeroUsize {
        tabia_cli::jobs(self.jobs)
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
