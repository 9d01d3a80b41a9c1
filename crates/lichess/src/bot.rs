//! The bot: a loop over the account's events that answers challenges and starts games.

use std::{
    collections::{HashMap, HashSet},
    ops::AddAssign,
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use tabia_game::Outcome;

use crate::{
    Acceptance, BuildPlayer, Client, DeclineReason, Event, Notice, Observer, RequestError,
    events::{Account, Challenge},
    game::{Context, End, GameHandle},
    stream::{FromStream, Stream},
    timing::Backoff,
};

/// How often an answer to a challenge is sent before it is given up.
const MOST_ATTEMPTS: u32 = 4;
/// How long an accepted challenge may take to become a game.
const ACCEPTED_FOR: Duration = Duration::from_secs(30);

/// How a bot plays.
#[derive(Clone, Debug)]
pub struct BotSettings {
    /// Which challenges are accepted.
    pub acceptance: Acceptance,
    /// Games at a time.
    pub max_games: usize,
    /// Games until the bot stops; `None` for no end.
    pub games: Option<u64>,
    /// Said when a game begins; `{opponent}` and `{me}` are filled in.
    pub greeting: Option<String>,
    /// Said when a game has ended.
    pub goodbye: Option<String>,
    /// Time that a move needs besides thinking: network and server.
    pub overhead: Duration,
    /// Time for a move without clocks.
    pub untimed: Duration,
}

impl Default for BotSettings {
    fn default() -> BotSettings {
        BotSettings {
            acceptance: Acceptance::default(),
            max_games: 4,
            games: None,
            greeting: None,
            goodbye: None,
            overhead: Duration::from_millis(500),
            untimed: Duration::from_secs(5),
        }
    }
}

/// How a bot stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// No more challenges; the games are played to their ends.
    AfterGames,
    /// The games are left as they are, to be gone on with later.
    Leave,
    /// The games are resigned.
    Resign,
}

/// Stops a bot, from any thread.
#[derive(Clone)]
pub struct BotHandle(Sender<Message>);

impl BotHandle {
    /// Stops it.
    pub fn stop(&self, how: Stop) {
        // It may have stopped.
        let _stopped = self.0.send(Message::Stop(how));
    }
}

/// The games that a bot has finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Won.
    pub won: u64,
    /// Drawn.
    pub drawn: u64,
    /// Lost.
    pub lost: u64,
}

impl AddAssign<End> for Score {
    fn add_assign(&mut self, end: End) {
        match end {
            End::Over(Outcome::Win { winner, .. }, bot) if winner == bot => self.won += 1,
            End::Over(Outcome::Win { .. }, _) => self.lost += 1,
            End::Over(Outcome::Draw(_), _) => self.drawn += 1,
            End::Over(Outcome::Abandoned, _) | End::Left => {}
        }
    }
}

impl Score {
    /// All games.
    pub fn games(&self) -> u64 {
        self.won + self.drawn + self.lost
    }
}

enum Message {
    Stream(u64, FromStream<Event>),
    GameEnded(String, End),
    Stop(Stop),
}

/// A bot.
pub struct Bot {
    context: Arc<Context>,
    settings: BotSettings,
    inbox: Receiver<Message>,
    outbox: Sender<Message>,
    stream: Option<Stream>,
    /// Counts streams: events of earlier ones are ignored.
    streams: u64,
    opened: Instant,
    reopen: Option<Instant>,
    reopening: Backoff,
    games: HashMap<String, GameHandle>,
    /// Games that are over: their events may come again.
    over: HashSet<String>,
    /// Challenges that were answered: they may come again.
    answered: HashSet<String>,
    /// Challenges to answer.
    replies: Vec<Reply>,
    /// Challenges that will be games, and when they were accepted.
    accepted: HashMap<String, Instant>,
    /// How many rematches in a row a game is.
    rematches: HashMap<String, u32>,
    score: Score,
    stopping: Option<Stop>,
}

/// An answer to a challenge.
struct Reply {
    challenge: Box<Challenge>,
    verdict: Result<(), DeclineReason>,
    rematches: u32,
    due: Instant,
    retrying: Backoff,
}

