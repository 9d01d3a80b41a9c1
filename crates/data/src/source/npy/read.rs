#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    fs::File,
    io::{self, BufReader, Read},
    num::NonZeroI32,
    path::Path,
    sync::Arc,
};

use shakmaty::{
    CastlingMode, Chess, Color, FromSetup, Move, Piece, Position, PositionError, Role, Setup, Square,
    uci::UciMove,
};
use tabia_encoding::{ForWhite, NpyHeader, Score};

use super::{Array, NpyError};
use crate::{
    EvaluationRecord, Line, Session,
    source::{BytesRead, FaultKind, Faults, Part, Whereabouts},
};

pub(super) const PLANES: usize = 13 * 64;
pub(super) const META: usize = 5;
/// Bytes of a row of analysis.
pub(super) const ROW: usize = 20;

/// Limit on the size of a vocabulary: all pairs of squares with all promotions.
pub(super) const WIDEST_VOCABULARY: u64 = 64 * 64 * 5;

/// Iterates over the positions of a set of Learning a Chess Policy with their analysis.
///
/// Memory holds one position and the vocabulary. Invalid positions and rows are counted in [`faults`](Self::faults) and
/// skipped; a truncated file ends the iteration.
pub struct NpySet {
    name: Arc<str>,
    planes: Input,
    meta: Input,
    data: Input,
    offsets: Input,
    vocabulary: Vec<[u8; 3]>,
    /// Total number of positions.
    length: u64,
    /// Total number of rows of analysis.
    rows: u64,
    /// Positions read so far.
    read: u64,
    /// The offset at which the next position's rows begin: that many rows are read.
    begin: u64,
    ended: bool,
    faults: Faults,
}

type Input = Box<dyn Read + Send>;

/// Counts what is read from a file.
struct Counted<R>(R, BytesRead);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.add(read);
        Ok(read)
    }
}

impl NpySet {
    /// Opens the set whose planes are in `planes`, a file `NAME_planes.npy`; the other four lie beside it.
    ///
    /// # Errors
    /// If a file is missing, is not an array of the format, or the lengths do not match.
    pub fn open(planes: &Path, progress: &BytesRead) -> Result<NpySet, NpyError> {
        let name = planes.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(prefix) = name.strip_suffix("_planes.npy") else {
            return Err(NpyError::NotPlanes(planes.to_string_lossy().into_owned()));
        };
        let folder = planes.parent().unwrap_or(Path::new(""));
        let open = |array: Array| -> Result<Input, NpyError> {
            let path = array.path(folder, prefix);
            let fails = |error| NpyError::Io { file: path.to_string_lossy().into_owned(), error };
            let file = File::open(&path).map_err(fails)?;
            Ok(Box::new(BufReader::with_capacity(1 << 16, Counted(file, progress.clone()))))
        };
        let [planes_file, meta, data, offsets, vocabulary] = Array::ALL.map(open);
        NpySet::from_parts(&planes.to_string_lossy(), [planes_file?, meta?, data?, offsets?, vocabulary?])
    }

    /// Reads a set from its arrays: planes, meta, analysis data, analysis offsets, vocabulary. `name` is for errors.
    ///
    /// # Errors
    /// If one is not an array of the format, or the lengths do not match.
    pub fn from_parts(name: &str, parts: [Box<dyn Read + Send>; 5]) -> Result<NpySet, NpyError> {
        let [mut planes, mut meta, mut data, mut offsets, mut vocabulary] = parts;
        let length_of = |array: Array, input: &mut Input| {
            let file = || format!("{name} ({array:?})");
            let header = NpyHeader::read(input).map_err(|error| NpyError::Io { file: file(), error })?;
            array.length(&header).map_err(|what| NpyError::Header { file: file(), what })
        };
        let length = length_of(Array::Planes, &mut planes)?;
        let metas = length_of(Array::Meta, &mut meta)?;
        let rows = length_of(Array::Data, &mut data)?;
        let starts = length_of(Array::Offsets, &mut offsets)?;
        let moves = length_of(Array::Vocabulary, &mut vocabulary)?;
        if metas != length || starts != length.saturating_add(1) {
            return Err(NpyError::Mismatch(format!(
                "{name}: {length} positions do not match {metas} rows of meta and {starts} offsets"
            )));
        }
        if moves > WIDEST_VOCABULARY {
            return Err(NpyError::Mismatch(format!("{name}: a vocabulary of {moves} moves")));
        }
        let fails = |what: &str, error| NpyError::Io { file: format!("{name} ({what})"), error };
        let vocabulary = (0..moves)
            .map(|_| take::<3>(&mut vocabulary))
            .collect::<io::Result<Vec<_>>>()
            .map_err(|error| fails("Vocabulary", error))?;
        let first = take(&mut offsets).map(u32::from_le_bytes).map_err(|error| fails("Offsets", error))?;
        if first != 0 {
            return Err(NpyError::Mismatch(format!("{name}: the first offset is {first}, not 0")));
        }
        Ok(NpySet {
            name: name.into(),
            planes,
            meta,
            data,
            offsets,
            vocabulary,
            length,
            rows,
            read: 0,
            begin: 0,
            ended: false,
            faults: Faults::default(),
        })
    }

