//! Zobrist keys that follow moves.
//!
//! shakmaty's own update gives up at king moves, double steps, castling and lost castling rights; a search meets
//! those all the time, so this one handles them all. The keys are shakmaty's, with legal en passant.

use shakmaty::{
    CastlingSide, Chess, Color, EnPassantMode, Move, Position, Square,
    zobrist::{Zobrist64, ZobristValue},
};

/// The key of a position, from scratch.
pub(super) fn of(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// The key of `after`, reached by `m` from `before` with key `key`.
pub(super) fn after_move(key: u64, before: &Chess, m: Move, after: &Chess) -> u64 {
    let us = before.turn();
    let mut key = Zobrist64(key);
    let mut toggle = |square, piece| key ^= Zobrist64::zobrist_for_piece(square, piece);
    match m {
        Move::Normal { role, from, capture, to, promotion } => {
            toggle(from, role.of(us));
            toggle(to, promotion.unwrap_or(role).of(us));
            if let Some(captured) = capture {
                toggle(to, captured.of(!us));
            }
        }
        Move::EnPassant { from, to } => {
            toggle(from, us.pawn());
            toggle(to, us.pawn());
            toggle(Square::from_coords(to.file(), from.rank()), (!us).pawn());
        }
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(king < rook);
            toggle(king, us.king());
            toggle(rook, us.rook());
            toggle(side.king_to(us), us.king());
            toggle(side.rook_to(us), us.rook());
        }
        Move::Put { role, to } => toggle(to, role.of(us)),
    }
    key ^= Zobrist64::zobrist_for_white_turn();
    key ^= lost_rights(before, after);
    (key ^ en_passant(before) ^ en_passant(after)).0
}

/// The key after a null move.
pub(super) fn after_null_move(key: u64, before: &Chess) -> u64 {
    (Zobrist64(key) ^ Zobrist64::zobrist_for_white_turn() ^ en_passant(before)).0
}

fn lost_rights(before: &Chess, after: &Chess) -> Zobrist64 {
    let mut key = Zobrist64::default();
    if before.castles().castling_rights() != after.castles().castling_rights() {
        for color in Color::ALL {
            for side in CastlingSide::ALL {
                if before.castles().has(color, side) != after.castles().has(color, side) {
                    key ^= Zobrist64::zobrist_for_castling_right(color, side);
                }
            }
        }
    }
    key
}

fn en_passant(position: &Chess) -> Zobrist64 {
    // Most positions have no double step behind them, and most double steps no pawn beside them.
    position
        .legal_ep_square()
        .map_or_else(Zobrist64::default, |square| Zobrist64::zobrist_for_en_passant_file(square.file()))
}

#[cfg(test)]
mod tests {
    use tabia_game::position_from_fen;

    use super::*;

    fn check(position: &Chess, depth: u32) {
        let key = of(position);
        for m in position.legal_moves() {
            let mut after = position.clone();
            after.play_unchecked(m);
            assert_eq!(after_move(key, position, m, &after), of(&after), "{m:?}");
            if depth > 1 {
                check(&after, depth - 1);
            }
        }
        if let Ok(passed) = position.clone().swap_turn() {
            assert_eq!(after_null_move(key, position), of(&passed));
        }
    }

    #[test]
    fn incremental_key_equals_key_from_scratch() {
        let fens = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
        ];
        for fen in fens {
            check(&position_from_fen(fen).unwrap(), 3);
        }
    }
}
