//! Puzzles: a position and the moves to find there, from EPD or from the table of Lichess.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{CastlingMode, Chess, Move, Position, san::SanPlus};
use tabia_encoding::{Elo, parse_uci};

use crate::{EpdError, EpdProblem, EpdRecord, FenError, Operand, position_from_fen};

/// A position and the moves to find in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Puzzle {
    /// Its id; empty if it has none.
    pub id: String,
    /// The position, with the solver to move.
    pub start: Chess,
    /// The opponent's move that led there, and the position before it.
    pub lead: Option<(Chess, Move)>,
    /// The solver's moves and the replies, the solver's first. Empty for a bare position.
    pub moves: Vec<Move>,
    /// Its rating.
    pub rating: Option<Elo>,
    /// Its themes, as Lichess names them: `mateIn2`, `fork`.
    pub themes: Vec<String>,
}

/// Why a line is no puzzle, and what could be read of it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct PuzzleError {
    /// What is wrong.
    pub problem: PuzzleProblem,
    /// The puzzle up to the move that is not legal.
    pub readable: Option<Box<Puzzle>>,
}

/// What is wrong with a line of puzzles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PuzzleProblem {
    /// A row of the table has too few columns.
    #[error("has too few columns: `{0}`")]
    Columns(String),
    /// The position of a row is invalid.
    #[error("puzzle {id}: {problem}")]
    Position {
        /// Its id.
        id: String,
        /// What is wrong.
        problem: FenError,
    },
    /// A line of EPD is invalid.
    #[error("{0}")]
    Epd(EpdProblem),
    /// The best move of EPD is not legal.
    #[error("{0}")]
    BestMove(String),
    /// The first move of a row is not legal.
    #[error("puzzle {id}: {problem}")]
    Lead {
        /// Its id.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A row has no moves at all, or none to find.
    #[error("puzzle {id} has no {missing}")]
    NoMoves {
        /// Its id.
        id: String,
        /// `moves` or `solution`.
        missing: &'static str,
    },
    /// A move of the solution is not legal.
    #[error("at ply {ply}: `{word}` is not a legal move")]
    IllegalMove {
        /// The half-move, from 1.
        ply: usize,
        /// As given.
        word: String,
    },
    /// It is not standard chess.
    #[error("starts as only Chess960 does")]
    Chess960,
}

impl From<PuzzleProblem> for PuzzleError {
    fn from(problem: PuzzleProblem) -> PuzzleError {
        PuzzleError { problem, readable: None }
    }
}

impl Puzzle {
    /// Reads a line of either form. `None` for blank lines, comments and the head of a table.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn parse(line: &str) -> Result<Option<Puzzle>, PuzzleError> {
        // A row has its position in the second column, EPD at the beginning.
        let is_row = line.split_once(',').is_some_and(|(id, _)| !id.contains('/'));
        if is_row { Puzzle::from_row(line) } else { Puzzle::from_epd(line) }
    }

    /// Reads a line of EPD: the moves of `pv`, or else the first of `bm`, with the rating in `c0` and the themes in `c1`.
    /// `None` for blank lines, and comments after `#`.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn from_epd(line: &str) -> Result<Option<Puzzle>, PuzzleError> {
        if line.starts_with('#') {
            return Ok(None);
        }
        let parsed = EpdRecord::parse(line, 1);
        let Some(epd) = parsed.map_err(|EpdError { problem, .. }| PuzzleProblem::Epd(problem))? else {
            return Ok(None);
        };
        let mut puzzle = Puzzle {
            id: epd.text("id").unwrap_or_default().to_owned(),
            start: epd.position.clone(),
            lead: None,
            moves: Vec::new(),
            rating: epd.text("c0").and_then(rating_in),
            themes: epd.text("c1").and_then(|text| text.split_once("Themes:")).map_or_else(Vec::new, words),
        };
        puzzle.check()?;
        let pv = epd.operands("pv").unwrap_or_default();
        if pv.is_empty() {
            let best = epd.moves("bm").map_err(|bad| PuzzleProblem::BestMove(bad.to_string()))?;
            puzzle.moves = best.into_iter().take(1).collect();
            return Ok(Some(puzzle));
        }
        let words = pv.iter().map(Operand::as_str).filter(|word| !is_move_number(word));
        puzzle.with_moves(words, san_or_uci).map(Some)
    }

    /// Reads a row of the Lichess puzzle table. Its first move is the opponent's: the puzzle starts after it. `None` for the
    /// head of the table.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn from_row(line: &str) -> Result<Option<Puzzle>, PuzzleError> {
        let mut columns = line.split(',').map(|column| column.trim_matches(['"', ' ']));
        let (Some(id), Some(fen), Some(moves)) = (columns.next(), columns.next(), columns.next()) else {
            return Err(PuzzleProblem::Columns(shortened(line)).into());
        };
        if id == "PuzzleId" {
            return Ok(None);
        }
        let rating = columns.next().and_then(positive);
        // After deviation, popularity and plays.
        let themes = columns.nth(3).map_or_else(Vec::new, |themes| words(("", themes)));
        let id = id.to_owned();
        let before =
            position_from_fen(fen).map_err(|problem| PuzzleProblem::Position { id: id.clone(), problem })?;
        let mut moves = moves.split_ascii_whitespace();
        let Some(lead) = moves.next() else {
            return Err(PuzzleProblem::NoMoves { id, missing: "moves" }.into());
        };
        let lead = parse_uci(&before, lead)
            .map_err(|error| PuzzleProblem::Lead { id: id.clone(), problem: error.to_string() })?;
        let mut start = before.clone();
        start.play_unchecked(lead);
        let puzzle = Puzzle { id, start, lead: Some((before, lead)), moves: Vec::new(), rating, themes };
        puzzle.check()?;
        let puzzle = puzzle.with_moves(moves, |position, word| parse_uci(position, word).ok())?;
        if puzzle.moves.is_empty() {
            return Err(PuzzleProblem::NoMoves { id: puzzle.id, missing: "solution" }.into());
        }
        Ok(Some(puzzle))
    }

    /// The rating of a line of either form, without reading the rest of it.
    pub fn rating_of(line: &str) -> Option<Elo> {
        rating_in(line).or_else(|| line.split(',').nth(3).and_then(positive))
    }

    fn check(&self) -> Result<(), PuzzleProblem> {
        let standard = self.start.castles().mode() == CastlingMode::Standard;
        standard.then_some(()).ok_or(PuzzleProblem::Chess960)
    }

    /// With moves up to the first that is not legal.
    fn with_moves<'a>(
        mut self,
        words: impl Iterator<Item = &'a str>,
        read: impl Fn(&Chess, &str) -> Option<Move>,
    ) -> Result<Puzzle, PuzzleError> {
        let mut at = self.start.clone();
        for word in words {
            let Some(m) = read(&at, word) else {
                let problem = PuzzleProblem::IllegalMove { ply: self.moves.len() + 1, word: shortened(word) };
                return Err(PuzzleError { problem, readable: Some(Box::new(self)) });
            };
            at.play_unchecked(m);
            self.moves.push(m);
        }
        Ok(self)
    }
}

