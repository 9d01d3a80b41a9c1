//! The thread that owns the engine process.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, RecvTimeoutError, SyncSender},
    },
    time::{Duration, Instant},
};

use shakmaty::{CastlingMode, Color, Move, Position as _, uci::UciMove};

use super::{
    EngineConfig, EngineError, EngineErrorKind, EngineInfo, SearchEnd, SearchResult, Timeouts, Transcript,
    handle::ProcessStatus,
    messages::{Interrupt, Message, SearchId, SearchJob, Stream},
    process::Process,
};
use crate::{
    message::{Command, Go, Info, OptionSpec, OptionValue, ParseError, Position, Reply, fen_of},
    serve::CHESS960,
};

/// Maximum number of MultiPV lines kept.
const MAX_LINES: usize = 512;
/// Time for the last output of an exited engine to arrive.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// Polling interval while waiting for a process to exit.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub(super) struct Actor {
    config: EngineConfig,
    inbox: Receiver<Message>,
    /// Cloned for the threads that read the engine.
    outbox: SyncSender<Message>,
    status: Arc<ProcessStatus>,
    process: Option<Process>,
    /// Number of processes started.
    started: u32,
    info: EngineInfo,
    /// What the process was last told by `UCI_Chess960`.
    mode: CastlingMode,
    transcript: Transcript,
    /// Requests received while the engine was busy.
    pending: VecDeque<Message>,
    /// Interrupts of searches that have not started.
    early: Vec<Interrupt>,
    /// The latest finished search. Interrupts of it are ignored.
    finished: Option<SearchId>,
    quitting: bool,
}

/// Something that happens while the actor waits.
enum Event {
    Reply {
        reply: Reply,
        at: Instant,
    },
    /// A malformed `bestmove`.
    InvalidBestMove(String),
    Interrupt(Interrupt),
    Exited,
    Timeout,
    /// A request is pending.
    Request,
    Quit,
}

impl Actor {
    pub(super) fn new(
        config: EngineConfig,
        inbox: Receiver<Message>,
        outbox: SyncSender<Message>,
        status: Arc<ProcessStatus>,
    ) -> Actor {
        let info = EngineInfo { name: config.file_name(), ..EngineInfo::default() };
        Actor {
            config,
            inbox,
            outbox,
            status,
            process: None,
            started: 0,
            info,
            mode: CastlingMode::Standard,
            transcript: Transcript::default(),
            pending: VecDeque::new(),
            early: Vec::new(),
            finished: None,
            quitting: false,
        }
    }

    pub(super) fn run(mut self) {
        // A reply is dropped if its caller is gone.
        while !self.quitting {
            match self.next_request() {
                Some(Message::Start { reply }) => {
                    let info = self.ensure_running().map(|()| self.info.clone());
                    let _ = reply.send(info);
                }
                Some(Message::SetOption { name, value, reply }) => {
                    let set = self.set_option(name, value);
                    let _ = reply.send(set);
                }
                Some(Message::NewGame { reply }) => {
                    let result = self.ensure_running().and_then(|()| self.new_game());
                    let _ = reply.send(result);
                }
                Some(Message::Search(mut job)) => {
                    let result = self.search(&mut job);
                    self.finished = Some(job.id);
                    let _ = job.reply.send(result);
                }
                _ => break,
            }
        }
        self.shut_down();
    }

    /// The next request; `None` to quit.
    fn next_request(&mut self) -> Option<Message> {
        loop {
            if let Some(request) = self.pending.pop_front() {
                return Some(request);
            }
            // Reads the output of an idle engine too, so that it does not block.
            match self.wait(None) {
                Event::Quit => return None,
                Event::Exited => {
                    self.kill();
                }
                Event::Interrupt(interrupt) => self.defer(interrupt),
                _ => {}
            }
        }
    }

