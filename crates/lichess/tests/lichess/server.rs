//! A server on this machine that speaks the documented Bot API, with an opponent that follows a script, and faults.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use shakmaty::{CastlingMode, Chess, Color, Position, uci::UciMove};

/// The token it accepts.
pub(crate) const TOKEN: &str = "lip_0123456789secret";
/// The bot's name.
pub(crate) const BOT: &str = "TabiaBot";
/// How long a test waits for what must happen. Long: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often streams send a blank line.
const KEEP_ALIVE: Duration = Duration::from_millis(100);

/// Something that goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This status, without effect.
    Status(u16),
    /// The connection is closed without effect.
    Drop,
    /// The request has its effect, but this status is returned.
    DoneThenStatus(u16),
    /// The request has its effect, but the connection is closed.
    DoneThenDrop,
    /// A stream is cut in the middle of a line, after this many lines.
    CutAfter(usize),
}

/// A game and its script.
pub(crate) struct Game {
    pub(crate) bot: Color,
    position: Chess,
    pub(crate) moves: Vec<String>,
    /// What the opponent does next: a move, or `+any` (any move), `+draw`, `+takeback`, `+gone`, `+left`,
    /// `+back`, `+hold`, `+resign`.
    script: VecDeque<String>,
    pub(crate) status: String,
    winner: Option<Color>,
    opponent_offers: bool,
    opponent_asks: bool,
    pub(crate) bot_offered: bool,
    /// Lines since the start, for the streams.
    lines: Vec<String>,
    pub(crate) chat: Vec<String>,
    clock: i64,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) games: BTreeMap<String, Game>,
    /// Challenges that are not answered, with the scripts of their games.
    challenges: BTreeMap<String, (Value, Color, VecDeque<String>)>,
    pub(crate) declined: BTreeMap<String, String>,
    events: Vec<String>,
    /// All requests: method and path.
    pub(crate) requests: Vec<String>,
    /// What a bot must never do.
    pub(crate) violations: Vec<String>,
    faults: Vec<(String, Fault)>,
    /// All lines are sent twice, and states are followed by the one before.
    pub(crate) is_doubled: bool,
    pub(crate) title: Option<String>,
    pub(crate) played: u64,
    closing: bool,
}

struct World {
    state: Mutex<State>,
    changed: Condvar,
}

pub(crate) struct Server {
    address: SocketAddr,
    world: Arc<World>,
}

/// The answer to a request.
enum Reply {
    Json(u16, Value),
    Events,
    Game(String),
    Nothing,
}

impl Server {
    pub(crate) fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { title: Some("BOT".to_owned()), ..State::default() };
        let world = Arc::new(World { state: Mutex::new(state), changed: Condvar::new() });
        let shared = Arc::clone(&world);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let world = Arc::clone(&shared);
                if world.lock().closing {
                    return;
                }
                // A client that leaves is no fault of the server.
                thread::spawn(move || drop(world.serve(&stream.unwrap())));
            }
        });
        Server { address, world }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.world.lock()
    }

    /// The next requests whose method and path contain `what` go wrong, one after the other.
    pub(crate) fn fault(&self, what: &str, faults: impl IntoIterator<Item = Fault>) {
        let mut state = self.state();
        state.faults.extend(faults.into_iter().map(|fault| (what.to_owned(), fault)));
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, mut is_so: impl FnMut(&State) -> bool) {
        let state = self.state();
        let (state, waited) =
            self.world.changed.wait_timeout_while(state, PATIENCE, |state| !is_so(state)).unwrap();
        if waited.timed_out() {
            let games: Vec<_> = state.games.values().map(|game| (&game.moves, &game.status)).collect();
            panic!("{what} did not happen: {:#?} {games:?} {:?}", state.requests, state.violations);
        }
    }

    /// A challenge; `change` overrides what it says.
    pub(crate) fn challenge(&self, id: &str, bot: Color, script: &[&str], change: &Value) {
        let mut challenge = json!({
            "id": id, "url": format!("https://lichess.org/{id}"), "status": "created",
            "challenger": {"id": "mary", "name": "Mary", "rating": 1021, "title": null},
            "destUser": {"id": BOT.to_lowercase(), "name": BOT, "rating": 1500},
            "variant": {"key": "standard", "name": "Standard"}, "rated": false, "speed": "blitz",
            "timeControl": {"type": "clock", "limit": 180, "increment": 2, "show": "3+2"},
            "color": "random", "perf": {"icon": "", "name": "Blitz"},
        });
        for (key, value) in change.as_object().into_iter().flatten() {
            challenge[key] = value.clone();
        }
        let mut state = self.state();
        let event = json!({"type": "challenge", "challenge": challenge, "compat": {"bot": true}});
        state.events.push(event.to_string());
        state.challenges.insert(id.to_owned(), (challenge, bot, owned(script)));
        self.world.changed.notify_all();
    }

    pub(crate) fn cancel(&self, id: &str) {
        let mut state = self.state();
        if let Some((challenge, ..)) = state.challenges.remove(id) {
            state.events.push(json!({"type": "challengeCanceled", "challenge": challenge}).to_string());
            self.world.changed.notify_all();
        }
    }

    /// A game that goes on already, after these moves.
    pub(crate) fn begin(&self, id: &str, bot: Color, moves: &[&str], script: &[&str]) {
        let mut state = self.state();
        state.begin(id, bot, owned(script));
        let game = state.games.get_mut(id).unwrap();
        for uci in moves {
            game.play(uci).unwrap();
        }
        self.world.changed.notify_all();
    }

    /// Sends an event again.
    pub(crate) fn repeat_events(&self) {
        let mut state = self.state();
        let events = state.events.clone();
        state.events.extend(events);
        self.world.changed.notify_all();
    }

    /// The opponent goes on after `+hold`.
    pub(crate) fn release(&self, id: &str) {
        let mut state = self.state();
        let game = state.games.get_mut(id).unwrap();
        game.opponent_acts();
        self.world.changed.notify_all();
    }

    pub(crate) fn set_clock(&self, id: &str, millis: i64) {
        self.state().games.get_mut(id).unwrap().clock = millis;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.world.lock().closing = true;
        self.world.changed.notify_all();
        // Wakes the listener.
        let _gone = TcpStream::connect(self.address);
    }
}

