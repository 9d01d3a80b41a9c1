//! A game as bytes: a head, then one stream each for moves, clocks and evaluations.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::time::Duration;

use shakmaty::{ByColor, Chess, Color, Position};
use tabia_encoding::{Elo, Pace, RatingPool};
use twox_hash::XxHash3_64;

use super::bytes::{Reader, write_varint, zigzag};
use super::packed::{self, Counters};
use super::walk::GameWalk;
use super::{GameHead, GameRecord, PlayerHash, Ply, RecordError, RecordKey, move_rank, score_code};

/// Games of at least this many plies are duplicates if their moves are equal; shorter ones only if ratings, result and
/// players are equal too.
const LONG_ENOUGH_TO_TELL: u32 = 24;

// The first two bytes of a head.
const HAS_CLOCKS: u8 = 1 << 4;
const HAS_EVALUATIONS: u8 = 1 << 5;
const HAS_START: u8 = 1 << 6;
const HAS_PACE: u8 = 1 << 7;
const HAS_ESCAPES: u8 = 1 << 4;
const HAS_COUNTERS: u8 = 1 << 5;
/// The third bit of the pool's index; the other two are the lowest of the first byte.
const POOL_HIGH: u8 = 1 << 6;

const POOLS: [RatingPool; 6] = RatingPool::ALL;
const RESULTS: [Option<Option<Color>>; 4] =
    [None, Some(Some(Color::White)), Some(Some(Color::Black)), Some(None)];

impl GameRecord {
    /// The game as bytes. Equal games have equal bytes.
    ///
    /// Times are truncated to tenths of a second.
    ///
    /// # Errors
    /// If a move is not legal where it is played, or the start position is not one of standard chess.
    pub fn to_bytes(&self) -> Result<Vec<u8>, RecordError> {
        let streams = Streams::of(self)?;
        let mut out = Vec::with_capacity(32 + streams.moves.len() * 2);
        self.write_head(&streams, &mut out);
        out.extend_from_slice(&streams.moves);
        out.extend_from_slice(&streams.clocks);
        out.extend_from_slice(&streams.evaluations);
        Ok(out)
    }

    /// Decodes a game. Every move is checked for legality.
    ///
    /// # Errors
    /// If the bytes are not those of a game.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        GameBytes::parse(bytes)?.decode()
    }

    /// The game's key, see [`GameBytes::key`].
    ///
    /// # Errors
    /// As [`to_bytes`](GameRecord::to_bytes).
    pub fn key(&self) -> Result<RecordKey, RecordError> {
        Ok(GameBytes::parse(&self.to_bytes()?)?.key())
    }

    fn write_head(&self, streams: &Streams, out: &mut Vec<u8>) {
        let head = &self.head;
        let counters = Counters::of(&self.start);
        let (has_start, has_counters) = (!streams.start.is_empty(), counters != Counters::FRESH);
        let escapes = streams.moves.len() - self.plies.len();
        let flag = |condition: bool, bit: u8| if condition { bit } else { 0 };

        let pool = POOLS.iter().position(|&pool| pool == head.pool).unwrap_or(0);
        let result = RESULTS.iter().position(|&result| result == head.result).unwrap_or(0);
        out.push(
            (pool & 3) as u8
                | (result as u8) << 2
                | flag(!streams.clocks.is_empty(), HAS_CLOCKS)
                | flag(!streams.evaluations.is_empty(), HAS_EVALUATIONS)
                | flag(has_start, HAS_START)
                | flag(head.pace.is_some(), HAS_PACE),
        );
        out.push(
            flag(head.ratings.white.is_some(), 1)
                | flag(head.ratings.black.is_some(), 2)
                | flag(head.players.white.is_some(), 4)
                | flag(head.players.black.is_some(), 8)
                | flag(escapes > 0, HAS_ESCAPES)
                | flag(has_counters, HAS_COUNTERS)
                | flag(pool > 3, POOL_HIGH),
        );
        for Elo(rating) in head.ratings.iter().flatten() {
            out.extend_from_slice(&rating.to_le_bytes());
        }
        for PlayerHash(player) in head.players.iter().flatten() {
            out.extend_from_slice(&player.to_le_bytes());
        }
        if let Some(pace) = head.pace {
            write_varint(out, u64::from(tenths(pace.base)));
            write_varint(out, u64::from(tenths(pace.increment)));
        }
        out.extend_from_slice(&streams.start);
        if has_counters {
            write_varint(out, u64::from(counters.halfmoves));
            write_varint(out, u64::from(counters.fullmoves));
        }
        write_varint(out, self.plies.len() as u64);
        if escapes > 0 {
            write_varint(out, escapes as u64);
        }
        for stream in [&streams.clocks, &streams.evaluations] {
            if !stream.is_empty() {
                write_varint(out, stream.len() as u64);
            }
        }
    }
}