    /// Waits for the next event.
    fn wait(&mut self, deadline: Option<Instant>) -> Event {
        loop {
            let message = match deadline {
                Some(deadline) => {
                    // Checked before every message, or a flood would never time out.
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Event::Timeout;
                    }
                    self.inbox.recv_timeout(left)
                }
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let event = match message {
                Ok(message) => self.handle(message),
                Err(RecvTimeoutError::Timeout) => Some(Event::Timeout),
                Err(RecvTimeoutError::Disconnected) => unreachable!("the actor holds a sender"),
            };
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// Turns a message into an event, if it matters.
    fn handle(&mut self, message: Message) -> Option<Event> {
        match message {
            Message::Line { process, stream, line, at } => self.handle_line(process, stream, line, at),
            Message::Eof { process, stream } => {
                (stream == Stream::Stdout && self.is_current(process)).then_some(Event::Exited)
            }
            Message::Interrupt(interrupt) => Some(Event::Interrupt(interrupt)),
            Message::Quit => {
                self.quitting = true;
                Some(Event::Quit)
            }
            request => {
                self.pending.push_back(request);
                Some(Event::Request)
            }
        }
    }

    fn handle_line(&mut self, process: u32, stream: Stream, line: String, at: Instant) -> Option<Event> {
        if !self.is_current(process) {
            return None;
        }
        self.transcript.push(if stream == Stream::Stdout { '<' } else { '!' }, &line);
        if stream == Stream::Stderr {
            return None;
        }
        match line.parse() {
            Ok(reply) => Some(Event::Reply { reply, at }),
            Err(ParseError::Malformed { message: "bestmove", .. }) => Some(Event::InvalidBestMove(line)),
            // Engines print banners and boards.
            Err(_) => None,
        }
    }

    fn is_current(&self, process: u32) -> bool {
        self.process.as_ref().is_some_and(|current| current.number == process)
    }

    /// Keeps an interrupt of a search that has not started.
    fn defer(&mut self, interrupt: Interrupt) {
        if self.finished.is_none_or(|finished| finished < interrupt.id()) {
            self.early.push(interrupt);
        }
    }

    fn send(&mut self, command: &Command) {
        let line = command.to_string();
        self.transcript.push('>', &line);
        if let Some(process) = &self.process {
            process.send(line);
        }
    }

    fn error(&self, kind: EngineErrorKind) -> EngineError {
        EngineError { engine: self.info.name.clone(), kind, transcript: Transcript::default() }
    }

    fn error_with_transcript(&self, kind: EngineErrorKind) -> EngineError {
        EngineError { transcript: self.transcript.clone(), ..self.error(kind) }
    }
}

/// Starting and ending the process.
impl Actor {
    fn ensure_running(&mut self) -> Result<(), EngineError> {
        if self.process.is_some() {
            return Ok(());
        }
        if self.started > 0 {
            let restarts = self.status.restarts.load(Ordering::Relaxed);
            if restarts >= self.config.max_restarts {
                return Err(self.error(EngineErrorKind::TooManyRestarts(restarts)));
            }
            self.status.restarts.store(restarts + 1, Ordering::Relaxed);
        }
        self.started += 1;
        self.transcript = Transcript::default();
        let process =
            Process::spawn(&self.config, self.started, &self.outbox).map_err(|error| EngineError {
                engine: self.config.program.display().to_string(),
                ..self.error(EngineErrorKind::Spawn(Arc::new(error)))
            })?;
        self.status.pid.store(process.id(), Ordering::Relaxed);
        self.process = Some(process);
        let result = self.handshake();
        if result.is_err() {
            self.kill();
        }
        result
    }

    /// `uci`, options and `ucinewgame`.
    fn handshake(&mut self) -> Result<(), EngineError> {
        let mut info = EngineInfo { name: self.config.file_name(), ..EngineInfo::default() };
        self.send(&Command::Uci);
        self.wait_for(&Reply::UciOk, "uciok", self.config.timeouts.handshake, |reply| match reply {
            Reply::Name(name) if !name.is_empty() => info.name = name,
            Reply::Author(author) => info.author = Some(author),
            Reply::Option(spec) => info.options.push(spec),
            _ => {}
        })?;
        self.info = info;
        self.mode = CastlingMode::Standard;
        for (name, value) in self.config.options.clone() {
            self.send_option(&name, value.as_deref())?;
        }
        self.new_game()
    }

    fn new_game(&mut self) -> Result<(), EngineError> {
        self.send(&Command::NewGame);
        self.synchronise()
    }

    fn set_option(&mut self, name: String, value: Option<String>) -> Result<(), EngineError> {
        self.ensure_running()?;
        self.send_option(&name, value.as_deref())?;
        self.synchronise()?;
        match self.config.options.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            Some(known) => known.1 = value,
            None => self.config.options.push((name, value)),
        }
        Ok(())
    }

    fn send_option(&mut self, name: &str, value: Option<&str>) -> Result<(), EngineError> {
        let (name, value) = OptionSpec::find(&self.info.options, name)
            .and_then(|spec| Ok((spec.name.clone(), spec.parse_value(value)?)))
            .map_err(|error| self.error(EngineErrorKind::Option(error)))?;
        if let (CHESS960, OptionValue::Check(on)) = (name.as_str(), &value) {
            self.mode = CastlingMode::from_chess960(*on);
        }
        let value = (value != OptionValue::Button).then(|| value.to_string());
        self.send(&Command::SetOption { name, value });
        Ok(())
    }

    /// Switches `UCI_Chess960` to what the game needs, whatever it was set to.
    fn match_mode(&mut self, mode: CastlingMode) -> Result<(), EngineError> {
        if mode == self.mode {
            return Ok(());
        }
        if !self.info.plays_chess960() {
            return Err(self.error(EngineErrorKind::NoChess960));
        }
        self.send_option(CHESS960, Some(if mode.is_chess960() { "true" } else { "false" }))
    }

    /// `isready`: replies after `readyok` belong to later commands.
    fn synchronise(&mut self) -> Result<(), EngineError> {
        self.send(&Command::IsReady);
        self.wait_for(&Reply::ReadyOk, "readyok", self.config.timeouts.ready, |_| {})
    }

    /// Waits for a reply and passes the others to `on_reply`. Kills the engine on a timeout.
    fn wait_for(
        &mut self,
        wanted: &Reply,
        expected: &'static str,
        waited: Duration,
        mut on_reply: impl FnMut(Reply),
    ) -> Result<(), EngineError> {
        let deadline = Instant::now() + waited;
        loop {
            match self.wait(Some(deadline)) {
                Event::Reply { reply, .. } if reply == *wanted => return Ok(()),
                Event::Reply { reply, .. } => on_reply(reply),
                Event::Interrupt(interrupt) => self.defer(interrupt),
                Event::Exited => return Err(self.exited()),
                Event::Timeout => {
                    self.kill();
                    return Err(self.error_with_transcript(EngineErrorKind::Timeout { expected, waited }));
                }
                Event::Quit => return Err(self.error(EngineErrorKind::Closed)),
                Event::InvalidBestMove(_) | Event::Request => {}
            }
        }
    }

    /// Collects the last output and the exit status after the engine closed its output.
    fn exited(&mut self) -> EngineError {
        let number = self.started;
        let deadline = Instant::now() + EXIT_GRACE;
        while self.process.as_mut().is_some_and(|process| !process.has_exited()) && Instant::now() < deadline
        {
            std::thread::sleep(POLL_INTERVAL);
        }
        while let Some(left) = deadline.checked_duration_since(Instant::now()) {
            match self.inbox.recv_timeout(left) {
                Ok(Message::Eof { process, stream: Stream::Stderr }) if process == number => break,
                Ok(message) => {
                    if let Some(Event::Interrupt(interrupt)) = self.handle(message) {
                        self.defer(interrupt);
                    }
                }
                Err(_) => break,
            }
        }
        let status = self.kill();
        self.error_with_transcript(EngineErrorKind::Exited(status))
    }

    fn kill(&mut self) -> Option<std::process::ExitStatus> {
        self.status.pid.store(0, Ordering::Relaxed);
        self.process.take().and_then(|mut process| process.kill())
    }

    /// Sends `quit` and kills the engine after a timeout.
    fn shut_down(&mut self) {
        self.send(&Command::Quit);
        if let Some(process) = &mut self.process {
            process.close_stdin();
            let deadline = Instant::now() + self.config.timeouts.quit;
            while !process.has_exited() && Instant::now() < deadline {
                // Drain the output, or an engine blocked on its pipe could not exit.
                let _ = self.inbox.recv_timeout(POLL_INTERVAL);
            }
        }
        self.kill();
    }
}

/// Searching.
impl Actor {
    fn search(&mut self, job: &mut SearchJob) -> Result<SearchResult, EngineError> {
        let position = job.game.current();
        if position.legal_moves().is_empty() {
            return Err(self.error(EngineErrorKind::GameOver(fen_of(position))));
        }
        self.ensure_running()?;
        self.match_mode(job.game.castling_mode())?;
        self.synchronise()?;
        self.send(&Command::Position(Position::from(&job.game)));
        self.send(&Command::Go(job.go.clone()));
        let mut search = ActiveSearch::new(job, &self.config.timeouts);
        for early in std::mem::take(&mut self.early) {
            if early.id() == job.id {
                self.interrupt(&mut search, job, early);
            } else if early.id() > job.id {
                self.early.push(early);
            }
        }
        loop {
            match self.wait(search.deadline) {
                Event::Reply { reply: Reply::Info(info), .. } => {
                    (job.on_info)(&info);
                    search.record(*info);
                }
                Event::Reply { reply: Reply::BestMove { best, ponder }, at } => {
                    return match best.and_then(|best| best.to_move(position).ok()) {
                        Some(best) => Ok(search.finish(job, best, ponder, at)),
                        None => Err(self.illegal(job, Reply::BestMove { best, ponder }.to_string())),
                    };
                }
                Event::InvalidBestMove(line) => return Err(self.illegal(job, line)),
                Event::Interrupt(interrupt) if interrupt.id() == job.id => {
                    self.interrupt(&mut search, job, interrupt);
                }
                Event::Interrupt(early) => self.defer(early),
                Event::Timeout if search.stopped.is_none() => self.stop(&mut search, SearchEnd::Timeout),
                Event::Timeout => {
                    self.kill();
                    let (expected, waited) = ("bestmove", search.start.elapsed());
                    return Err(self.error_with_transcript(EngineErrorKind::Timeout { expected, waited }));
                }
                Event::Exited => return Err(self.exited()),
                Event::Quit => return Err(self.error(EngineErrorKind::Closed)),
                Event::Reply { .. } | Event::Request => {}
            }
        }
    }

