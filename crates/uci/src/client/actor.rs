//! The thread that owns the engine: it alone starts, asks and ends the process.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use shakmaty::{Color, Move, Position as _, uci::UciMove};

use super::{
    About, Cue, Fault, Launch, Recent, Thought,
    handle::Vitals,
    messages::{Message, Stream, Think, ThinkId},
    process::Process,
};
use crate::message::{
    Command, Go, Info, OptionFault, OptionSpec, OptionValue, Position, Reply, Unreadable, fen_of,
};

/// How many best lines are kept.
const MOST_LINES: usize = 512;
/// How long the last words of an engine that ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How often an engine that should end is looked at.
const LOOK: Duration = Duration::from_millis(2);

pub(super) struct Actor {
    launch: Launch,
    inbox: Receiver<Message>,
    /// For the threads at the pipes.
    outbox: SyncSender<Message>,
    vitals: Arc<Vitals>,
    process: Option<Process>,
    /// How many processes there were.
    started: u32,
    about: About,
    recent: Recent,
    /// Wishes that came while the engine was busy with another.
    pending: VecDeque<Message>,
    /// Interruptions of questions not asked yet.
    early: Vec<Interruption>,
    /// The latest question dealt with: interruptions of it come too late.
    asked: Option<ThinkId>,
    quitting: bool,
}

/// Something that happens while the actor waits for its engine.
enum Event {
    Reply {
        reply: Reply,
        at: Instant,
    },
    /// A `bestmove` that holds no move.
    Nonsense {
        line: String,
    },
    Interruption(Interruption),
    Ended,
    TimeOut,
    /// A wish is pending.
    Wish,
    Quit,
}

#[derive(Clone, Copy)]
enum Interruption {
    Stop(ThinkId),
    PonderHit(ThinkId),
}

impl Interruption {
    fn id(self) -> ThinkId {
        match self {
            Interruption::Stop(id) | Interruption::PonderHit(id) => id,
        }
    }
}

pub(super) fn file_name(launch: &Launch) -> String {
    launch.program.file_name().unwrap_or(launch.program.as_os_str()).to_string_lossy().into_owned()
}

impl Actor {
    pub(super) fn new(
        launch: Launch,
        inbox: Receiver<Message>,
        outbox: SyncSender<Message>,
        vitals: Arc<Vitals>,
    ) -> Actor {
        let about = About { name: file_name(&launch), ..About::default() };
        Actor {
            launch,
            inbox,
            outbox,
            vitals,
            process: None,
            started: 0,
            about,
            recent: Recent::default(),
            pending: VecDeque::new(),
            early: Vec::new(),
            asked: None,
            quitting: false,
        }
    }

    pub(super) fn run(mut self) {
        // The caller of a request may have gone meanwhile: then nobody wants its answer.
        while !self.quitting {
            match self.next_wish() {
                Some(Message::About { reply }) => {
                    let about = self.ensure_running().map(|()| self.about.clone());
                    let _ = reply.send(about);
                }
                Some(Message::SetOption { name, value, reply }) => {
                    let set = self.set_option(name, value);
                    let _ = reply.send(set);
                }
                Some(Message::NewGame { reply }) => {
                    let begun = self.ensure_running().and_then(|()| self.new_game());
                    let _ = reply.send(begun);
                }
                Some(Message::Think(mut think)) => {
                    let thought = self.think(&mut think);
                    self.asked = Some(think.id);
                    let _ = think.reply.send(thought);
                }
                _ => break,
            }
        }
        self.end();
    }

    /// The next thing to do; `None` to end.
    fn next_wish(&mut self) -> Option<Message> {
        if let Some(wish) = self.pending.pop_front() {
            return Some(wish);
        }
        loop {
            // What an idle engine says is read, so that it is not stuck, and kept for the next fault.
            match self.wait(None) {
                Event::Quit => return None,
                Event::Ended => {
                    self.bury();
                }
                Event::Interruption(early) => self.remember(early),
                _ => {}
            }
            if let Some(wish) = self.pending.pop_front() {
                return Some(wish);
            }
        }
    }

