//! Output formats of labels: rows of text, or the records of a set.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use shakmaty::{EnPassantMode, fen::Epd};
use tabia_data::{EvaluationRecord, Session};

use super::positions::Keyed;
use super::session::Findings;
use super::settings::Settings;
use crate::data::rows::Row;
use crate::data::unfinished::Output;

/// Output format of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Form {
    /// A file with one JSON object for each line of a position.
    Rows,
    /// A folder with a set of evaluations: one record for each position.
    Set,
}

/// File of unfinished labels in the folder of a set.
const UNFINISHED: &str = "labels";

impl Form {
    /// The format by file name: rows for .jsonl.zst, otherwise a set.
    pub(super) fn of(out: &Path) -> Form {
        let extension = out.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("jsonl" | "json" | "zst" | "gz") => Form::Rows,
            _ => Form::Set,
        }
    }

    /// Starts an output, or resumes one with the same settings.
    pub(super) fn open(self, out: &Path, settings: &Settings) -> Result<Output> {
        match self {
            Form::Rows => Output::open(out, settings),
            Form::Set => {
                ensure!(
                    !out.join("set.json").exists(),
                    "{} already holds a set; remove it or choose another folder",
                    out.display()
                );
                std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
                Output::open(&out.join(UNFINISHED), settings)
            }
        }
    }

    /// Appends the labels of a position to a chunk.
    pub(super) fn write(self, text: &mut Vec<u8>, keyed: &Keyed, findings: &Findings) -> Result<()> {
        let knodes = (findings.nodes + 500) / 1000;
        match self {
            Form::Rows => {
                let fen = Epd::from_position(&keyed.position, EnPassantMode::Legal).to_string();
                for line in &findings.lines {
                    let moves = line.moves(&keyed.position);
                    Row::new(&fen, &moves, findings.depth, knodes, line.score).write(&mut *text)?;
                }
            }
            Form::Set => {
                let depth = u8::try_from(findings.depth).unwrap_or(u8::MAX);
                let lines = findings
                    .lines
                    .iter()
                    .map(|line| tabia_data::Line { first: line.first, score: line.score })
                    .collect();
                let sessions = vec![Session { depth, knodes, lines }];
                let bytes = EvaluationRecord { position: keyed.position.clone(), sessions }.to_bytes()?;
                let length = u32::try_from(bytes.len()).context("a record is too long")?;
                text.extend_from_slice(&length.to_le_bytes());
                text.extend_from_slice(&bytes);
            }
        }
        Ok(())
    }
}
