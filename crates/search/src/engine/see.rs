//! Static exchange evaluation: what is left of a capture after everybody has recaptured.

use shakmaty::{Bitboard, Board, Chess, Color, Move, Position, Role, Square, attacks};
use tabia_encoding::piece_value;

/// What a piece is worth in an exchange.
pub(super) const fn worth(role: Role) -> i32 {
    match role {
        // A king's move is legal, so nobody takes it: any worth that no exchange outweighs will do.
        Role::King => 10_000,
        role => piece_value(role),
    }
}

/// Whether the moving side comes out of `m` and the recaptures that follow with at least `threshold`.
///
/// Both sides recapture with their cheapest piece and stop when that is better for them. Pins are not seen, and only
/// the move itself promotes.
pub(super) fn gains(position: &Chess, m: Move, threshold: i32) -> bool {
    let (from, to) = match m {
        Move::Normal { from, to, .. } | Move::EnPassant { from, to } => (from, to),
        Move::Castle { .. } | Move::Put { .. } => return threshold <= 0,
    };
    let promoted = m.promotion().map_or(0, |role| worth(role) - worth(Role::Pawn));
    let captured = m.capture().map_or(0, worth);
    // What the side to move has beyond the threshold, if the other stops here.
    let mut balance = captured + promoted - threshold;
    if balance < 0 {
        return false;
    }
    balance -= worth(m.promotion().unwrap_or(m.role()));
    if balance >= 0 {
        return true;
    }
    let board = position.board();
    let mut occupied = board.occupied().without(from).with(to);
    if m.is_en_passant() {
        occupied.discard(Square::from_coords(to.file(), from.rank()));
    }
    let mover = position.turn();
    exchange(board, to, occupied, !mover, balance) == mover
}

/// What an exchange must bring to win material: a bishop for a knight does not.
const WINS: i32 = 50;

/// Whether the side to move is not in check and has no capture or promotion that wins material by static exchange.
///
/// Of such positions an evaluation without search can be expected to be right.
pub fn is_quiet(position: &Chess) -> bool {
    let wins = |m: &Move| gains(position, *m, WINS);
    !position.is_check()
        && !position.capture_moves().iter().any(wins)
        && !position.promotion_moves().iter().any(wins)
}

/// Who is content with the exchange on `to`, where `turn` may recapture. `balance` is negative: what the other side
/// has beyond its threshold if the piece on `to` falls for nothing.
fn exchange(board: &Board, to: Square, mut occupied: Bitboard, mut turn: Color, mut balance: i32) -> Color {
    let diagonal = board.bishops_and_queens();
    let straight = board.rooks_and_queens();
    let mut attackers = (board.attacks_to(to, Color::White, occupied)
        | board.attacks_to(to, Color::Black, occupied))
        & occupied;
    loop {
        let ours = attackers & board.by_color(turn);
        let Some((role, square)) = cheapest(board, ours) else { return !turn };
        occupied.discard(square);
        if matches!(role, Role::Pawn | Role::Bishop | Role::Queen) {
            attackers |= attacks::bishop_attacks(to, occupied) & diagonal;
        }
        if matches!(role, Role::Rook | Role::Queen) {
            attackers |= attacks::rook_attacks(to, occupied) & straight;
        }
        attackers &= occupied;
        turn = !turn;
        if role == Role::King {
            // A king that would be taken may not take.
            return if (attackers & board.by_color(turn)).any() { turn } else { !turn };
        }
        balance = -balance - 1 - worth(role);
        if balance >= 0 {
            return !turn;
        }
    }
}

fn cheapest(board: &Board, among: Bitboard) -> Option<(Role, Square)> {
    Role::ALL.into_iter().find_map(|role| (among & board.by_role(role)).first().map(|square| (role, square)))
}

#[cfg(test)]
mod tests {
    use shakmaty::uci::UciMove;
    use tabia_game::position_from_fen;

    use super::*;

    /// The highest threshold the move still meets.
    fn exchange_value(fen: &str, uci: &str) -> i32 {
        let position = position_from_fen(fen).unwrap();
        let m = uci.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        let met: Vec<i32> = (-2000..2000).filter(|&threshold| gains(&position, m, threshold)).collect();
        assert_eq!(
            met.len() as i32,
            met.last().unwrap() + 2001,
            "meeting a threshold is meeting all lower ones"
        );
        *met.last().unwrap()
    }

    #[test]
    fn quiet_is_what_no_exchange_changes() {
        let known = [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", true),
            ("rnbqkbnr/ppp1pppp/8/3p4/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2", true), // a pawn for a pawn
            ("4k3/8/3p4/4n3/8/8/8/4R1K1 w - - 0 1", true),                          // protected
            ("4k3/8/8/4n3/8/8/8/4R1K1 w - - 0 1", false),                           // for nothing
            ("4k3/3p4/4b3/8/5N2/8/8/6K1 w - - 0 1", true),                          // a knight for a bishop
            ("4k3/8/8/8/8/8/4r3/6K1 b - - 0 1", true),
            ("4k3/8/8/8/8/8/4r3/4K3 w - - 0 1", false), // in check
            ("8/P7/8/8/8/8/8/k1K5 w - - 0 1", false),   // a promotion
            ("1r6/P7/8/8/8/8/8/k1K5 b - - 0 1", true),
            ("r7/P7/8/8/8/8/8/k1K5 w - - 0 1", true), // which cannot move
        ];
        for (fen, quiet) in known {
            assert_eq!(is_quiet(&position_from_fen(fen).unwrap()), quiet, "{fen}");
        }
    }

    #[test]
    fn known_exchanges() {
        let known = [
            ("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", 100), // a pawn for nothing
            ("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5", -220), // knight for a pawn
            ("4k3/8/3p4/4p3/8/4R3/8/4K3 w - - 0 1", "e3e5", -400),            // rook for a pawn
            ("4k3/4r3/4r3/4p3/8/4R3/4R3/4K3 w - - 0 1", "e3e5", -400), // behind each other, but one attacker more
            ("4k3/8/4r3/4p3/8/4R3/4R3/4Q1K1 w - - 0 1", "e3e5", 100),  // the x-ray decides
            ("8/3k4/3n4/4P3/8/8/8/4K3 w - - 0 1", "e5d6", 220),        // pawn takes knight, king takes pawn
            ("8/3k4/3n4/8/8/B7/8/3RK3 w - - 0 1", "a3d6", 320),        // the king may not take back
            ("4k3/8/8/8/3pP3/8/2P5/4K3 b - e3 0 1", "d4e3", 100),      // en passant
            ("8/P7/8/8/8/8/8/k1K5 w - - 0 1", "a7a8q", 800),           // a promotion
            ("1r6/P7/8/8/8/8/8/k1K5 w - - 0 1", "a7a8q", -100),        // which is taken at once
            ("1r6/P7/8/8/8/8/8/k1K5 w - - 0 1", "a7b8q", 1300),        // or takes
            ("4k3/8/8/3p4/8/4N3/8/4K3 w - - 0 1", "e3f5", 0),          // quiet and safe
            ("4k3/8/6p1/8/8/4N3/8/4K3 w - - 0 1", "e3f5", -320),       // quiet and lost
            ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1", 0),
        ];
        for (fen, m, value) in known {
            assert_eq!(exchange_value(fen, m), value, "{fen} {m}");
        }
    }
}