    /// Waits for something to happen.
    fn wait(&mut self, deadline: Option<Instant>) -> Event {
        loop {
            let message = match deadline {
                Some(deadline) => {
                    // Looked at even when there is always a message, or a flood would have no end.
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Event::TimeOut;
                    }
                    self.inbox.recv_timeout(left)
                }
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match message {
                Ok(Message::Said { process, stream, line, at }) => {
                    if let Some(event) = self.heard(process, stream, line, at) {
                        return event;
                    }
                }
                Ok(Message::Ended { process, stream }) => {
                    if stream == Stream::Output && self.is_current(process) {
                        return Event::Ended;
                    }
                }
                Ok(Message::Stop(id)) => return Event::Interruption(Interruption::Stop(id)),
                Ok(Message::PonderHit(id)) => return Event::Interruption(Interruption::PonderHit(id)),
                Ok(Message::Quit) => {
                    self.quitting = true;
                    return Event::Quit;
                }
                Ok(wish) => {
                    self.pending.push_back(wish);
                    return Event::Wish;
                }
                Err(RecvTimeoutError::Timeout) => return Event::TimeOut,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the actor itself holds a sender"),
            }
        }
    }

    /// Keeps a line for the record; an event if it matters.
    fn heard(&mut self, process: u32, stream: Stream, line: String, at: Instant) -> Option<Event> {
        if !self.is_current(process) {
            return None;
        }
        self.recent.push(if stream == Stream::Output { '<' } else { '!' }, &line);
        if stream == Stream::Errors {
            return None;
        }
        match line.parse() {
            Ok(reply) => Some(Event::Reply { reply, at }),
            Err(Unreadable::Malformed { message: "bestmove", .. }) => Some(Event::Nonsense { line }),
            // Engines say all kinds of things: a banner, a copyright, the board.
            Err(_) => None,
        }
    }

    fn is_current(&self, process: u32) -> bool {
        self.process.as_ref().is_some_and(|current| current.number == process)
    }

    fn remember(&mut self, early: Interruption) {
        if self.asked.is_none_or(|asked| asked < early.id()) {
            self.early.push(early);
        }
    }

    fn say(&mut self, command: &Command) {
        let line = command.to_string();
        self.recent.push('>', &line);
        if let Some(process) = &self.process {
            process.say(line);
        }
    }

    fn engine(&self) -> String {
        self.about.name.clone()
    }

    fn closed(&self) -> Fault {
        Fault::Closed { engine: self.engine() }
    }
}

/// Starting and ending.
impl Actor {
    fn ensure_running(&mut self) -> Result<(), Fault> {
        if self.process.is_some() {
            return Ok(());
        }
        if self.started > 0 {
            let restarts = self.vitals.restarts.load(Ordering::Relaxed);
            if restarts >= self.launch.most_restarts {
                return Err(Fault::GaveUp { engine: self.engine(), restarts });
            }
            self.vitals.restarts.store(restarts + 1, Ordering::Relaxed);
        }
        self.started += 1;
        self.recent = Recent::default();
        let process = Process::spawn(&self.launch, self.started, &self.outbox)
            .map_err(|error| Fault::Start { program: self.launch.program.clone(), error: Arc::new(error) })?;
        self.vitals.process.store(process.id(), Ordering::Relaxed);
        self.process = Some(process);
        let begun = self.greet();
        if begun.is_err() {
            self.bury();
        }
        begun
    }

    /// Learns what the engine is, sets its options and begins a game.
    fn greet(&mut self) -> Result<(), Fault> {
        let waited = self.launch.patience.handshake;
        let deadline = Instant::now() + waited;
        let mut about = About { name: file_name(&self.launch), ..About::default() };
        self.say(&Command::Uci);
        loop {
            match self.wait(Some(deadline)) {
                Event::Reply { reply, .. } => match reply {
                    Reply::Name(name) if !name.is_empty() => about.name = name,
                    Reply::Author(author) => about.author = Some(author),
                    Reply::Option(spec) => about.options.push(spec),
                    Reply::UciOk => break,
                    _ => {}
                },
                Event::Interruption(early) => self.remember(early),
                Event::Ended => return Err(self.died()),
                Event::TimeOut => {
                    let (engine, recent) = (self.engine(), self.recent.clone());
                    return Err(Fault::NoHandshake { engine, waited, recent });
                }
                Event::Quit => return Err(self.closed()),
                Event::Nonsense { .. } | Event::Wish => {}
            }
        }
        self.about = about;
        for (name, value) in self.launch.options.clone() {
            self.send_option(&name, value.as_deref())?;
        }
        self.new_game()
    }

    fn new_game(&mut self) -> Result<(), Fault> {
        self.say(&Command::NewGame);
        self.ready()
    }

