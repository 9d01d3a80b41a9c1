//! `tabia elo`: statistics from the games of any PGN file.

use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde_json::json;
use tabia_arena::statistics::Sprt;
use tabia_arena::{PgnResults, PlayerId, PlayerRow, Report, Standings, read_results};
use tabia_cli::write_json;

use crate::arena::TestState;
use crate::cli::EloArgs;

/// The most players that are rated: the fit's time grows with the cube of their number.
const MOST_PLAYERS: usize = 500;

/// The most players whose results against each other are printed.
const MOST_ENCOUNTERS: usize = 6;

/// How many broken games are named.
const MOST_COMPLAINTS: usize = 5;

pub(crate) fn run(args: &EloArgs) -> Result<()> {
    let mut results = read_results(Files { waiting: args.files.clone().into_iter(), current: None })?;
    complain(&results);
    let before = results.rows.len();
    results.rows.retain(|(row, _)| row.players.white != row.players.black);
    if results.rows.len() < before {
        eprintln!("{} games of a player against itself are not counted", before - results.rows.len());
        let names = results.standings.names().to_vec();
        results.standings = Standings::of(names, results.rows.iter().map(|(row, _)| *row));
    }
    if results.rows.is_empty() {
        bail!("there are no finished games");
    }
    let players = results.standings.names().len();
    if players > MOST_PLAYERS {
        bail!("there are {players} players; at most {MOST_PLAYERS} can be rated at once");
    }
    let test = args.sprt.as_ref().map(|sprt| test(sprt, &results.standings)).transpose()?;
    let mut report =
        Report::of(&results.standings, results.rows.iter().map(|(row, opening)| (*row, opening.as_str())));
    if players > 2 {
        report.players.sort_by(stronger_first);
    }
    if let Some(path) = &args.json {
        let test = test.as_ref().map(TestState::to_json);
        let (unfinished, broken) = (results.unfinished, results.broken);
        write_json(
            path,
            &json!({ "report": report, "test": test, "unfinished": unfinished, "broken": broken }),
        )?;
    }
    if players > MOST_ENCOUNTERS {
        report.pairings.clear();
    }
    print!("{report}");
    if let Some(test) = test {
        println!("\n{test}");
    }
    Ok(())
}

fn complain(results: &PgnResults) {
    for broken in results.broken.iter().take(MOST_COMPLAINTS) {
        eprintln!("not counted: {broken}");
    }
    if results.broken.len() > MOST_COMPLAINTS {
        eprintln!("not counted: {} more broken games", results.broken.len() - MOST_COMPLAINTS);
    }
    if results.unfinished > 0 {
        eprintln!("not counted: {} games without a result", results.unfinished);
    }
}

fn test(sprt: &Sprt, standings: &Standings) -> Result<TestState> {
    let players = standings.names().len();
    if players != 2 {
        bail!("--sprt is about two players, and there are {players}");
    }
    let between = standings.between(PlayerId(0), PlayerId(1));
    // As the Elo estimate does: pairs where there are any to speak of.
    let llr = if between.unpaired() > 2 * between.pairs.pairs() {
        sprt.llr_of_games(between.games)
    } else {
        sprt.llr(between.pairs)
    };
    Ok(TestState::of_ratio(sprt, llr))
}

/// By rating, or by the bound where there is none.
fn stronger_first(one: &PlayerRow, other: &PlayerRow) -> Ordering {
    let key = |row: &PlayerRow| {
        row.rating
            .and_then(|rating| rating.rating.or(rating.low).or(rating.high))
            .unwrap_or(f64::NEG_INFINITY)
    };
    key(other).total_cmp(&key(one))
}

/// Files one after the other, unpacked where they are zstd.
struct Files {
    waiting: std::vec::IntoIter<PathBuf>,
    current: Option<(PathBuf, Box<dyn Read>)>,
}

impl Read for Files {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let Some((path, input)) = &mut self.current else {
                let Some(path) = self.waiting.next() else { return Ok(0) };
                let input = open(&path).map_err(|error| named(&path, &error))?;
                self.current = Some((path, input));
                continue;
            };
            match input.read(buffer) {
                Ok(0) => self.current = None,
                Ok(count) => return Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(named(path, &error)),
            }
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let raw: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut input = BufReader::new(raw);
    // A line's end, so that no file runs on into the next.
    let gap = &b"\n\n"[..];
    if !input.fill_buf()?.starts_with(&ZSTD_MAGIC) {
        return Ok(Box::new(input.chain(gap)));
    }
    let mut unpacked = zstd::Decoder::with_buffer(input)?;
    unpacked.window_log_max(31)?;
    Ok(Box::new(unpacked.chain(gap)))
}

/// How every zstd frame begins.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
