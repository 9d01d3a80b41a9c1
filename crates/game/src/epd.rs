#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, num::NonZeroU32, ops::Range};

use shakmaty::{
    CastlingMode, Chess, EnPassantMode, FromSetup, Move, Position, fen::Epd, san::San, san::SanError,
    san::SanPlus,
};

use crate::{FenError, position_from_fen};

/// A line of an EPD file: a position and its operations.
///
/// Move counters come from the fields of a FEN, or else from the operations `hmvc` and `fmvn`. They are part of the
/// position, not of the operations.
#[derive(Clone, Debug, PartialEq)]
pub struct EpdRecord {
    /// The position.
    pub position: Chess,
    /// The operations in order, such as `bm Nf3` and `id "BK.01"`.
    pub operations: Vec<Operation>,
}

/// An opcode with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The opcode, such as `bm` (best move) or `D4` (perft nodes at depth 4).
    pub opcode: String,
    /// The operands.
    pub operands: Vec<Operand>,
}

/// An operand, with or without quotes. Quotes are needed for text with blanks or semicolons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A bare word.
    Word(String),
    /// A quoted text.
    Quoted(String),
}

/// An error in a line of EPD.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct EpdError {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: EpdProblem,
}

/// What is wrong with a line of EPD.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EpdProblem {
    /// Fewer than the four fields of a position.
    #[error("the position has {0} of its 4 fields")]
    MissingFields(usize),
    /// The position is invalid.
    #[error(transparent)]
    Position(FenError),
    /// A quote without its end.
    #[error("unclosed quote")]
    UnclosedQuote,
    /// An operation begins with a quoted text.
    #[error("an operation has no opcode")]
    NoOpcode,
    /// `hmvc` or `fmvn` without a number.
    #[error("`{0}` needs a number")]
    BadCounter(String),
}

/// An operand that fits no legal move in the record's position, or several.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{operand}` of `{opcode}` is not exactly one legal move")]
pub struct BadEpdMove {
    /// The operation it belongs to.
    pub opcode: String,
    /// The operand.
    pub operand: String,
}

impl EpdRecord {
    /// Reads line number `line` (from 1, for errors) of an EPD file. Blank lines give `None`.
    ///
    /// Accepts the deviations of published suites: a semicolon before the operations, the six fields of a FEN, an en passant
    /// field that is joined with the counter after it (`-1 12`), NUL bytes, and missing semicolons between operations.
    ///
    /// # Errors
    /// If there is no legal position or an operation is invalid.
    pub fn parse(text: &str, line: usize) -> Result<Option<EpdRecord>, EpdError> {
        let error = |at: usize, problem| EpdError { line, column: at + 1, problem };
        let mut tokens =
            tokens(text).map_err(|at| error(at, EpdProblem::UnclosedQuote))?.into_iter().peekable();
        let Some(first) = tokens.peek() else { return Ok(None) };
        let begin = first.at;

        let mut fields: Vec<&str> = Vec::new();
        let mut counters_follow = false;
        while let Some(token) = tokens.next_if(|token| matches!(token.kind, Kind::Word) && fields.len() < 4) {
            fields.push(token.text);
            if let (4, Some(counter)) =
                (fields.len(), token.text.strip_prefix('-').filter(|rest| is_number(rest)))
            {
                fields.pop();
                fields.extend(["-", counter]);
                counters_follow = true;
            }
        }
        if fields.len() < 4 {
            let end = tokens.peek().map_or(text.len(), |token| token.at);
            return Err(error(end, EpdProblem::MissingFields(fields.len())));
        }
        while fields.len() < 6 {
            let Some(counter) =
                tokens.next_if(|token| matches!(token.kind, Kind::Word) && is_number(token.text))
            else {
                break;
            };
            fields.push(counter.text);
            counters_follow = true;
        }
        let position = position_from_fen(&fields.join(" "));
        let mut position = position.map_err(|problem| error(begin, EpdProblem::Position(problem)))?;

        let mut operations: Vec<Operation> = Vec::new();
        let mut open = false; // whether the last operation still takes operands
        while let Some(token) = tokens.next() {
            let quote_follows = tokens.peek().is_some_and(|next| matches!(next.kind, Kind::Quoted));
            match (token.kind, operations.last_mut()) {
                (Kind::Semicolon, _) => open = false,
                (Kind::Quoted, Some(operation)) if open => {
                    operation.operands.push(Operand::Quoted(token.text.to_owned()));
                }
                (Kind::Quoted, _) => return Err(error(token.at, EpdProblem::NoOpcode)),
                (Kind::Word, Some(operation)) if open && !begins_operation(token.text, quote_follows) => {
                    operation.operands.push(Operand::Word(token.text.to_owned()));
                }
                (Kind::Word, _) => {
                    operations.push(Operation { opcode: token.text.to_owned(), operands: Vec::new() });
                    open = true;
                }
            }
        }
        for opcode in ["hmvc", "fmvn"] {
            let Some(at) = operations.iter().position(|operation| operation.opcode == opcode) else {
                continue;
            };
            let operation = operations.remove(at);
            let number = operation.operands.first().and_then(|operand| operand.as_str().parse::<u32>().ok());
            let problem = || error(text.find(opcode).unwrap_or(0), EpdProblem::BadCounter(opcode.to_owned()));
            let number = number.ok_or_else(problem)?;
            if !counters_follow {
                position = with_counter(&position, opcode, number).ok_or_else(problem)?;
            }
        }
        Ok(Some(EpdRecord { position, operations }))
    }