/// The parts of a game's bytes.
struct Streams {
    /// The packed start position; empty for the standard one.
    start: Vec<u8>,
    moves: Vec<u8>,
    clocks: Vec<u8>,
    evaluations: Vec<u8>,
}

impl Streams {
    fn of(game: &GameRecord) -> Result<Self, RecordError> {
        let mut start = Vec::new();
        let mut position = Chess::default();
        if game.start != position {
            packed::write(&mut start, &game.start)?;
            // Ranks refer to the position as it is decoded.
            position = packed::read(&start, Counters::of(&game.start))?;
        }
        let mut moves = Vec::with_capacity(game.plies.len());
        for (ply, &Ply { played, .. }) in game.plies.iter().enumerate() {
            let illegal = RecordError::Illegal { ply: ply as u32 };
            if !position.is_legal(played) {
                return Err(illegal);
            }
            move_rank::write(&mut moves, move_rank::rank_of(&position, played).ok_or(illegal)?)?;
            position.play_unchecked(played);
        }
        Ok(Streams { start, moves, clocks: clocks_of(game), evaluations: evaluations_of(game) })
    }
}

/// The difference of each clock to its previous value plus increment, which is mostly the thinking time. 0 where it is
/// unknown; empty if all are.
fn clocks_of(game: &GameRecord) -> Vec<u8> {
    let mut out = Vec::new();
    if game.plies.iter().all(|ply| ply.clock.is_none()) {
        return out;
    }
    let increment = game.head.pace.map_or(0, |pace| i64::from(tenths(pace.increment)));
    let mut shown = ByColor::new_with(|_| game.head.pace.map_or(0, |pace| i64::from(tenths(pace.base))));
    let mut turn = game.start.turn();
    for ply in &game.plies {
        match ply.clock {
            None => out.push(0),
            Some(clock) => {
                let clock = i64::from(tenths(clock));
                let before = shown.get_mut(turn);
                write_varint(&mut out, zigzag(*before + increment - clock) + 1);
                *before = clock;
            }
        }
        turn = !turn;
    }
    out
}

/// Each score relative to the previous one, plus one; 0 where it is unknown; empty if all are.
fn evaluations_of(game: &GameRecord) -> Vec<u8> {
    let mut out = Vec::new();
    if game.plies.iter().all(|ply| ply.evaluation.is_none()) {
        return out;
    }
    let mut near = 0;
    for ply in &game.plies {
        match ply.evaluation {
            None => out.push(0),
            Some(score) => {
                write_varint(&mut out, score_code::encode(score.0, near) + 1);
                near = score_code::nearby(score.0, near);
            }
        }
    }
    out
}

/// A duration in tenths of a second, saturating at 32 bits (13 years).
pub(crate) fn tenths(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis() / 100).unwrap_or(u32::MAX)
}

/// The inverse of [`tenths`].
pub(crate) fn from_tenths(tenths: u32) -> Duration {
    Duration::from_millis(u64::from(tenths) * 100)
}

