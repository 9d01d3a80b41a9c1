//! Input positions: text files and sets.

use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::Result;
use shakmaty::{Chess, Position};
use tabia_data::{
    BytesRead, Chunks, EvaluationRecord, Faults, GameRecord, GameRules, RecordKind, Set, SourceFile,
};

use super::positions::{Keyed, Picker};

/// Passes the positions of the inputs to the picker until it has enough; returns the faults.
pub(super) fn show_all<S>(inputs: &[PathBuf], picker: &mut Picker<S>) -> Result<Faults>
where
    S: FnMut(Keyed) -> ControlFlow<()>,
{
    let mut faults = Faults::default();
    for input in inputs {
        if input.join("set.json").exists() {
            if show_set(&Set::open(input)?, picker)?.is_break() {
                return Ok(faults);
            }
            continue;
        }
        for file in SourceFile::find(input)? {
            for chunk in Chunks::open(&file, &BytesRead::default())? {
                let parsed = chunk.read(&GameRules::default());
                faults.merge(parsed.faults);
                let shown = parsed
                    .games
                    .iter()
                    .try_for_each(|game| picker.show_game(positions_of(game).iter()))
                    .is_continue()
                    && parsed.evaluations.iter().try_for_each(|row| picker.show(&row.position)).is_continue();
                if !shown {
                    return Ok(faults);
                }
            }
        }
    }
    Ok(faults)
}

/// Passes the positions of a set to the picker; fails at an unreadable record.
fn show_set<S>(set: &Set, picker: &mut Picker<S>) -> Result<ControlFlow<()>>
where
    S: FnMut(Keyed) -> ControlFlow<()>,
{
    for record in set.iter() {
        let (_, bytes) = record?;
        let shown = match set.kind() {
            RecordKind::Games => picker.show_game(positions_of(&GameRecord::from_bytes(&bytes)?).iter()),
            RecordKind::Evaluations => picker.show(&EvaluationRecord::from_bytes(&bytes)?.position),
        };
        if shown.is_break() {
            return Ok(shown);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A game's positions from its start to its end.
fn positions_of(game: &GameRecord) -> Vec<Chess> {
    let mut positions = Vec::with_capacity(game.plies.len() + 1);
    let mut position = game.start.clone();
    for ply in &game.plies {
        positions.push(position.clone());
        position.play_unchecked(ply.played);
    }
    positions.push(position);
    positions
}
