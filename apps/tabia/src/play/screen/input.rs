//! Keyboard and mouse input.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use shakmaty::{CastlingSide, Color, File, Move, Position, Rank, Role, Square};
use tabia_encoding::Elo;

use super::super::candidate::Candidate;
use super::super::command::{self, Command};
use super::super::live_game::{LiveGame, outcome_text};
use super::draw::places;

/// The pieces a pawn may become, in the order they are offered.
pub(super) const PROMOTIONS: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];

/// What a key requests beyond the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    /// The position changed or the game ended: searches of the old one are cancelled.
    Moved,
    NewGame(Option<Color>),
    Hint,
    Elo(Elo),
    /// Save the game, to this file if one was named.
    Save(Option<String>),
    Leave,
}

/// Whether a watched game goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    Running,
    Paused,
    /// Paused after the next move.
    OneMove,
}

/// The state of the screen.
pub(super) struct Screen {
    pub(super) live: LiveGame,
    pub(super) cursor: Square,
    pub(super) picked: Option<Square>,
    /// A pawn about to promote: from and to.
    pub(super) promotion: Option<(Square, Square)>,
    /// What has been typed.
    pub(super) line: String,
    pub(super) message: String,
    /// The heading and the candidates.
    pub(super) candidates: Option<(String, Vec<Candidate>)>,
    pub(super) help: bool,
    pub(super) thinking: bool,
    /// Whether a watched game waits, and for what.
    pub(super) pace: Pace,
    /// The time used by the side to move.
    pub(super) elapsed: Duration,
}

impl Screen {
    pub(super) fn new(live: LiveGame) -> Screen {
        Screen {
            live,
            cursor: Square::E2,
            picked: None,
            promotion: None,
            line: String::new(),
            message: "Press ? for the keys.".to_owned(),
            candidates: None,
            help: false,
            thinking: false,
            pace: Pace::Running,
            elapsed: Duration::ZERO,
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Action {
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Action::Leave } else { Action::Nothing };
        }
        if std::mem::take(&mut self.help) {
            return Action::Nothing;
        }
        if let Some(pawn) = self.promotion {
            return self.promote(pawn, key.code);
        }
        match key.code {
            KeyCode::Up => self.step(0, 1),
            KeyCode::Down => self.step(0, -1),
            KeyCode::Right => self.step(1, 0),
            KeyCode::Left => self.step(-1, 0),
            KeyCode::Esc => {
                self.line.clear();
                self.picked = None;
            }
            KeyCode::Backspace => {
                self.line.pop();
            }
            KeyCode::Enter if self.line.is_empty() => return self.touch(self.cursor),
            KeyCode::Enter => {
                let line = std::mem::take(&mut self.line);
                return self.typed(&line);
            }
            KeyCode::Char(letter) if self.line.is_empty() => return self.letter(letter),
            KeyCode::Char(letter) => self.line.push(letter),
            _ => {}
        }
        Action::Nothing
    }

    /// A letter on an empty line is a command, unless a move can begin with it.
    fn letter(&mut self, letter: char) -> Action {
        let watching = self.live.sides().you.is_none();
        match letter {
            ' ' if watching => {
                self.pace = if self.pace == Pace::Running { Pace::Paused } else { Pace::Running };
                Action::Nothing
            }
            '.' if watching => {
                self.pace = Pace::OneMove;
                Action::Nothing
            }
            'u' => self.obey(Command::Undo),
            'F' => self.obey(Command::Flip),
            'H' => self.obey(Command::Hint),
            'n' => self.obey(Command::New(None)),
            's' => Action::Save(None),
            '?' => self.obey(Command::Help),
            'q' => Action::Leave,
            ' ' => self.touch(self.cursor),
            _ => {
                self.line.push(letter);
                Action::Nothing
            }
        }
    }

    fn typed(&mut self, line: &str) -> Action {
        // The f- and h-pawns begin moves with these letters, so they wait for Enter.
        let command = match line.trim() {
            "f" => Ok(Some(Command::Flip)),
            "h" => Ok(Some(Command::Hint)),
            line => command::parse(line),
        };
        match command {
            Ok(Some(command)) => self.obey(command),
            Ok(None) => Action::Nothing,
            Err(mistake) => self.say(mistake),
        }
    }

    fn obey(&mut self, command: Command) -> Action {
        match command {
            Command::Move(text) => {
                if let Err(why) = self.may_move() {
                    return self.say(why);
                }
                match command::find_move(self.live.position(), &text) {
                    Ok(m) => self.play(m),
                    Err(mistake) => self.say(mistake),
                }
            }
            Command::Hint if self.live.over().is_some() => self.say("The game is over."),
            Command::Hint if self.thinking => self.say("Wait for the move first."),
            Command::Hint => Action::Hint,
            Command::Undo => {
                if !self.live.undo() {
                    return self.say("There is nothing to take back.");
                }
                self.changed();
                Action::Moved
            }
            Command::Flip => {
                self.live.flip();
                Action::Nothing
            }
            Command::Moves => self.say(self.live.moves_text()),
            Command::Legal => self.say(self.live.legal_text()),
            Command::Fen => self.say(tabia_game::fen_of(self.live.position())),
            Command::Pgn => self.say("Press s to save the game as PGN."),
            Command::Save(path) => Action::Save(Some(path)),
            Command::Elo(elo) if self.thinking => self.say(format!("Wait for the move, then elo {}.", elo.0)),
            Command::Elo(elo) => Action::Elo(elo),
            Command::New(color) => Action::NewGame(color),
            Command::Draw if !self.live.your_turn() => self.say("It is not your turn."),
            Command::Draw => match self.live.claim_draw() {
                Some(outcome) => {
                    self.message = outcome_text(outcome);
                    Action::Moved
                }
                None => self.say("There is no draw to claim here."),
            },
            Command::Resign => match self.live.sides().you.and_then(|you| self.live.resign(you)) {
                Some(outcome) => {
                    self.message = outcome_text(outcome);
                    Action::Moved
                }
                None => self.say("There is no game of yours to resign."),
            },
            Command::Help => {
                self.help = true;
                Action::Nothing
            }
            Command::Quit => Action::Leave,
        }
    }

