//! `tabia me`: adapters, which make the human network play like one person.

mod cache;
mod eval;
mod learn;
mod show;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use tabia_cli::PlayerFactory;
use tabia_model::Model;
use tabia_players::AdapterNetwork;

#[derive(Subcommand)]
pub(crate) enum MeCommand {
    /// Learn an adapter from the games of one player.
    Learn(learn::LearnArgs),
    /// Describe an adapter.
    Show(show::ShowArgs),
    /// Measure what adapters gain, on later games of many players.
    Eval(eval::EvalArgs),
}

pub(crate) fn run(command: MeCommand) -> Result<()> {
    match command {
        MeCommand::Learn(args) => learn::run(&args),
        MeCommand::Show(args) => show::run(&args),
        MeCommand::Eval(args) => eval::run(&args),
    }
}

#[derive(Args)]
struct NetworkArgs {
    /// A human network [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
}

impl NetworkArgs {
    fn open(&self) -> Result<(Arc<Model>, AdapterNetwork)> {
        let model = PlayerFactory::default().human_or(self.model.as_deref()).context("the human network")?;
        if model.card().policy.is_none() {
            bail!("the network has no policy head");
        }
        let file =
            || self.model.as_ref().and_then(|file| Some(file.file_stem()?.to_string_lossy().into_owned()));
        let name = model.card().name.clone().or_else(file).unwrap_or_else(|| "human".to_owned());
        let network = AdapterNetwork { name, sha256: model.sha256().to_owned() };
        Ok((model, network))
    }
}
