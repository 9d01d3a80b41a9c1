//! Evaluations in the format of Lichess.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use tabia_encoding::{ForWhite, Score};

/// A row: a line of moves, castling as king takes rook, and a score from White's point of view.
#[derive(Serialize)]
pub(crate) struct Row<'a> {
    fen: &'a str,
    line: &'a str,
    depth: u32,
    knodes: u64,
    cp: Option<i32>,
    mate: Option<i32>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(
        fen: &'a str,
        line: &'a str,
        depth: u32,
        knodes: u64,
        score: ForWhite<Score>,
    ) -> Row<'a> {
        let (cp, mate) = match score.0 {
            Score::Centipawns(cp) => (Some(cp), None),
            Score::Mate(moves) => (None, Some(moves.get())),
        };
        Row { fen, line, depth, knodes, cp, mate }
    }

    /// Writes the row as a line of JSON.
    pub(crate) fn write(&self, mut out: impl Write) -> Result<()> {
        serde_json::to_writer(&mut out, self)?;
        Ok(out.write_all(b"\n")?)
    }
}
