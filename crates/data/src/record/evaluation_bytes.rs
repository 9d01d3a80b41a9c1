//! An analysed position as bytes: the packed position, then the sessions.
//!
//! Sessions are merged without decoding the position, as moves are stored by rank.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{Chess, Position};
use tabia_encoding::{ForMover, Score};
use twox_hash::XxHash3_64;

use super::bytes::{Reader, write_varint};
use super::packed::{self, Counters};
use super::{EvaluationRecord, EvaluationRow, Line, RecordError, RecordKey, Session, move_rank, score_code};

impl EvaluationRecord {
    /// The record as bytes. Equal records have equal bytes, whatever the order of their sessions and lines.
    ///
    /// # Errors
    /// If a line's move is not legal, or the position is not one of standard chess.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let mut out = Vec::with_capacity(48);
        packed::write(&mut out, &self.position)?;
        // Ranks refer to the position as it is decoded.
        let position = packed::read(&out, Counters::FRESH)?;
        let ranked = self.sessions.iter().map(|session| RankedSession::of(session, &position));
        write_sessions(unite(ranked.collect::<Result<_, _>>()?), &mut out)?;
        Ok(out)
    }

    /// Decodes a record. Every move is checked for legality.
    ///
    /// # Errors
    /// If the bytes are not those of an analysed position.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        EvaluationBytes::parse(bytes)?.decode()
    }

    /// The key of the position: a hash of its packed form.
    ///
    /// # Errors
    /// If the position is not one of standard chess.
    pub fn key(&self) -> Result<RecordKey, RecordError> {
        key_of_position(&self.position)
    }

    /// Adds the sessions of another record of the same position. Sessions of the same depth and nodes are merged; a move
    /// in both keeps the score that is better for the side to move.
    ///
    /// # Errors
    /// If the positions differ, or a move is not legal.
    pub fn merge(&mut self, other: &EvaluationRecord) -> Result<(), RecordError> {
        if self.position != other.position {
            return Err(RecordError::OtherPosition);
        }
        let (ours, theirs) = (self.to_bytes()?, other.to_bytes()?);
        *self = Self::from_bytes(&merge_evaluations([ours.as_slice(), theirs.as_slice()])?)?;
        Ok(())
    }
}

impl EvaluationRow {
    /// The bytes of a record with this line only, for [`merge_evaluations`].
    ///
    /// # Errors
    /// If the move is not legal, or the position is not one of standard chess.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let session = Session { depth: self.depth, knodes: self.knodes, lines: vec![self.line] };
        EvaluationRecord { position: self.position.clone(), sessions: vec![session] }.to_bytes()
    }

    /// The key of the position, see [`EvaluationRecord::key`].
    ///
    /// # Errors
    /// If the position is not one of standard chess.
    pub fn key(&self) -> Result<RecordKey, RecordError> {
        key_of_position(&self.position)
    }
}

fn key_of_position(position: &Chess) -> Result<RecordKey, RecordError> {
    let mut packed = Vec::with_capacity(24);
    packed::write(&mut packed, position)?;
    Ok(RecordKey(XxHash3_64::oneshot(&packed)))
}

/// Merges records of the same position into one. The order of `parts` and duplicates among them do not matter.
///
/// # Errors
/// If there are no parts, one cannot be read, or they are of different positions.
pub fn merge_evaluations<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>, RecordError> {
    let mut position: Option<&[u8]> = None;
    let mut sessions = Vec::new();
    for part in parts {
        let part = EvaluationBytes::parse(part)?;
        if *position.get_or_insert(part.position) != part.position {
            return Err(RecordError::OtherPosition);
        }
        sessions.append(&mut read_sessions(part.sessions)?);
    }
    let mut out = position.ok_or(RecordError::Short { what: "an analysed position" })?.to_vec();
    write_sessions(unite(sessions), &mut out)?;
    Ok(out)
}

/// A session with moves as ranks and scores from the point of view of the side to move.
#[derive(Clone, Debug, PartialEq)]
struct RankedSession {
    depth: u8,
    knodes: u64,
    lines: Vec<(u16, ForMover<Score>)>,
}

impl RankedSession {
    fn of(session: &Session, position: &Chess) -> Result<Self, RecordError> {
        let rank = |line: &Line| {
            let legal = position.is_legal(line.first);
            let rank = if legal { move_rank::rank_of(position, line.first) } else { None };
            let score = bounded(line.score.0);
            Ok((
                rank.ok_or(RecordError::Illegal { ply: 0 })?,
                tabia_encoding::ForWhite(score).for_mover(position.turn()),
            ))
        };
        let lines = session.lines.iter().map(rank).collect::<Result<_, RecordError>>()?;
        Ok(RankedSession { depth: session.depth, knodes: session.knodes, lines })
    }
}

/// A score that can be negated: not `i32::MIN`.
fn bounded(score: Score) -> Score {
    match score {
        Score::Centipawns(i32::MIN) => Score::Centipawns(-i32::MAX),
        Score::Mate(moves) if moves.get() == i32::MIN => Score::Mate(-std::num::NonZeroI32::MAX),
        other => other,
    }
}

/// Sort key of a score: mates beyond all centipawns, shorter mates further.
fn worth(ForMover(score): ForMover<Score>) -> i64 {
    const MATE: i64 = 1 << 40;
    match score {
        Score::Centipawns(cp) => i64::from(cp),
        Score::Mate(moves) => i64::from(moves.get().signum()) * MATE - i64::from(moves.get()),
    }
}

