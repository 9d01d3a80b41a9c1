//! One game: a thread that follows its stream and makes the player's moves.
//!
//! Every move is sent once. Where it is not known whether a request had its effect, the stream is opened anew and its first
//! line, which has all moves, decides whether the request is repeated.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

use shakmaty::Color;
use tabia_game::Outcome;
use tabia_players::{Action, Decision};

use crate::{
    Client, Followed, GameLine, News, Notice, Observer, RequestError,
    events::GameFull,
    stream::{FromStream, Stream},
    thinker::{Answer, BuildPlayer, Job, Thinker},
    timing::Backoff,
};

/// The longest chat message that the server takes.
const LONGEST_CHAT: usize = 140;
/// Refusals of the same move after which the game is given up.
const MOST_REFUSALS: u32 = 3;
/// Failures of the player in one game after which it is given up.
const MOST_PLAYER_FAILURES: u32 = 2;

/// What all games of a bot share.
pub(crate) struct Context {
    pub(crate) client: Arc<Client>,
    /// The id of the bot's account.
    pub(crate) user: String,
    pub(crate) build: Arc<BuildPlayer>,
    pub(crate) observer: Arc<dyn Observer>,
    /// Said when a game begins, with `{opponent}` and `{me}` to be filled in.
    pub(crate) greeting: Option<String>,
    /// Said when a game has ended.
    pub(crate) goodbye: Option<String>,
    /// Time that a move needs besides thinking.
    pub(crate) overhead: Duration,
    /// Time for a move without clocks.
    pub(crate) untimed: Duration,
}

/// How the thread of a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The game is over.
    Over(Outcome, Color),
    /// The game was left, and may go on.
    Left,
}

/// What the thread is told.
enum Message {
    Stream(u64, FromStream<GameLine>, Instant),
    Answer(Answer),
    Leave,
    Resign,
}

/// A game that is being played.
pub(crate) struct GameHandle(Sender<Message>);

impl GameHandle {
    /// Starts to play; `ended` is called at the end.
    pub(crate) fn start(
        id: String,
        context: Arc<Context>,
        ended: impl FnOnce(End) + Send + 'static,
    ) -> GameHandle {
        let (outbox, inbox) = channel();
        let handle = GameHandle(outbox.clone());
        thread::spawn(move || ended(Actor::new(id, context, inbox, outbox).run()));
        handle
    }

    /// Leaves the game as it is.
    pub(crate) fn leave(&self) {
        let _over = self.0.send(Message::Leave);
    }

    /// Resigns, or aborts a game that has hardly begun.
    pub(crate) fn resign(&self) {
        let _over = self.0.send(Message::Resign);
    }
}

struct Actor {
    id: String,
    context: Arc<Context>,
    inbox: Receiver<Message>,
    outbox: Sender<Message>,
    /// `None` before the first line of the first stream.
    followed: Option<Followed>,
    /// When the last state arrived.
    seen: Instant,
    /// Whether the effects of all requests are known.
    is_synced: bool,
    stream: Option<Stream>,
    /// Counts streams: lines of earlier ones are ignored.
    streams: u64,
    opened: Instant,
    reopen: Option<Instant>,
    reopening: Backoff,
    thinker: Thinker,
    /// What to do at a ply; kept until the ply is over.
    decision: Option<(usize, Decision)>,
    /// The last ply whose move the server has confirmed, and how many streams there were by then.
    answered: Option<(usize, u64)>,
    /// When the decision is sent again.
    resend: Option<Instant>,
    resending: Backoff,
    /// How often the server has refused the decision.
    refusals: u32,
    player_failures: u32,
    /// The opponent is gone: when a win can be claimed.
    claim: Option<Instant>,
    /// The opponent has not moved yet: when the game is aborted.
    abort: Option<Instant>,
    greeted: bool,
    takeback_refused: bool,
    /// The game is to be resigned: when to try.
    giving_up: Option<Instant>,
    /// The game was resigned: the server has still to say so.
    gave_up: bool,
    end: Option<End>,
}

