use std::{
    fmt,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::message::{Info, Reply};

/// Where replies go, whole lines at a time, from any thread.
#[derive(Clone)]
pub(super) struct Output {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    stream: Box<dyn Write + Send>,
    /// The first failure: nobody listens any more.
    failure: Option<io::Error>,
}

impl Output {
    pub(super) fn new(stream: impl Write + Send + 'static) -> Output {
        Output { shared: Arc::new(Mutex::new(Shared { stream: Box::new(stream), failure: None })) }
    }

    pub(super) fn say(&self, reply: &Reply) {
        self.say_and(reply, || ());
    }

    /// Says something and does something, with nothing said in between.
    pub(super) fn say_and(&self, reply: &Reply, then: impl FnOnce()) {
        let mut shared = self.lock();
        let line = format!("{reply}\n");
        let written = shared.stream.write_all(line.as_bytes()).and_then(|()| shared.stream.flush());
        if let Err(error) = written {
            shared.failure.get_or_insert(error);
        }
        then();
    }

    pub(super) fn complain(&self, fault: &impl fmt::Display) {
        self.say(&Reply::Info(Box::new(Info::text(fault.to_string()))));
    }

    pub(super) fn broken(&self) -> bool {
        self.lock().failure.is_some()
    }

    pub(super) fn result(&self) -> io::Result<()> {
        self.lock().failure.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A line that was being written when its writer panicked is no reason to fall silent.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