    fn set_option(&mut self, name: String, value: Option<String>) -> Result<(), Fault> {
        self.ensure_running()?;
        self.send_option(&name, value.as_deref())?;
        self.ready()?;
        match self.launch.options.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some(known) => known.1 = value,
            None => self.launch.options.push((name, value)),
        }
        Ok(())
    }

    fn send_option(&mut self, name: &str, value: Option<&str>) -> Result<(), Fault> {
        let checked = OptionSpec::find(&self.about.options, name)
            .and_then(|spec| Ok((spec.name.clone(), spec.read(value)?)))
            .map_err(|fault: OptionFault| Fault::Option { engine: self.engine(), fault });
        let (name, value) = checked?;
        let value = (value != OptionValue::Button).then(|| value.to_string());
        self.say(&Command::SetOption { name, value });
        Ok(())
    }

    /// Waits until the engine has done all it was told: what it says after this answers what it is asked after this.
    fn ready(&mut self) -> Result<(), Fault> {
        let waited = self.launch.patience.ready;
        let deadline = Instant::now() + waited;
        self.say(&Command::IsReady);
        loop {
            match self.wait(Some(deadline)) {
                Event::Reply { reply: Reply::ReadyOk, .. } => return Ok(()),
                Event::Interruption(early) => self.remember(early),
                Event::Ended => return Err(self.died()),
                Event::TimeOut => {
                    self.bury();
                    let (engine, recent) = (self.engine(), self.recent.clone());
                    return Err(Fault::NotReady { engine, waited, recent });
                }
                Event::Quit => return Err(self.closed()),
                Event::Reply { .. } | Event::Nonsense { .. } | Event::Wish => {}
            }
        }
    }

    /// The engine closed its output: reads its last words and says how it ended.
    fn died(&mut self) -> Fault {
        let number = self.started;
        let deadline = Instant::now() + LAST_WORDS;
        while self.process.as_mut().is_some_and(|process| !process.ended()) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.inbox.recv_timeout(left) {
                Ok(Message::Ended { process, stream: Stream::Errors }) if process == number => break,
                Ok(Message::Said { process, stream, line, at }) => {
                    drop(self.heard(process, stream, line, at));
                }
                Ok(Message::Ended { .. }) => {}
                Ok(Message::Stop(id)) => self.remember(Interruption::Stop(id)),
                Ok(Message::PonderHit(id)) => self.remember(Interruption::PonderHit(id)),
                Ok(Message::Quit) => self.quitting = true,
                Ok(wish) => self.pending.push_back(wish),
                Err(_) => break,
            }
        }
        let status = self.bury();
        Fault::Died { engine: self.engine(), status, recent: self.recent.clone() }
    }

    /// Kills the engine, if it still runs.
    fn bury(&mut self) -> Option<std::process::ExitStatus> {
        self.vitals.process.store(0, Ordering::Relaxed);
        self.process.take().and_then(|mut process| process.kill())
    }

    /// Lets the engine end by itself, for a while.
    fn end(&mut self) {
        self.say(&Command::Quit);
        if let Some(process) = &mut self.process {
            process.close();
            let deadline = Instant::now() + self.launch.patience.quit;
            while !process.ended() && Instant::now() < deadline {
                // Read on: an engine that still has much to say must get rid of it before it can end.
                let _ = self.inbox.recv_timeout(LOOK);
            }
        }
        self.bury();
    }
}

/// Asking.
impl Actor {
    fn think(&mut self, think: &mut Think) -> Result<Thought, Fault> {
        let position = think.game.current();
        if position.legal_moves().is_empty() {
            return Err(Fault::GameOver { fen: fen_of(position) });
        }
        self.ensure_running()?;
        self.ready()?;
        self.say(&Command::Position(Position::from(&think.game)));
        self.say(&Command::Go(think.go.clone()));
        let mut question = Question::new(think, &self.launch);
        for early in std::mem::take(&mut self.early) {
            if early.id() == think.id {
                self.interrupt(&mut question, think, early);
            } else if early.id() > think.id {
                self.early.push(early);
            }
        }
        loop {
            match self.wait(question.deadline) {
                Event::Reply { reply: Reply::Info(info), .. } => {
                    (think.hear)(&info);
                    question.hear(*info);
                }
                Event::Reply { reply: Reply::BestMove { best, ponder }, at } => {
                    return match best.and_then(|best| best.to_move(position).ok()) {
                        Some(best) => Ok(question.answered(think, best, ponder, at)),
                        None => {
                            let answer = Reply::BestMove { best, ponder }.to_string();
                            Err(self.illegal(think, answer))
                        }
                    };
                }
                Event::Nonsense { line } => return Err(self.illegal(think, line)),
                Event::Interruption(interruption) if interruption.id() == think.id => {
                    self.interrupt(&mut question, think, interruption);
                }
                Event::Interruption(early) => self.remember(early),
                Event::TimeOut if question.stopped.is_none() => self.stop(&mut question, Cue::Overdue),
                Event::TimeOut => {
                    self.bury();
                    let waited = question.begun.elapsed();
                    return Err(Fault::Silent { engine: self.engine(), waited, recent: self.recent.clone() });
                }
                Event::Ended => return Err(self.died()),
                Event::Quit => return Err(self.closed()),
                Event::Reply { .. } | Event::Wish => {}
            }
        }
    }