impl Actor {
    fn new(id: String, context: Arc<Context>, inbox: Receiver<Message>, outbox: Sender<Message>) -> Actor {
        let answers = outbox.clone();
        let thinker = Thinker::start(Arc::clone(&context.build), move |answer| {
            // The game may be over by now.
            let _over = answers.send(Message::Answer(answer));
        });
        let (now, timing) = (Instant::now(), context.client.timing());
        Actor {
            id,
            context,
            inbox,
            outbox,
            followed: None,
            seen: now,
            is_synced: false,
            stream: None,
            streams: 0,
            opened: now,
            reopen: Some(now),
            reopening: Backoff::new(timing),
            thinker,
            decision: None,
            answered: None,
            resend: None,
            resending: Backoff::new(timing),
            refusals: 0,
            player_failures: 0,
            claim: None,
            abort: None,
            greeted: false,
            takeback_refused: false,
            giving_up: None,
            gave_up: false,
            end: None,
        }
    }

    fn run(mut self) -> End {
        loop {
            self.act();
            if let Some(end) = self.end {
                return end;
            }
            self.receive();
        }
    }

    /// Waits for a message or the next moment to act, and takes all messages there are.
    fn receive(&mut self) {
        let first = match self.next_moment() {
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(moment) => self.inbox.recv_timeout(moment.saturating_duration_since(Instant::now())),
        };
        // The actor has a sender itself, so this is the timeout.
        let Ok(first) = first else { return };
        self.take(first);
        while let Ok(message) = self.inbox.try_recv() {
            self.take(message);
        }
    }

