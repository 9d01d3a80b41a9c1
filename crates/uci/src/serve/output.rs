use std::{
    fmt,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::message::{Info, Reply};

/// Writes replies line by line, from any thread.
#[derive(Clone)]
pub(super) struct Output {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    stream: Box<dyn Write + Send>,
    /// The first write error.
    error: Option<io::Error>,
}

impl Output {
    pub(super) fn new(stream: impl Write + Send + 'static) -> Output {
        Output { shared: Arc::new(Mutex::new(Shared { stream: Box::new(stream), error: None })) }
    }

    pub(super) fn send(&self, reply: &Reply) {
        self.send_then(reply, || ());
    }

    /// Writes a reply and runs `then` before any other reply is written.
    pub(super) fn send_then(&self, reply: &Reply, then: impl FnOnce()) {
        let mut shared = self.lock();
        let line = format!("{reply}\n");
        let written = shared.stream.write_all(line.as_bytes()).and_then(|()| shared.stream.flush());
        if let Err(error) = written {
            shared.error.get_or_insert(error);
        }
        then();
    }

    /// Sends an error as `info string`.
    pub(super) fn send_error(&self, error: &impl fmt::Display) {
        self.send(&Reply::Info(Box::new(Info::text(error.to_string()))));
    }

    pub(super) fn has_failed(&self) -> bool {
        self.lock().error.is_some()
    }

    pub(super) fn result(&self) -> io::Result<()> {
        self.lock().error.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Keep writing even if a writer panicked.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
