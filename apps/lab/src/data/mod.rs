//! `tabia-lab data`: one file per command.

#[cfg(feature = "query")]
mod build;
#[cfg(feature = "query")]
mod building;
#[cfg(feature = "query")]
mod export;
mod head;
mod label;
mod mates;
mod records;
#[cfg(feature = "query")]
mod resources;
mod rows;
#[cfg(feature = "players")]
mod selfplay;
#[cfg(feature = "query")]
mod sql;
mod stats;
mod unfinished;
mod verify;
mod vocab;

use clap::Subcommand;

/// The data commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "query")]
    Build(build::BuildArgs),
    #[cfg(feature = "query")]
    Sql(sql::SqlArgs),
    Label(label::LabelArgs),
    #[cfg(feature = "players")]
    Selfplay(selfplay::SelfplayArgs),
    Annotate(label::AnnotateArgs),
    Mates(mates::MatesArgs),
    Verify(verify::VerifyArgs),
    #[command(visible_alias = "build-vocab")]
    Vocab(vocab::VocabArgs),
    Stats(stats::StatsArgs),
    Head(head::HeadArgs),
    #[cfg(feature = "query")]
    Export(export::ExportArgs),
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        #[cfg(feature = "query")]
        Command::Build(args) => build::run(&args),
        #[cfg(feature = "query")]
        Command::Sql(args) => sql::run(&args),
        Command::Label(args) => label::run(&args),
        #[cfg(feature = "players")]
        Command::Selfplay(args) => selfplay::run(&args),
        Command::Annotate(args) => label::run_annotate(&args),
        Command::Mates(args) => mates::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Vocab(args) => vocab::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Head(args) => head::run(&args),
        #[cfg(feature = "query")]
        Command::Export(args) => export::run(&args),
    }
}
