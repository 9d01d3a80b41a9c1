use std::time::Duration;

use shakmaty::{Move, Position, Square};

use crate::placement::{placements, rights_of, role_index};
use crate::{
    CastlingSpelling, ElementKind, Encoding, EncodingId, InputSpec, Orientation, PlayerInfo, RatingPool, Row,
    Situation, VocabularyId,
};

/// The inputs of our human networks: the board and the last 8 moves by square, and the game.
///
/// From the perspective of the side to move: ranks and colours are flipped for Black. Everything but the board may be unknown.
///
/// `squares` [64, 32], 32 numbers for each square as the mover sees it, a1 first:
/// - 0-5 the mover's P N B R Q K, 6-11 the opponent's;
/// - 12 the en passant target, where a capture there is legal;
/// - 13 + 2k and 14 + 2k for k = 0..7: the k-th last move came from here, went here; k = 0 is the opponent's last
///   move, castling goes by the king's own squares;
/// - 29, 30 the last, the second last move captured and went here;
/// - 31 the piece here gives check to the mover.
///
/// `game` [80]; numbers are linearly interpolated between the two nearest *knots*, with weights that sum to 1, and clamped
/// to the ends:
/// - 0-3 castling rights: the mover's king side, queen side, the opponent's;
/// - 4-15 the mover's rating, knots 600, 800, ... 2800, and 16 if it is unknown; 17-29 the opponent's alike;
/// - 30-33 the pool of the ratings: unknown, over the board, online (any server), puzzle;
/// - 34-44 the time for the game, knots 15, 30, 60, 120, 180, 300, 600, 900, 1800, 3600, 5400 s, between which the
///   logarithm counts, and 45 if the pace is unknown;
/// - 46-51 the increment, knots 0, 1, 2, 5, 10, 30 s; all zero if unknown;
/// - 52-63 the mover's clock, knots 1, 3, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 5400 s by logarithm, and 64 if it is
///   unknown; 65-77 the opponent's alike;
/// - 78 plies since a capture or pawn move / 100, at most 1;
/// - 79 the mover is in check.
pub(crate) struct TabiaHuman1;

pub(super) const CHANNELS: usize = 32;
const EN_PASSANT: usize = 12;
const HISTORY: usize = 13;
const MOVES: usize = 8;
const CAPTURES: [usize; 2] = [29, 30];
const CHECKER: usize = 31;

pub(super) const GAME: usize = 80;
const RATING: [usize; 2] = [4, 17];
const POOL: usize = 30;
const BASE: usize = 34;
const INCREMENT: usize = 46;
const CLOCK: [usize; 2] = [52, 65];
const HALFMOVES: usize = 78;
const IN_CHECK: usize = 79;

const RATING_KNOTS: [f64; 12] =
    [600.0, 800.0, 1000.0, 1200.0, 1400.0, 1600.0, 1800.0, 2000.0, 2200.0, 2400.0, 2600.0, 2800.0];
const BASE_KNOTS: [f64; 11] = [15.0, 30.0, 60.0, 120.0, 180.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 5400.0];
const INCREMENT_KNOTS: [f64; 6] = [0.0, 1.0, 2.0, 5.0, 10.0, 30.0];
const CLOCK_KNOTS: [f64; 12] = [1.0, 3.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 5400.0];

impl Encoding for TabiaHuman1 {
    fn id(&self) -> EncodingId {
        EncodingId("tabia-human-1")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[
            InputSpec { name: "squares", shape: &[64, CHANNELS], kind: ElementKind::Value },
            InputSpec { name: "game", shape: &[GAME], kind: ElementKind::Value },
        ]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_squares(situation, row.values(0));
        write_game(situation, row.values(1));
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("from-to-4096-mirrored"))
    }
}

pub(super) fn write_squares(situation: &Situation<'_>, values: &mut [f32]) {
    let position = situation.position;
    let mover = position.turn();
    let mut set = |square: Square, channel: usize| {
        values[usize::from(Orientation::Mirrored.square(mover, square)) * CHANNELS + channel] = 1.0;
    };
    for placed in placements(position.board()) {
        let theirs = if placed.piece.color == mover { 0 } else { 6 };
        set(placed.square, theirs + role_index(placed.piece.role));
    }
    position.legal_ep_square().into_iter().for_each(|target| set(target, EN_PASSANT));
    let ends = |&m: &Move| CastlingSpelling::KingTwoSquares.squares(m);
    for (k, (from, to)) in situation.last_moves.iter().take(MOVES).map(ends).enumerate() {
        set(from, HISTORY + 2 * k);
        set(to, HISTORY + 2 * k + 1);
    }
    for (m, channel) in situation.last_moves.iter().zip(CAPTURES).filter(|(m, _)| m.is_capture()) {
        set(m.to(), channel);
    }
    position.checkers().into_iter().for_each(|checker| set(checker, CHECKER));
}

