//! A checksum of the search's behaviour.

use shakmaty::ByColor;
use tabia_game::{History, position_from_fen};

use super::{Engine, EngineOptions};
use crate::{Evaluator, Limits, SearchControl, SearchError};

/// Openings, middlegames, endgames, checks, promotions, castling and en passant.
const POSITIONS: [&str; 20] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3",
    "rnbqkb1r/pp2pp1p/3p1np1/8/3NP3/2N5/PPP2PPP/R1BQKB1R w KQkq - 0 6",
    "r1bq1rk1/pp2bppp/2n1pn2/3p4/2PP4/2N2N2/PP2BPPP/R1BQ1RK1 w - - 2 9",
    "r2q1rk1/1b1nbppp/pp1ppn2/8/2PQP3/1PN2NP1/P4PBP/R1B2RK1 w - - 0 12",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "2rq1rk1/pb1n1ppN/4p3/1pb5/3P1Pn1/P1N5/1PQ1B1PP/R1B2RK1 b - - 0 16",
    "r2qnrnk/p2b2b1/1p1p2pp/2pPpp2/1PP1P3/PRNBB3/3QNPPP/5RK1 w - - 0 20",
    "1r2r1k1/3bnppp/p2q4/2RPp3/4P3/6P1/2Q1NPBP/2R3K1 w - - 1 25",
    "3r2k1/pp3p1p/4bqp1/8/2B1P3/2P2Q2/P4PPP/4R1K1 b - - 2 27",
    "6k1/5ppp/8/2q5/8/1P3Q2/5PPP/6K1 w - - 0 30",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "8/8/p1p5/1p5p/1P5p/8/PPP2K1p/4R1rk w - - 0 1",
    "8/5k2/3p4/1p1Pp2p/pP2Pp1P/P4P1K/8/8 b - - 99 50",
    "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1",
    "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
    "8/8/1p1r1k2/p1pPN1p1/P3KnP1/1P6/8/3R4 b - - 0 1",
    "5rk1/q6p/2p3bR/1pPp1rP1/1P1Pp3/P3B1Q1/1K3P2/R7 w - - 93 90",
    "rnbqkb1r/ppp1pppp/5n2/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3",
];

/// What [`bench`] counts at.
const DEPTH: u32 = 11;

/// The result of [`bench()`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bench {
    /// Nodes of all searches together: the signature. A change that only makes the search faster leaves it alone.
    pub nodes: u64,
    /// How many positions were searched.
    pub positions: usize,
}

/// Searches a fixed list of positions to a fixed depth on one thread with an empty table of fixed size.
///
/// # Errors
/// If the evaluator's network fails.
pub fn bench(evaluator: Box<dyn Evaluator>, control: &dyn SearchControl) -> Result<Bench, SearchError> {
    let mut engine = Engine::new(EngineOptions::default(), evaluator);
    let limits = Limits { depth: Some(DEPTH), ..Limits::default() };
    let mut nodes = 0;
    for fen in POSITIONS {
        let position = position_from_fen(fen).expect("the list holds legal positions");
        engine.new_game();
        nodes += engine.search(&History::new(position, ByColor::default()), &limits, control)?.nodes;
    }
    Ok(Bench { nodes, positions: POSITIONS.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_holds_legal_positions_with_moves() {
        use shakmaty::Position;
        for fen in POSITIONS {
            assert!(!position_from_fen(fen).unwrap().legal_moves().is_empty(), "{fen}");
        }
    }
}