impl Bot {
    /// A bot that plays for this account.
    pub fn new(
        client: Arc<Client>,
        account: &Account,
        settings: BotSettings,
        build: Arc<BuildPlayer>,
        observer: Arc<dyn Observer>,
    ) -> (Bot, BotHandle) {
        let (outbox, inbox) = channel();
        let (now, timing) = (Instant::now(), client.timing());
        let context = Arc::new(Context {
            client,
            user: account.username.clone(),
            build,
            observer,
            greeting: settings.greeting.clone(),
            goodbye: settings.goodbye.clone(),
            overhead: settings.overhead,
            untimed: settings.untimed,
        });
        let handle = BotHandle(outbox.clone());
        let bot = Bot {
            context,
            settings,
            inbox,
            outbox,
            stream: None,
            streams: 0,
            opened: now,
            reopen: Some(now),
            reopening: Backoff::new(timing),
            games: HashMap::new(),
            over: HashSet::new(),
            answered: HashSet::new(),
            replies: Vec::new(),
            accepted: HashMap::new(),
            rematches: HashMap::new(),
            score: Score::default(),
            stopping: None,
        };
        (bot, handle)
    }

    /// Plays until it is stopped, or has played as many games as asked.
    ///
    /// # Errors
    /// If the server does not accept the token.
    pub fn run(mut self) -> Result<Score, RequestError> {
        loop {
            if self.reopen.take_if(|moment| *moment <= Instant::now()).is_some() {
                self.open();
            }
            self.send_replies()?;
            if self.is_done() {
                return Ok(self.score);
            }
            let message = match self.next_moment() {
                None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(moment) => self.inbox.recv_timeout(moment.saturating_duration_since(Instant::now())),
            };
            // The bot has a sender itself, so an error is the timeout.
            if let Ok(message) = message {
                self.take(message)?;
            }
        }
    }

    /// When to act next without being told anything.
    fn next_moment(&self) -> Option<Instant> {
        let replies = self.replies.iter().map(|reply| reply.due);
        let accepted = self.accepted.values().filter_map(|at| at.checked_add(ACCEPTED_FOR));
        replies.chain(accepted).chain(self.reopen).min()
    }

    fn is_done(&mut self) -> bool {
        self.accepted.retain(|_, at| at.elapsed() < ACCEPTED_FOR);
        let enough = self.settings.games.is_some_and(|games| self.score.games() >= games);
        if enough && self.stopping.is_none() {
            self.stopping = Some(Stop::AfterGames);
        }
        let leaves = matches!(self.stopping, Some(Stop::Leave | Stop::Resign));
        let accepting = self.replies.iter().any(|reply| reply.verdict.is_ok());
        let idle = self.games.is_empty() && (leaves || (self.accepted.is_empty() && !accepting));
        self.stopping.is_some() && idle
    }

    fn take(&mut self, message: Message) -> Result<(), RequestError> {
        match message {
            Message::Stream(number, _) if number != self.streams => {}
            Message::Stream(_, FromStream::Opened) => {
                self.opened = Instant::now();
                self.notice(&Notice::Connected);
            }
            Message::Stream(_, FromStream::Line(event)) => self.take_event(event),
            Message::Stream(_, FromStream::Unreadable(error)) => self.notice(&Notice::Skipped(error)),
            Message::Stream(_, FromStream::Ended(error)) => self.stream_ended(error)?,
            Message::GameEnded(id, end) => {
                self.games.remove(&id);
                self.score += end;
                if end != End::Left {
                    self.over.insert(id);
                }
            }
            Message::Stop(how) => {
                self.stopping = Some(how);
                for game in self.games.values() {
                    match how {
                        Stop::AfterGames => {}
                        Stop::Leave => game.leave(),
                        Stop::Resign => game.resign(),
                    }
                }
            }
        }
        Ok(())
    }

    fn take_event(&mut self, event: Event) {
        match event {
            Event::GameStart { game } => self.start_game(game.game_id),
            Event::Challenge { challenge } => self.judge(challenge),
            Event::ChallengeCanceled { challenge } => {
                self.accepted.remove(&challenge.id);
                self.answered.remove(&challenge.id);
                self.replies.retain(|reply| reply.challenge.id != challenge.id);
            }
            // The stream of the game says how it ended.
            Event::GameFinish { .. } | Event::ChallengeDeclined { .. } | Event::Other => {}
        }
    }

    fn start_game(&mut self, id: String) {
        let is_new = !self.games.contains_key(&id) && !self.over.contains(&id);
        let leaves = matches!(self.stopping, Some(Stop::Leave | Stop::Resign));
        if !is_id(&id) || !is_new || leaves {
            return;
        }
        self.accepted.remove(&id);
        let (outbox, game) = (self.outbox.clone(), id.clone());
        let ended = move |end| {
            // The bot may have stopped.
            let _stopped = outbox.send(Message::GameEnded(game, end));
        };
        self.games.insert(id.clone(), GameHandle::start(id, Arc::clone(&self.context), ended));
    }

