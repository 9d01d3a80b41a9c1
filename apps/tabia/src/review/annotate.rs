//! The reviewed games as annotated PGN.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use shakmaty::Color;
use shakmaty::san::SanPlus;
use tabia_game::{Evaluation, Game, Nag, NodeId, write_game};
use tabia_practice::{GameReview, Mark, ReviewedMove};

use super::games::{Games, Read};
use super::ledger::Ledger;

/// NAGs of a move's quality, which the review replaces.
const QUALITY: std::ops::RangeInclusive<u8> = 1..=6;

/// Writes the chosen games that are in the ledger, in the order of the files.
pub(super) fn write(
    inputs: &Games,
    path: &Path,
    ledger: &Ledger,
    chosen: &HashSet<String>,
    me: &str,
) -> Result<()> {
    let part = path.with_extension("pgn.part");
    let at = || part.display().to_string();
    let mut out = BufWriter::new(File::create(&part).with_context(at)?);
    let mut written = HashSet::new();
    let mut failure = None;
    inputs.each(&|_| (), &mut |game| {
        let Read::Game(mut game) = game else { return true };
        let key = super::key(&game);
        let Some(review) = ledger.get(&key).filter(|_| chosen.contains(&key)) else { return true };
        if !written.insert(key) {
            return true;
        }
        annotate(&mut game, review, review.color_of(me));
        let done = write_game(&game, &mut out).and_then(|()| out.write_all(b"\n"));
        failure = done.err();
        failure.is_none()
    })?;
    match failure {
        Some(error) => Err(error).with_context(at)?,
        None => out.flush().with_context(at)?,
    }
    std::fs::rename(&part, path).with_context(|| path.display().to_string())
}

fn annotate(game: &mut Game, review: &GameReview, me: Option<Color>) {
    game.headers.set("Annotator", "Tabia").expect("a plain word can be a tag's name");
    let nodes: Vec<NodeId> = game.mainline().collect();
    let mut parent = NodeId::ROOT;
    for (node, reviewed) in nodes.into_iter().zip(&review.moves) {
        let notes = game.notes_mut(node);
        notes.evaluation = reviewed.after.score().map(|score| Evaluation { score, depth: None });
        notes.nags.retain(|nag| !QUALITY.contains(&nag.0));
        notes.nags.extend(reviewed.mark.nag().map(Nag));
        let comment = comment(reviewed, me == Some(reviewed.color));
        if !comment.is_empty() {
            notes.add_comment(&comment);
        }
        if reviewed.mark.is_error() || reviewed.mark == Mark::HardToFind {
            add_line(game, parent, &reviewed.line);
        }
        parent = node;
    }
}

/// The engine's line as a variation.
fn add_line(game: &mut Game, parent: NodeId, line: &[String]) {
    let mut at = parent;
    for san in line {
        let Some(m) = san.parse::<SanPlus>().ok().and_then(|san| san.san.to_move(&game.position(at)).ok())
        else {
            return;
        };
        let Ok(next) = game.add_move(at, m) else { return };
        at = next;
    }
}

fn comment(reviewed: &ReviewedMove, is_own: bool) -> String {
    let percent = |share: f64| format!("{:.0}%", 100.0 * share);
    let whom = if is_own { "people of your rating" } else { "people of this rating" };
    let mut words = Vec::new();
    match reviewed.mark {
        Mark::Inaccuracy | Mark::Mistake | Mark::Blunder => {
            words.push(format!(
                "{} was better: this costs {:.0} points of winning chance.",
                reviewed.best_san,
                100.0 * reviewed.loss()
            ));
            if reviewed.is_understandable() {
                words.push(format!("Understandable: most {whom} go wrong here."));
            } else if let Some(peers) = reviewed.peers {
                words.push(format!("Of {whom}, {} lose 10 points or more here.", percent(peers.errs)));
            }
        }
        Mark::HardToFind => words.push(format!(
            "{} is better, and hard to find: {} of {whom} play it.",
            reviewed.best_san,
            percent(f64::from(reviewed.best_probability))
        )),
        Mark::Good | Mark::Brilliant => words.push(format!(
            "The only good move: {} of {whom} find it.",
            percent(f64::from(reviewed.probability))
        )),
        Mark::None => {}
    }
    if let Some(from) = reviewed.found_from.filter(|from| *from > 600)
        && reviewed.mark != Mark::None
    {
        words.push(format!("Most people find a good move from {from} on."));
    }
    words.join(" ")
}
