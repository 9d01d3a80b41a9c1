//! The screen, drawn.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color as Ink, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use shakmaty::{Color, File, Position, Rank, Role, Square};

use super::super::board::figure;
use super::super::live_game::{named, outcome_text};
use super::input::{PROMOTIONS, Pace, Screen, landing};

const HELP: &str = "\
arrows, Enter   pick up a piece, drop it    mouse   click from, click to
Nf3, e2e4 ...   type a move, then Enter     Esc     put back, clear
u   take back   F (or f, Enter)   flip      H (or h, Enter)   hint
n   new game    s   save as PGN             q   quit
Typed, then Enter: resign, draw, elo N, legal, fen
Watching: Space pauses and goes on, . plays one move";

/// Where things are on the screen.
pub(super) struct Places {
    /// The squares alone.
    board: Rect,
    cell: (u16, u16),
    side: Rect,
    status: Rect,
    input: Rect,
}

/// Where things are on a screen of this size: the largest board that leaves room for the rest.
pub(super) fn places(area: Rect) -> Places {
    let cell = match (area.width, area.height) {
        (w, h) if w >= 84 && h >= 29 => (6, 3),
        (w, h) if w >= 62 && h >= 21 => (4, 2),
        _ => (2, 1),
    };
    let (width, height) = (8 * cell.0, 8 * cell.1);
    let [top, status, input] =
        Layout::vertical([Constraint::Min(0), Constraint::Length(2), Constraint::Length(1)]).areas(area);
    let [left, side] = Layout::horizontal([Constraint::Length(width + 4), Constraint::Min(0)]).areas(top);
    let board = Rect::new(left.x + 2, left.y, width, height).intersection(area);
    Places { board, cell, side, status, input }
}

impl Places {
    fn square(&self, square: Square, bottom: Color) -> Rect {
        let (file, rank) = (u16::from(square.file()), u16::from(square.rank()));
        let (column, row) = bottom.fold_wb((file, 7 - rank), (7 - file, rank));
        let (width, height) = self.cell;
        Rect::new(self.board.x + column * width, self.board.y + row * height, width, height)
    }

    pub(super) fn square_at(&self, column: u16, row: u16, bottom: Color) -> Option<Square> {
        Square::ALL.into_iter().find(|&s| self.square(s, bottom).contains((column, row).into()))
    }

    /// The pieces to promote to stand in the middle of the board.
    fn promotion(&self, index: u16) -> Rect {
        let x = self.board.x + (self.board.width.saturating_sub(16)) / 2 + 4 * index;
        Rect::new(x, self.board.y + self.board.height / 2, 4, 1)
    }

    pub(super) fn promotion_at(&self, column: u16, row: u16) -> Option<Role> {
        let at = |&(i, _): &(u16, Role)| self.promotion(i).contains((column, row).into());
        (0..).zip(PROMOTIONS).find(at).map(|(_, role)| role)
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let places = places(frame.area());
    board(frame, screen, &places);
    side(frame, screen, places.side);
    frame.render_widget(Paragraph::new(status(screen)).wrap(Wrap { trim: true }), places.status);
    let prompt = format!("> {}", screen.line);
    let end = places.input.x + u16::try_from(prompt.chars().count()).unwrap_or(u16::MAX);
    frame.render_widget(Paragraph::new(prompt), places.input);
    if end < places.input.right() && screen.promotion.is_none() {
        frame.set_cursor_position((end, places.input.y));
    }
    if screen.promotion.is_some() {
        promotion(frame, &places);
    }
    if screen.help {
        let area = frame.area();
        let popup = area.centered(Constraint::Length(74), Constraint::Length(8)).intersection(area);
        frame.render_widget(Clear, popup);
        frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" Keys ")), popup);
    }
}

fn board(frame: &mut Frame<'_>, screen: &Screen, places: &Places) {
    let position = screen.live.position();
    let bottom = screen.live.bottom();
    let targets = screen.targets();
    let last = screen.live.last_move().map(|m| (m.from(), landing(m)));
    let checked = if position.is_check() { position.board().king_of(position.turn()) } else { None };
    let whole = frame.area();
    for square in Square::ALL {
        let area = places.square(square, bottom).intersection(whole);
        let shade = if screen.picked == Some(square) {
            Ink::Indexed(179)
        } else if checked == Some(square) {
            Ink::Indexed(167)
        } else if last.is_some_and(|(from, to)| from == Some(square) || to == square) {
            Ink::Indexed(if square.is_dark() { 143 } else { 186 })
        } else {
            Ink::Indexed(if square.is_dark() { 101 } else { 187 })
        };
        let piece = position.board().piece_at(square);
        // One set of solid figures, told apart by colour: the outlined ones are hard to read on dark squares.
        let (mut sign, mut ink) = match piece {
            Some(piece) => (figure(piece.role), Ink::Indexed(piece.color.fold_wb(231, 16))),
            None => (' ', Ink::Indexed(16)),
        };
        let mut shade = shade;
        if targets.contains(&square) {
            match piece {
                Some(_) => shade = Ink::Indexed(173),
                None => (sign, ink) = ('•', Ink::Indexed(22)),
            }
        }
        let style = Style::new().bg(shade).fg(ink);
        frame.buffer_mut().set_style(area, style);
        let (x, y) = (area.x + (places.cell.0 - 1) / 2, area.y + (places.cell.1 - 1) / 2);
        let here = screen.cursor == square;
        let marks = if here && places.cell.0 > 2 { Some((x - 1, x + 1)) } else { None };
        let style = if here { style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED) } else { style };
        put(frame, x, y, sign, style);
        if let Some((left, right)) = marks {
            put(frame, left, y, '[', Style::new().bg(shade).fg(Ink::Indexed(16)));
            put(frame, right, y, ']', Style::new().bg(shade).fg(Ink::Indexed(16)));
        }
    }
    let plain = Style::new().fg(Ink::DarkGray);
    for rank in Rank::ALL {
        let row = places.square(Square::from_coords(File::A, rank), bottom);
        put(frame, places.board.x - 2, row.y + (places.cell.1 - 1) / 2, rank.char(), plain);
    }
    for file in File::ALL {
        let column = places.square(Square::from_coords(file, Rank::First), bottom);
        let below = places.board.y + 8 * places.cell.1;
        put(frame, column.x + (places.cell.0 - 1) / 2, below, file.char(), plain);
    }
}

