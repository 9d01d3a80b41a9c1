//! The board as the Chess Challenge's harness sees it: the order of its moves, how a game ends, and its hash keys.
//!
//! The harness is written over the crate cozy-chess. Where it takes the first of equally good moves, or prunes by what it
//! has seen so far, the order in which that crate generates moves decides; and its transposition table loses the same
//! entries only with the same keys.

use std::sync::LazyLock;

use shakmaty::{
    Bitboard, CastlingSide, Chess, Color, EnPassantMode, Move, MoveList, Position, Role, Setup, Square,
    attacks,
};

/// How a position ends the game, if it does. `legal` holds its legal moves. Neither repetitions nor dead positions count.
pub(super) fn ending(position: &Chess, legal: &[Move]) -> Option<Ending> {
    if legal.is_empty() {
        return Some(if position.is_check() { Ending::Mated } else { Ending::Drawn });
    }
    (position.halfmoves() >= 100).then_some(Ending::Drawn)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The side to move is mated.
    Mated,
    /// Stalemate or fifty moves.
    Drawn,
}

/// What stands on the square a move goes to. Castling goes to its own rook, en passant to an empty square.
pub(super) fn victim(m: Move) -> Option<Role> {
    match m {
        Move::Normal { capture, .. } => capture,
        Move::Castle { .. } => Some(Role::Rook),
        Move::EnPassant { .. } | Move::Put { .. } => None,
    }
}

/// What identifies a move in its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Coordinates {
    pub(super) from: Square,
    pub(super) to: Square,
    pub(super) promotion: Option<Role>,
}

impl From<Move> for Coordinates {
    fn from(m: Move) -> Coordinates {
        let from = m.from().unwrap_or(m.to());
        Coordinates { from, to: m.to(), promotion: m.promotion() }
    }
}

/// Sorts moves into the order of generation: by kind of piece, pawns first; pinned pieces after the others of their kind,
/// en passant last among pawns; then by from-square, to-square and promotion, a knight first.
pub(super) fn sort_as_generated(position: &Chess, moves: &mut MoveList) {
    let pinned = pinned(position);
    moves.sort_unstable_by_key(|&m| {
        let Coordinates { from, to, promotion } = m.into();
        let group = if m.is_en_passant() { 2 } else { u32::from(pinned.contains(from)) };
        let promotion = promotion.map_or(0, u32::from);
        u32::from(m.role()) << 20 | group << 18 | u32::from(from) << 12 | u32::from(to) << 6 | promotion
    });
}

/// All legal moves in the order of generation.
pub(super) fn generated(position: &Chess) -> MoveList {
    let mut moves = position.legal_moves();
    sort_as_generated(position, &mut moves);
    moves
}

/// The pieces that alone stand between the king of the side to move and an enemy slider.
fn pinned(position: &Chess) -> Bitboard {
    let board = position.board();
    let Some(king) = board.king_of(position.turn()) else { return Bitboard::EMPTY };
    let sliders = board.by_color(!position.turn())
        & ((attacks::rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens())
            | (attacks::bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens()));
    let between = sliders.into_iter().map(|slider| attacks::between(king, slider) & board.occupied());
    between.filter(|blockers| blockers.count() == 1).fold(Bitboard::EMPTY, |all, blocker| all | blocker)
}

/// The position after a null move; `None` in check.
pub(super) fn after_null_move(position: &Chess) -> Option<Chess> {
    if position.is_check() {
        return None;
    }
    let mut setup: Setup = position.to_setup(EnPassantMode::Legal);
    setup.turn = !setup.turn;
    setup.ep_square = None;
    setup.halfmoves = setup.halfmoves.saturating_add(1);
    setup.position(position.castles().mode()).ok()
}

/// The hash key of cozy-chess. Every double pawn step counts, whether or not it can be taken en passant.
pub(super) fn key(position: &Chess) -> u64 {
    let board = position.board();
    let mut key = 0;
    for (square, piece) in board.clone() {
        key ^= KEYS.sides[usize::from(piece.color.is_black())].pieces[piece.role as usize - 1]
            [square.to_usize()];
    }
    for color in Color::ALL {
        for side in CastlingSide::ALL {
            if let Some(rook) = position.castles().rook(color, side) {
                key ^= KEYS.sides[usize::from(color.is_black())].castling[rook.file().to_usize()];
            }
        }
    }
    if let Some(square) = position.ep_square(EnPassantMode::Always) {
        key ^= KEYS.en_passant[square.file().to_usize()];
    }
    if position.turn().is_black() {
        key ^= KEYS.black_to_move;
    }
    key
}