fn words((_, text): (&str, &str)) -> Vec<String> {
    text.split_ascii_whitespace().map(str::to_owned).collect()
}

fn san_or_uci(position: &Chess, word: &str) -> Option<Move> {
    match word.parse::<SanPlus>().ok().and_then(|san| san.san.to_move(position).ok()) {
        Some(played) => Some(played),
        None => parse_uci(position, word).ok(),
    }
}

/// `12.` or `12...`, as some programs put into variations.
fn is_move_number(word: &str) -> bool {
    let digits = word.trim_end_matches('.');
    word.len() > digits.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The number after `Rating:` in a comment.
fn rating_in(comment: &str) -> Option<Elo> {
    let (_, rest) = comment.split_once("Rating:")?;
    let rest = rest.trim_start();
    positive(rest.split(|c: char| !c.is_ascii_digit()).next()?)
}

fn positive(text: &str) -> Option<Elo> {
    text.trim_matches(['"', ' ']).parse().ok().filter(|rating| *rating > 0).map(Elo)
}

/// A printable prefix of an invalid text.
fn shortened(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { '·' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fen_of;

    const ROW: &str = "00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1760,76,95,6915,crushing hangingPiece,https://lichess.org/787zsVup/black#48,";
    const EPD: &str = "4rk1r/pp4p1/3q1p1p/2n5/8/P1P5/2P1Q1PP/1R2R1K1 w - - id \"0bUMB\" bm Qxe8# pv Qxe8# c0 \"Rating: 399, Popularity: 76, Plays: 131\" c1 \"Themes: mate mateIn1\";";

    #[test]
    fn rows_and_epd_are_told_apart() {
        let row = Puzzle::parse(ROW).unwrap().unwrap();
        assert_eq!((row.id.as_str(), row.moves.len(), row.rating), ("00008", 5, Some(Elo(1760))));
        assert_eq!(fen_of(&row.start), "r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2b1/PqP3PP/7K w - - 0 25");
        assert_eq!(row.themes, ["crushing", "hangingPiece"]);
        assert!(row.lead.is_some());
        let epd = Puzzle::parse(EPD).unwrap().unwrap();
        assert_eq!((epd.id.as_str(), epd.moves.len(), epd.rating), ("0bUMB", 1, Some(Elo(399))));
        assert_eq!(epd.themes, ["mate", "mateIn1"]);
        assert_eq!((Puzzle::rating_of(ROW), Puzzle::rating_of(EPD)), (Some(Elo(1760)), Some(Elo(399))));
        for nothing in ["", "  ", "# comment", "PuzzleId,FEN,Moves,Rating"] {
            assert_eq!(Puzzle::parse(nothing), Ok(None), "{nothing:?}");
        }
    }

    #[test]
    fn a_move_that_is_not_legal_is_named_and_the_rest_is_kept() {
        let error = Puzzle::parse(&ROW.replace("b2b1", "b2h8")).unwrap_err();
        assert_eq!(error.to_string(), "at ply 2: `b2h8` is not a legal move");
        assert_eq!(error.readable.unwrap().moves.len(), 1);
        for (bad, reason) in [
            ("1,2", "too few columns"),
            ("x,nonsense,e2e4 e7e5,900", "puzzle x: "),
            ("x,4k3/8/8/8/8/8/8/4K3 w - - 0 1,,900", "no moves"),
            ("x,4k3/8/8/8/8/8/8/4K3 w - - 0 1,e1e2,900", "no solution"),
            ("x,4k3/8/8/8/8/8/8/4K3 w - - 0 1,e1e5 e8e7,900", "puzzle x: "),
            ("hello", "fields"),
        ] {
            let error = Puzzle::parse(bad).unwrap_err().to_string();
            assert!(error.contains(reason), "{bad}: {error}");
        }
    }
}