    /// Number of positions according to the headers.
    pub fn positions(&self) -> u64 {
        self.length
    }

    /// Faults so far.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    fn fault(&mut self, kind: FaultKind, what: impl FnOnce() -> String) {
        let at = Whereabouts {
            source: self.name.clone(),
            offset: self.read.saturating_sub(1).saturating_mul(PLANES as u64),
            part: Part::Record(self.read),
        };
        self.faults.add(kind, &at, what);
    }

    /// The next position; the inner `None` stands for an invalid one. Errors end the set.
    fn step(&mut self) -> Result<Option<EvaluationRecord>, String> {
        let broken = |what: &'static str| move |error| format!("cannot read the {what}: {error}");
        let planes: [u8; PLANES] = take(&mut self.planes).map_err(broken("planes"))?;
        let meta: [u8; META] = take(&mut self.meta).map_err(broken("meta rows"))?;
        let end = take(&mut self.offsets).map(u32::from_le_bytes).map_err(broken("offsets"))?;
        let end = u64::from(end);
        if end < self.begin || end > self.rows {
            return Err(format!(
                "the analysis ends at row {end}: it begins at {} of {}",
                self.begin, self.rows
            ));
        }
        let position = position(&planes, meta.map(u8::cast_signed));
        let mut sessions: Vec<Session> = Vec::new();
        for _ in self.begin..end {
            let row: [u8; ROW] = take(&mut self.data).map_err(broken("analysis"))?;
            let Ok(position) = &position else { continue };
            match line(&self.vocabulary, position, row) {
                Ok((depth, knodes, line)) => add_line(&mut sessions, depth, knodes, line),
                Err((kind, what)) => self.fault(kind, || what),
            }
        }
        self.begin = end;
        match position {
            Err(what) => {
                self.fault(FaultKind::BadPosition, || what.to_owned());
                Ok(None)
            }
            Ok(_) if sessions.is_empty() => {
                self.fault(FaultKind::NoLine, || "has no analysis".to_owned());
                Ok(None)
            }
            Ok(position) => Ok(Some(record(position, sessions))),
        }
    }
}

/// The record of a position and its sessions in any order.
pub(super) fn record(position: Chess, mut sessions: Vec<Session>) -> EvaluationRecord {
    let turn = position.turn();
    sessions.sort_by_key(|session| std::cmp::Reverse((session.depth, session.knodes)));
    for session in &mut sessions {
        order_lines(&mut session.lines, turn);
    }
    EvaluationRecord { position, sessions }
}

/// Depth, kilonodes and line of a row of analysis.
pub(super) fn line(
    vocabulary: &[[u8; 3]],
    position: &Chess,
    row: [u8; ROW],
) -> Result<(u8, u64, Line), (FaultKind, String)> {
    let mut numbers = [0_i32; 5];
    for (number, bytes) in numbers.iter_mut().zip(row.as_chunks::<4>().0) {
        *number = i32::from_le_bytes(*bytes);
    }
    let [index, depth, knodes, score, is_mate] = numbers;
    let known = usize::try_from(index).ok().and_then(|index| vocabulary.get(index));
    let known = known.ok_or_else(|| (FaultKind::UnknownMove, format!("move number {index}")))?;
    let first = move_of(position, *known)
        .ok_or_else(|| (FaultKind::IllegalMove, format!("move number {index} is not legal")))?;
    let number = |what: &str, value: i32| (FaultKind::BadNumber, format!("{what} is {value}"));
    let score = match is_mate {
        0 if score != i32::MIN => Score::Centipawns(score),
        1 if score != i32::MIN => Score::Mate(NonZeroI32::new(score).ok_or_else(|| number("mate", score))?),
        _ => return Err(number("is_mate", is_mate)),
    };
    Ok((
        u8::try_from(depth).map_err(|_| number("depth", depth))?,
        u64::try_from(knodes).map_err(|_| number("knodes", knodes))?,
        Line { first, score: ForWhite(score) },
    ))
}

