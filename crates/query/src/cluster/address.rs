#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::ClusterError;

/// The address of a scheduler: a host name or IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerAddress {
    host: String,
    port: u16,
}

impl SchedulerAddress {
    /// Default port of a scheduler.
    pub const DEFAULT_PORT: u16 = 50050;

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self) -> String {
        format!("http://{self}")
    }
}

impl FromStr for SchedulerAddress {
    type Err = ClusterError;

    /// Parses `HOST:PORT`, with IPv6 addresses in brackets.
    fn from_str(text: &str) -> Result<Self, ClusterError> {
        let refused = || ClusterError::Address(text.to_owned());
        let (host, port) = text.rsplit_once(':').ok_or_else(refused)?;
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let fits = match bare {
            Some(inner) => matches!(inner.parse(), Ok(IpAddr::V6(_))),
            None => !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)),
        };
        let port = port.parse().ok().filter(|&port| port != 0).ok_or_else(refused)?;
        if fits { Ok(Self { host: host.to_owned(), port }) } else { Err(refused()) }
    }
}

impl fmt::Display for SchedulerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// An address as it stands in a URL: IPv6 in brackets.
pub(super) fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_host_and_port() {
        for text in ["127.0.0.1:50050", "alpha:1", "box-2.lan:65535", "[::1]:50050"] {
            assert_eq!(text.parse::<SchedulerAddress>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "alpha",
            "alpha:",
            ":50050",
            "alpha:0",
            "alpha:65536",
            "::1:50050",
            "[alpha]:1",
            "http://a:1",
        ] {
            let fault = text.parse::<SchedulerAddress>().unwrap_err();
            assert!(matches!(&fault, ClusterError::Address(address) if address == text), "{fault}");
        }
    }
}