fn owned(words: &[&str]) -> VecDeque<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl World {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers requests until the connection ends.
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        loop {
            let mut first = String::new();
            if reader.read_line(&mut first)? == 0 {
                return Ok(());
            }
            let mut words = first.split_whitespace();
            let request =
                format!("{} {}", words.next().unwrap_or_default(), words.next().unwrap_or_default());
            let (mut length, mut authorised) = (0, false);
            loop {
                let mut header = String::new();
                reader.read_line(&mut header)?;
                let Some((name, value)) = header.trim_end().split_once(": ") else { break };
                match name.to_ascii_lowercase().as_str() {
                    "content-length" => length = value.parse().unwrap(),
                    "authorization" => authorised = value == format!("Bearer {TOKEN}"),
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body)?;
            let body = String::from_utf8(body).unwrap();
            let (fault, reply) = {
                let mut state = self.lock();
                state.requests.push(request.clone());
                let fault = state.take_fault(&request);
                let without_effect = matches!(fault, Some(Fault::Status(_) | Fault::Drop));
                let reply = match fault {
                    _ if !authorised => Reply::Json(401, json!({"error": format!("No such token: {TOKEN}")})),
                    Some(_) if without_effect => Reply::Nothing,
                    _ => state.answer(&request, &body),
                };
                self.changed.notify_all();
                (fault, reply)
            };
            match (fault, reply) {
                (Some(Fault::Drop | Fault::DoneThenDrop), _) => return stream.shutdown(Shutdown::Both),
                (Some(Fault::Status(status) | Fault::DoneThenStatus(status)), _) => {
                    // Servers have been seen to repeat what they were sent.
                    respond(stream, status, &json!({"error": format!("fault, said Bearer {TOKEN}")}))?;
                }
                (_, Reply::Json(status, json)) => respond(stream, status, &json)?,
                (fault, reply) => return self.stream(stream, &reply, fault),
            }
        }
    }

    /// Writes lines as they come.
    fn stream(&self, mut stream: &TcpStream, reply: &Reply, fault: Option<Fault>) -> std::io::Result<()> {
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
        )?;
        let mut left = match fault {
            Some(Fault::CutAfter(lines)) => Some(lines),
            _ => None,
        };
        let (mut queue, mut next) = match reply {
            Reply::Events => {
                let state = self.lock();
                (state.opening_events(), state.events.len())
            }
            Reply::Game(id) => {
                let state = self.lock();
                let game = &state.games[id];
                (vec![game.full(id)], game.lines.len())
            }
            _ => return Ok(()),
        };
        let mut last = None::<String>;
        loop {
            let is_doubled = self.lock().is_doubled;
            for line in queue.drain(..) {
                if left == Some(0) {
                    chunk(stream, &line[..line.len() / 2])?;
                    return stream.shutdown(Shutdown::Both);
                }
                left = left.map(|left| left - 1);
                chunk(stream, &format!("{line}\n"))?;
                if is_doubled {
                    chunk(stream, &format!("{line}\n"))?;
                    if let Some(last) = last.replace(line) {
                        chunk(stream, &format!("{last}\n"))?;
                    }
                }
            }
            let state = self.lock();
            let (mut state, waited) = self
                .changed
                .wait_timeout_while(state, KEEP_ALIVE, |state| {
                    !state.closing && state.lines(reply).len() == next
                })
                .unwrap();
            if state.closing {
                return stream.shutdown(Shutdown::Both);
            }
            queue.extend(state.lines(reply)[next..].iter().cloned());
            next = state.lines(reply).len();
            let over = match reply {
                Reply::Game(id) => state.games.get_mut(id).is_some_and(|game| game.status != "started"),
                _ => false,
            };
            drop(state);
            if over && queue.is_empty() {
                write!(stream, "0\r\n\r\n")?;
                return stream.shutdown(Shutdown::Both);
            }
            if waited.timed_out() {
                chunk(stream, "\n")?;
            }
        }
    }
}