struct Keys {
    en_passant: [u64; 8],
    /// White, Black.
    sides: [SideKeys; 2],
    black_to_move: u64,
}

struct SideKeys {
    /// By the file of the rook.
    castling: [u64; 8],
    pieces: [[u64; 64]; 6],
}

/// Made when first used: a table of random numbers would add as much to the page's download.
static KEYS: LazyLock<Keys> = LazyLock::new(Keys::new);

impl Keys {
    fn new() -> Keys {
        let mut random = Pcg64Mcg(0x7369_7874_6565_6E20_6279_7465_206E_756D | 1);
        let en_passant = random.array();
        let white = SideKeys::new(&mut random);
        let black = SideKeys::new(&mut random);
        Keys { en_passant, sides: [white, black], black_to_move: random.next() }
    }
}

impl SideKeys {
    fn new(random: &mut Pcg64Mcg) -> SideKeys {
        SideKeys { castling: random.array(), pieces: std::array::from_fn(|_| random.array()) }
    }
}

/// PCG XSL 128/64 (MCG).
struct Pcg64Mcg(u128);

impl Pcg64Mcg {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645);
        let folded = (self.0 >> 64) as u64 ^ self.0 as u64;
        folded.rotate_right((self.0 >> 122) as u32)
    }

    fn array<const N: usize>(&mut self) -> [u64; N] {
        std::array::from_fn(|_| self.next())
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use tabia_game::position_from_fen;

    use super::*;

    fn in_order(fen: &str) -> Vec<String> {
        let moves = generated(&position_from_fen(fen).unwrap());
        moves.iter().map(|m| m.to_uci(CastlingMode::Chess960).to_string()).collect()
    }

    #[test]
    fn moves_come_by_piece_and_square() {
        let moves = in_order("7k/1P6/8/3pP3/8/8/8/R3K3 w Q d6 0 1");
        assert_eq!(
            moves[..6],
            ["e5e6", "b7b8n", "b7b8b", "b7b8r", "b7b8q", "e5d6"],
            "en passant last of the pawns"
        );
        assert_eq!(moves[6..9], ["a1b1", "a1c1", "a1d1"]);
        let king: Vec<_> = moves.iter().filter(|m| m.starts_with("e1")).map(String::as_str).collect();
        assert_eq!(king, ["e1a1", "e1d1", "e1f1", "e1d2", "e1e2", "e1f2"], "castling goes to the rook");
        // The rook on d1 is pinned and comes after that on a7.
        let moves = in_order("4k3/R7/8/8/8/8/8/q2RK3 w - - 0 1");
        let rooks: Vec<_> = moves.iter().filter(|m| !m.starts_with("e1")).collect();
        assert!(rooks[0].starts_with("a7"), "{rooks:?}");
        assert_eq!(rooks[rooks.len() - 3..], ["d1a1", "d1b1", "d1c1"]);
    }

    #[test]
    fn keys_are_those_of_cozy_chess() {
        // From `Board::hash` of cozy-chess 0.3.4.
        for (fen, expected) in [
            ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 0x33ab_452b_8705_6e0f),
            ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", 0xd74e_73c1_254f_7ae4),
            ("r3k2r/8/8/8/8/8/8/R3K2R b Kq - 5 9", 0xaf49_46f0_c440_a699),
        ] {
            assert_eq!(key(&position_from_fen(fen).unwrap()), expected, "{fen}");
        }
    }

    #[test]
    fn a_null_move_counts_as_a_halfmove() {
        let after =
            after_null_move(&position_from_fen("4k3/8/8/8/3pP3/8/8/R3K3 b - e3 0 1").unwrap()).unwrap();
        assert_eq!(
            (after.turn(), after.halfmoves(), after.ep_square(EnPassantMode::Always)),
            (Color::White, 1, None)
        );
        assert!(after_null_move(&position_from_fen("4k3/8/8/8/8/8/4R3/4K3 b - - 0 1").unwrap()).is_none());
        let chess960 = position_from_fen("1r3k1r/8/8/8/8/8/8/1R3K1R w HBhb - 0 1").unwrap();
        assert_eq!(
            after_null_move(&chess960).unwrap().castles().castling_rights(),
            chess960.castles().castling_rights()
        );
    }
}
