//! `tabia play` in full screen.

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

use self::input::{Action, Pace, Screen};
use self::worker::{Answer, PlayersByColor, Question, Worker};
use super::candidate::Candidate;
use super::live_game::{LiveGame, Sides, outcome_text};
use super::opponent::Opponent;
use crate::cli::PlayArgs;

/// How often the screen is drawn when nothing happens.
const TICK: Duration = Duration::from_millis(50);

/// Plays in the terminal until the user quits.
pub(super) fn run(args: &PlayArgs, start: Chess) -> Result<()> {
    let mut first = Opponent::new(args)?;
    let color_of_first = first.resolve(args.color);
    let mut players = vec![first];
    if let Some(other) = &args.watch {
        players.push(Opponent::named(Some(other), args)?);
    }
    players.iter().try_for_each(|player| player.check_start(&start))?;
    players.iter_mut().for_each(Opponent::new_game);
    let names: Vec<String> = players.iter().map(Opponent::name).collect();
    let watching = args.watch.is_some();
    let by_color = ByColor::new_with(|color| match (watching, color == color_of_first) {
        (true, true) | (false, false) => Some(0),
        (true, false) => Some(1),
        (false, true) => None,
    });
    let live = LiveGame::new(start, sides(&names, by_color), args.tc.clone())
        .with_opponent_time(args.opponent_tc.clone());
    let mut session = Session {
        screen: Screen::new(live),
        worker: Worker::start(players),
        by_color,
        names,
        delay: if watching { Duration::from_millis(args.delay) } else { Duration::ZERO },
        began: Instant::now(),
        asked: None,
        ready: None,
        judged: false,
        pgn: args.pgn.clone(),
    };
    let ended = session.attend();
    let saved = match &args.pgn {
        // Saved even if a player fails.
        Some(path) => session.screen.live.save(path),
        None => Ok(()),
    };
    session.worker.leave();
    ended.and(saved)
}

fn sides(names: &[String], by_color: PlayersByColor) -> Sides {
    let name = |player: Option<usize>| player.map_or_else(|| "You".to_owned(), |i| names[i].clone());
    let you = Color::ALL.into_iter().find(|&color| by_color[color].is_none());
    Sides { names: by_color.map(name), you }
}

/// Terminal events, read on their own thread: reading blocks forever once the terminal is gone, but the game must still
/// be saved.
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

/// The question asked of the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Move,
    Other,
}

/// A move that is held back by --delay; only the time it took counts.
struct Ready {
    /// `None` if the player resigns.
    chosen: Option<Move>,
    candidates: Vec<Candidate>,
    took: Duration,
}

