//! `tabia play` on the whole terminal.

mod draw;
mod input;
mod worker;

use std::io::stdout;
use std::mem::ManuallyDrop;
use std::panic;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow};
use ratatui::DefaultTerminal;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::layout::Rect;
use shakmaty::{ByColor, Chess, Color, Move, Position};

use self::input::{Action, Screen};
use self::worker::{Answer, Question, Seating, Worker};
use super::candidate::Candidate;
use super::opponent::Opponent;
use super::table::{Sides, Table, outcome_text};
use crate::cli::PlayArgs;

/// How often the screen is drawn when nothing happens.
const TICK: Duration = Duration::from_millis(50);

/// Plays in the terminal until the player leaves.
pub(super) fn run(args: &PlayArgs, start: Chess) -> Result<()> {
    let mut first = Opponent::new(args)?;
    let seat = first.resolve(args.color);
    let mut players = vec![first];
    if let Some(other) = &args.watch {
        players.push(Opponent::named(Some(other), args)?);
    }
    players.iter_mut().for_each(Opponent::new_game);
    let names: Vec<String> = players.iter().map(Opponent::name).collect();
    let watching = args.watch.is_some();
    let seating = ByColor::new_with(|color| match (watching, color == seat) {
        (true, true) | (false, false) => Some(0),
        (true, false) => Some(1),
        (false, true) => None,
    });
    let table = Table::new(start, sides(&names, seating), args.tc.clone());
    let mut session = Session {
        screen: Screen::new(table),
        worker: Worker::start(players),
        seating,
        names,
        delay: if watching { Duration::from_millis(args.delay) } else { Duration::ZERO },
        began: Instant::now(),
        asked: None,
        ready: None,
        pgn: args.pgn.clone(),
    };
    let ended = session.attend();
    let saved = match &args.pgn {
        // Nothing is lost: the game is written even when a player breaks down.
        Some(path) => session.screen.table.save(path),
        None => Ok(()),
    };
    session.worker.leave();
    ended.and(saved)
}

fn sides(names: &[String], seating: Seating) -> Sides {
    let name = |player: Option<usize>| player.map_or_else(|| "You".to_owned(), |i| names[i].clone());
    let you = Color::ALL.into_iter().find(|&color| seating[color].is_none());
    Sides { names: seating.map(name), you }
}

/// What the terminal says, read on a thread of its own: once the terminal is gone, reading never comes back, and the
/// game must still be saved and the program end.
fn events() -> Receiver<Event> {
    let (tell, events) = mpsc::channel();
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if tell.send(event).is_err() {
                break;
            }
        }
    });
    events
}

/// The next event within `wait`, if there is one.
fn next(events: &Receiver<Event>, wait: Duration) -> Result<Option<Event>> {
    match events.recv_timeout(wait) {
        Ok(event) => Ok(Some(event)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(anyhow!("the terminal cannot be read")),
    }
}

/// What the worker was asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Move,
    Other,
}

/// A move that waits until it may be shown; the time it took is its player's, the rest is not.
struct Ready {
    /// `None` if the player gives up.
    chosen: Option<Move>,
    candidates: Vec<Candidate>,
    took: Duration,
}

struct Session {
    screen: Screen,
    worker: Worker,
    seating: Seating,
    names: Vec<String>,
    /// Least time for a player's move.
    delay: Duration,
    /// When the side to move began to think.
    began: Instant,
    asked: Option<Asked>,
    ready: Option<Ready>,
    pgn: Option<PathBuf>,
}

impl Session {
    fn attend(&mut self) -> Result<()> {
        let mut terminal = Terminal::open()?;
        let events = events();
        loop {
            self.think()?;
            terminal.screen.draw(|frame| draw::draw(frame, &self.screen))?;
            let mut wait = TICK;
            // All that is waiting is handled before the next drawing, so that a fast hand is not slowed down.
            while let Some(event) = next(&events, wait)? {
                let size = terminal.screen.size()?;
                let wish = self.heard(&event, Rect::from((ratatui::layout::Position::ORIGIN, size)));
                if wish == Action::Leave {
                    return Ok(());
                }
                self.fulfil(wish);
                wait = Duration::ZERO;
            }
            if terminal.told_to_end.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
    }

    fn heard(&mut self, event: &Event, area: Rect) -> Action {
        self.screen.elapsed = self.began.elapsed();
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.screen.key(*key),
            Event::Mouse(mouse) => self.screen.mouse(*mouse, area),
            _ => Action::Nothing,
        }
    }

