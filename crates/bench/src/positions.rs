use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};

/// Reads positions, one FEN a line.
///
/// # Panics
/// If a line is no legal position.
pub fn positions(text: &str) -> Vec<Chess> {
    let position = |line: &str| -> Chess {
        let fen: Fen = line.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        fen.into_position(CastlingMode::Standard).unwrap_or_else(|e| panic!("{line}: {e}"))
    };
    text.lines().map(position).collect()
}
