//! Converts a record to a game.

use anyhow::{Context, Result};
use shakmaty::{Color, KnownOutcome, Outcome};
use tabia_data::GameRecord;
use tabia_data::stats::{Category, Pool};
use tabia_game::{Evaluation, Game, NodeId, TimeControl};

/// The game of a record, with its facts as tags and comments. Players are named by their hashes.
pub(super) fn written_game(record: &GameRecord) -> Result<Game> {
    let head = &record.head;
    let mut game = Game::from_position(record.start.clone());
    let mut tags = vec![("Pool", Pool(head.pool).label().to_owned())];
    for color in Color::ALL {
        if let Some(player) = head.players[color] {
            tags.push((color.fold_wb("White", "Black"), format!("player {:08x}", player.0)));
        }
        if let Some(rating) = head.ratings[color] {
            tags.push((color.fold_wb("WhiteElo", "BlackElo"), rating.0.to_string()));
        }
    }
    if let Some(pace) = head.pace {
        tags.push(("TimeControl", TimeControl::sudden_death(pace.base, pace.increment).to_string()));
    }
    for (name, value) in tags {
        game.headers.set(name, value)?;
    }
    game.result = match head.result {
        Some(Some(winner)) => Outcome::Known(KnownOutcome::Decisive { winner }),
        Some(None) => Outcome::Known(KnownOutcome::Draw),
        None => Outcome::Unknown,
    };
    let mut node = NodeId::ROOT;
    for ply in &record.plies {
        node = game.add_move(node, ply.played).context("a record holds legal moves")?;
        let notes = game.notes_mut(node);
        notes.clock = ply.clock;
        notes.evaluation = ply.evaluation.map(|score| Evaluation { score, depth: None });
    }
    Ok(game)
}
