//! `tabia uci`: any player as an engine for any client.

mod served;
mod settings;

use anyhow::{Context, Result};
use tabia_players::Spec;

use self::served::Served;
use crate::cli::UciArgs;

pub(crate) fn run(args: &UciArgs) -> Result<()> {
    let spec: Spec = args.player.parse()?;
    tabia_cli::evaluate_on(args.threads);
    // Opened before the greeting, so that a missing file is a plain error and not a silent engine.
    let engine = Served::new(spec).with_context(|| format!("--player {}", args.player))?;
    Ok(tabia_uci::serve(engine, std::io::stdin().lock(), tabia_stdio::stdout())?)
}