/// The bytes of a game, split into parts but not decoded.
#[derive(Clone, Copy, Debug)]
pub struct GameBytes<'a> {
    /// Facts about the whole game.
    pub head: GameHead,
    /// The number of moves.
    pub plies: u32,
    /// The packed start position; empty for the standard one.
    pub(super) start: &'a [u8],
    pub(super) counters: Counters,
    pub(crate) streams: GameStreams<'a>,
}

/// The three streams of a game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GameStreams<'a> {
    pub(crate) moves: &'a [u8],
    pub(crate) clocks: &'a [u8],
    pub(crate) evaluations: &'a [u8],
}

/// The length of a game in each stream: head, moves, clocks, evaluations.
pub(crate) type GameLengths = [usize; 4];

/// A decoded head, without the streams.
struct ReadHead<'a> {
    head: GameHead,
    start: &'a [u8],
    counters: Counters,
    plies: u32,
    lengths: GameLengths,
}

fn read_head(bytes: &[u8]) -> Result<ReadHead<'_>, RecordError> {
    let mut reader = Reader::new(bytes, "a game's head");
    let [first, second] = reader.array()?;
    if second & !(0xf | HAS_ESCAPES | HAS_COUNTERS | POOL_HIGH) != 0 {
        return Err(RecordError::Number { what: "a game's flags" });
    }
    let pool = usize::from(first & 3) + if second & POOL_HIGH != 0 { 4 } else { 0 };
    let mut head = GameHead {
        pool: *POOLS.get(pool).ok_or(RecordError::Number { what: "a game's rating pool" })?,
        result: RESULTS.get(usize::from(first >> 2 & 3)).copied().flatten(),
        ..GameHead::default()
    };
    for (color, bit) in [(Color::White, 1), (Color::Black, 2)] {
        if second & bit != 0 {
            *head.ratings.get_mut(color) = Some(Elo(u16::from_le_bytes(reader.array()?)));
        }
    }
    for (color, bit) in [(Color::White, 4), (Color::Black, 8)] {
        if second & bit != 0 {
            *head.players.get_mut(color) = Some(PlayerHash(u32::from_le_bytes(reader.array()?)));
        }
    }
    if first & HAS_PACE != 0 {
        let (base, increment) = (from_tenths(reader.number()?), from_tenths(reader.number()?));
        head.pace = Some(Pace { base, increment });
    }
    let start = if first & HAS_START != 0 { packed::take(&mut reader)? } else { &[] };
    let mut counters = Counters::FRESH;
    if second & HAS_COUNTERS != 0 {
        counters = Counters { halfmoves: reader.number()?, fullmoves: reader.number()? };
    }
    let plies: u32 = reader.number()?;
    let escapes: u32 = if second & HAS_ESCAPES != 0 { reader.number()? } else { 0 };
    let moves = plies as usize + escapes as usize;
    let clocks = if first & HAS_CLOCKS != 0 { reader.number::<u32>()? as usize } else { 0 };
    let evaluations = if first & HAS_EVALUATIONS != 0 { reader.number::<u32>()? as usize } else { 0 };
    let head_len = bytes.len() - reader.rest().len();
    Ok(ReadHead { head, start, counters, plies, lengths: [head_len, moves, clocks, evaluations] })
}

/// The lengths of the parts of the game whose head is at the front of `heads`.
pub(crate) fn game_lengths(heads: &[u8]) -> Result<(GameLengths, u32), RecordError> {
    let read = read_head(heads)?;
    Ok((read.lengths, read.plies))
}

