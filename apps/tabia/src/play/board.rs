//! The board as text.

use shakmaty::{Board, Color, File, Move, Piece, Rank, Role, Square};

/// How much a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Figures on coloured squares, with the last move marked.
    Unicode,
    /// Letters and dots only.
    Ascii,
}

/// The board with `bottom` nearest to the reader, one rank a line, with coordinates.
pub(super) fn drawn(board: &Board, last: Option<Move>, bottom: Color, style: Style) -> String {
    let mut ranks: Vec<_> = Rank::ALL.into_iter().rev().collect();
    let mut files: Vec<_> = File::ALL.into_iter().collect();
    if bottom == Color::Black {
        ranks.reverse();
        files.reverse();
    }
    let mut text = String::from("\n");
    for &rank in &ranks {
        text.push_str(&format!(" {} ", rank.char()));
        for &file in &files {
            let square = Square::from_coords(file, rank);
            let marked = last.is_some_and(|m| m.from() == Some(square) || m.to() == square);
            text.push_str(&cell(board.piece_at(square), square, marked, style));
        }
        text.push('\n');
    }
    // A cell is two columns wide: letters come second in it, figures first.
    let margin = match style {
        Style::Ascii => "   ",
        Style::Unicode => "  ",
    };
    let letters: String = files.iter().map(|f| format!(" {}", f.char())).collect();
    text.push_str(&format!("{margin}{letters}\n"));
    text
}

fn cell(piece: Option<Piece>, square: Square, marked: bool, style: Style) -> String {
    match style {
        Style::Ascii => format!(" {}", piece.map_or('.', Piece::char)),
        Style::Unicode => {
            let background = match (marked, square.is_dark()) {
                (true, true) => 143,
                (true, false) => 186,
                (false, true) => 101,
                (false, false) => 187,
            };
            // One set of solid figures, told apart by colour: the outlined ones are hard to read on dark squares.
            let ink = piece.map_or(0, |p| p.color.fold_wb(231, 16));
            format!("\x1b[48;5;{background};38;5;{ink}m{} \x1b[0m", piece.map_or(' ', |p| figure(p.role)))
        }
    }
}

/// The solid figure of a piece.
pub(super) fn figure(role: Role) -> char {
    match role {
        Role::Pawn => '♟',
        Role::Knight => '♞',
        Role::Bishop => '♝',
        Role::Rook => '♜',
        Role::Queen => '♛',
        Role::King => '♚',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_at_the_bottom_shows_rank_8_first() {
        let text = drawn(&Board::new(), None, Color::White, Style::Ascii);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], " 8  r n b q k b n r");
        assert_eq!(lines[8], " 1  R N B Q K B N R");
        assert_eq!(lines[9], "    a b c d e f g h");
    }

    #[test]
    fn black_at_the_bottom_turns_the_board() {
        let text = drawn(&Board::new(), None, Color::Black, Style::Ascii);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], " 1  R N B K Q B N R");
        assert_eq!(lines[9], "    h g f e d c b a");
    }
}
