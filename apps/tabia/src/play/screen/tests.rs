use clap::Parser;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use shakmaty::{Chess, Color, Position, Square};
use tabia_game::position_from_fen;

use super::super::candidate::Candidate;
use super::super::live_game::{LiveGame, Sides};
use super::super::opponent::Opponent;
use super::draw::draw;
use super::input::{Action, Pace, Screen};
use super::worker::{Answer, Question, Worker};
use crate::cli::{Cli, Command};

const SIZE: Rect = Rect::new(0, 0, 80, 24);

fn screen(start: Chess) -> Screen {
    Screen::new(LiveGame::new(start, Sides::against("Rival", Color::White), None))
}

fn promoting() -> Screen {
    let mut screen = screen(position_from_fen("8/P7/8/8/8/8/4k3/6K1 w - - 0 1").unwrap());
    screen.cursor = Square::A7;
    press(&mut screen, &[KeyCode::Enter, KeyCode::Up, KeyCode::Enter]);
    screen
}

fn shown_at(screen: &Screen, size: Rect) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(size.width, size.height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    let cells = terminal.backend().buffer().content();
    cells.chunks(size.width.into()).map(|row| row.iter().map(Cell::symbol).collect()).collect()
}

fn shown(screen: &Screen) -> Vec<String> {
    shown_at(screen, SIZE)
}

fn press(screen: &mut Screen, keys: &[KeyCode]) -> Action {
    let mut action = Action::Nothing;
    for &key in keys {
        action = screen.key(KeyEvent::new(key, KeyModifiers::NONE));
    }
    action
}

fn write(screen: &mut Screen, text: &str) -> Action {
    for letter in text.chars() {
        press(screen, &[KeyCode::Char(letter)]);
    }
    press(screen, &[KeyCode::Enter])
}

fn click(screen: &mut Screen, column: u16, row: u16) -> Action {
    let kind = MouseEventKind::Down(MouseButton::Left);
    screen.mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }, SIZE)
}

fn squeezed(row: &str) -> String {
    row.chars().take(36).filter(|c| !" []".contains(*c)).collect()
}

#[test]
fn the_board_is_drawn_and_turned() {
    let mut screen = screen(Chess::default());
    let rows = shown(&screen);
    assert_eq!(squeezed(&rows[0]), "8♜♞♝♛♚♝♞♜");
    assert_eq!(squeezed(&rows[16]), "abcdefgh");
    assert!(rows[0].contains("Rival (Black)"), "{rows:#?}");
    press(&mut screen, &[KeyCode::Char('F')]);
    let rows = shown(&screen);
    assert_eq!(squeezed(&rows[0]), "1♜♞♝♚♛♝♞♜");
    assert!(rows[0].contains("You (White)"), "{rows:#?}");
}

#[test]
fn every_size_can_be_drawn() {
    let mut screen = promoting();
    screen.help = true;
    screen.candidates = Some((
        "Hint".to_owned(),
        vec![Candidate { san: "a8=Q".to_owned(), note: String::new(), share: 1.0 }],
    ));
    for (width, height) in [(1, 1), (10, 3), (20, 10), (40, 12), (80, 24), (62, 21), (84, 29), (200, 60)] {
        shown_at(&screen, Rect::new(0, 0, width, height));
    }
}

#[test]
fn moves_are_typed_in_both_notations() {
    for text in ["f4", "f2f4"] {
        let mut screen = screen(Chess::default());
        assert_eq!(write(&mut screen, text), Action::Moved, "{text}");
        assert_eq!(screen.live.moves_text(), "1. f4 ");
        assert!(shown(&screen)[1..].iter().any(|row| row.contains("1. f4")));
        assert_eq!(write(&mut screen, "e5"), Action::Nothing, "it is the rival's turn");
        assert!(screen.message.contains("not your turn"));
    }
}

#[test]
fn the_letters_of_pawns_are_commands_alone() {
    let mut screen = screen(Chess::default());
    assert_eq!(write(&mut screen, "h"), Action::Hint);
    write(&mut screen, "f");
    assert_eq!(screen.live.bottom(), Color::Black);
    assert_eq!(press(&mut screen, &[KeyCode::Char('q')]), Action::Leave);
}

#[test]
fn pieces_are_picked_and_dropped_with_keys() {
    let mut screen = screen(Chess::default());
    press(&mut screen, &[KeyCode::Enter]);
    assert_eq!(screen.picked, Some(Square::E2));
    assert_eq!(screen.targets(), [Square::E3, Square::E4]);
    assert!(shown(&screen).join("").contains('•'));
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!(screen.picked, None);
    let action = press(&mut screen, &[KeyCode::Enter, KeyCode::Up, KeyCode::Up, KeyCode::Enter]);
    assert_eq!((action, screen.live.moves_text().as_str()), (Action::Moved, "1. e4 "));
    assert_eq!(press(&mut screen, &[KeyCode::Char('u')]), Action::Moved);
    assert!(screen.live.your_turn());
}

#[test]
fn the_mouse_moves_pieces_and_castles_by_the_kings_square() {
    let mut screen = screen(position_from_fen("4k3/8/8/8/8/8/8/4K2R w K - 0 1").unwrap());
    // Squares are four columns wide and two rows high, after a margin of two columns.
    click(&mut screen, 2 + 4 * 4, 2 * 7);
    assert_eq!(screen.picked, Some(Square::E1));
    assert_eq!(click(&mut screen, 2 + 4 * 6 + 3, 2 * 7 + 1), Action::Moved);
    assert_eq!(screen.live.moves_text(), "1. O-O ");
}

