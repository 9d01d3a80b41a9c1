//! A deck as text that Anki imports: one note per card, board and answer as HTML.

use std::fmt::Write as _;

use shakmaty::{Color, File, Position, Rank, Role, Square};

use super::{Card, Deck, MoveShare};

/// People's moves that are listed.
const LISTED: usize = 3;

impl Deck {
    /// Notes of three fields (an id, front, back) and tags, separated by tabs.
    pub fn to_anki(&self) -> String {
        let mut text = String::from(
            "#separator:tab\n#html:true\n#guid column:1\n#tags column:4\n#columns:Id\tFront\tBack\tTags\n",
        );
        for card in self.cards() {
            let tags: Vec<_> = card.tags.iter().map(|tag| tag.replace(char::is_whitespace, "_")).collect();
            let _ = writeln!(text, "{}\t{}\t{}\t{}", card.id, front(card), back(card), tags.join(" "));
        }
        text
    }
}

fn front(card: &Card) -> String {
    let side = if card.position().turn().is_white() { "White" } else { "Black" };
    format!("{}<p>{side} to move</p>", board(card))
}

fn back(card: &Card) -> String {
    let explained = card.explanation();
    let mut text = format!("<p><b>{}</b></p>", escape(&explained.line.join(" ")));
    if !explained.also.is_empty() {
        let _ = write!(text, "<p>Also good: {}</p>", escape(&explained.also.join(", ")));
    }
    if let Some(played) = &explained.played {
        let _ = write!(text, "<p>Played: {} (-{:.0}%)</p>", escape(played), 100.0 * card.loss);
    }
    for (who, moves) in [("Peers", &explained.peers), ("Stronger players", &explained.stronger)] {
        let share = |share: &MoveShare| format!("{} {:.0}%", share.san, 100.0 * share.probability);
        let listed: Vec<_> = moves.iter().take(LISTED).map(share).collect();
        if !listed.is_empty() {
            let _ = write!(text, "<p>{who}: {}</p>", escape(&listed.join(", ")));
        }
    }
    let _ = write!(text, "<p><small>{}</small></p>", escape(&card.fen));
    text
}

/// The board as a table, seen by the side to move.
fn board(card: &Card) -> String {
    let position = card.position();
    let white = position.turn().is_white();
    let mut html = String::from("<table style=\"border-collapse:collapse;font-size:28px;line-height:1\">");
    for row in 0..8 {
        html.push_str("<tr>");
        for column in 0..8 {
            let (file, rank) = if white { (column, 7 - row) } else { (7 - column, row) };
            let square = Square::from_coords(File::new(file), Rank::new(rank));
            let colour = if square.is_dark() { "#b58863" } else { "#f0d9b5" };
            let piece = position.board().piece_at(square).map_or(' ', |p| symbol(p.color, p.role));
            let _ = write!(
                html,
                "<td style=\"width:36px;height:36px;text-align:center;background:{colour};color:#000\">{piece}</td>"
            );
        }
        html.push_str("</tr>");
    }
    html.push_str("</table>");
    html
}

fn symbol(color: Color, role: Role) -> char {
    match (color, role) {
        (Color::White, Role::King) => '♔',
        (Color::White, Role::Queen) => '♕',
        (Color::White, Role::Rook) => '♖',
        (Color::White, Role::Bishop) => '♗',
        (Color::White, Role::Knight) => '♘',
        (Color::White, Role::Pawn) => '♙',
        (Color::Black, Role::King) => '♚',
        (Color::Black, Role::Queen) => '♛',
        (Color::Black, Role::Rook) => '♜',
        (Color::Black, Role::Bishop) => '♝',
        (Color::Black, Role::Knight) => '♞',
        (Color::Black, Role::Pawn) => '♟',
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
