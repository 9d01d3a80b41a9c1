//! Rejects requests whose `Host` is not this server, as protection against DNS rebinding.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::FrameOrigin;

/// Content security policy: same-origin resources only. The page's tests use the same file.
const POLICY: &str = include_str!("../../../web/policy.txt").trim_ascii();

/// The part of it that `FrameOrigin`s change.
const NO_FRAMES: &str = "frame-ancestors 'none'";

#[derive(Clone, Debug)]
pub(crate) struct HostCheck {
    address: SocketAddr,
    policy: HeaderValue,
}

impl HostCheck {
    /// Pages of `frame_origins` may show this server's pages in a frame.
    pub(crate) fn new(address: SocketAddr, frame_origins: &[FrameOrigin]) -> HostCheck {
        HostCheck { address, policy: policy(frame_origins) }
    }

    /// Whether `host` names this server.
    fn accepts(&self, host: &str) -> bool {
        let (name, port) = split_port(host);
        if port.unwrap_or(80) != self.address.port() {
            return false;
        }
        let literal = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            // IP addresses cannot be rebound by a name server.
            Ok(ip) => ip.is_loopback() || !self.address.ip().is_loopback(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        }
    }
}

fn policy(frame_origins: &[FrameOrigin]) -> HeaderValue {
    let refused = HeaderValue::from_static(POLICY);
    if frame_origins.is_empty() {
        return refused;
    }
    let mut frames = "frame-ancestors 'self'".to_owned();
    for origin in frame_origins {
        frames.push(' ');
        frames.push_str(&origin.to_string());
    }
    // Origins are ASCII, so this does not fail; if it did, no page could show this one.
    HeaderValue::from_str(&POLICY.replace(NO_FRAMES, &frames)).unwrap_or(refused)
}

/// Splits `name:port`, `[::1]:port` or a bare name.
fn split_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, port.parse().ok()),
        _ => (host, None),
    }
}

/// Middleware: checks the host and adds security headers.
pub(crate) async fn check(State(hosts): State<HostCheck>, request: Request, next: Next) -> Response {
    let host = request
        .uri()
        .authority()
        .map(|authority| authority.as_str().to_owned())
        .or_else(|| request.headers().get(header::HOST)?.to_str().ok().map(str::to_owned));
    if !host.is_some_and(|host| hosts.accepts(&host)) {
        let message = "unexpected Host header (expected this server's address, such as localhost)\n";
        return (StatusCode::MISDIRECTED_REQUEST, message).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(hosts.policy);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        // Isolates the page from other origins: only then browsers let its workers share memory, as threads do. A page in a frame
        // is shown as before.
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_server_accepts_only_loopback_hosts() {
        let hosts = HostCheck::new("127.0.0.1:5001".parse().unwrap(), &[]);
        for host in ["127.0.0.1:5001", "localhost:5001", "LocalHost:5001", "[::1]:5001"] {
            assert!(hosts.accepts(host), "{host}");
        }
        for host in ["evil.example:5001", "127.0.0.1", "127.0.0.1:80", "192.168.1.4:5001", "", ":5001"] {
            assert!(!hosts.accepts(host), "{host}");
        }
    }

    #[test]
    fn public_server_accepts_any_ip_but_no_names() {
        let hosts = HostCheck::new("0.0.0.0:5001".parse().unwrap(), &[]);
        assert!(hosts.accepts("192.168.1.4:5001"));
        assert!(!hosts.accepts("evil.example:5001"));
    }
    #[test]
    fn only_the_given_origins_may_show_the_page_in_a_frame() {
        assert!(POLICY.contains(NO_FRAMES));
        assert_eq!(policy(&[]), POLICY);
        let origins = ["https://example.org", "http://localhost:8000"].map(|origin| origin.parse().unwrap());
        let framed =
            POLICY.replace(NO_FRAMES, "frame-ancestors 'self' https://example.org http://localhost:8000");
        assert_eq!(policy(&origins), framed.as_str());
    }
}