#[test]
fn in_chess960_the_king_castles_onto_its_rook() {
    let fen = "4k3/8/8/8/8/8/8/5K1R w H - 0 1";
    for (file, played) in [(7, "1. O-O "), (6, "1. Kg1 ")] {
        let mut screen = screen(position_from_fen(fen).unwrap());
        click(&mut screen, 2 + 4 * 5, 2 * 7);
        assert_eq!(screen.picked, Some(Square::F1));
        assert!(screen.targets().contains(&Square::H1));
        assert_eq!(click(&mut screen, 2 + 4 * file, 2 * 7), Action::Moved);
        assert_eq!(screen.live.moves_text(), played);
    }
}

#[test]
fn a_pawn_asks_what_to_become() {
    let mut screen = promoting();
    assert!(shown(&screen).join("\n").contains("♞N"), "{:#?}", shown(&screen));
    press(&mut screen, &[KeyCode::Char('x')]);
    assert!(screen.promotion.is_some());
    assert_eq!(press(&mut screen, &[KeyCode::Char('n')]), Action::Moved);
    assert_eq!(screen.live.moves_text(), "1. a8=N ");

    let mut screen = promoting();
    press(&mut screen, &[KeyCode::Esc]);
    assert_eq!((screen.promotion, screen.live.your_turn()), (None, true));

    let mut screen = promoting();
    let rows = shown(&screen);
    let row = rows.iter().position(|row| row.contains("♜R")).unwrap();
    let column = rows[row].chars().position(|c| c == '♜').unwrap();
    click(&mut screen, column.try_into().unwrap(), row.try_into().unwrap());
    assert_eq!(screen.live.moves_text(), "1. a8=R ");
}

#[test]
fn results_and_candidates_are_shown() {
    let mut screen = screen(position_from_fen("6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1").unwrap());
    let half = Candidate { san: "Ra8#".to_owned(), note: "50.0%".to_owned(), share: 0.5 };
    screen.candidates = Some(("Hint".to_owned(), vec![half]));
    let rows = shown(&screen);
    assert!(rows.iter().any(|row| row.contains("Ra8#         50.0% ██")), "{rows:#?}");
    write(&mut screen, "Ra8");
    let rows = shown(&screen);
    assert!(rows.iter().any(|row| row.contains("1-0 White wins by checkmate.")), "{rows:#?}");
    write(&mut screen, "Kf8");
    assert!(screen.message.contains("over"), "{}", screen.message);
}

#[test]
fn picked_pieces_the_last_move_and_check_have_colours_of_their_own() {
    // The rook on e1 has just given check: e8 is checked, the rook came from a1, and h8 is plain.
    let mut screen = screen(position_from_fen("4k3/8/8/8/8/8/8/R5K1 w - - 0 1").unwrap());
    write(&mut screen, "Re1");
    screen.picked = Some(Square::G1);
    let mut terminal = Terminal::new(TestBackend::new(SIZE.width, SIZE.height)).unwrap();
    terminal.draw(|frame| draw(frame, &screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let shade = |file: u16, rank: u16| buffer[(2 + 4 * file, 2 * (8 - rank))].bg;
    let (checked, from, to, picked, plain) =
        (shade(4, 8), shade(0, 1), shade(4, 1), shade(6, 1), shade(7, 8));
    assert_eq!(from, to);
    for (one, other) in [(checked, from), (checked, plain), (from, plain), (picked, plain), (picked, checked)]
    {
        assert_ne!(one, other);
    }
}

#[test]
fn watched_games_pause_and_step() {
    let names = shakmaty::ByColor { white: "One".to_owned(), black: "Other".to_owned() };
    let mut screen = Screen::new(LiveGame::new(Chess::default(), Sides { names, you: None }, None));
    press(&mut screen, &[KeyCode::Char(' ')]);
    assert_eq!(screen.pace, Pace::Paused);
    assert!(shown(&screen).join("").contains("paused"));
    press(&mut screen, &[KeyCode::Char('.')]);
    assert_eq!(screen.pace, Pace::OneMove);
    press(&mut screen, &[KeyCode::Char(' ')]);
    assert_eq!(screen.pace, Pace::Running);
}

#[test]
fn only_the_last_question_is_answered() {
    let args = Cli::parse_from(["tabia", "play", "level:1"]);
    let Command::Play(args) = args.command else { panic!("play was typed") };
    let worker = Worker::start(vec![Opponent::new(&args).unwrap()]);
    let live = LiveGame::new(Chess::default(), Sides::against("Rival", Color::White), None);
    worker.ask(Question::Hint(0, live.history()));
    worker.ask(Question::Move(0, live.history(), live.limits()));
    let answer = loop {
        match worker.answer().unwrap() {
            Some(answer) => break answer,
            None => std::thread::yield_now(),
        }
    };
    assert!(matches!(answer, Answer::Move(Some(m), _) if live.position().is_legal(m)));
    assert!(worker.answer().unwrap().is_none());
    worker.leave();
}

#[test]
fn clocks_are_given_in_minutes() {
    let control = |text| match Cli::try_parse_from(["tabia", "play", "--tc", text]).map(|cli| cli.command) {
        Ok(Command::Play(args)) => args.tc.map(|control| control.to_string()),
        _ => None,
    };
    assert_eq!(control("5+3").as_deref(), Some("300+3"));
    assert_eq!(control("0.5").as_deref(), Some("30+0"));
    for wrong in ["0+3", "five", "-1+2", "nan+1", "5+"] {
        assert_eq!(control(wrong), None, "{wrong}");
    }
}
