//! Decoding a game ply by ply.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{ByColor, Chess, Position};
use tabia_encoding::ForWhite;

use super::bytes::{Reader, unzigzag};
use super::game_bytes::{GameStreams, from_tenths, tenths};
use super::{GameHead, Ply, RecordError, move_rank, score_code};

/// The state of decoding a game. It borrows nothing, so that it can be kept in a table of open games.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GameWalk {
    ply: u32,
    moves_at: u32,
    clocks_at: u32,
    evaluations_at: u32,
    /// The last known value of each clock, in tenths of a second.
    shown: ByColor<i64>,
    increment: i64,
    near: i32,
}

impl GameWalk {
    /// Before the first move.
    pub(crate) fn new(head: &GameHead) -> Self {
        let pace = head.pace.map(|pace| (i64::from(tenths(pace.base)), i64::from(tenths(pace.increment))));
        let (base, increment) = pace.unwrap_or_default();
        GameWalk {
            ply: 0,
            moves_at: 0,
            clocks_at: 0,
            evaluations_at: 0,
            shown: ByColor { white: base, black: base },
            increment,
            near: 0,
        }
    }

    /// The next ply, which is played in `position`. Its move is pseudo-legal and captures no king; it may leave the own king
    /// in check.
    #[inline]
    pub(crate) fn next(&mut self, streams: &GameStreams<'_>, position: &Chess) -> Result<Ply, RecordError> {
        let mut moves = at(streams.moves, self.moves_at, "a game's moves")?;
        let rank = move_rank::read(&mut moves)?;
        self.moves_at = place(streams.moves, &moves);
        let played = move_rank::move_at(position, rank).ok_or(RecordError::Illegal { ply: self.ply })?;

        let mut clock = None;
        if !streams.clocks.is_empty() {
            let mut clocks = at(streams.clocks, self.clocks_at, "a game's clocks")?;
            if let Some(code) = clocks.varint()?.checked_sub(1) {
                let shown = self.shown.get_mut(position.turn());
                let wrong = RecordError::Number { what: "a clock" };
                let now = (*shown + self.increment).checked_sub(unzigzag(code)).ok_or(wrong.clone())?;
                let now_tenths = u32::try_from(now).map_err(|_| wrong)?;
                *shown = now;
                clock = Some(from_tenths(now_tenths));
            }
            self.clocks_at = place(streams.clocks, &clocks);
        }

        let mut evaluation = None;
        if !streams.evaluations.is_empty() {
            let mut evaluations = at(streams.evaluations, self.evaluations_at, "a game's evaluations")?;
            if let Some(code) = evaluations.varint()?.checked_sub(1) {
                let score = score_code::decode(code, self.near)?;
                self.near = score_code::nearby(score, self.near);
                evaluation = Some(ForWhite(score));
            }
            self.evaluations_at = place(streams.evaluations, &evaluations);
        }
        self.ply += 1;
        Ok(Ply { played, clock, evaluation })
    }

    /// Checks, after the last ply, that nothing is left over.
    pub(super) fn end(&self, streams: &GameStreams<'_>) -> Result<(), RecordError> {
        let read = [self.moves_at, self.clocks_at, self.evaluations_at];
        let have = [streams.moves, streams.clocks, streams.evaluations];
        let left: usize = have.iter().zip(read).map(|(stream, at)| stream.len() - at as usize).sum();
        if left > 0 { Err(RecordError::Long { by: left }) } else { Ok(()) }
    }
}

#[inline]
fn at<'a>(stream: &'a [u8], at: u32, what: &'static str) -> Result<Reader<'a>, RecordError> {
    let rest = stream.get(at as usize..).ok_or(RecordError::Short { what })?;
    Ok(Reader::new(rest, what))
}

#[inline]
fn place(stream: &[u8], reader: &Reader<'_>) -> u32 {
    (stream.len() - reader.rest().len()) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams that passed a checksum are decoded without legality checks: nothing panics and both kings stay.
    #[test]
    fn garbage_is_decoded_without_panics() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut played = 0;
        for _ in 0..300 {
            let bytes: Vec<u8> = (0..200).map(|_| rng.u8(..16)).collect();
            let noise: Vec<u8> = (0..400).map(|_| rng.u8(..)).collect();
            let evaluations = if rng.bool() { noise.as_slice() } else { &[] };
            let streams = GameStreams { moves: &bytes, clocks: &[], evaluations };
            let mut position = Chess::default();
            let mut walk = GameWalk::new(&GameHead::default());
            while let Ok(ply) = walk.next(&streams, &position) {
                position.play_unchecked(ply.played);
                assert_eq!(position.board().kings().count(), 2);
                played += 1;
            }
        }
        assert!(played > 1000, "{played}");
    }
}