/// A character, where the screen reaches that far.
fn put(frame: &mut Frame<'_>, x: u16, y: u16, sign: char, style: Style) {
    if let Some(cell) = frame.buffer_mut().cell_mut((x, y)) {
        cell.set_char(sign).set_style(style);
    }
}

fn promotion(frame: &mut Frame<'_>, places: &Places) {
    for (index, role) in (0..).zip(PROMOTIONS) {
        let area = places.promotion(index).intersection(frame.area());
        let text = format!("{}{} ", figure(role), role.upper_char());
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(text).style(Style::new().bg(Ink::Blue).fg(Ink::White)), area);
    }
}

fn side(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let rows = screen.candidates.as_ref().map_or(0, |(_, rows)| u16::try_from(rows.len() + 1).unwrap_or(6));
    let [above, moves, bars, below] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(rows),
        Constraint::Length(1),
    ])
    .areas(area);
    frame.render_widget(player(screen, !screen.live.bottom()), above);
    frame.render_widget(player(screen, screen.live.bottom()), below);
    move_list(frame, screen, moves);
    if let Some((who, candidates)) = &screen.candidates {
        let mut lines = vec![Line::styled(format!("{who}:"), Style::new().fg(Ink::DarkGray))];
        let room = usize::from(bars.width.saturating_sub(20));
        for candidate in candidates {
            let length = (candidate.share.clamp(0.0, 1.0) * room as f64).round() as usize;
            lines.push(Line::from(vec![
                Span::raw(format!("{:<8}{:>10} ", candidate.san, candidate.note)),
                Span::styled("█".repeat(length), Style::new().fg(Ink::Cyan)),
            ]));
        }
        frame.render_widget(Paragraph::new(lines), bars);
    }
}

fn player(screen: &Screen, color: Color) -> Line<'_> {
    let live = &screen.live;
    let to_move = live.over().is_none() && live.position().turn() == color;
    let style = if to_move { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() };
    let mark = if to_move { "▶ " } else { "  " };
    let mut spans =
        vec![Span::styled(format!("{mark}{} ({})", live.sides().names[color], named(color)), style)];
    if let Some(left) = live.time_left(color, screen.elapsed) {
        let ink = if left < Duration::from_secs(20) { Ink::Red } else { Ink::Green };
        spans.push(Span::styled(format!("  {}", shown(left)), style.fg(ink)));
    }
    Line::from(spans)
}

/// Minutes and seconds; tenths when they matter.
fn shown(left: Duration) -> String {
    let seconds = left.as_secs();
    let tenths = if seconds < 20 { format!(".{}", left.subsec_millis() / 100) } else { String::new() };
    format!("{}:{:02}{tenths}", seconds / 60, seconds % 60)
}

fn move_list(frame: &mut Frame<'_>, screen: &Screen, area: Rect) {
    let mut rows: Vec<String> = Vec::new();
    for (number, san) in screen.live.numbered_moves() {
        match (number, rows.last_mut()) {
            (None, Some(row)) => row.push_str(&san),
            (number, _) => rows.push(format!("{:>4} {san:<9}", number.unwrap_or_default())),
        }
    }
    let block = Block::bordered().title(" Moves ");
    let room = usize::from(block.inner(area).height);
    let from = rows.len().saturating_sub(room);
    let lines: Vec<Line<'_>> = rows.drain(from..).map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn status(screen: &Screen) -> String {
    let live = &screen.live;
    let position = live.position();
    let state = match live.over() {
        Some(outcome) => outcome_text(outcome),
        None if screen.promotion.is_some() => "Promote to q, r, b or n; Esc cancels.".to_owned(),
        None => {
            let check = if position.is_check() { ", check" } else { "" };
            let thinking = match screen.pace {
                Pace::Paused => ", paused",
                Pace::Running | Pace::OneMove if screen.thinking => ", thinking",
                Pace::Running | Pace::OneMove => "",
            };
            format!("{} to move{check}{thinking}.", named(position.turn()))
        }
    };
    if screen.message.is_empty() || screen.message == state {
        state
    } else {
        format!("{state} {}", screen.message)
    }
}