impl<'a> GameBytes<'a> {
    /// Splits the bytes of a game into its parts.
    ///
    /// # Errors
    /// If the head cannot be read or the parts do not fill the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let [head_len, moves_len, clocks_len, evaluations_len] = read_head(bytes)?.lengths;
        let mut reader = Reader::new(bytes, "a game");
        let head = reader.take(head_len)?;
        let [moves, clocks, evaluations] =
            [reader.take(moves_len)?, reader.take(clocks_len)?, reader.take(evaluations_len)?];
        if !reader.rest().is_empty() {
            return Err(RecordError::Long { by: reader.rest().len() });
        }
        Self::of_streams(head, moves, clocks, evaluations)
    }

    /// A game from its parts.
    pub(crate) fn of_streams(
        head: &'a [u8],
        moves: &'a [u8],
        clocks: &'a [u8],
        evaluations: &'a [u8],
    ) -> Result<Self, RecordError> {
        let ReadHead { head, start, counters, plies, .. } = read_head(head)?;
        Ok(GameBytes { head, plies, start, counters, streams: GameStreams { moves, clocks, evaluations } })
    }

    /// The position before the first move.
    ///
    /// # Errors
    /// If it is not a legal one.
    pub fn start(&self) -> Result<Chess, RecordError> {
        if self.start.is_empty() && self.counters == Counters::FRESH {
            return Ok(Chess::default());
        }
        if self.start.is_empty() {
            let mut usual = Vec::new();
            packed::write(&mut usual, &Chess::default())?;
            return packed::read(&usual, self.counters);
        }
        packed::read(self.start, self.counters)
    }

    /// The key of the game: a hash of its start position and moves, and for games of fewer than 24 plies also of ratings,
    /// result and players.
    pub fn key(&self) -> RecordKey {
        let mut told = Vec::with_capacity(self.start.len() + self.streams.moves.len() + 24);
        told.extend_from_slice(self.start);
        told.extend_from_slice(self.streams.moves);
        if self.plies < LONG_ENOUGH_TO_TELL {
            let head = &self.head;
            told.push(RESULTS.iter().position(|&result| result == head.result).unwrap_or(0) as u8);
            for color in Color::ALL {
                let rating = head.ratings.get(color).map_or(0, |Elo(rating)| u32::from(rating) + 1);
                let player = head.players.get(color).map_or(0, |PlayerHash(player)| u64::from(player) + 1);
                told.extend_from_slice(&rating.to_le_bytes());
                told.extend_from_slice(&player.to_le_bytes());
            }
        }
        RecordKey(XxHash3_64::oneshot(&told))
    }

    /// A measure of how much is known of the game; of duplicates, the one with the greatest value is kept.
    ///
    /// Compares clocks first, then ratings, evaluations, and last time control, result and players.
    pub fn information(&self) -> u64 {
        let known = |stream: &[u8]| {
            // A zero that does not continue a varint means "unknown".
            let ends = stream.iter().filter(|&&byte| byte & 0x80 == 0).count();
            let mut continued = false;
            let unknown = stream.iter().filter(|&&byte| {
                let here = byte == 0 && !continued;
                continued = byte & 0x80 != 0;
                here
            });
            (ends - unknown.count()).min(0xffff) as u64
        };
        let head = &self.head;
        let count = |known: [bool; 2]| u64::from(known[0]) + u64::from(known[1]);
        let ratings = count([head.ratings.white.is_some(), head.ratings.black.is_some()]);
        let players = count([head.players.white.is_some(), head.players.black.is_some()]);
        let about = count([head.pace.is_some(), head.result.is_some()]) + players;
        known(self.streams.clocks) << 24 | ratings << 22 | known(self.streams.evaluations) << 4 | about
    }

    /// Decodes the game and checks every move for legality.
    ///
    /// # Errors
    /// If a move is not legal, or a stream does not hold exactly the game's plies.
    pub fn decode(&self) -> Result<GameRecord, RecordError> {
        let start = self.start()?;
        let mut position = start.clone();
        let mut walk = GameWalk::new(&self.head);
        // Do not allocate what a damaged head claims.
        let mut plies = Vec::with_capacity(self.streams.moves.len().min(self.plies as usize));
        for ply in 0..self.plies {
            let next = walk.next(&self.streams, &position)?;
            if !position.is_legal(next.played) {
                return Err(RecordError::Illegal { ply });
            }
            position.play_unchecked(next.played);
            plies.push(next);
        }
        walk.end(&self.streams)?;
        Ok(GameRecord { head: self.head, start, plies })
    }
}