struct Session {
    screen: Screen,
    worker: Worker,
    by_color: PlayersByColor,
    names: Vec<String>,
    /// Minimum time between moves.
    delay: Duration,
    /// The start of the current move.
    began: Instant,
    asked: Option<Asked>,
    ready: Option<Ready>,
    /// Whether it is known how the finished game was played.
    judged: bool,
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
            // All pending events are handled before drawing.
            while let Some(event) = next(&events, wait)? {
                let size = terminal.screen.size()?;
                let action = self.heard(&event, Rect::from((ratatui::layout::Position::ORIGIN, size)));
                if action == Action::Leave {
                    return Ok(());
                }
                self.perform(action);
                wait = Duration::ZERO;
            }
            if terminal.interrupted.load(Ordering::Relaxed) {
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

    fn perform(&mut self, action: Action) {
        match action {
            Action::Nothing | Action::Leave => {}
            Action::Moved => self.turn_begins(),
            Action::NewGame(color) => {
                let change = color.is_none_or(|color| self.screen.live.sides().you != Some(color));
                if change {
                    self.by_color = ByColor { white: self.by_color.black, black: self.by_color.white };
                }
                self.screen.live.restart(sides(&self.names, self.by_color));
                self.screen.changed();
                self.turn_begins();
                self.worker.ask(Question::NewGame);
            }
            Action::Hint => {
                let turn = self.screen.live.position().turn();
                let player = self.by_color[turn].or(self.by_color[!turn]).unwrap_or(0);
                self.ask(Question::Hint(player, self.screen.live.history()), Asked::Other);
            }
            Action::Elo(elo) => self.ask(Question::Elo(0, elo), Asked::Other),
            Action::Save(path) => {
                let path = path.map(PathBuf::from).or_else(|| self.pgn.clone()).unwrap_or_else(unused_name);
                self.screen.message = match self.screen.live.save(&path) {
                    Ok(()) => format!("Saved to {}.", path.display()),
                    Err(error) => format!("Not saved: {error:#}."),
                };
            }
        }
    }

    fn turn_begins(&mut self) {
        self.worker.forget();
        (self.asked, self.ready, self.judged) = (None, None, false);
        self.began = Instant::now();
        self.screen.elapsed = Duration::ZERO;
    }

    fn ask(&mut self, question: Question, kind: Asked) {
        self.worker.ask(question);
        self.asked = Some(kind);
    }

    /// Checks the clock, takes the answer of a player and asks the next.
    fn think(&mut self) -> Result<()> {
        let elapsed = self.ready.as_ref().map_or_else(|| self.began.elapsed(), |ready| ready.took);
        self.screen.elapsed = elapsed;
        let over = self.screen.live.over().is_some();
        self.screen.live.check_flag(elapsed);
        if !over && let Some(outcome) = self.screen.live.over() {
            self.screen.changed();
            self.screen.message = outcome_text(outcome);
            self.turn_begins();
        }
        let turn = self.screen.live.position().turn();
        if self.screen.live.over().is_none()
            && self.asked.is_none()
            && let Some(player) = self.by_color[turn]
        {
            let (history, limits) = (self.screen.live.history(), self.screen.live.limits());
            self.ask(Question::Move(player, history, limits), Asked::Move);
        }
        if self.screen.live.over().is_some() && self.asked.is_none() && !self.judged {
            let (game, sides) = (Box::new(self.screen.live.game().clone()), self.screen.live.sides().clone());
            self.ask(Question::PlayedLike(game, sides), Asked::Other);
        }
        self.screen.thinking = self.asked == Some(Asked::Move);
        let due = match self.screen.pace {
            Pace::Running => self.began.elapsed() >= self.delay,
            Pace::Paused => false,
            Pace::OneMove => true,
        };
        if due && let Some(Ready { chosen, candidates, took }) = self.ready.take() {
            let who = format!("{} considered", self.screen.live.sides().names[turn]);
            let given_up = match chosen {
                Some(chosen) => {
                    self.screen.live.play(chosen, took);
                    None
                }
                None => self.screen.live.resign(turn),
            };
            self.screen.changed();
            if self.screen.pace == Pace::OneMove {
                self.screen.pace = Pace::Paused;
            }
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
            Some(Answer::PlayedLike(text)) => {
                (self.asked, self.judged) = (None, true);
                if let Some(text) = text {
                    self.screen.message = text;
                }
            }
            Some(Answer::Elo(player, name)) => {
                self.asked = None;
                self.screen.message = match name {
                    Some(name) => {
                        self.names[player].clone_from(&name);
                        self.screen.live.rename(sides(&self.names, self.by_color));
                        format!("{name} from now on.")
                    }
                    None => format!("{} does not play at a chosen rating.", self.names[player]),
                };
            }
        }
        Ok(())
    }
}

/// A file name that is not in use.
fn unused_name() -> PathBuf {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("tabia-{}.pgn", now.as_secs()).into()
}

/// The terminal in full-screen mode; restored when dropped, and before a panic is reported.
struct Terminal {
    /// Never dropped: that would panic on a terminal that is gone, before the game is saved.
    screen: ManuallyDrop<DefaultTerminal>,
    interrupted: Arc<AtomicBool>,
}

impl Terminal {
    fn open() -> Result<Terminal> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&interrupted);
        ctrlc::set_handler(move || told.store(true, Ordering::Relaxed)).context("cannot handle signals")?;
        let screen = ratatui::try_init().context("cannot initialise the terminal")?;
        let terminal = Terminal { screen: ManuallyDrop::new(screen), interrupted };
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
        // A terminal that is gone need not be restored.
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