fn chunk(mut stream: &TcpStream, text: &str) -> std::io::Result<()> {
    write!(stream, "{:x}\r\n{text}\r\n", text.len())
}

fn respond(mut stream: &TcpStream, status: u16, json: &Value) -> std::io::Result<()> {
    let body = json.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

impl State {
    fn take_fault(&mut self, request: &str) -> Option<Fault> {
        let at = self.faults.iter().position(|(what, _)| request.contains(what))?;
        Some(self.faults.remove(at).1)
    }

    /// How many faults are left.
    pub(crate) fn faults_left(&self) -> usize {
        self.faults.len()
    }

    fn lines(&self, of: &Reply) -> &[String] {
        match of {
            Reply::Game(id) => &self.games[id].lines,
            _ => &self.events,
        }
    }

    /// All that goes on, when the stream of events opens.
    fn opening_events(&self) -> Vec<String> {
        let games = self.games.iter().filter(|(_, game)| game.status == "started");
        let challenges = self.challenges.values();
        games
            .map(|(id, game)| game_event("gameStart", id, game.bot))
            .chain(
                challenges
                    .map(|(challenge, ..)| json!({"type": "challenge", "challenge": challenge}).to_string()),
            )
            .collect()
    }

    fn begin(&mut self, id: &str, bot: Color, script: VecDeque<String>) {
        let mut game = Game {
            bot,
            position: Chess::default(),
            moves: Vec::new(),
            script,
            status: "started".to_owned(),
            winner: None,
            opponent_offers: false,
            opponent_asks: false,
            bot_offered: false,
            lines: Vec::new(),
            chat: Vec::new(),
            clock: 180_000,
        };
        if bot == Color::Black {
            game.opponent_acts();
        }
        self.games.insert(id.to_owned(), game);
        self.events.push(game_event("gameStart", id, bot));
    }

    fn answer(&mut self, request: &str, body: &str) -> Reply {
        let ok = || Reply::Json(200, json!({"ok": true}));
        let bad = |error: &str| Reply::Json(400, json!({"error": error}));
        let missing = || Reply::Json(404, json!({"error": "Not found."}));
        let (path, query) = request.split_once('?').unwrap_or((request, ""));
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["GET ", "api", "account"] => Reply::Json(
                200,
                json!({"id": BOT.to_lowercase(), "username": BOT, "title": self.title, "count": {"all": self.played}}),
            ),
            ["POST ", "api", "bot", "account", "upgrade"] => {
                self.title = Some("BOT".to_owned());
                ok()
            }
            ["GET ", "api", "stream", "event"] => Reply::Events,
            ["GET ", "api", "bot", "game", "stream", id] if self.games.contains_key(id) => {
                Reply::Game(id.to_owned())
            }
            ["POST ", "api", "challenge", id, "accept"] => {
                let Some((_, bot, script)) = self.challenges.remove(id) else { return missing() };
                self.begin(id, bot, script);
                ok()
            }
            ["POST ", "api", "challenge", id, "decline"] => {
                if self.challenges.remove(id).is_none() {
                    return missing();
                }
                self.declined.insert(id.to_owned(), body.trim_start_matches("reason=").to_owned());
                ok()
            }
            ["POST ", "api", "bot", "game", id, action, ..] => {
                let Some(game) = self.games.get_mut(id) else { return missing() };
                let done = match (action, parts.get(6)) {
                    ("chat", None) => {
                        game.chat.push(body.to_owned());
                        Ok(())
                    }
                    ("move", Some(uci)) => game.bot_moves(uci, query == "offeringDraw=true"),
                    ("resign", None) => game.end("resign", Some(!game.bot)),
                    ("abort", None) if game.moves.len() < 2 => game.end("aborted", None),
                    ("claim-victory", None) => game.end("timeout", Some(game.bot)),
                    ("takeback", Some(&"no")) => {
                        game.opponent_asks = false;
                        game.tell();
                        Ok(())
                    }
                    _ => Err(format!("unexpected {action}")),
                };
                let ended = game.status != "started";
                let finish = game_event("gameFinish", id, game.bot);
                if ended && !self.events.contains(&finish) {
                    self.events.push(finish);
                }
                match done {
                    Ok(()) => ok(),
                    Err(error) => {
                        if !error.starts_with("agreed") {
                            self.violations.push(format!("{path}: {error}"));
                        }
                        bad(&error)
                    }
                }
            }
            _ => missing(),
        }
    }
}