    fn judge(&mut self, challenge: Box<Challenge>) {
        let is_own = challenge.challenger.as_ref().is_some_and(|person| person.is(&self.context.user));
        if is_own || !is_id(&challenge.id) || !self.answered.insert(challenge.id.clone()) {
            return;
        }
        let earlier =
            challenge.rematch_of.as_ref().map(|game| self.rematches.get(game).copied().unwrap_or(0));
        let rematches = earlier.map_or(0, |earlier| earlier.saturating_add(1));
        let verdict = self.settings.acceptance.judge(&challenge, rematches);
        let has_room = self.stopping.is_none() && self.room() > 0;
        let verdict = verdict.and(if has_room { Ok(()) } else { Err(DeclineReason::Later) });
        let retrying = Backoff::new(self.context.client.timing());
        self.replies.push(Reply { challenge, verdict, rematches, due: Instant::now(), retrying });
    }

    /// How many more games there may be.
    fn room(&self) -> u64 {
        let accepting = self.replies.iter().filter(|reply| reply.verdict.is_ok()).count();
        let taken = (self.games.len() + self.accepted.len() + accepting) as u64;
        let wanted = self.settings.games.map_or(u64::MAX, |games| games.saturating_sub(self.score.games()));
        wanted.min(self.settings.max_games as u64).saturating_sub(taken)
    }

    /// Sends the answers that are due.
    fn send_replies(&mut self) -> Result<(), RequestError> {
        let now = Instant::now();
        let (due, later) = std::mem::take(&mut self.replies).into_iter().partition(|reply| reply.due <= now);
        self.replies = later;
        for reply in due {
            self.send_reply(reply)?;
        }
        Ok(())
    }

    fn send_reply(&mut self, mut reply: Reply) -> Result<(), RequestError> {
        let Reply { challenge, verdict, .. } = &reply;
        let sent = match verdict {
            Ok(()) => self.context.client.post(&format!("/api/challenge/{}/accept", challenge.id), &[]),
            Err(reason) => {
                let path = format!("/api/challenge/{}/decline", challenge.id);
                self.context.client.post(&path, &[("reason", reason.key())])
            }
        };
        match sent {
            Ok(()) => match verdict {
                Ok(()) => {
                    self.notice(&Notice::Accepted(challenge.clone()));
                    self.rematches.insert(challenge.id.clone(), reply.rematches);
                    // Its game may have begun already.
                    if !self.games.contains_key(&challenge.id) && !self.over.contains(&challenge.id) {
                        self.accepted.insert(challenge.id.clone(), Instant::now());
                    }
                }
                Err(reason) => self.notice(&Notice::Declined(challenge.clone(), *reason)),
            },
            Err(RequestError::RateLimited(wait)) => {
                reply.due = Instant::now() + wait;
                self.replies.push(reply);
            }
            Err(RequestError::Server(_) | RequestError::Connection(_))
                if reply.retrying.failures() < MOST_ATTEMPTS =>
            {
                reply.due = Instant::now() + reply.retrying.next();
                self.replies.push(reply);
            }
            Err(error @ RequestError::Unauthorised(_)) => return Err(error),
            Err(error) => {
                // It is judged anew if the server tells of it again.
                self.answered.remove(&challenge.id);
                self.notice(&Notice::NotAnswered(challenge.clone(), error));
            }
        }
        Ok(())
    }

    fn stream_ended(&mut self, error: Option<RequestError>) -> Result<(), RequestError> {
        self.stream = None;
        let retry = match &error {
            Some(error @ RequestError::Unauthorised(_)) => return Err(error.clone()),
            Some(RequestError::RateLimited(wait)) => *wait,
            _ => {
                if self.opened.elapsed() > self.context.client.timing().silence {
                    self.reopening.reset();
                }
                self.reopening.next()
            }
        };
        self.notice(&Notice::Disconnected { error, retry });
        self.reopen = Instant::now().checked_add(retry);
        Ok(())
    }

    fn open(&mut self) {
        self.streams += 1;
        let (number, outbox) = (self.streams, self.outbox.clone());
        let pass = move |message| outbox.send(Message::Stream(number, message)).is_ok();
        let path = "/api/stream/event".to_owned();
        self.stream = Some(Stream::start(&self.context.client, path, Event::parse, pass));
    }

    fn notice(&self, notice: &Notice) {
        self.context.observer.notice(notice);
    }
}

/// Whether a text can be an id, and so a part of an address.
fn is_id(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
