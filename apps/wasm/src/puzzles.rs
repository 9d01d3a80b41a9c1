//! Puzzles: a choice of a file, and solving one.

use js_sys::Function;
use serde::Serialize;
use tabia_game::{Puzzle, fen_of};
use tabia_practice::{PuzzleChoice, PuzzleGame, PuzzleStep, deck::NewCard};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Fault, Side, notation, tree::Bytes};

/// The longest line that is read.
const LONGEST_LINE: usize = 1 << 16;

/// How far a scan has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct PuzzlePart {
    /// Bytes read.
    #[tsify(type = "number")]
    pub read: u64,
    /// Puzzles with a rating.
    #[tsify(type = "number")]
    pub puzzles: u64,
    /// Invalid lines.
    #[tsify(type = "number")]
    pub invalid: u64,
    /// What is wrong with the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether this was all.
    pub done: bool,
}

/// Chooses puzzles of every rating from a file of any size: EPD, or the table of Lichess.
#[wasm_bindgen]
pub struct PuzzleScan {
    bytes: Bytes,
    lines: Lines,
}

/// Puts lines together from pieces.
struct Lines {
    choice: PuzzleChoice,
    /// The beginning of a line whose end is not read yet.
    rest: Vec<u8>,
    read: u64,
}

#[wasm_bindgen]
impl PuzzleScan {
    /// A scan of what a function gives out piece by piece: called with the most bytes it may give, it gives none at the end.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "(most: number) => Uint8Array")] bytes: Function,
        seed: f64,
    ) -> PuzzleScan {
        PuzzleScan { bytes: Bytes(bytes), lines: Lines::new(seed.to_bits()) }
    }

    /// Reads the next piece.
    pub fn step(&mut self) -> Result<Ts<PuzzlePart>, Fault> {
        let mut piece = vec![0; 1 << 20];
        let length = std::io::Read::read(&mut self.bytes, &mut piece)?;
        self.lines.take(piece.get(..length).unwrap_or_default())?;
        let Lines { choice, read, .. } = &self.lines;
        let part = PuzzlePart {
            read: *read,
            puzzles: choice.read(),
            invalid: choice.invalid(),
            problem: choice.problem().map(str::to_owned),
            done: length == 0,
        };
        Ok(part.into_ts()?)
    }

    /// The chosen puzzles, one per line.
    pub fn text(&self) -> String {
        self.lines.choice.lines().collect::<Vec<_>>().join("\n")
    }
}

impl Lines {
    fn new(seed: u64) -> Lines {
        Lines { choice: PuzzleChoice::new(seed), rest: Vec::new(), read: 0 }
    }

    /// Takes the lines of a piece; an empty one is the end.
    fn take(&mut self, piece: &[u8]) -> Result<(), Fault> {
        if self.read == 0 && piece.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return Err(Fault::new("the file is compressed with Zstandard: unpack it first (zstd -d)"));
        }
        self.read += piece.len() as u64;
        let mut lines = piece.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() && !piece.is_empty() {
                self.rest.extend_from_slice(line);
                break;
            }
            self.rest.extend_from_slice(line);
            let whole = std::mem::take(&mut self.rest);
            self.choice.add(&String::from_utf8_lossy(&whole));
        }
        if self.rest.len() > LONGEST_LINE {
            return Err(Fault::new("a line is longer than 64 KiB: this is no file of puzzles"));
        }
        Ok(())
    }
}

/// A puzzle in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct PuzzleFacts {
    /// Its id; its position if it has none.
    pub id: String,
    /// Its rating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<u16>,
    /// Its themes.
    pub themes: Vec<String>,
    /// The solver's side.
    pub side: Side,
    /// The position before the opponent's first move, or the one to solve.
    pub fen: String,
    /// The opponent's first move, in UCI notation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lead: Option<String>,
    /// The line of the file.
    pub line: String,
}

