//! `tabia model`: look at model files, convert and download them.

mod card;
mod convert;
mod fetch;
mod info;
mod tensors;

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};
use tabia_model::{Model, Source};

use crate::cli::ModelCommand;

pub(crate) fn run(command: ModelCommand) -> Result<()> {
    match command {
        ModelCommand::Info(args) => info::run(&args),
        ModelCommand::Card(args) => card::run(&args),
        ModelCommand::Tensors(args) => tensors::run(&args),
        ModelCommand::Convert(args) => convert::run(&args),
        ModelCommand::Fetch(args) => fetch::run(&args),
    }
}

/// Opens a model file with its sidecar, read by the layout of `--as` if there is one.
fn open(file: &Path, layout: Option<&str>) -> Result<Model> {
    let named = || file.display().to_string();
    let overlay = with_layout(Model::sidecar(file)?, layout)?;
    let source = Source::open_with(file, overlay.as_deref()).with_context(named)?;
    Model::new(source, overlay.as_deref()).with_context(named)
}

/// A card with the layout of `--as`.
fn with_layout(card: Option<String>, layout: Option<&str>) -> Result<Option<String>> {
    let Some(layout) = layout else { return Ok(card) };
    let mut card: Value =
        card.map_or_else(|| Ok(json!({})), |text| serde_json::from_str(&text)).context("the card")?;
    if !card.is_object() {
        bail!("the card is not a JSON object");
    }
    card["state_dict"]["raw"] = json!(layout);
    Ok(Some(card.to_string()))
}

/// The position of a `--fen`.
fn position(fen: &str) -> Result<Chess> {
    position_of("--fen", fen)
}

/// The position of an option.
fn position_of(option: &str, fen: &str) -> Result<Chess> {
    let parsed: Fen = fen.parse().with_context(|| format!("{option} {fen:?}"))?;
    parsed.into_position(CastlingMode::Standard).with_context(|| format!("{option} \"{fen}\""))
}

/// The position of a `--context` for `model`, which must take one.
pub(crate) fn context(model: &Model, fen: Option<&str>) -> Result<Option<Chess>> {
    let Some(fen) = fen else { return Ok(None) };
    if !model.takes_context() {
        bail!("--context: the network takes one position (encoding {})", model.card().encoding);
    }
    position_of("--context", fen).map(Some)
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
