use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread::{self, JoinHandle},
};

use super::{
    About, Fault, Launch, Thought,
    actor::{self, Actor},
    messages::{Message, Think, ThinkId},
};
use crate::message::{GameSoFar, Go, Info};

/// An engine to ask. Its process is started again when it fails; dropping this ends it.
pub struct Client {
    outbox: SyncSender<Message>,
    about: About,
    pub(super) vitals: Arc<Vitals>,
    next: AtomicU64,
    thread: Option<JoinHandle<()>>,
}

/// What is known about the process from outside.
#[derive(Default)]
pub(super) struct Vitals {
    pub(super) restarts: AtomicU32,
    /// 0 is none.
    pub(super) process: AtomicU32,
}

/// A question being thought about. Dropping it tells the engine to stop.
pub struct Thinking {
    result: Receiver<Result<Thought, Fault>>,
    interrupt: Interrupt,
    engine: String,
}

/// Reaches an engine while it thinks about one question, from any thread. Too late, it does nothing.
#[derive(Clone)]
pub struct Interrupt {
    outbox: SyncSender<Message>,
    id: ThinkId,
}

impl Client {
    /// Starts an engine, learns what it is and sets its options.
    ///
    /// # Errors
    /// When it cannot be started, does not speak UCI, or does not offer an option.
    ///
    /// # Panics
    /// If no thread can be started.
    pub fn start(launch: Launch) -> Result<Client, Fault> {
        let (mut client, actor) = channel(launch);
        let run = move || actor.run();
        let thread = thread::Builder::new().name("uci client".to_owned()).spawn(run);
        client.thread = Some(thread.expect("a thread can be started"));
        client.about = client.ask(|reply| Message::About { reply })?;
        Ok(client)
    }

    /// What the engine is.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// Sets an option, now and whenever the engine is started again. A button has no value.
    ///
    /// # Errors
    /// When the engine does not offer it, not that value, or fails.
    pub fn set_option(&self, name: &str, value: Option<&str>) -> Result<(), Fault> {
        let (name, value) = (name.to_owned(), value.map(str::to_owned));
        self.ask(|reply| Message::SetOption { name, value, reply })
    }

    /// What comes is of another game.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn new_game(&self) -> Result<(), Fault> {
        self.ask(|reply| Message::NewGame { reply })
    }

    /// Asks for a move and waits for it.
    ///
    /// # Errors
    /// When the engine fails: it crashes, stays silent or answers nonsense. It is started again for the next
    /// question.
    pub fn think(&self, game: &GameSoFar, go: &Go) -> Result<Thought, Fault> {
        self.begin(game, go, |_| {}).wait()
    }

    /// Asks for a move, and does not wait. `hear` is told what the engine says meanwhile, on the thread that reads the
    /// engine: it must be quick, and cannot ask the client anything.
    pub fn begin(&self, game: &GameSoFar, go: &Go, hear: impl FnMut(&Info) + Send + 'static) -> Thinking {
        let id = ThinkId(self.next.fetch_add(1, Ordering::Relaxed));
        let (reply, result) = mpsc::channel();
        let hear = Box::new(hear);
        self.send(Message::Think(Box::new(Think { id, game: game.clone(), go: go.clone(), hear, reply })));
        let interrupt = Interrupt { outbox: self.outbox.clone(), id };
        Thinking { result, interrupt, engine: self.about.name.clone() }
    }

    /// How often the engine had to be started again.
    pub fn restarts(&self) -> u32 {
        self.vitals.restarts.load(Ordering::Relaxed)
    }

    /// The number of its process, while there is one.
    pub fn process_id(&self) -> Option<u32> {
        Some(self.vitals.process.load(Ordering::Relaxed)).filter(|&id| id != 0)
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<Result<T, Fault>>) -> Message) -> Result<T, Fault> {
        let (reply, answer) = mpsc::channel();
        self.send(message(reply));
        answer.recv().unwrap_or_else(|_| Err(Fault::Closed { engine: self.about.name.clone() }))
    }

    fn send(&self, message: Message) {
        // Where the actor is gone its answer is missing too, which the caller notices.
        let _ = self.outbox.send(message);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.send(Message::Quit);
        if let Some(thread) = self.thread.take() {
            // If it panicked, its process was killed on the way.
            let _ = thread.join();
        }
    }
}

impl Thinking {
    /// Waits for the answer.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn wait(self) -> Result<Thought, Fault> {
        self.result.recv().unwrap_or_else(|_| Err(Fault::Closed { engine: self.engine.clone() }))
    }

    /// To reach the engine while another thread waits.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

impl Drop for Thinking {
    fn drop(&mut self) {
        self.interrupt.stop();
    }
}

impl Interrupt {
    /// Asks for the answer now.
    pub fn stop(&self) {
        // Where the actor is gone nothing is left to stop.
        let _ = self.outbox.send(Message::Stop(self.id));
    }

    /// The move pondered on was played: from now on the time is the engine's own.
    pub fn ponder_hit(&self) {
        // As above.
        let _ = self.outbox.send(Message::PonderHit(self.id));
    }
}

fn channel(launch: Launch) -> (Client, Actor) {
    // Bounded, so that an engine that floods fills its own pipe and not our memory.
    let (outbox, inbox) = mpsc::sync_channel(1024);
    let vitals = Arc::new(Vitals::default());
    let name = actor::file_name(&launch);
    let actor = Actor::new(launch, inbox, outbox.clone(), Arc::clone(&vitals));
    let about = About { name, ..About::default() };
    (Client { outbox, about, vitals, next: AtomicU64::new(0), thread: None }, actor)
}
