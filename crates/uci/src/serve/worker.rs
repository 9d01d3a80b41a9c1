//! The thread the engine lives on.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use shakmaty::{Position as _, uci::UciMove};

use super::{Answer, Control, Engine, Task, messages::Order, output::Output, verdict};
use crate::message::{Go, OptionFault, OptionValue, Reply};

/// How long an engine may take to notice that it should stop, when the client leaves.
const FAREWELL: Duration = Duration::from_secs(5);

/// The reading thread's side.
pub(super) struct Handle {
    orders: Sender<Order>,
    done: Receiver<()>,
    output: Output,
    /// The latest thinking asked for.
    current: Option<Control>,
}

/// The engine's side.
struct Actor<E> {
    engine: E,
    orders: Receiver<Order>,
    output: Output,
    /// Dropped at the end, which the handle notices.
    _done: Sender<()>,
}

fn channel<E: Engine>(engine: E, output: Output) -> (Handle, Actor<E>) {
    let (orders, inbox) = mpsc::channel();
    let (done, ended) = mpsc::channel();
    let handle = Handle { orders, done: ended, output: output.clone(), current: None };
    (handle, Actor { engine, orders: inbox, output, _done: done })
}

impl Handle {
    pub(super) fn start(engine: impl Engine, output: Output) -> Handle {
        let (handle, actor) = channel(engine, output);
        thread::Builder::new()
            .name("uci engine".to_owned())
            .spawn(move || actor.run())
            .expect("a thread can be started");
        handle
    }

    pub(super) fn set_option(&self, name: String, value: OptionValue) {
        self.order(Order::SetOption { name, value });
    }

    pub(super) fn new_game(&self) {
        self.order(Order::NewGame);
    }

    /// Says `readyok`: at once while the engine thinks, else when it has done all that was asked.
    pub(super) fn ready(&self) {
        if self.thinking().is_some() {
            self.output.say(&Reply::ReadyOk);
        } else {
            self.order(Order::Ready);
        }
    }

    /// Stops the thinking there is, and starts anew.
    pub(super) fn think(&mut self, task: Task) {
        self.stop();
        let control = Control::new(&task.go, self.output.clone());
        self.current = Some(control.clone());
        self.order(Order::Think { task: Box::new(task), control });
    }

    /// Stops the thinking there is, and answers a `go` with no move.
    pub(super) fn refuse(&mut self, go: &Go, reason: String) {
        self.stop();
        let control = Control::new(go, self.output.clone());
        self.current = Some(control.clone());
        self.order(Order::Refuse { reason, control });
    }

    pub(super) fn stop(&self) {
        self.thinking().into_iter().for_each(Control::stop);
    }

    pub(super) fn ponder_hit(&self) {
        self.thinking().into_iter().for_each(Control::ponder_hit);
    }

    /// Stops and waits until the engine has answered, but not for ever: the process is about to end.
    pub(super) fn finish(self) {
        self.stop();
        drop(self.orders);
        // Either it ended or it is too late to wait.
        let _ = self.done.recv_timeout(FAREWELL);
    }

    fn thinking(&self) -> Option<&Control> {
        self.current.as_ref().filter(|control| !control.finished())
    }

    fn order(&self, order: Order) {
        // It always arrives: the actor ends only when this sender is gone.
        let _ = self.orders.send(order);
    }
}

impl<E: Engine> Actor<E> {
    fn run(mut self) {
        while let Ok(order) = self.orders.recv() {
            match order {
                Order::SetOption { name, value } => {
                    let set = guard(|| self.engine.set_option(&name, value));
                    if let Err(reason) = set {
                        self.output.complain(&OptionFault::Refused { name, reason });
                    }
                }
                Order::NewGame => {
                    if let Err(reason) = guard(|| {
                        self.engine.new_game();
                        Ok(())
                    }) {
                        self.output.complain(&reason);
                    }
                }
                Order::Ready => self.output.say(&Reply::ReadyOk),
                Order::Think { task, control } => self.think(&task, &control),
                Order::Refuse { reason, control } => {
                    self.output.complain(&reason);
                    control.wait_until_answerable();
                    control.answer(&Reply::BestMove { best: None, ponder: None });
                }
            }
        }
    }

    fn think(&mut self, task: &Task, control: &Control) {
        let position = task.game.current();
        let answer = if position.legal_moves().is_empty() {
            control.report(verdict(&task.game));
            None
        } else {
            guard(|| self.engine.think(task, control))
                .and_then(|answer| legal(answer, task))
                .map_err(|reason| self.output.complain(&reason))
                .ok()
        };
        control.wait_until_answerable();
        let standard = UciMove::from_standard;
        control.answer(&Reply::BestMove {
            best: answer.map(|answer| standard(answer.best)),
            ponder: answer.and_then(|answer| answer.ponder).map(standard),
        });
    }
}

/// An answer the client can use: a legal move, and a legal one to ponder on or none.
fn legal(answer: Answer, task: &Task) -> Result<Answer, String> {
    let position = task.game.current();
    if !position.is_legal(answer.best) {
        return Err(format!("the engine chose {}, which is not legal", UciMove::from_standard(answer.best)));
    }
    let mut after = position.clone();
    after.play_unchecked(answer.best);
    Ok(Answer { ponder: answer.ponder.filter(|&ponder| after.is_legal(ponder)), ..answer })
}

/// Turns a panic into an error: the client shall hear of it and not wait for an answer that never comes.
fn guard<T>(act: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(act))
        .unwrap_or_else(|panic| Err(format!("the engine failed: {}", words(panic.as_ref()))))
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked")
}
