//! `tabia model`: look at model files and convert them.

mod card;
mod convert;
mod info;
mod tensors;

use anyhow::{Context, Result};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};

use crate::cli::ModelCommand;

pub(crate) fn run(command: ModelCommand) -> Result<()> {
    match command {
        ModelCommand::Info(args) => info::run(&args),
        ModelCommand::Card(args) => card::run(&args),
        ModelCommand::Tensors(args) => tensors::run(&args),
        ModelCommand::Convert(args) => convert::run(&args),
    }
}

/// The position of a `--fen`.
fn position(fen: &str) -> Result<Chess> {
    let parsed: Fen = fen.parse().with_context(|| format!("--fen {fen:?}"))?;
    parsed.into_position(CastlingMode::Standard).with_context(|| format!("--fen \"{fen}\""))
}

/// 1234567 as 1,234,567.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(123), "123");
        assert_eq!(grouped(5_809_284), "5,809,284");
    }
}
