//! `tabia model`: look at model files and convert them.

mod convert;
mod info;

use anyhow::Result;

use crate::cli::ModelCommand;

pub(crate) fn run(command: ModelCommand) -> Result<()> {
    match command {
        ModelCommand::Info(args) => info::run(&args),
        ModelCommand::Convert(args) => convert::run(&args),
    }
}