pub(super) fn write_game(situation: &Situation<'_>, values: &mut [f32]) {
    let position = situation.position;
    let mover = position.turn();
    let [king_side, queen_side] = rights_of(position, mover);
    let [their_king_side, their_queen_side] = rights_of(position, !mover);
    let rights = [king_side, queen_side, their_king_side, their_queen_side];
    for (value, right) in values.iter_mut().zip(rights) {
        *value = f32::from(u8::from(right));
    }

    for (PlayerInfo { rating, time_left }, side) in [situation.mover, situation.opponent].into_iter().zip(0..)
    {
        let rating = rating.map(|elo| f64::from(elo.0));
        spread_or_flag(&mut values[RATING[side]..], &RATING_KNOTS, Scale::Linear, rating);
        let clock = time_left.map(|time| Duration::as_secs_f64(&time));
        spread_or_flag(&mut values[CLOCK[side]..], &CLOCK_KNOTS, Scale::Logarithmic, clock);
    }
    let pool = match situation.pool {
        RatingPool::Unknown => 0,
        RatingPool::OverTheBoard => 1,
        RatingPool::Online | RatingPool::Lichess | RatingPool::ChessCom => 2,
        RatingPool::Puzzle => 3,
    };
    values[POOL + pool] = 1.0;
    let base = situation.pace.map(|pace| pace.base.as_secs_f64());
    spread_or_flag(&mut values[BASE..], &BASE_KNOTS, Scale::Logarithmic, base);
    if let Some(pace) = situation.pace {
        let increment = pace.increment.as_secs_f64();
        spread(&mut values[INCREMENT..], &INCREMENT_KNOTS, Scale::Linear, increment);
    }
    values[HALFMOVES] = (position.halfmoves() as f32 / 100.0).min(1.0);
    values[IN_CHECK] = f32::from(u8::from(position.is_check()));
}

/// The scale of the interpolation between knots.
#[derive(Clone, Copy)]
enum Scale {
    Linear,
    Logarithmic,
}

/// Interpolates a known value, or sets the flag after the knots.
fn spread_or_flag(weights: &mut [f32], knots: &[f64], scale: Scale, value: Option<f64>) {
    match value {
        Some(value) => spread(weights, knots, scale, value),
        None => weights[knots.len()] = 1.0,
    }
}

/// Writes the interpolation weights of `value`.
fn spread(weights: &mut [f32], knots: &[f64], scale: Scale, value: f64) {
    let last = knots.len() - 1;
    let value = value.clamp(knots[0], knots[last]);
    let upper = knots.partition_point(|&knot| knot <= value).min(last);
    let (below, above) = (knots[upper - 1], knots[upper]);
    let share = match scale {
        Scale::Linear => (value - below) / (above - below),
        // libm's logarithm is the same to the bit on every target.
        Scale::Logarithmic => libm::log(value / below) / libm::log(above / below),
    } as f32;
    weights[upper - 1] = 1.0 - share;
    weights[upper] = share;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_positions::{dense_values, position};
    use crate::{Batch, Elo, Pace, encoding};

    fn game(situation: &Situation<'_>) -> Vec<f32> {
        let mut batch = Batch::new(encoding("tabia-human-1").unwrap());
        batch.push(situation);
        batch.values(1).to_vec()
    }

    #[test]
    fn bare_position_sets_every_unknown_flag() {
        let black = position("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b Kkq - 50 1");
        let set: Vec<_> =
            game(&Situation::of(&black)).into_iter().enumerate().filter(|(_, v)| *v != 0.0).collect();
        let flags = [0, 1, 2, 16, 29, 30, 45, 64, 77].map(|flag| (flag, 1.0));
        assert_eq!(set[..9], flags);
        assert_eq!(set[9..], [(78, 0.5)]);
    }

    #[test]
    fn board_is_flipped_for_black() {
        let black = position("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1");
        let m = Move::Normal {
            role: shakmaty::Role::Pawn,
            from: Square::E2,
            capture: None,
            to: Square::E4,
            promotion: None,
        };
        let values = dense_values(&TabiaHuman1, &Situation { last_moves: &[m], ..Situation::of(&black) });
        let channels = |square: Square| {
            let row = &values[usize::from(square) * CHANNELS..][..CHANNELS];
            (0..CHANNELS).filter(|&c| row[c] == 1.0).collect::<Vec<_>>()
        };
        assert_eq!(channels(Square::E1), [5]);
        assert_eq!(channels(Square::E7), [13]);
        assert_eq!(channels(Square::E5), [6, 14]);
        assert_eq!(channels(Square::E8), [11]);
    }

    #[test]
    fn numbers_are_interpolated_between_knots() {
        let start = shakmaty::Chess::default();
        let seconds = Duration::from_secs;
        let situation = Situation {
            mover: PlayerInfo { rating: Some(Elo(1250)), time_left: Some(seconds(0)) },
            opponent: PlayerInfo { rating: Some(Elo(3000)), time_left: Some(seconds(9000)) },
            pool: RatingPool::Online,
            pace: Some(Pace { base: seconds(180), increment: seconds(3) }),
            ..Situation::of(&start)
        };
        let values = game(&situation);
        assert_eq!((values[4 + 3], values[4 + 4]), (0.75, 0.25));
        assert_eq!(values[17 + 11], 1.0);
        assert_eq!((values[30], values[32]), (0.0, 1.0));
        assert_eq!(values[34 + 4], 1.0);
        assert_eq!((values[46 + 2], values[46 + 3]), (1.0 - 1.0 / 3.0, 1.0 / 3.0));
        assert_eq!((values[52], values[65 + 11]), (1.0, 1.0));
        assert_eq!([16, 29, 45, 64, 77].map(|flag| values[flag]), [0.0; 5]);
        // Four rights, six spread numbers and a pool.
        assert_eq!(values.iter().sum::<f32>(), 11.0);
    }
}