    fn illegal(&self, think: &Think, answer: String) -> Fault {
        let fen = fen_of(think.game.current());
        Fault::IllegalMove { engine: self.engine(), answer, fen, recent: self.recent.clone() }
    }

    fn interrupt(&mut self, question: &mut Question, think: &Think, interruption: Interruption) {
        match interruption {
            Interruption::Stop(_) if question.stopped.is_none() => self.stop(question, Cue::Stopped),
            Interruption::PonderHit(_) if question.pondering => {
                self.say(&Command::PonderHit);
                question.begun = Instant::now();
                question.pondering = false;
                if question.stopped.is_none() {
                    question.deadline = deadline(think, &self.launch, question.begun);
                }
            }
            Interruption::Stop(_) | Interruption::PonderHit(_) => {}
        }
    }

    fn stop(&mut self, question: &mut Question, cue: Cue) {
        self.say(&Command::Stop);
        question.stopped = Some(cue);
        question.deadline = Some(Instant::now() + self.launch.patience.stop);
    }
}

/// A question the engine thinks about.
struct Question {
    begun: Instant,
    pondering: bool,
    /// When patience ends; none while it may think without end.
    deadline: Option<Instant>,
    /// Why it was told to stop.
    stopped: Option<Cue>,
    lines: BTreeMap<u32, Info>,
}

impl Question {
    fn new(think: &Think, launch: &Launch) -> Question {
        let begun = Instant::now();
        let pondering = think.go.ponder;
        let deadline = if pondering { None } else { deadline(think, launch, begun) };
        Question { begun, pondering, deadline, stopped: None, lines: BTreeMap::new() }
    }

    fn hear(&mut self, info: Info) {
        let rank = info.multipv.unwrap_or(1);
        let known = self.lines.contains_key(&rank);
        if (info.score.is_some() || !info.pv.is_empty()) && (known || self.lines.len() < MOST_LINES) {
            self.lines.insert(rank, info);
        }
    }

    fn answered(self, think: &Think, best: Move, ponder: Option<UciMove>, at: Instant) -> Thought {
        let mut after = think.game.current().clone();
        after.play_unchecked(best);
        Thought {
            best,
            ponder: ponder.and_then(|ponder| ponder.to_move(&after).ok()),
            lines: self.lines.into_values().collect(),
            time: at.saturating_duration_since(self.begun),
            cue: self.stopped.unwrap_or(Cue::Own),
        }
    }
}

fn deadline(think: &Think, launch: &Launch, begun: Instant) -> Option<Instant> {
    allowance(&think.go, think.game.current().turn(), launch).and_then(|time| begun.checked_add(time))
}

/// How long the engine may take; `None` is without end.
fn allowance(go: &Go, turn: Color, launch: &Launch) -> Option<Duration> {
    let patience = &launch.patience;
    if go.infinite {
        return None;
    }
    let own = [go.move_time, go.clock[turn]].into_iter().flatten().min();
    Some(own.map_or(patience.unclocked, |own| own.saturating_add(patience.margin)))
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;

    use super::*;

    #[test]
    fn the_tightest_limit_counts() {
        let launch = Launch::new("engine");
        let margin = launch.patience.margin;
        let seconds = Duration::from_secs;
        let allowed = |go: &Go, turn| allowance(go, turn, &launch);
        let mut go = Go::clocks(ByColor { white: seconds(9), black: seconds(5) }, ByColor::default());
        assert_eq!(allowed(&go, Color::White), Some(seconds(9) + margin));
        assert_eq!(allowed(&go, Color::Black), Some(seconds(5) + margin));
        go.move_time = Some(seconds(7));
        assert_eq!(allowed(&go, Color::White), Some(seconds(7) + margin));
        assert_eq!(allowed(&Go::nodes(1), Color::White), Some(launch.patience.unclocked));
        assert_eq!(allowed(&Go::infinite(), Color::White), None);
        assert_eq!(allowed(&Go::move_time(Duration::MAX), Color::White), Some(Duration::MAX));
    }
}