fn game_event(kind: &str, id: &str, bot: Color) -> String {
    let color = bot.fold_wb("white", "black");
    json!({"type": kind, "game": {"fullId": format!("{id}abcd"), "gameId": id, "color": color, "id": id}})
        .to_string()
}

impl Game {
    fn state(&self) -> Value {
        let mut state = json!({
            "type": "gameState", "moves": self.moves.join(" "), "wtime": self.clock, "btime": self.clock,
            "winc": 2000, "binc": 2000, "status": self.status,
        });
        if let Some(winner) = self.winner {
            state["winner"] = winner.fold_wb("white", "black").into();
        }
        let opponent = self.bot.fold_wb('b', 'w');
        if self.opponent_offers {
            state[format!("{opponent}draw")] = true.into();
        }
        if self.opponent_asks {
            state[format!("{opponent}takeback")] = true.into();
        }
        state
    }

    fn full(&self, id: &str) -> String {
        let bot = json!({"id": BOT.to_lowercase(), "name": BOT, "title": "BOT", "rating": 1500});
        let mary = json!({"id": "mary", "name": "Mary", "title": null, "rating": 1021});
        let (white, black) = self.bot.fold_wb((&bot, &mary), (&mary, &bot));
        json!({
            "type": "gameFull", "id": id, "variant": {"key": "standard", "name": "Standard"}, "speed": "blitz",
            "perf": {"name": "Blitz"}, "rated": false, "createdAt": 1_745_112_707_998_i64,
            "white": white, "black": black, "initialFen": "startpos",
            "clock": {"initial": 180_000, "increment": 2000}, "state": self.state(),
        })
        .to_string()
    }

    fn tell(&mut self) {
        let line = self.state().to_string();
        self.lines.push(line);
    }

    fn play(&mut self, uci: &str) -> Result<(), String> {
        let illegal = || format!("{uci} at ply {} is not legal", self.moves.len());
        let parsed: UciMove = uci.parse().map_err(|_| illegal())?;
        let m = parsed.to_move(&self.position).map_err(|_| illegal())?;
        self.position.play_unchecked(m);
        self.moves.push(uci.to_owned());
        if self.position.is_checkmate() {
            (self.status, self.winner) = ("mate".to_owned(), Some(!self.position.turn()));
        } else if self.position.legal_moves().is_empty() {
            self.status = "stalemate".to_owned();
        }
        self.tell();
        Ok(())
    }

    fn end(&mut self, status: &str, winner: Option<Color>) -> Result<(), String> {
        if self.status != "started" {
            return Err("the game is over".to_owned());
        }
        (self.status, self.winner) = (status.to_owned(), winner);
        self.tell();
        Ok(())
    }

    fn bot_moves(&mut self, uci: &str, offering: bool) -> Result<(), String> {
        if self.status != "started" || self.position.turn() != self.bot {
            return Err(format!("{uci} at ply {}: not your turn, or game already over", self.moves.len()));
        }
        if offering && self.opponent_offers {
            self.end("draw", None)?;
            return Err("agreed: the game is over".to_owned());
        }
        self.opponent_offers = false;
        self.bot_offered |= offering;
        self.play(uci)?;
        self.opponent_acts();
        Ok(())
    }

    fn opponent_acts(&mut self) {
        while self.status == "started" {
            match self.script.pop_front().as_deref() {
                Some("+draw") => {
                    self.opponent_offers = true;
                    self.tell();
                }
                Some("+takeback") => {
                    self.opponent_asks = true;
                    self.tell();
                }
                Some("+gone") => {
                    let gone = json!({"type": "opponentGone", "gone": true, "claimWinInSeconds": 0});
                    self.lines.push(gone.to_string());
                    return;
                }
                Some("+left") => {
                    let left = json!({"type": "opponentGone", "gone": true, "claimWinInSeconds": 3600});
                    self.lines.push(left.to_string());
                }
                Some("+back") => self.lines.push(json!({"type": "opponentGone", "gone": false}).to_string()),
                Some("+hold") => return,
                Some("+any") => {
                    let any = self.position.legal_moves()[0].to_uci(CastlingMode::Standard).to_string();
                    return self.play(&any).unwrap();
                }
                Some("+resign") | None => drop(self.end("resign", Some(self.bot))),
                Some(uci) => return self.play(uci).unwrap(),
            }
        }
    }
}
