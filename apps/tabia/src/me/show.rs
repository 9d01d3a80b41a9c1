use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use tabia_cli::{PlayerFactory, open_adapter};
use tabia_encoding::RatingPool;
use tabia_players::{Adapter, Feature};
use tabia_report::{aligned, grouped, head};

#[derive(Args)]
#[command(after_help = "Example:
  tabia me show me.card")]
pub(crate) struct ShowArgs {
    /// An adapter.
    file: PathBuf,
}

pub(super) fn run(args: &ShowArgs) -> Result<()> {
    let at = || args.file.display().to_string();
    let bytes = std::fs::metadata(&args.file).with_context(at)?.len();
    let Some(adapter) = open_adapter(&args.file).with_context(at)? else {
        bail!("{}: not an adapter (expected a file of `tabia me learn`)", at());
    };
    print(&adapter, bytes as usize);
    let bundled = PlayerFactory::default().human_or(None).context("the human network")?;
    if adapter.network.sha256 != bundled.sha256() {
        println!(
            "learned for another network ({}) than the bundled one: learn it again from the games, or play it with net=FILE",
            adapter.network.name
        );
    }
    Ok(())
}

/// The number of weights shown.
const SHOWN: usize = 8;

pub(super) fn print(adapter: &Adapter, bytes: usize) {
    let gain = &adapter.gain;
    println!(
        "{}: {} games, {} moves, {} bytes",
        adapter.name,
        grouped(u64::from(adapter.games)),
        grouped(u64::from(adapter.moves)),
        grouped(bytes as u64)
    );
    if let Some(rating) = adapter.rating {
        let pool = match adapter.pool {
            RatingPool::Unknown => String::new(),
            pool => format!(" ({})", pool.label()),
        };
        let shift = if adapter.shift == 0 { String::new() } else { format!(", told {:+}", adapter.shift) };
        println!("rating {}{pool}{shift}", rating.0);
    }
    let mut rows = vec![head(&["cross-validated", "top-1", "log-loss"])];
    for (side, name) in ["network told the rating", "adapter"].into_iter().enumerate() {
        rows.push(vec![
            name.to_owned(),
            format!("{:.1}%", 100.0 * gain.top_1[side]),
            format!("{:.3}", gain.log_loss[side]),
        ]);
    }
    println!("{}", aligned(&rows));
    if adapter.weights.is_empty() && adapter.memory.is_none() && adapter.shift == 0 {
        println!(
            "nothing predicts these games better than the rating alone: it plays like others of the rating"
        );
    }
    if let Some(memory) = &adapter.memory {
        println!("{} positions of openings", grouped(memory.positions.len() as u64));
    }
    if adapter.pace != 0.0 {
        println!("thinks for {} than others", if adapter.pace > 0.0 { "longer" } else { "shorter" });
    }
    let mut weights: Vec<(Feature, f32)> =
        adapter.weights.iter().copied().filter(|(feature, _)| !feature.is_square()).collect();
    weights.sort_by(|(_, one), (_, other)| other.abs().total_cmp(&one.abs()));
    if !weights.is_empty() {
        let mut rows = vec![head(&["strongest habits", "odds"])];
        rows.extend(
            weights
                .iter()
                .take(SHOWN)
                .map(|(feature, weight)| vec![feature.name(), format!("x{:.2}", weight.exp())]),
        );
        println!("{}", aligned(&rows));
    }
}