    fn illegal(&self, job: &SearchJob, reply: String) -> EngineError {
        let fen = fen_of(job.game.current());
        self.error_with_transcript(EngineErrorKind::IllegalMove { reply, fen })
    }

    fn interrupt(&mut self, search: &mut ActiveSearch, job: &SearchJob, interrupt: Interrupt) {
        match interrupt {
            Interrupt::Stop(_) if search.stopped.is_none() => self.stop(search, SearchEnd::Stopped),
            Interrupt::PonderHit(_) if search.pondering => {
                self.send(&Command::PonderHit);
                search.start = Instant::now();
                search.pondering = false;
                if search.stopped.is_none() {
                    search.deadline = deadline(job, &self.config.timeouts, search.start);
                }
            }
            Interrupt::Stop(_) | Interrupt::PonderHit(_) => {}
        }
    }

    fn stop(&mut self, search: &mut ActiveSearch, reason: SearchEnd) {
        self.send(&Command::Stop);
        search.stopped = Some(reason);
        search.deadline = Some(Instant::now() + self.config.timeouts.stop);
    }
}

struct ActiveSearch {
    start: Instant,
    pondering: bool,
    /// `None` while pondering or searching without limits.
    deadline: Option<Instant>,
    /// Set once `stop` was sent.
    stopped: Option<SearchEnd>,
    lines: BTreeMap<u32, Info>,
}

impl ActiveSearch {
    fn new(job: &SearchJob, timeouts: &Timeouts) -> ActiveSearch {
        let start = Instant::now();
        let pondering = job.go.ponder;
        let deadline = if pondering { None } else { deadline(job, timeouts, start) };
        ActiveSearch { start, pondering, deadline, stopped: None, lines: BTreeMap::new() }
    }