    fn fulfil(&mut self, wish: Action) {
        match wish {
            Action::Nothing | Action::Leave => {}
            Action::Moved => self.turn_begins(),
            Action::NewGame(color) => {
                let change = color.is_none_or(|color| self.screen.table.sides().you != Some(color));
                if change {
                    self.seating = ByColor { white: self.seating.black, black: self.seating.white };
                }
                self.screen.table.restart(sides(&self.names, self.seating));
                self.screen.changed();
                self.turn_begins();
                self.worker.ask(Question::NewGame);
            }
            Action::Hint => {
                let turn = self.screen.table.position().turn();
                let player = self.seating[turn].or(self.seating[!turn]).unwrap_or(0);
                self.ask(Question::Hint(player, self.screen.table.history()), Asked::Other);
            }
            Action::Elo(elo) => self.ask(Question::Elo(0, elo), Asked::Other),
            Action::Save(path) => {
                let path = path.map(PathBuf::from).or_else(|| self.pgn.clone()).unwrap_or_else(unused_name);
                self.screen.message = match self.screen.table.save(&path) {
                    Ok(()) => format!("Saved to {}.", path.display()),
                    Err(error) => format!("Not saved: {error:#}."),
                };
            }
        }
    }

    fn turn_begins(&mut self) {
        self.worker.forget();
        (self.asked, self.ready) = (None, None);
        self.began = Instant::now();
        self.screen.elapsed = Duration::ZERO;
    }

    fn ask(&mut self, question: Question, kind: Asked) {
        self.worker.ask(question);
        self.asked = Some(kind);
    }

    /// Looks at the clock, takes what a player has said and asks the one to move.
    fn think(&mut self) -> Result<()> {
        let elapsed = self.ready.as_ref().map_or_else(|| self.began.elapsed(), |ready| ready.took);
        self.screen.elapsed = elapsed;
        let over = self.screen.table.over().is_some();
        self.screen.table.look_at_clock(elapsed);
        if !over && let Some(outcome) = self.screen.table.over() {
            self.screen.changed();
            self.screen.message = outcome_text(outcome);
            self.turn_begins();
        }
        let turn = self.screen.table.position().turn();
        if self.screen.table.over().is_none()
            && self.asked.is_none()
            && let Some(player) = self.seating[turn]
        {
            let (history, limits) = (self.screen.table.history(), self.screen.table.limits());
            self.ask(Question::Move(player, history, limits), Asked::Move);
        }
        self.screen.thinking = self.asked == Some(Asked::Move);
        if self.began.elapsed() >= self.delay
            && let Some(Ready { chosen, candidates, took }) = self.ready.take()
        {
            let who = format!("{} considered", self.screen.table.sides().names[turn]);
            let given_up = match chosen {
                Some(chosen) => {
                    self.screen.table.play(chosen, took);
                    None
                }
                None => self.screen.table.resign(turn),
            };
            self.screen.changed();
            self.screen.candidates = (!candidates.is_empty()).then_some((who, candidates));
            if let Some(outcome) = given_up {
                self.screen.message = outcome_text(outcome);
            }
            self.turn_begins();
            return Ok(());
        }
        match self.worker.answer()? {
            None => {}
            Some(Answer::Move(chosen, candidates)) => {
                self.ready = Some(Ready { chosen, candidates, took: elapsed });
            }
            Some(Answer::Hint(candidates)) => {
                self.asked = None;
                self.screen.candidates = Some(("Hint".to_owned(), candidates));
            }
            Some(Answer::Elo(player, name)) => {
                self.asked = None;
                self.screen.message = match name {
                    Some(name) => {
                        self.names[player].clone_from(&name);
                        self.screen.table.rename(sides(&self.names, self.seating));
                        format!("{name} from now on.")
                    }
                    None => format!("{} does not play at a chosen rating.", self.names[player]),
                };
            }
        }
        Ok(())
    }
}

/// A file name that no earlier game has.
fn unused_name() -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("tabia-{}.pgn", now.as_secs()).into()
}

/// The terminal while the screen has it; given back as it was when dropped, and before a panic is reported.
struct Terminal {
    /// Never dropped: it would complain to a terminal that is gone, and panic, before the game is saved.
    screen: ManuallyDrop<DefaultTerminal>,
    told_to_end: Arc<AtomicBool>,
}

impl Terminal {
    fn open() -> Result<Terminal> {
        let told_to_end = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&told_to_end);
        ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))
            .context("signals cannot be heeded")?;
        let screen = ratatui::try_init().context("the terminal cannot be drawn on")?;
        let terminal = Terminal { screen: ManuallyDrop::new(screen), told_to_end };
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            release_mouse();
            report(panic);
        }));
        execute!(stdout(), EnableMouseCapture)?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        release_mouse();
        // A terminal that is gone needs no putting right.
        let _gone = execute!(stdout(), Show);
        let _gone = ratatui::try_restore();
    }
}

fn release_mouse() {
    // A terminal that is gone has no mouse to release.
    let _gone = execute!(stdout(), DisableMouseCapture);
}

#[cfg(test)]
mod tests;