impl Iterator for NpySet {
    type Item = EvaluationRecord;

    fn next(&mut self) -> Option<EvaluationRecord> {
        while !self.ended && self.read < self.length {
            self.read += 1;
            match self.step() {
                Ok(Some(record)) => return Some(record),
                Ok(None) => {}
                Err(what) => {
                    self.ended = true;
                    self.fault(FaultKind::StreamFailed, || what);
                }
            }
        }
        None
    }
}

fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Rows of the same depth and nodes are of the same session.
pub(super) fn add_line(sessions: &mut Vec<Session>, depth: u8, knodes: u64, line: Line) {
    match sessions.iter_mut().find(|session| (session.depth, session.knodes) == (depth, knodes)) {
        Some(session) => session.lines.push(line),
        None => sessions.push(Session { depth, knodes, lines: vec![line] }),
    }
}

/// Best for the side to move first, and of lines that begin with the same move the best only.
fn order_lines(lines: &mut Vec<Line>, turn: Color) {
    let worth = |line: &Line| match line.score.for_mover(turn).0 {
        Score::Centipawns(cp) => (0, i64::from(cp)),
        Score::Mate(moves) if moves.get() > 0 => (1, -i64::from(moves.get())),
        Score::Mate(moves) => (-1, -i64::from(moves.get())),
    };
    lines.sort_by_key(|line| std::cmp::Reverse(worth(line)));
    let mut seen: Vec<Move> = Vec::with_capacity(lines.len());
    lines.retain(|line| {
        let is_new = !seen.contains(&line.first);
        seen.push(line.first);
        is_new
    });
}

/// The legal move a row of the vocabulary names: from, to, promotion. Castling may be spelled either way.
fn move_of(position: &Chess, [from, to, promotion]: [u8; 3]) -> Option<Move> {
    let square = |index: u8| Square::try_from(index).ok();
    let promotion = match promotion {
        0 => None,
        1 => Some(Role::Knight),
        2 => Some(Role::Bishop),
        3 => Some(Role::Rook),
        4 => Some(Role::Queen),
        _ => return None,
    };
    UciMove::Normal { from: square(from)?, to: square(to)?, promotion }.to_move(position).ok()
}

/// The position of a row of planes and its meta numbers: turn, then the castling rights K Q k q.
pub(super) fn position(planes: &[u8; PLANES], meta: [i8; META]) -> Result<Chess, &'static str> {
    let mut setup = Setup::empty();
    let (planes, _) = planes.as_chunks::<64>();
    let pieces = Color::ALL.into_iter().flat_map(|color| Role::ALL.map(|role| Piece { color, role }));
    for (plane, piece) in planes.iter().zip(pieces) {
        for square in set_squares(plane) {
            if setup.board.piece_at(square).is_some() {
                return Err("two pieces stand on one square");
            }
            setup.board.set_piece_at(square, piece);
        }
    }
    let mut targets = planes.last().into_iter().flat_map(set_squares);
    setup.ep_square = targets.next();
    if targets.next().is_some() {
        return Err("has two en passant squares");
    }
    let [turn, rights @ ..] = meta;
    setup.turn = match turn {
        1 => Color::White,
        -1 => Color::Black,
        _ => return Err("nobody is to move"),
    };
    for (right, corner) in rights.into_iter().zip([Square::H1, Square::A1, Square::H8, Square::A8]) {
        match right {
            0 => {}
            1 => setup.castling_rights.add(corner),
            _ => return Err("a castling right is neither 0 nor 1"),
        }
    }
    Chess::from_setup(setup, CastlingMode::Standard)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .map_err(|_| "the position is not legal")
}

fn set_squares(plane: &[u8; 64]) -> impl Iterator<Item = Square> {
    Square::ALL.into_iter().zip(plane).filter(|(_, byte)| **byte != 0).map(|(square, _)| square)
}
