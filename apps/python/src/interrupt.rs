//! Long work without the interpreter's lock, which Ctrl-C ends.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pyo3::prelude::*;

/// How often signals are looked for.
const POLL: Duration = Duration::from_millis(100);

/// Looks for signals when it is called without the interpreter's lock, and keeps the exception they raise.
#[derive(Default)]
pub(crate) struct Signals(Option<PyErr>);

impl Signals {
    pub(crate) fn poll(&mut self) -> ControlFlow<()> {
        self.poll_with(|_| Ok(()))
    }

    /// The same, and calls `show` with the lock.
    pub(crate) fn poll_with(&mut self, show: impl FnOnce(Python<'_>) -> PyResult<()>) -> ControlFlow<()> {
        match Python::attach(|py| py.check_signals().and_then(|()| show(py))) {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.0.get_or_insert(raised);
                ControlFlow::Break(())
            }
        }
    }

    /// The exception that was raised, else `error`.
    pub(crate) fn or(self, error: impl FnOnce() -> PyErr) -> PyErr {
        self.0.unwrap_or_else(error)
    }
}

/// Runs `work` on a thread of its own. What it sends is shown on this thread; a signal or an exception in `show` calls
/// `cancel`, and is raised when the work has ended.
pub(crate) fn interruptible<T: Send, P: Send>(
    py: Python<'_>,
    cancel: impl Fn(),
    work: impl FnOnce(&Sender<P>) -> T + Send,
    mut show: impl FnMut(Python<'_>, P) -> PyResult<()>,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (sender, events) = channel();
        // The receiver waits without the lock, and only there.
        let events = Mutex::new(events);
        let worker = scope.spawn(move || work(&sender));
        let mut raised = None;
        loop {
            let event =
                py.detach(|| events.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(POLL));
            let shown = match event {
                Ok(event) => show(py, event),
                Err(RecvTimeoutError::Timeout) => Ok(()),
                Err(RecvTimeoutError::Disconnected) => break,
            };
            if let Err(error) = shown.and_then(|()| py.check_signals()) {
                cancel();
                raised.get_or_insert(error);
            }
        }
        let done = py.detach(|| worker.join());
        match (raised, done) {
            (Some(raised), _) => Err(raised),
            (None, Ok(done)) => Ok(done),
            (None, Err(panic)) => std::panic::resume_unwind(panic),
        }
    })
}
