//! HTTP: requests one at a time, and streams of lines.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    io::{BufRead, BufReader, Read},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ureq::{
    Agent, Body, BodyReader,
    http::{Response, StatusCode, Uri},
};

use crate::{Timing, Token, events::Account};

/// The largest answer or line read.
const LONGEST: u64 = 1 << 20;
/// The longest part of an error message that is shown.
const SHOWN: usize = 300;

/// A server that speaks the Bot API, and an account there. Requests are made one at a time, as the API asks; after "too
/// many requests" none is made for a minute. Streams are read side by side.
pub struct Client {
    server: String,
    token: Token,
    timing: Timing,
    is_loopback: bool,
    agent: Agent,
    /// Held during a request; when the next may be made.
    turn: Mutex<Option<Instant>>,
}

/// Why an address cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It is no address.
    #[error("{0:?} is not the address of a server (expected https://HOST)")]
    Invalid(String),
    /// The token would be readable on the way.
    #[error("{0}: refusing to send the token unencrypted (expected https://, or a loopback address)")]
    Unencrypted(String),
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// Too many requests; none may be made for this long. This one had no effect.
    #[error("too many requests: waiting {} s", .0.as_secs())]
    RateLimited(Duration),
    /// The token is not accepted.
    #[error("the server does not accept the token (expired or revoked, or without the scope bot:play): {0}")]
    Unauthorised(String),
    /// There is no such thing.
    #[error("not found")]
    NotFound,
    /// The server refuses. The request had no effect.
    #[error("refused ({status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server says.
        message: String,
    },
    /// The server failed. The request may have had its effect.
    #[error("the server failed ({0})")]
    Server(u16),
    /// No answer. The request may have had its effect.
    #[error("no connection: {0}")]
    Connection(String),
    /// An answer that cannot be understood.
    #[error("unreadable answer: {0}")]
    Unreadable(String),
}

impl Client {
    /// A client of the server at this address, such as `https://lichess.org`.
    ///
    /// # Errors
    /// If the address is none, or would send the token unencrypted over a network.
    pub fn new(server: &str, token: Token, timing: Timing) -> Result<Client, AddressError> {
        let invalid = || AddressError::Invalid(server.to_owned());
        let uri: Uri = server.parse().map_err(|_| invalid())?;
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(invalid)?;
        if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
        {
            return Err(invalid());
        }
        let is_loopback = is_loopback(host);
        match uri.scheme_str() {
            Some("https") => {}
            Some("http") if is_loopback => {}
            Some("http") => return Err(AddressError::Unencrypted(server.to_owned())),
            _ => return Err(invalid()),
        }
        let server = server.trim_end_matches('/').to_owned();
        let agent = agent(Some(timing.request), timing, is_loopback);
        Ok(Client { server, token, timing, is_loopback, agent, turn: Mutex::new(None) })
    }

    /// The address, without a slash at the end.
    pub fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    /// The account of the token.
    ///
    /// # Errors
    /// If the request fails.
    pub fn account(&self) -> Result<Account, RequestError> {
        let text = self.ask(|client| {
            let request = client.agent.get(client.url("/api/account"));
            request.header("Authorization", client.token.authorization()).call()
        })?;
        serde_json::from_str(&text).map_err(|error| RequestError::Unreadable(error.to_string()))
    }

    /// Makes the account a bot account, which cannot be undone.
    ///
    /// # Errors
    /// If the request fails.
    pub fn upgrade(&self) -> Result<(), RequestError> {
        self.post("/api/bot/account/upgrade", &[])
    }

    /// Sends a form. Never waits for its turn after "too many requests", but fails.
    pub(crate) fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<(), RequestError> {
        self.ask(|client| {
            let request = client.agent.post(client.url(path));
            let request = request.header("Authorization", client.token.authorization());
            if form.is_empty() { request.send_empty() } else { request.send_form(form.iter().copied()) }
        })
        .map(drop)
    }