    fn record(&mut self, info: Info) {
        let rank = info.multipv.unwrap_or(1);
        let known = self.lines.contains_key(&rank);
        if (info.score.is_some() || !info.pv.is_empty()) && (known || self.lines.len() < MAX_LINES) {
            self.lines.insert(rank, info);
        }
    }

    fn finish(self, job: &SearchJob, best: Move, ponder: Option<UciMove>, at: Instant) -> SearchResult {
        let mut after = job.game.current().clone();
        after.play_unchecked(best);
        SearchResult {
            best,
            ponder: ponder.and_then(|ponder| ponder.to_move(&after).ok()),
            lines: self.lines.into_values().collect(),
            time: at.saturating_duration_since(self.start),
            ended_by: self.stopped.unwrap_or(SearchEnd::Engine),
        }
    }
}

fn deadline(job: &SearchJob, timeouts: &Timeouts, start: Instant) -> Option<Instant> {
    time_limit(&job.go, job.game.current().turn(), timeouts).and_then(|time| start.checked_add(time))
}

/// Time after which a search is stopped; `None` for infinite searches.
fn time_limit(go: &Go, turn: Color, timeouts: &Timeouts) -> Option<Duration> {
    if go.infinite {
        return None;
    }
    let limit = [go.move_time, go.clock[turn]].into_iter().flatten().min();
    Some(limit.map_or(timeouts.untimed, |limit| limit.saturating_add(timeouts.margin)))
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;

    use super::*;

    #[test]
    fn shortest_time_limit_applies() {
        let timeouts = Timeouts::default();
        let margin = timeouts.margin;
        let seconds = Duration::from_secs;
        let limit = |go: &Go, turn| time_limit(go, turn, &timeouts);
        let mut go = Go::clocks(ByColor { white: seconds(9), black: seconds(5) }, ByColor::default());
        assert_eq!(limit(&go, Color::White), Some(seconds(9) + margin));
        assert_eq!(limit(&go, Color::Black), Some(seconds(5) + margin));
        go.move_time = Some(seconds(7));
        assert_eq!(limit(&go, Color::White), Some(seconds(7) + margin));
        assert_eq!(limit(&Go::nodes(1), Color::White), Some(timeouts.untimed));
        assert_eq!(limit(&Go::infinite(), Color::White), None);
        assert_eq!(limit(&Go::move_time(Duration::MAX), Color::White), Some(Duration::MAX));
    }
}