    /// Reads a whole file; the first line that cannot be read ends it.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_all(text: &str) -> Result<Vec<EpdRecord>, EpdError> {
        let lines = text.lines().enumerate();
        lines.filter_map(|(index, line)| EpdRecord::parse(line, index + 1).transpose()).collect()
    }

    /// The operands of an operation, if it is there.
    pub fn operands(&self, opcode: &str) -> Option<&[Operand]> {
        let operation = self.operations.iter().find(|operation| operation.opcode == opcode)?;
        Some(&operation.operands)
    }

    /// The first operand of an operation as text.
    pub fn text(&self, opcode: &str) -> Option<&str> {
        self.operands(opcode)?.first().map(Operand::as_str)
    }

    /// The operands of `bm` or `am` as moves; empty without the operation. Accepts a detached check sign (`Qd1 +`) and
    /// misplaced capture signs (`Bcx3`).
    ///
    /// # Errors
    /// When an operand fits no legal move or several.
    pub fn moves(&self, opcode: &str) -> Result<Vec<Move>, BadEpdMove> {
        let operands = self.operands(opcode).unwrap_or_default();
        let words = operands.iter().map(Operand::as_str).filter(|word| !matches!(*word, "+" | "#" | "++"));
        words
            .map(|word| {
                let bad = || BadEpdMove { opcode: opcode.to_owned(), operand: word.to_owned() };
                move_of(&self.position, word).ok_or_else(bad)
            })
            .collect()
    }

    /// The perft node counts `D1`, `D2`, ... as depth and nodes.
    pub fn node_counts(&self) -> impl Iterator<Item = (u32, u64)> {
        self.operations.iter().filter_map(|operation| {
            let depth = operation.opcode.strip_prefix('D')?.parse().ok()?;
            Some((depth, operation.operands.first()?.as_str().parse().ok()?))
        })
    }
}

/// Writes four fields, then the counters as `hmvc` and `fmvn` where they are not those of a new game, then the
/// operations, each with its semicolon.
impl fmt::Display for EpdRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Epd::from_position(&self.position, EnPassantMode::Legal))?;
        if self.position.halfmoves() != 0 {
            write!(f, " hmvc {};", self.position.halfmoves())?;
        }
        if self.position.fullmoves() != NonZeroU32::MIN {
            write!(f, " fmvn {};", self.position.fullmoves())?;
        }
        for operation in &self.operations {
            write!(f, " {}", operation.opcode)?;
            for operand in &operation.operands {
                match operand {
                    Operand::Word(word) => write!(f, " {word}")?,
                    // EPD has no way to write a quote inside a quoted text.
                    Operand::Quoted(text) => write!(f, " \"{}\"", text.replace('"', "'"))?,
                }
            }
            f.write_str(";")?;
        }
        Ok(())
    }
}