/// Sorts sessions, merges those of equal depth and nodes, and keeps the best score of each move.
fn unite(mut sessions: Vec<RankedSession>) -> Vec<RankedSession> {
    sessions.sort_by_key(|session| std::cmp::Reverse((session.depth, session.knodes)));
    sessions.dedup_by(|later, kept| {
        let same = (later.depth, later.knodes) == (kept.depth, kept.knodes);
        if same {
            kept.lines.append(&mut later.lines);
        }
        same
    });
    for session in &mut sessions {
        session.lines.sort_by_key(|&(rank, score)| (rank, std::cmp::Reverse(worth(score))));
        session.lines.dedup_by_key(|&mut (rank, _)| rank);
        session.lines.sort_by_key(|&(rank, score)| (std::cmp::Reverse(worth(score)), rank));
    }
    sessions
}

fn write_sessions(sessions: Vec<RankedSession>, out: &mut Vec<u8>) -> Result<(), RecordError> {
    let mut body = Vec::with_capacity(32);
    write_varint(&mut body, sessions.len() as u64);
    for session in sessions {
        body.push(session.depth);
        write_varint(&mut body, session.knodes);
        write_varint(&mut body, session.lines.len() as u64);
        let mut near = 0;
        for (rank, ForMover(score)) in session.lines {
            move_rank::write(&mut body, rank)?;
            write_varint(&mut body, score_code::encode(score, near));
            near = score_code::nearby(score, near);
        }
    }
    write_varint(out, body.len() as u64);
    out.append(&mut body);
    Ok(())
}

fn read_sessions(bytes: &[u8]) -> Result<Vec<RankedSession>, RecordError> {
    let mut reader = Reader::new(bytes, "a position's sessions");
    let count = reader.varint()?;
    let mut sessions = Vec::new();
    for _ in 0..count {
        let (depth, knodes, lines_count) = (reader.byte()?, reader.varint()?, reader.varint()?);
        let mut lines = Vec::new();
        let mut near = 0;
        for _ in 0..lines_count {
            let rank = move_rank::read(&mut reader)?;
            lines.push((rank, ForMover(score_code::read(&mut reader, &mut near)?)));
        }
        sessions.push(RankedSession { depth, knodes, lines });
    }
    if !reader.rest().is_empty() {
        return Err(RecordError::Long { by: reader.rest().len() });
    }
    Ok(sessions)
}

/// The bytes of an analysed position, split into parts but not decoded.
#[derive(Clone, Copy, Debug)]
pub struct EvaluationBytes<'a> {
    position: &'a [u8],
    sessions: &'a [u8],
}

/// The length of the record in each stream; its first stream begins at the front of `positions`.
pub(crate) fn evaluation_lengths(positions: &[u8]) -> Result<[usize; 2], RecordError> {
    let mut reader = Reader::new(positions, "an analysed position");
    packed::take(&mut reader)?;
    let sessions = reader.number::<u32>()? as usize;
    Ok([positions.len() - reader.rest().len(), sessions])
}

impl<'a> EvaluationBytes<'a> {
    /// Splits the bytes of a record into its parts.
    ///
    /// # Errors
    /// If the parts do not fill the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let [first, sessions_len] = evaluation_lengths(bytes)?;
        let mut reader = Reader::new(bytes, "an analysed position");
        let (first, sessions) = (reader.take(first)?, reader.take(sessions_len)?);
        if !reader.rest().is_empty() {
            return Err(RecordError::Long { by: reader.rest().len() });
        }
        Self::of_streams(first, sessions)
    }

    /// A record from its parts.
    pub(crate) fn of_streams(first: &'a [u8], sessions: &'a [u8]) -> Result<Self, RecordError> {
        let position = packed::take(&mut Reader::new(first, "an analysed position"))?;
        Ok(EvaluationBytes { position, sessions })
    }

    /// The key of the position: a hash of its packed form.
    pub fn key(&self) -> RecordKey {
        RecordKey(XxHash3_64::oneshot(self.position))
    }

    /// The greatest depth of its sessions.
    ///
    /// # Errors
    /// If there is no session.
    pub fn depth(&self) -> Result<u8, RecordError> {
        let mut reader = Reader::new(self.sessions, "a position's sessions");
        reader.varint()?;
        reader.byte()
    }

    /// Decodes the record and checks every move for legality.
    ///
    /// # Errors
    /// If the position or a move is not legal.
    pub fn decode(&self) -> Result<EvaluationRecord, RecordError> {
        self.decode_with(Position::is_legal)
    }

    /// Decodes a record from bytes that passed a checksum: moves are pseudo-legal and capture no king.
    pub(crate) fn decode_trusted(&self) -> Result<EvaluationRecord, RecordError> {
        self.decode_with(|_, _| true)
    }

    fn decode_with(
        &self,
        accept: impl Fn(&Chess, shakmaty::Move) -> bool,
    ) -> Result<EvaluationRecord, RecordError> {
        let position = packed::read(self.position, Counters::FRESH)?;
        let line = |(rank, score): (u16, ForMover<Score>)| {
            let first = move_rank::move_at(&position, rank).filter(|&m| accept(&position, m));
            let first = first.ok_or(RecordError::Illegal { ply: 0 })?;
            Ok(Line { first, score: score.for_white(position.turn()) })
        };
        let session = |ranked: RankedSession| {
            let lines = ranked.lines.into_iter().map(line).collect::<Result<_, RecordError>>()?;
            Ok(Session { depth: ranked.depth, knodes: ranked.knodes, lines })
        };
        let sessions = read_sessions(self.sessions)?.into_iter().map(session);
        let sessions = sessions.collect::<Result<_, RecordError>>()?;
        Ok(EvaluationRecord { position, sessions })
    }
}
