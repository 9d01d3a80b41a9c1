//! Players on their own thread, so that the screen stays responsive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use shakmaty::{ByColor, Move};
use tabia_encoding::Elo;
use tabia_game::{Game, History};
use tabia_players::{Limits, SearchControl};

use super::super::candidate::Candidate;
use super::super::live_game::Sides;
use super::super::opponent::Opponent;
use super::super::played_like::played_like;

/// How long quitting waits for a player.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a waiting player checks for a stop.
const GLANCE: Duration = Duration::from_millis(20);

/// The index of a player in [`Worker::start`].
pub(super) type PlayerIndex = usize;

pub(super) enum Question {
    Move(PlayerIndex, History, Limits),
    Hint(PlayerIndex, History),
    Elo(PlayerIndex, Elo),
    /// How both sides of a finished game played.
    PlayedLike(Box<Game>, Sides),
    NewGame,
}

/// The answer of a player.
pub(super) enum Answer {
    /// The move, or `None` if it resigns, and its candidates.
    Move(Option<Move>, Vec<Candidate>),
    Hint(Vec<Candidate>),
    /// Its new name; `None` if it has no rating setting.
    Elo(PlayerIndex, Option<String>),
    /// In words; `None` if it was stopped.
    PlayedLike(Option<String>),
}

/// The thread. A new question cancels the one before.
pub(super) struct Worker {
    questions: Sender<(u64, Question)>,
    answers: Receiver<(u64, Result<Answer>)>,
    /// The number of the current question; players stop when it changes.
    wanted: Arc<AtomicU64>,
}

impl Worker {
    pub(super) fn start(mut players: Vec<Opponent>) -> Worker {
        let (questions, asked) = channel::<(u64, Question)>();
        let (answer, answers) = channel();
        let wanted = Arc::new(AtomicU64::new(0));
        let heeded = Arc::clone(&wanted);
        thread::spawn(move || {
            for (number, question) in asked {
                let watch = Wanted { began: Instant::now(), number, wanted: &heeded };
                let said = match question {
                    Question::NewGame => {
                        players.iter_mut().for_each(Opponent::new_game);
                        continue;
                    }
                    Question::Move(player, history, limits) => {
                        players[player].think(&history, &limits, &watch).map(|(m, c)| Answer::Move(m, c))
                    }
                    Question::Hint(player, history) => {
                        players[player].hint(&history, &watch).map(Answer::Hint)
                    }
                    Question::PlayedLike(game, sides) => players[0]
                        .human_network()
                        .and_then(|human| played_like(&game, &sides, &human, &mut || !watch.stopped()))
                        .map(Answer::PlayedLike),
                    Question::Elo(player, elo) => players[player]
                        .set_elo(elo)
                        .map(|listens| Answer::Elo(player, listens.then(|| players[player].name()))),
                };
                if answer.send((number, said)).is_err() {
                    return;
                }
            }
        });
        Worker { questions, answers, wanted }
    }

    /// Asks a question and cancels the one before.
    pub(super) fn ask(&self, question: Question) {
        let number = self.wanted.fetch_add(1, Ordering::Relaxed) + 1;
        // A thread that has ended is noticed when polled.
        let _noticed_later = self.questions.send((number, question));
    }

    /// Cancels the current question.
    pub(super) fn forget(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer to the current question, once available.
    pub(super) fn answer(&self) -> Result<Option<Answer>> {
        loop {
            match self.answers.try_recv() {
                Ok((number, said)) if number == self.wanted.load(Ordering::Relaxed) => return said.map(Some),
                Ok(_unwanted) => {}
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Err(anyhow!("the player's thread ended")),
            }
        }
    }

    /// Ends the thread, and engine processes with it.
    pub(super) fn leave(self) {
        self.forget();
        drop(self.questions);
        let began = Instant::now();
        while let Some(left) = PATIENCE.checked_sub(began.elapsed()) {
            match self.answers.recv_timeout(left) {
                Ok(_unwanted) => {}
                Err(RecvTimeoutError::Disconnected | RecvTimeoutError::Timeout) => return,
            }
        }
    }
}

struct Wanted<'a> {
    began: Instant,
    number: u64,
    wanted: &'a AtomicU64,
}

impl SearchControl for Wanted<'_> {
    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn stopped(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != self.number
    }

    fn wait_until(&self, moment: Duration) {
        while let Some(left) =
            moment.checked_sub(self.elapsed()).filter(|left| !left.is_zero() && !self.stopped())
        {
            thread::sleep(left.min(GLANCE));
        }
    }
}

/// The player of each colour; `None` for the user.
pub(super) type PlayersByColor = ByColor<Option<PlayerIndex>>;