impl Operand {
    /// The operand without its quotes.
    pub fn as_str(&self) -> &str {
        match self {
            Operand::Word(text) | Operand::Quoted(text) => text,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Word,
    Quoted,
    Semicolon,
}

struct Token<'a> {
    kind: Kind,
    text: &'a str,
    at: usize,
}

/// The words, quoted texts and semicolons of a line, or where a quote does not end.
fn tokens(line: &str) -> Result<Vec<Token<'_>>, usize> {
    let mut tokens = Vec::new();
    let mut rest = line.char_indices().peekable();
    let text_at = |range: Range<usize>| line.get(range).unwrap_or_default();
    while let Some((at, c)) = rest.next() {
        match c {
            ';' => tokens.push(Token { kind: Kind::Semicolon, text: ";", at }),
            '"' => {
                let (end, _) = rest.find(|(_, c)| *c == '"').ok_or(at)?;
                tokens.push(Token { kind: Kind::Quoted, text: text_at(at + 1..end), at });
            }
            c if is_blank(c) => {}
            _ => {
                let mut end = line.len();
                while let Some((next, c)) = rest.peek().copied() {
                    if is_blank(c) || c == ';' {
                        end = next;
                        break;
                    }
                    rest.next();
                }
                tokens.push(Token { kind: Kind::Word, text: text_at(at..end), at });
            }
        }
    }
    Ok(tokens)
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\0'
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is an opcode although no semicolon stands before it. `c3` is also a move: it is a comment opcode
/// only before a quoted text.
fn begins_operation(word: &str, quote_follows: bool) -> bool {
    match word {
        "acd" | "acn" | "acs" | "am" | "bm" | "ce" | "dm" | "fmvn" | "hmvc" | "id" | "pm" | "pv" | "rc"
        | "sm" => true,
        _ => quote_follows && word.len() == 2 && matches!(word.as_bytes(), [b'c' | b'v', b'0'..=b'9']),
    }
}

fn with_counter(position: &Chess, opcode: &str, number: u32) -> Option<Chess> {
    let mode: CastlingMode = position.castles().mode();
    let mut setup = position.to_setup(EnPassantMode::Always);
    match opcode {
        "hmvc" => setup.halfmoves = number,
        _ => setup.fullmoves = NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN),
    }
    Chess::from_setup(setup, mode).ok()
}

