//! The thread of one game's player.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::{Duration, Instant},
};

use tabia_game::History;
use tabia_players::{Decision, Limits, Player, SearchControl};

/// Builds a player from a random seed.
pub type BuildPlayer = dyn Fn(u64) -> Result<Box<dyn Player>, String> + Send + Sync;

/// A position to decide in.
pub(crate) struct Job {
    pub(crate) history: History,
    pub(crate) limits: Limits,
    /// When the position arrived.
    pub(crate) since: Instant,
    /// How long after that the move must be made.
    pub(crate) latest: Option<Duration>,
}

/// The player's answer to a job, by number.
pub(crate) struct Answer {
    pub(crate) job: u64,
    pub(crate) decision: Result<Decision, String>,
}

/// The handle of the thread, which ends with it.
pub(crate) struct Thinker {
    jobs: Sender<(u64, Job, Arc<Control>)>,
    /// The last job, unless it is answered or stopped.
    current: Option<(u64, Arc<Control>)>,
    number: u64,
}

impl Thinker {
    /// Starts the thread, which builds the player and passes its answers to `answer`.
    pub(crate) fn start(build: Arc<BuildPlayer>, answer: impl Fn(Answer) + Send + 'static) -> Thinker {
        let (jobs, inbox) = channel();
        std::thread::spawn(move || think(&*build, &inbox, &answer));
        Thinker { jobs, current: None, number: 0 }
    }

    /// Whether an answer is awaited.
    pub(crate) fn is_thinking(&self) -> bool {
        self.current.is_some()
    }

    /// Starts a job. Only its answer counts from now on.
    pub(crate) fn think(&mut self, job: Job) {
        self.stop();
        self.number += 1;
        let control = Arc::new(Control::new(job.since, job.latest));
        self.current = Some((self.number, Arc::clone(&control)));
        // A thread that has ended answers nothing; it ends only with this handle.
        let _ended = self.jobs.send((self.number, job, control));
    }

    /// The decision of an answer, unless it is to an earlier job.
    pub(crate) fn take(&mut self, answer: Answer) -> Option<Result<Decision, String>> {
        let (number, _) = self.current.take_if(|(number, _)| *number == answer.job)?;
        debug_assert_eq!(number, answer.job);
        Some(answer.decision)
    }

    /// Ends the job: its answer does not count.
    pub(crate) fn stop(&mut self) {
        if let Some((_, control)) = self.current.take() {
            control.stop();
        }
    }
}

impl Drop for Thinker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn think(build: &BuildPlayer, inbox: &Receiver<(u64, Job, Arc<Control>)>, answer: &impl Fn(Answer)) {
    let mut player: Option<Box<dyn Player>> = None;
    for (number, job, control) in inbox {
        if control.is_cancelled() {
            continue;
        }
        let decided = catch_unwind(AssertUnwindSafe(|| -> Result<Decision, String> {
            let player = match &mut player {
                Some(player) => player,
                None => {
                    let mut built = build(fastrand::u64(..))?;
                    built.new_game();
                    player.insert(built)
                }
            };
            player.decide(&job.history, &job.limits, &*control).map_err(|error| error.to_string())
        }));
        let decision = decided.unwrap_or_else(|panic| Err(format!("panicked: {}", message(&*panic))));
        if decision.is_err() {
            // The next attempt gets a new one.
            player = None;
        }
        answer(Answer { job: number, decision });
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// The clock of one move. It stops the player in time, however long it wants to think.
pub(crate) struct Control {
    since: Instant,
    latest: Option<Duration>,
    cancelled: AtomicBool,
    /// Held while `cancelled` changes.
    changing: Mutex<()>,
    changed: Condvar,
}

impl Control {
    fn new(since: Instant, latest: Option<Duration>) -> Control {
        let (cancelled, changing, changed) = (AtomicBool::new(false), Mutex::new(()), Condvar::new());
        Control { since, latest, cancelled, changing, changed }
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.cancelled.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }
}

impl SearchControl for Control {
    fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    fn stopped(&self) -> bool {
        self.is_cancelled() || self.latest.is_some_and(|latest| self.elapsed() >= latest)
    }

    fn wait_until(&self, moment: Duration) {
        let moment = self.latest.map_or(moment, |latest| moment.min(latest));
        let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_cancelled() {
            let Some(left) = moment.checked_sub(self.elapsed()).filter(|left| !left.is_zero()) else {
                return;
            };
            changing = self.changed.wait_timeout(changing, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_ends_before_the_flag_falls() {
        let hour = Duration::from_secs(3600);
        let control = Control::new(Instant::now(), Some(Duration::from_millis(30)));
        control.wait_until(hour);
        assert!(control.stopped() && !control.is_cancelled());
        let cancelled = Control::new(Instant::now(), None);
        assert!(!cancelled.stopped());
        cancelled.stop();
        cancelled.wait_until(hour);
        assert!(cancelled.stopped());
    }

    #[test]
    fn only_the_last_job_counts() {
        let build: Arc<BuildPlayer> = Arc::new(|_| Err("no player".to_owned()));
        let (sender, answers) = channel();
        let mut thinker = Thinker::start(build, move |answer| sender.send(answer).unwrap());
        let job = || Job {
            history: History::new(shakmaty::Chess::default(), shakmaty::ByColor::default()),
            limits: Limits::default(),
            since: Instant::now(),
            latest: None,
        };
        thinker.think(job());
        let first = answers.recv().unwrap();
        thinker.think(job());
        assert!(thinker.take(first).is_none() && thinker.is_thinking());
        let second = answers.recv().unwrap();
        assert_eq!(thinker.take(second).unwrap().unwrap_err(), "no player");
        assert!(!thinker.is_thinking());
    }
}
