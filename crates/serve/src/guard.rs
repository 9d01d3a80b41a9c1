//! Who may ask: pages of this server, and programs that name it by its own address.
//!
//! A page elsewhere can make a browser send requests here, and can point its own name at 127.0.0.1; the `Host` header then
//! carries that name, and is refused.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// What pages of this server may load: only what comes from here. One line, and the same that the page is tested with.
const POLICY: &str = include_str!("../../../web/policy.txt").trim_ascii();

/// What a request's `Host` may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    address: SocketAddr,
}

impl Guard {
    pub(crate) fn of(address: SocketAddr) -> Guard {
        Guard { address }
    }

    /// Whether a request to `host` is meant for this server.
    fn admits(self, host: &str) -> bool {
        let (name, port) = split_port(host);
        if port.unwrap_or(80) != self.address.port() {
            return false;
        }
        let literal = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            // An address cannot be rebound by somebody's name server.
            Ok(ip) => ip.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

/// `name:port`, `[::1]:port` or a name alone.
fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, port.parse().ok()),
        _ => (host, None),
    }
}

pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let host = request
        .uri()
        .authority()
        .map(|authority| authority.as_str().to_owned())
        .or_else(|| request.headers().get(header::HOST)?.to_str().ok().map(str::to_owned));
    if !host.is_some_and(|host| guard.admits(&host)) {
        let refusal = "this server answers only to its own address, such as 127.0.0.1 or localhost\n";
        return (StatusCode::MISDIRECTED_REQUEST, refusal).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_servers_own_names_are_admitted() {
        let guard = Guard::of("127.0.0.1:5001".parse().unwrap());
        for host in ["127.0.0.1:5001", "localhost:5001", "LocalHost:5001", "[::1]:5001"] {
            assert!(guard.admits(host), "{host}");
        }
        for host in ["evil.example:5001", "127.0.0.1", "127.0.0.1:80", "192.168.1.4:5001", "", ":5001"] {
            assert!(!guard.admits(host), "{host}");
        }
    }

    #[test]
    fn bound_to_the_network_any_address_is_admitted_and_names_still_are_not() {
        let guard = Guard::of("0.0.0.0:5001".parse().unwrap());
        assert!(guard.admits("192.168.1.4:5001"));
        assert!(!guard.admits("evil.example:5001"));
    }
}