/// A move in SAN; when that fails, one whose piece and squares fit, wherever its capture sign stands.
fn move_of(position: &Chess, text: &str) -> Option<Move> {
    if let Some(m) = text.parse::<SanPlus>().ok().and_then(|san| san.san.to_move(position).ok()) {
        return Some(m);
    }
    let plain: String = text.chars().filter(|c| !matches!(c, 'x' | ':' | '+' | '#' | '!' | '?')).collect();
    let San::Normal { role, file, rank, to, promotion, .. } = plain.parse().ok()? else { return None };
    let capturing = San::Normal { role, file, rank, capture: true, to, promotion };
    let quiet = San::Normal { role, file, rank, capture: false, to, promotion };
    match (capturing.to_move(position), quiet.to_move(position)) {
        (Ok(m), Err(SanError::IllegalSan)) | (Err(SanError::IllegalSan), Ok(m)) => Some(m),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::san::SanPlus;

    use super::*;
    use crate::fen_of;

    fn read(line: &str) -> EpdRecord {
        EpdRecord::parse(line, 1).unwrap().unwrap()
    }

    fn sans(record: &EpdRecord, opcode: &str) -> Vec<String> {
        let moves = record.moves(opcode).unwrap();
        moves.into_iter().map(|m| SanPlus::from_move(record.position.clone(), m).to_string()).collect()
    }

    #[test]
    fn published_suites_are_read() {
        let record = read("1k1r4/pp1b1R2/3q2pp/4p3/2B5/4Q3/PPP2B2/2K5 b - - ; bm Qd1 + ; id BK.01\0");
        assert_eq!(sans(&record, "bm"), ["Qd1+"]);
        assert_eq!(record.text("id"), Some("BK.01"));

        let record = read("r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 w - - ; bm Nd5 a4; id BK.05");
        assert_eq!(sans(&record, "bm"), ["Nd5", "a4"]);

        let record = read("r1bqrnk1/pp2bp1p/2p2np1/3p2B1/3P4/2NBPN2/PPQ2PPP/1R3RK1 w - -1 12 ; bm b4");
        assert_eq!(
            fen_of(&record.position),
            "r1bqrnk1/pp2bp1p/2p2np1/3p2B1/3P4/2NBPN2/PPQ2PPP/1R3RK1 w - - 1 12"
        );

        let record = read("rnbq1rk1/pppp1ppp/4pn2/8/1bPP4/P1N5/1PQ1PPPP/R1B1KBNR b KQ - 1 5 ; bm Bcx3 + ");
        assert_eq!(sans(&record, "bm"), ["Bxc3+"]);

        let record = read("rnbq1b1r/ppp2kpp/3p1n2/8/3PP3/8/PPP2PPP/RNBQKB1R b KQ d3 1 5 ; am Ne4");
        assert_eq!(sans(&record, "am"), ["Nxe4"]);
    }

    #[test]
    fn operations_without_semicolons_are_separated() {
        let record = read(
            "rn2q1k1/pb3p1p/1p1p2pB/3P3n/8/2bB1N1P/PP3PP1/4R1K1 w - - id \"00w1s\" bm Rxe8# pv Rxe8# \
             c0 \"Rating: 399; Plays: 742\" c1 \"Themes: mate\";",
        );
        let opcodes: Vec<&str> =
            record.operations.iter().map(|operation| operation.opcode.as_str()).collect();
        assert_eq!(opcodes, ["id", "bm", "pv", "c0", "c1"]);
        assert_eq!(record.text("c0"), Some("Rating: 399; Plays: 742"));
        assert_eq!(sans(&record, "bm"), ["Rxe8#"]);
        let pawns =
            read("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4 c4 c3; c0 \"c4 is a move\";");
        assert_eq!(sans(&pawns, "bm"), ["e4", "c4", "c3"]);
    }

    #[test]
    fn node_counts_are_numbers() {
        let record = read("8/8/4k3/8/8/3QK3/8/8 w - - 0 1; D1 27 ;D2 820; D3 20973;");
        assert_eq!(record.node_counts().collect::<Vec<_>>(), [(1, 27), (2, 820), (3, 20973)]);
    }

    #[test]
    fn counters_come_from_operations_when_there_are_no_fields() {
        let record = read("8/8/4k3/8/8/3QK3/8/8 w - - hmvc 12; fmvn 34; id \"x\";");
        assert_eq!(fen_of(&record.position), "8/8/4k3/8/8/3QK3/8/8 w - - 12 34");
        assert_eq!(record.operations.len(), 1);
    }

    #[test]
    fn records_write_back_as_they_were_read() {
        for line in [
            "8/8/4k3/8/8/3QK3/8/8 w - - hmvc 12; fmvn 34; bm Qd4 Qd5; id \"two words\"; c0 \"a; b\"; D1 27;",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -",
        ] {
            assert_eq!(read(line).to_string(), line);
        }
    }

    #[test]
    fn errors_have_a_line_and_a_column() {
        let fault = |line| {
            let EpdError { line, column, problem } = EpdRecord::parse(line, 7).unwrap_err();
            assert_eq!(line, 7);
            (column, problem)
        };
        assert_eq!(fault("8/8/4k3/8 w; bm e4"), (12, EpdProblem::MissingFields(2)));
        assert!(matches!(fault("  8/8/9 w - - bm e4"), (3, EpdProblem::Position(FenError::Syntax(_)))));
        assert_eq!(fault("8/8/4k3/8/8/3QK3/8/8 w - - c0 \"open"), (31, EpdProblem::UnclosedQuote));
        assert_eq!(fault("8/8/4k3/8/8/3QK3/8/8 w - - \"x\""), (28, EpdProblem::NoOpcode));
        let counter = EpdProblem::BadCounter("hmvc".into());
        assert_eq!(fault("8/8/4k3/8/8/3QK3/8/8 w - - hmvc x;"), (28, counter));
        let record = read("8/8/4k3/8/8/3QK3/8/8 w - - bm Nf3;");
        let error = record.moves("bm").unwrap_err();
        assert_eq!((error.opcode.as_str(), error.operand.as_str()), ("bm", "Nf3"));
        assert_eq!(EpdRecord::parse(" \0", 1), Ok(None));
    }
}
