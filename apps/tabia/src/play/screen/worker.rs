//! Players that think on a thread of their own, so that the screen stays alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use shakmaty::{ByColor, Move};
use tabia_encoding::Elo;
use tabia_game::History;
use tabia_players::{Limits, SearchControl};

use super::super::candidate::Candidate;
use super::super::opponent::Opponent;

/// How long leaving waits for a player that does not listen.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a player who waits looks whether its move is still wanted.
const GLANCE: Duration = Duration::from_millis(20);

/// Where a player is among those given to [`Worker::start`].
pub(super) type PlayerIndex = usize;

pub(super) enum Question {
    Move(PlayerIndex, History, Limits),
    Hint(PlayerIndex, History),
    Elo(PlayerIndex, Elo),
    NewGame,
}

/// What a player said.
pub(super) enum Answer {
    /// The move, or `None` if it gives up, and what it weighed.
    Move(Option<Move>, Vec<Candidate>),
    Hint(Vec<Candidate>),
    /// The name it has now; `None` if it plays at no chosen rating.
    Elo(PlayerIndex, Option<String>),
}

/// The thread and the way to it. A question takes the place of the one before: that one's answer is thrown away.
pub(super) struct Worker {
    questions: Sender<(u64, Question)>,
    answers: Receiver<(u64, Result<Answer>)>,
    /// The number of the question whose answer is wanted; players stop when it is no longer theirs.
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

    /// Asks; the answer to anything asked before is no longer wanted.
    pub(super) fn ask(&self, question: Question) {
        let number = self.wanted.fetch_add(1, Ordering::Relaxed) + 1;
        // A thread that has ended is noticed when its answer is looked for.
        let _noticed_later = self.questions.send((number, question));
    }

    /// Nothing that was asked is wanted any more.
    pub(super) fn forget(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer to the last question, once it is there.
    pub(super) fn answer(&self) -> Result<Option<Answer>> {
        loop {
            match self.answers.try_recv() {
                Ok((number, said)) if number == self.wanted.load(Ordering::Relaxed) => return said.map(Some),
                Ok(_unwanted) => {}
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Disconnected) => return Err(anyhow!("the player broke down")),
            }
        }
    }

    /// Ends the thread, so that engine processes are ended too.
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

/// Which player of the thread has each colour; `None` for the person at the keyboard.
pub(super) type Seating = ByColor<Option<PlayerIndex>>;
