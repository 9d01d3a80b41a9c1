//! Origins whose pages may show the page in a frame.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;
use std::str::FromStr;

/// An origin that a `frame-ancestors` directive can name: `https://example.org`, `http://localhost:8000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameOrigin(String);

/// Text that is not such an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FrameOriginError {
    /// Neither `http://` nor `https://`.
    #[error("no scheme: expected SCHEME://HOST[:PORT] with http or https, such as https://example.org")]
    Scheme,
    /// A path, query or fragment, even an empty one.
    #[error("an origin has no path: expected SCHEME://HOST[:PORT] without a slash after it")]
    Path,
    /// The host is missing, or one that policies cannot name.
    #[error("invalid host: expected a name or an IPv4 address, without wildcards")]
    Host,
    /// Not a port number.
    #[error("invalid port: expected 1 to 65535")]
    Port,
}

impl FromStr for FrameOrigin {
    type Err = FrameOriginError;

    fn from_str(text: &str) -> Result<FrameOrigin, FrameOriginError> {
        let (scheme, rest) = text.split_once("://").ok_or(FrameOriginError::Scheme)?;
        let scheme = scheme.to_ascii_lowercase();
        if !matches!(scheme.as_str(), "http" | "https") {
            return Err(FrameOriginError::Scheme);
        }
        if rest.contains(['/', '?', '#']) {
            return Err(FrameOriginError::Path);
        }
        let (host, port) = match rest.split_once(':') {
            // Policies have no syntax for IPv6 addresses.
            _ if rest.starts_with('[') => return Err(FrameOriginError::Host),
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        };
        // The text goes into a header, where a semicolon or a space would start something else.
        let plain = |label: &str| {
            !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !host.split('.').all(plain) {
            return Err(FrameOriginError::Host);
        }
        let host = host.to_ascii_lowercase();
        let Some(port) = port else { return Ok(FrameOrigin(format!("{scheme}://{host}"))) };
        // `parse` alone would take a sign.
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        match port.parse::<u16>() {
            Ok(port) if digits && port > 0 => Ok(FrameOrigin(format!("{scheme}://{host}:{port}"))),
            _ => Err(FrameOriginError::Port),
        }
    }
}

impl fmt::Display for FrameOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_in_lower_case() {
        for (text, read) in [
            ("https://example.org", "https://example.org"),
            ("HTTP://LocalHost:8000", "http://localhost:8000"),
            ("http://127.0.0.1:65535", "http://127.0.0.1:65535"),
            ("https://my-blog.example.org:0443", "https://my-blog.example.org:443"),
        ] {
            assert_eq!(text.parse::<FrameOrigin>().unwrap().to_string(), read);
        }
    }

    #[test]
    fn other_text_is_rejected() {
        use FrameOriginError::{Host, Path, Port, Scheme};
        for (text, error) in [
            ("", Scheme),
            ("example.org", Scheme),
            ("ftp://example.org", Scheme),
            ("'none'", Scheme),
            ("https://example.org/", Path),
            ("https://example.org?x", Path),
            ("https://", Host),
            ("https://*.example.org", Host),
            ("https://a..b", Host),
            ("https://a; script-src *", Host),
            ("https://a\r\nb", Host),
            ("https://user@example.org", Host),
            ("http://[::1]:80", Host),
            ("http://localhost:", Port),
            ("http://localhost:0", Port),
            ("http://localhost:+80", Port),
            ("http://localhost:65536", Port),
            ("http://localhost:80:80", Port),
            ("http://localhost:*", Port),
        ] {
            assert_eq!(text.parse::<FrameOrigin>(), Err(error), "{text}");
        }
    }
}