/// The puzzles of a text, one per line. Invalid lines are left out.
#[wasm_bindgen(js_name = readPuzzles)]
pub fn read_puzzles(text: &str) -> Result<Vec<Ts<PuzzleFacts>>, Fault> {
    facts(text).iter().map(|puzzle| Ok(puzzle.into_ts()?)).collect()
}

fn facts(text: &str) -> Vec<PuzzleFacts> {
    let one = |line: &str| {
        let puzzle = Puzzle::parse(line).ok().flatten().filter(|puzzle| !puzzle.moves.is_empty())?;
        let (fen, lead) = match &puzzle.lead {
            Some((before, m)) => (fen_of(before), Some(notation::uci(before, *m))),
            None => (fen_of(&puzzle.start), None),
        };
        Some(PuzzleFacts {
            id: if puzzle.id.is_empty() { fen.clone() } else { puzzle.id },
            rating: puzzle.rating.map(|rating| rating.0),
            themes: puzzle.themes,
            side: shakmaty::Position::turn(&puzzle.start).into(),
            fen,
            lead,
            line: line.to_owned(),
        })
    };
    text.lines().filter_map(one).collect()
}

/// A puzzle that is being solved.
#[wasm_bindgen]
pub struct PuzzleSolving {
    game: PuzzleGame,
}

#[wasm_bindgen]
impl PuzzleSolving {
    /// The puzzle of a line.
    #[wasm_bindgen(constructor)]
    pub fn new(line: &str) -> Result<PuzzleSolving, Fault> {
        let puzzle = Puzzle::parse(line)?.ok_or_else(|| Fault::new("no puzzle"))?;
        Ok(PuzzleSolving { game: PuzzleGame::new(puzzle) })
    }

    /// Plays a move of the solver.
    pub fn play(&mut self, uci: &str) -> Result<Ts<PuzzleStep>, Fault> {
        let step = self.game.play(uci).ok_or_else(|| Fault::new(format!("illegal move {uci:?}")))?;
        Ok(step.into_ts()?)
    }

    /// The solution is asked for: the puzzle counts as failed.
    #[wasm_bindgen(js_name = giveUp)]
    pub fn give_up(&mut self) {
        self.game.give_up();
    }

    /// What is left of the solution, in UCI notation.
    pub fn solution(&self) -> Vec<String> {
        self.game.solution()
    }

    /// A card of the position in which it was failed; `undefined` if it was not.
    pub fn card(&self) -> Result<Option<Ts<NewCard>>, Fault> {
        Ok(self.game.card().as_ref().map(Tsify::into_ts).transpose()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1760,76,95,6915,crushing,x,";

    #[test]
    fn lines_are_put_together_from_pieces() {
        let text = format!("PuzzleId,FEN,Moves,Rating\n{ROW}\n{ROW}");
        for size in [1, 7, 100, 10_000] {
            let mut lines = Lines::new(1);
            for piece in text.as_bytes().chunks(size) {
                lines.take(piece).unwrap();
            }
            lines.take(&[]).unwrap();
            assert_eq!((lines.choice.read(), lines.choice.invalid()), (2, 0), "{size}");
            assert_eq!(lines.choice.lines().count(), 2);
        }
    }

    #[test]
    fn other_files_are_refused() {
        let error = Lines::new(1).take(&[0x28, 0xb5, 0x2f, 0xfd, 0]).unwrap_err();
        assert!(error.to_string().contains("zstd"), "{error}");
        assert!(Lines::new(1).take(&vec![0; 1 << 20]).is_err());
    }

    #[test]
    fn puzzles_are_listed_with_the_move_before_them() {
        let list = facts(&format!("PuzzleId,FEN\n{ROW}\nnonsense\n"));
        assert_eq!(list.len(), 1);
        let puzzle = &list[0];
        assert_eq!(
            (puzzle.rating, puzzle.side, puzzle.lead.as_deref()),
            (Some(1760), Side::White, Some("f2g3"))
        );
    }
}