    /// Opens a stream of lines.
    pub(crate) fn open(&self, path: &str) -> Result<(Lines, StreamHandle), RequestError> {
        // Its own connections, which can be closed without those of others.
        let agent = agent(None, self.timing, self.is_loopback);
        let request = agent.get(self.url(path)).header("Authorization", self.token.authorization());
        let response = {
            let mut turn = self.turn()?;
            let response = request.call();
            self.note(&mut turn, response)?
        };
        let lines = Lines { reader: BufReader::new(response.into_body().into_reader()) };
        Ok((lines, StreamHandle(agent)))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server)
    }

    /// Makes a request and reads its answer.
    fn ask(
        &self,
        request: impl FnOnce(&Client) -> Result<Response<Body>, ureq::Error>,
    ) -> Result<String, RequestError> {
        let mut turn = self.turn()?;
        let response = request(self);
        let response = self.note(&mut turn, response)?;
        // The answer is read in turn too: a request ends with it.
        read(response.into_body()).map_err(|error| self.lost(&error))
    }

    /// The turn to make a request.
    fn turn(&self) -> Result<MutexGuard<'_, Option<Instant>>, RequestError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let left = turn.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() { Ok(turn) } else { Err(RequestError::RateLimited(left)) }
    }

    /// Sorts out answers other than success.
    fn note(
        &self,
        turn: &mut Option<Instant>,
        response: Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>, RequestError> {
        let response = response.map_err(|error| self.lost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            // Some limits are longer than a minute; none is shorter.
            let asked = response.headers().get("Retry-After").and_then(|value| value.to_str().ok());
            let asked =
                asked.and_then(|seconds| seconds.parse().ok()).map_or(Duration::ZERO, Duration::from_secs);
            let wait = self.timing.rate_limited.max(asked.min(LONGEST_LIMIT));
            *turn = Instant::now().checked_add(wait);
            return Err(RequestError::RateLimited(wait));
        }
        if status.is_server_error() {
            return Err(RequestError::Server(status.as_u16()));
        }
        let message = self.message(response.into_body());
        Err(match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RequestError::Unauthorised(message),
            StatusCode::NOT_FOUND => RequestError::NotFound,
            _ => RequestError::Refused { status: status.as_u16(), message },
        })
    }

    /// What the server says of an error.
    fn message(&self, body: Body) -> String {
        let text = read(body).unwrap_or_default();
        let said = serde_json::from_str::<serde_json::Value>(&text).ok();
        let said = said.and_then(|value| Some(value.get("error")?.as_str()?.to_owned())).unwrap_or(text);
        // It could repeat what it was sent, and move the cursor.
        let plain: String = said.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
        self.token.redact(&plain)
    }

    fn lost(&self, error: &ureq::Error) -> RequestError {
        RequestError::Connection(self.token.redact(&error.to_string()))
    }
}

/// The longest time for which the server may forbid requests.
const LONGEST_LIMIT: Duration = Duration::from_secs(24 * 3600);

fn read(body: Body) -> Result<String, ureq::Error> {
    body.into_with_config().limit(LONGEST).lossy_utf8(true).read_to_string()
}

/// HTTP with the limits for requests, or for streams.
fn agent(request: Option<Duration>, timing: Timing, is_loopback: bool) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // The token goes nowhere else.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .user_agent(concat!("tabia/", env!("CARGO_PKG_VERSION")))
        .timeout_global(request)
        .timeout_connect(Some(timing.request))
        .timeout_recv_response(Some(timing.request))
        .timeout_per_read(Some(timing.silence));
    // A proxy cannot reach this machine's own addresses.
    let config = if is_loopback { config.proxy(None) } else { config };
    config.build().new_agent()
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Lines as they arrive.
pub(crate) struct Lines {
    reader: BufReader<BodyReader<'static>>,
}

impl Lines {
    /// The next line; `None` when the server has ended the stream. Text of a line that was cut off is dropped.
    pub(crate) fn next(&mut self) -> Result<Option<String>, RequestError> {
        let mut bytes = Vec::new();
        let lost = |error: &std::io::Error| RequestError::Connection(error.to_string());
        let read = (&mut self.reader).take(LONGEST).read_until(b'\n', &mut bytes);
        read.map_err(|error| lost(&error))?;
        if bytes.last() == Some(&b'\n') {
            return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
        }
        if bytes.len() as u64 == LONGEST {
            return Err(RequestError::Unreadable(format!("a line of more than {LONGEST} bytes")));
        }
        Ok(None)
    }
}

/// Closes a stream, whoever reads it.
pub(crate) struct StreamHandle(Agent);

impl StreamHandle {
    pub(crate) fn close(self) {
        self.0.shutdown();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(server: &str) -> Result<Client, AddressError> {
        Client::new(server, Token::new("lip_secret").unwrap(), Timing::default())
    }

    #[test]
    fn the_token_is_sent_encrypted_or_to_this_machine() {
        for server in
            ["https://lichess.org/", "http://127.0.0.1:9663", "http://localhost:8080", "http://[::1]:1"]
        {
            let client = new(server).map_err(|error| error.to_string()).unwrap();
            assert_eq!(client.server(), server.trim_end_matches('/'));
        }
        for server in ["http://lichess.org", "http://127.0.0.1.example.org", "http://localhost.example.org"] {
            assert_eq!(new(server).err(), Some(AddressError::Unencrypted(server.to_owned())));
        }
        for server in ["", "lichess.org", "ftp://lichess.org", "https://a:b@lichess.org", "https://x.org/?y"]
        {
            assert_eq!(new(server).err(), Some(AddressError::Invalid(server.to_owned())), "{server}");
        }
    }
}