    pub(super) fn say(&mut self, message: impl Into<String>) -> Action {
        self.message = message.into();
        Action::Nothing
    }

    fn may_move(&self) -> Result<(), &'static str> {
        if self.live.over().is_some() {
            return Err("The game is over: n starts another, u takes a move back.");
        }
        if self.live.your_turn() { Ok(()) } else { Err("It is not your turn.") }
    }

    /// Clears selection and candidates.
    pub(super) fn changed(&mut self) {
        (self.picked, self.promotion, self.candidates) = (None, None, None);
        self.message.clear();
    }

    fn play(&mut self, m: Move) -> Action {
        self.live.play(m, self.elapsed);
        self.changed();
        Action::Moved
    }

    /// Moves the cursor, relative to the orientation.
    fn step(&mut self, right: i32, up: i32) {
        let (right, up) = self.live.bottom().fold_wb((right, up), (-right, -up));
        let moved = |at: u32, by: i32| at.saturating_add_signed(by).min(7);
        self.cursor = Square::from_coords(
            File::new(moved(self.cursor.file().into(), right)),
            Rank::new(moved(self.cursor.rank().into(), up)),
        );
    }

    /// Selects a square by Enter or click: picks up, puts back or drops a piece.
    fn touch(&mut self, square: Square) -> Action {
        self.cursor = square;
        if let Err(why) = self.may_move() {
            return self.say(why);
        }
        let moves = self.picked.map_or_else(Vec::new, |from| self.moves(from, square));
        match (self.picked, moves.as_slice()) {
            (_, &[m]) => return self.play(m),
            (Some(from), [_, _, ..]) => self.promotion = Some((from, square)),
            (Some(from), []) if from == square => self.picked = None,
            _ => {
                let yours = self.live.position().us().contains(square);
                self.picked = yours.then_some(square);
            }
        }
        Action::Nothing
    }

    fn promote(&mut self, (from, to): (Square, Square), key: KeyCode) -> Action {
        let role = match key {
            KeyCode::Esc => {
                self.promotion = None;
                return Action::Nothing;
            }
            KeyCode::Enter => Some(Role::Queen),
            KeyCode::Char(letter) => Role::from_char(letter),
            _ => None,
        };
        let wanted = self.moves(from, to).into_iter().find(|m| role.is_some() && m.promotion() == role);
        wanted.map_or(Action::Nothing, |m| self.play(m))
    }

    /// The legal moves between two squares: one, or four when a pawn promotes. The king castles onto its rook, or where it
    /// lands if nothing else goes there.
    fn moves(&self, from: Square, to: Square) -> Vec<Move> {
        let legal = self.live.position().legal_moves();
        let between = |reaches: fn(Move, Square) -> bool| -> Vec<Move> {
            legal.iter().copied().filter(|&m| m.from() == Some(from) && reaches(m, to)).collect()
        };
        let moves = between(|m, to| m.to() == to);
        if moves.is_empty() && from != to { between(|m, to| landing(m) == to) } else { moves }
    }

    /// The targets of the selected piece.
    pub(super) fn targets(&self) -> Vec<Square> {
        let Some(picked) = self.picked else { return Vec::new() };
        let position = self.live.position();
        let target = |m: Move| if position.castles().mode().is_chess960() { m.to() } else { landing(m) };
        position.legal_moves().into_iter().filter(|m| m.from() == Some(picked)).map(target).collect()
    }

    pub(super) fn mouse(&mut self, mouse: MouseEvent, area: Rect) -> Action {
        if mouse.kind != MouseEventKind::Down(MouseButton::Left) {
            return Action::Nothing;
        }
        self.help = false;
        let places = places(area);
        if let Some(pawn) = self.promotion {
            return match places.promotion_at(mouse.column, mouse.row) {
                Some(role) => self.promote(pawn, KeyCode::Char(role.char())),
                None => self.promote(pawn, KeyCode::Esc),
            };
        }
        match places.square_at(mouse.column, mouse.row, self.live.bottom()) {
            Some(square) => self.touch(square),
            None => Action::Nothing,
        }
    }
}

/// The square where the moved piece ends: for castling, the king's.
pub(super) fn landing(m: Move) -> Square {
    match m {
        Move::Castle { king, rook } => {
            let side = CastlingSide::from_king_side(rook > king);
            Square::from_coords(side.king_to_file(), king.rank())
        }
        _ => m.to(),
    }
}
