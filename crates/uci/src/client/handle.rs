use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread::{self, JoinHandle},
};

use super::{
    EngineConfig, EngineError, EngineErrorKind, EngineInfo, SearchResult, Transcript,
    actor::Actor,
    messages::{Interrupt, Message, SearchId, SearchJob},
};
use crate::message::{GameHistory, Go, Info};

/// An engine process that is restarted after failures. Dropping the client ends the process.
pub struct Client {
    outbox: SyncSender<Message>,
    info: EngineInfo,
    status: Arc<ProcessStatus>,
    next: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

/// State of the process, readable without asking the actor.
#[derive(Default)]
pub(super) struct ProcessStatus {
    pub(super) restarts: AtomicU32,
    /// Process id; 0 if not running.
    pub(super) pid: AtomicU32,
}

/// A running search. Dropping it stops the search.
pub struct PendingSearch {
    result: Receiver<Result<SearchResult, EngineError>>,
    handle: SearchHandle,
    engine: String,
}

/// Stops a search from any thread. Has no effect after the search has ended.
#[derive(Clone)]
pub struct SearchHandle {
    outbox: SyncSender<Message>,
    id: SearchId,
}

impl Client {
    /// Starts an engine, performs the handshake and sets its options.
    ///
    /// # Errors
    /// If the engine cannot be started, does not complete the handshake, or rejects an option.
    ///
    /// # Panics
    /// If no thread can be spawned.
    pub fn start(config: EngineConfig) -> Result<Client, EngineError> {
        // Bounded, so that an engine that floods its output fills its own pipe, not our memory.
        let (outbox, inbox) = mpsc::sync_channel(1024);
        let status = Arc::new(ProcessStatus::default());
        let info = EngineInfo { name: config.file_name(), ..EngineInfo::default() };
        let actor = Actor::new(config, inbox, outbox.clone(), Arc::clone(&status));
        let thread = thread::Builder::new().name("uci client".to_owned()).spawn(move || actor.run());
        let thread = Some(thread.expect("cannot spawn a thread"));
        let mut client = Client { outbox, info, status, next: AtomicU64::new(0), thread };
        client.info = client.ask(|reply| Message::Start { reply })?;
        Ok(client)
    }

    /// Identification and options of the engine.
    pub fn info(&self) -> &EngineInfo {
        &self.info
    }

    /// Sets an option now and after every restart. Buttons have no value.
    ///
    /// # Errors
    /// If the option or value is invalid, or the engine fails.
    pub fn set_option(&self, name: &str, value: Option<&str>) -> Result<(), EngineError> {
        let (name, value) = (name.to_owned(), value.map(str::to_owned));
        self.ask(|reply| Message::SetOption { name, value, reply })
    }

    /// Sends `ucinewgame`.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn new_game(&self) -> Result<(), EngineError> {
        self.ask(|reply| Message::NewGame { reply })
    }

    /// Searches and waits for the result.
    ///
    /// # Errors
    /// If the engine crashes, times out or answers with an illegal move. It is restarted for the next search.
    pub fn search(&self, game: &GameHistory, go: &Go) -> Result<SearchResult, EngineError> {
        self.start_search(game, go, |_| {}).wait()
    }

    /// Starts a search. `on_info` is called on the thread that reads the engine: it must return quickly and must not
    /// call the client.
    pub fn start_search(
        &self,
        game: &GameHistory,
        go: &Go,
        on_info: impl FnMut(&Info) + Send + 'static,
    ) -> PendingSearch {
        let id = SearchId(self.next.fetch_add(1, Ordering::Relaxed));
        let (reply, result) = mpsc::channel();
        let (game, go, on_info) = (game.clone(), go.clone(), Box::new(on_info));
        self.send(Message::Search(Box::new(SearchJob { id, game, go, on_info, reply })));
        let handle = SearchHandle { outbox: self.outbox.clone(), id };
        PendingSearch { result, handle, engine: self.info.name.clone() }
    }

    /// Number of restarts so far.
    pub fn restarts(&self) -> u32 {
        self.status.restarts.load(Ordering::Relaxed)
    }

    /// Process id, if the engine is running.
    pub fn process_id(&self) -> Option<u32> {
        Some(self.status.pid.load(Ordering::Relaxed)).filter(|&id| id != 0)
    }

    fn ask<T>(
        &self,
        message: impl FnOnce(Sender<Result<T, EngineError>>) -> Message,
    ) -> Result<T, EngineError> {
        let (reply, answer) = mpsc::channel();
        self.send(message(reply));
        answer.recv().unwrap_or_else(|_| Err(closed(&self.info.name)))
    }

    fn send(&self, message: Message) {
        // If the actor is gone, the missing reply reports it.
        let _ = self.outbox.send(message);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.send(Message::Quit);
        if let Some(thread) = self.thread.take() {
            // A panicking actor kills its process while unwinding.
            let _ = thread.join();
        }
    }
}

impl PendingSearch {
    /// Waits for the result.
    ///
    /// # Errors
    /// If the engine fails.
    pub fn wait(self) -> Result<SearchResult, EngineError> {
        self.result.recv().unwrap_or_else(|_| Err(closed(&self.engine)))
    }

    /// A handle to stop the search while another thread waits.
    pub fn handle(&self) -> SearchHandle {
        self.handle.clone()
    }
}

impl Drop for PendingSearch {
    fn drop(&mut self) {
        self.handle.stop();
    }
}

impl SearchHandle {
    /// Sends `stop`.
    pub fn stop(&self) {
        // If the actor is gone, nothing is left to stop.
        let _ = self.outbox.send(Message::Interrupt(Interrupt::Stop(self.id)));
    }

    /// Sends `ponderhit`.
    pub fn ponder_hit(&self) {
        let _ = self.outbox.send(Message::Interrupt(Interrupt::PonderHit(self.id)));
    }
}

fn closed(engine: &str) -> EngineError {
    let (engine, transcript) = (engine.to_owned(), Transcript::default());
    EngineError { engine, kind: EngineErrorKind::Closed, transcript }
}