    /// When to act next without being told anything: the moments that [`act`](Self::act) would use up.
    fn next_moment(&self) -> Option<Instant> {
        let is_bots_turn = self.followed.as_ref().is_some_and(Followed::is_bots_turn);
        let playing = match (self.is_synced && !self.gave_up, self.giving_up, is_bots_turn) {
            (false, ..) => [None, None],
            (true, Some(moment), _) => [Some(moment), None],
            (true, None, true) => [self.resend, None],
            (true, None, false) => [self.claim, self.abort],
        };
        playing.into_iter().chain([self.reopen]).flatten().min()
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Stream(number, ..) if number != self.streams => {}
            Message::Stream(_, FromStream::Opened, at) => self.opened = at,
            Message::Stream(_, FromStream::Line(line), at) => self.take_line(line, at),
            Message::Stream(_, FromStream::Unreadable(error), _) => self.notice(&Notice::Skipped(error)),
            Message::Stream(_, FromStream::Ended(error), _) => self.stream_ended(error),
            Message::Answer(answer) => match self.thinker.take(answer) {
                None => {}
                Some(Ok(decision)) => {
                    let ply = self.followed.as_ref().map_or(0, Followed::plies);
                    self.decision = Some((ply, decision));
                    self.resend = Some(Instant::now());
                    self.resending.reset();
                    self.refusals = 0;
                }
                Some(Err(error)) => self.player_failed(error),
            },
            Message::Leave => self.leave("stopped"),
            Message::Resign => self.giving_up = Some(Instant::now()),
        }
    }

    fn take_line(&mut self, line: GameLine, at: Instant) {
        let news = match line {
            GameLine::GameFull(full) => self.take_game(&full),
            GameLine::GameState(state) => match &mut self.followed {
                Some(followed) => followed.update(&state).map_err(|error| error.to_string()),
                // The first line is the game.
                None => return,
            },
            GameLine::OpponentGone { gone, claim_win_in_seconds } => {
                let wait = claim_win_in_seconds.filter(|_| gone).map(Duration::from_secs);
                self.claim = wait.and_then(|wait| at.checked_add(wait));
                return;
            }
            GameLine::Other => return,
        };
        match news {
            Ok(News::Old) => {}
            Ok(News::NoMoves) => self.seen = at,
            Ok(News::Moves) => {
                self.seen = at;
                self.thinker.stop();
                (self.decision, self.resend, self.abort) = (None, None, None);
                // Who moves is there.
                if self.followed.as_ref().is_some_and(Followed::is_bots_turn) {
                    self.claim = None;
                }
            }
            Err(error) => self.leave(&error),
        }
    }

    /// The first line of a stream: all there is to know.
    fn take_game(&mut self, full: &GameFull) -> Result<News, String> {
        let Some(followed) = &mut self.followed else {
            let (user, server) = (&self.context.user, self.context.client.server());
            let followed = Followed::new(full, user, server).map_err(|error| error.to_string())?;
            self.is_synced = true;
            self.notice(&Notice::Started {
                game: self.id.clone(),
                opponent: followed.opponent().shown(),
                rating: followed.opponent().rating,
                color: followed.bot(),
                plies: followed.plies(),
            });
            self.followed = Some(followed);
            return Ok(News::Moves);
        };
        // A stream that was opened before a move was confirmed may begin without it.
        let is_earlier = self.answered.is_some_and(|(_, streams)| self.streams <= streams);
        let news = if is_earlier { followed.update(&full.state) } else { followed.restart(full) };
        if !is_earlier && self.answered.is_some_and(|(ply, _)| ply == followed.plies()) {
            self.answered = None;
            self.resend = Some(Instant::now());
        }
        self.is_synced = true;
        news.map_err(|error| error.to_string())
    }

    fn stream_ended(&mut self, error: Option<RequestError>) {
        self.stream = None;
        let now = Instant::now();
        match error {
            Some(RequestError::NotFound) => self.leave("the server does not know it"),
            Some(error @ RequestError::Unauthorised(_)) => self.leave(&error.to_string()),
            Some(RequestError::RateLimited(wait)) => self.reopen = now.checked_add(wait),
            error => {
                if self.opened.elapsed() > self.context.client.timing().silence {
                    self.reopening.reset();
                }
                if self.reopening.failures() == 0 {
                    self.notice(&Notice::GameDisconnected { game: self.id.clone(), error });
                }
                self.reopen = now.checked_add(self.reopening.next());
            }
        }
    }

    fn player_failed(&mut self, error: String) {
        self.notice(&Notice::PlayerFailed { game: self.id.clone(), error });
        self.player_failures += 1;
        if self.player_failures >= MOST_PLAYER_FAILURES {
            self.giving_up = Some(Instant::now());
        }
    }

    /// Does what the state of the game and the time call for.
    fn act(&mut self) {
        if self.end.is_some() {
            return;
        }
        if take_if_due(&mut self.reopen) {
            self.open();
        }
        let Some(followed) = &self.followed else { return };
        if let Some(outcome) = followed.outcome() {
            return self.finish(outcome);
        }
        if !self.is_synced || self.gave_up {
            return;
        }
        if self.giving_up.is_some() {
            if take_if_due(&mut self.giving_up) {
                self.give_up();
            }
            return;
        }
        let (is_bots_turn, plies) = (followed.is_bots_turn(), followed.plies());
        if is_bots_turn {
            self.abort = None;
            self.play(plies);
        } else {
            self.thinker.stop();
            self.wait_for_opponent(plies);
        }
        if self.end.is_none() && self.is_synced {
            self.answer_takeback();
            self.greet(plies);
        }
    }

    /// Thinks, or sends what was decided.
    fn play(&mut self, ply: usize) {
        if self.answered.is_some_and(|(answered, _)| answered == ply) {
            return;
        }
        match self.decision.clone() {
            Some((decided, decision)) if decided == ply => {
                if take_if_due(&mut self.resend) {
                    self.send(ply, decision);
                }
            }
            _ if self.thinker.is_thinking() => {}
            _ => {
                let Some(followed) = &self.followed else { return };
                let Context { overhead, untimed, .. } = *self.context;
                self.thinker.think(Job {
                    history: followed.history(),
                    limits: followed.limits(overhead, untimed),
                    since: self.seen,
                    latest: followed.latest(overhead),
                });
            }
        }
    }

    fn send(&mut self, ply: usize, decision: Decision) {
        let Some(followed) = &self.followed else { return };
        let request = if decision.action == Action::Resign {
            self.quitting().to_owned()
        } else {
            let offered = followed.state().offers_draw(!followed.bot()) || followed.can_claim_draw();
            let draw = decision.action == Action::OfferDraw || (decision.accepts_draw && offered);
            format!("move/{}?offeringDraw={draw}", followed.uci(decision.choice.mv))
        };
        let Err(error) = self.post(&request, &[]) else {
            self.answered = Some((ply, self.streams));
            return;
        };
        let now = Instant::now();
        self.failed(&request, error.clone());
        match error {
            RequestError::RateLimited(wait) => {
                self.resend = now.checked_add(wait);
                return;
            }
            RequestError::Unauthorised(_) => return self.leave("the server does not accept the token"),
            RequestError::Refused { .. } if decision.action == Action::Resign => {
                self.decision = Some((ply, Decision { action: Action::Move, ..decision }));
            }
            RequestError::Refused { .. } => {
                self.refusals += 1;
                if self.refusals >= MOST_REFUSALS {
                    return self.leave("the server refuses the move");
                }
            }
            _ => {}
        }
        self.resend = now.checked_add(self.resending.next());
        self.resync();
    }

    /// Resigns, whoever is to move.
    fn give_up(&mut self) {
        let request = self.quitting();
        let Err(error) = self.post(request, &[]) else {
            self.thinker.stop();
            self.gave_up = true;
            return;
        };
        self.failed(request, error.clone());
        match error {
            RequestError::RateLimited(wait) => self.giving_up = Instant::now().checked_add(wait),
            RequestError::Server(_) | RequestError::Connection(_)
                if self.resending.failures() < MOST_REFUSALS =>
            {
                self.giving_up = Instant::now().checked_add(self.resending.next());
                self.resync();
            }
            _ => self.leave("it cannot be resigned"),
        }
    }

    /// How to end the game: nobody loses one in which a side has not moved.
    fn quitting(&self) -> &'static str {
        if self.followed.as_ref().is_some_and(|followed| followed.plies() >= 2) { "resign" } else { "abort" }
    }

    fn wait_for_opponent(&mut self, plies: usize) {
        if take_if_due(&mut self.claim) {
            match self.post("claim-victory", &[]) {
                Err(RequestError::RateLimited(wait)) => self.claim = Instant::now().checked_add(wait),
                Err(error) => self.failed("claim-victory", error),
                Ok(()) => {}
            }
        }
        if plies >= 2 {
            self.abort = None;
            return;
        }
        if self.abort.is_none() {
            self.abort = Instant::now().checked_add(self.context.client.timing().first_move);
        } else if take_if_due(&mut self.abort) {
            match self.post("abort", &[]) {
                Err(RequestError::RateLimited(wait)) => self.abort = Instant::now().checked_add(wait),
                Err(error) => self.failed("abort", error),
                Ok(()) => {}
            }
        }
    }

    fn answer_takeback(&mut self) {
        let Some(followed) = &self.followed else { return };
        if !followed.state().asks_takeback(!followed.bot()) {
            self.takeback_refused = false;
        } else if !self.takeback_refused {
            self.takeback_refused = true;
            if let Err(error) = self.post("takeback/no", &[]) {
                self.failed("takeback/no", error);
            }
        }
    }

    /// Greets once, unless the game was begun before.
    fn greet(&mut self, plies: usize) {
        if !std::mem::replace(&mut self.greeted, true) && plies < 2 {
            self.say(self.context.greeting.clone());
        }
    }

    fn say(&self, text: Option<String>) {
        let (Some(text), Some(followed)) = (text, &self.followed) else { return };
        let text =
            text.replace("{opponent}", &followed.opponent().shown()).replace("{me}", &self.context.user);
        let text: String = text.chars().take(LONGEST_CHAT).collect();
        // Not repeated: it may have arrived.
        if let Err(error) = self.post("chat", &[("room", "player"), ("text", &text)]) {
            self.failed("chat", error);
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        let Some(followed) = &self.followed else { return };
        self.notice(&Notice::Ended {
            game: self.id.clone(),
            opponent: followed.opponent().shown(),
            outcome,
            color: followed.bot(),
            plies: followed.plies(),
        });
        if outcome != Outcome::Abandoned {
            self.context.observer.finished(followed.game());
            self.say(self.context.goodbye.clone());
        }
        self.end = Some(End::Over(outcome, followed.bot()));
    }

    fn leave(&mut self, reason: &str) {
        self.notice(&Notice::Left { game: self.id.clone(), reason: reason.to_owned() });
        self.end = Some(End::Left);
    }

    /// Opens the stream anew, to see what a request has done.
    fn resync(&mut self) {
        self.is_synced = false;
        self.reopen = None;
        self.open();
    }

    fn open(&mut self) {
        self.streams += 1;
        let (number, outbox) = (self.streams, self.outbox.clone());
        let pass = move |message| outbox.send(Message::Stream(number, message, Instant::now())).is_ok();
        let path = format!("/api/bot/game/stream/{}", self.id);
        self.stream = Some(Stream::start(&self.context.client, path, GameLine::parse, pass));
    }

    fn post(&self, request: &str, form: &[(&str, &str)]) -> Result<(), RequestError> {
        self.context.client.post(&format!("/api/bot/game/{}/{request}", self.id), form)
    }

    fn failed(&self, what: &str, error: RequestError) {
        self.notice(&Notice::Failed { game: self.id.clone(), what: what.to_owned(), error });
    }

    fn notice(&self, notice: &Notice) {
        self.context.observer.notice(notice);
    }
}

/// Whether the moment has come, which is then taken away.
fn take_if_due(moment: &mut Option<Instant>) -> bool {
    moment.take_if(|moment| *moment <= Instant::now()).is_some()
}
