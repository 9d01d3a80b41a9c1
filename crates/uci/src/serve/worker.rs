//! The engine's thread.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use shakmaty::{CastlingMode, Position as _};

use super::{BestMove, Control, Engine, SearchRequest, output::Output, terminal_info};
use crate::message::{Go, OptionError, OptionValue, Reply};

/// Time for the engine to notice `stop` when the client quits.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// Work for the engine's thread, done in order.
pub(super) enum Job {
    SetOption {
        name: String,
        value: OptionValue,
    },
    NewGame,
    /// Send `readyok`.
    Ready,
    /// Search, or report why that is not possible and send `bestmove (none)`.
    Search {
        request: Result<Box<SearchRequest>, String>,
        control: Control,
    },
}

/// Handle of the engine's thread.
pub(super) struct Worker {
    jobs: Sender<Job>,
    /// Disconnected when the thread ends.
    done: Receiver<()>,
    output: Output,
    /// The latest search.
    current: Option<Control>,
}

impl Worker {
    pub(super) fn spawn(engine: impl Engine, output: Output) -> Worker {
        let (jobs, inbox) = mpsc::channel();
        let (done, ended) = mpsc::channel();
        let actor = Actor { engine, jobs: inbox, output: output.clone(), _done: done };
        thread::Builder::new()
            .name("uci engine".to_owned())
            .spawn(move || actor.run())
            .expect("cannot spawn a thread");
        Worker { jobs, done: ended, output, current: None }
    }

    pub(super) fn send(&self, job: Job) {
        // Cannot fail: the actor runs until this sender is dropped.
        let _ = self.jobs.send(job);
    }

    /// Sends `readyok`: at once during a search, otherwise after all earlier jobs.
    pub(super) fn ready(&self) {
        if self.searching().is_some() {
            self.output.send(&Reply::ReadyOk);
        } else {
            self.send(Job::Ready);
        }
    }

    /// Stops the current search and starts another one.
    pub(super) fn search(&mut self, request: Result<SearchRequest, (Go, String)>) {
        self.stop();
        let go = request.as_ref().map_or_else(|(go, _)| go, |request| &request.go);
        let control = Control::new(go, self.output.clone());
        self.current = Some(control.clone());
        let request = request.map(Box::new).map_err(|(_, reason)| reason);
        self.send(Job::Search { request, control });
    }

    pub(super) fn stop(&self) {
        self.searching().into_iter().for_each(Control::stop);
    }

    pub(super) fn ponder_hit(&self) {
        self.searching().into_iter().for_each(Control::ponder_hit);
    }

    /// Stops the search and waits for the thread to end, within limits.
    pub(super) fn shut_down(self) {
        self.stop();
        drop(self.jobs);
        let _ = self.done.recv_timeout(SHUTDOWN_GRACE);
    }

    fn searching(&self) -> Option<&Control> {
        self.current.as_ref().filter(|control| !control.finished())
    }
}

struct Actor<E> {
    engine: E,
    jobs: Receiver<Job>,
    output: Output,
    _done: Sender<()>,
}

impl<E: Engine> Actor<E> {
    fn run(mut self) {
        let prepare = || {
            self.engine.prepare();
            Ok(())
        };
        if let Err(reason) = catch_panic(prepare) {
            self.output.send_error(&reason);
        }
        while let Ok(job) = self.jobs.recv() {
            match job {
                Job::SetOption { name, value } => {
                    if let Err(reason) = catch_panic(|| self.engine.set_option(&name, value)) {
                        self.output.send_error(&OptionError::Rejected { name, reason });
                    }
                }
                Job::NewGame => {
                    let new_game = || {
                        self.engine.new_game();
                        Ok(())
                    };
                    if let Err(reason) = catch_panic(new_game) {
                        self.output.send_error(&reason);
                    }
                }
                Job::Ready => self.output.send(&Reply::ReadyOk),
                Job::Search { request, control } => self.search(request, &control),
            }
        }
    }

    fn search(&mut self, request: Result<Box<SearchRequest>, String>, control: &Control) {
        let mode = request.as_ref().map_or(CastlingMode::Standard, |request| request.game.castling_mode());
        let result = request.and_then(|request| {
            if request.game.current().legal_moves().is_empty() {
                control.report(terminal_info(&request.game));
                return Ok(None);
            }
            let result = catch_panic(|| self.engine.search(&request, control))?;
            check_legal(result, &request).map(Some)
        });
        let result = result.unwrap_or_else(|reason| {
            self.output.send_error(&reason);
            None
        });
        control.wait_for_release();
        control.finish(&Reply::BestMove {
            best: result.map(|result| result.best.to_uci(mode)),
            ponder: result.and_then(|result| result.ponder).map(|ponder| ponder.to_uci(mode)),
        });
    }
}

/// Rejects an illegal best move and drops an illegal ponder move.
fn check_legal(result: BestMove, request: &SearchRequest) -> Result<BestMove, String> {
    let position = request.game.current();
    if !position.is_legal(result.best) {
        let chosen = result.best.to_uci(request.game.castling_mode());
        return Err(format!("engine chose illegal move {chosen}"));
    }
    let mut after = position.clone();
    after.play_unchecked(result.best);
    Ok(BestMove { ponder: result.ponder.filter(|&ponder| after.is_legal(ponder)), ..result })
}

/// Turns a panic into an error, so that the client does not wait forever.
fn catch_panic<T>(act: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|panic| Err(format!("engine panicked: {}", panic_message(panic.as_ref()))))
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}
