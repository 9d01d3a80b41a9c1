#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Checks the version and the number of executors of a scheduler before sending it a plan.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use ballista_core::BALLISTA_VERSION;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::{ClusterError, SchedulerAddress};

/// Timeout of connecting and of an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Limit on the size of an answer.
const LONGEST_ANSWER: u64 = 16 * 1024;

/// The answer of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Probe {
    /// Number of executors.
    pub(super) executors: usize,
    /// Local address of the connection.
    pub(super) local: IpAddr,
}

/// Probes the scheduler once.
pub(super) async fn probe(address: &SchedulerAddress) -> Result<Probe, ClusterError> {
    let unreachable = |error| ClusterError::Unreachable { address: address.to_string(), error };
    let (local, answer) = timeout(PATIENCE, ask(address))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
        .map_err(unreachable)?;
    let Answer { version, executors } =
        Answer::read(&answer).ok_or_else(|| ClusterError::NotAScheduler { address: address.to_string() })?;
    if version != BALLISTA_VERSION {
        return Err(ClusterError::Version {
            address: address.to_string(),
            theirs: version,
            ours: BALLISTA_VERSION,
        });
    }
    Ok(Probe { executors, local })
}

/// Probes until the scheduler answers or `patience` is over, as machines start in any order.
pub(super) async fn probe_until(
    address: &SchedulerAddress,
    patience: Duration,
) -> Result<Probe, ClusterError> {
    const PAUSE: Duration = Duration::from_millis(200);
    let mut left = patience;
    loop {
        match probe(address).await {
            Err(ClusterError::Unreachable { .. }) if left > Duration::ZERO => {
                sleep(PAUSE).await;
                left = left.saturating_sub(PAUSE);
            }
            outcome => return outcome,
        }
    }
}

async fn ask(address: &SchedulerAddress) -> io::Result<(IpAddr, String)> {
    let mut stream = TcpStream::connect(address.to_string()).await?;
    let local = stream.local_addr()?.ip();
    let question = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
    Ok((local, String::from_utf8_lossy(&answer).into_owned()))
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    version: String,
    executors: usize,
}

impl Answer {
    /// Reads `server: ballista/VERSION` and a body of `ready: N executors ...` or `not ready: N/M executors ...`.
    fn read(text: &str) -> Option<Self> {
        let (head, body) = text.split_once("\r\n\r\n")?;
        let version = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let version = value.trim().strip_prefix("ballista/")?;
            name.eq_ignore_ascii_case("server").then(|| version.to_owned())
        })?;
        let (_, count) = body.split_once("ready: ")?;
        let digits = count.split(|c: char| !c.is_ascii_digit()).next()?;
        Some(Self { version, executors: digits.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(server: &str, body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nserver: {server}\r\n\r\n{body}")
    }

    #[test]
    fn answers_have_version_and_executors() {
        let read = |server, body| Answer::read(&answer(server, body));
        let some = |executors| Some(Answer { version: "55.0.0".to_owned(), executors });
        assert_eq!(read("ballista/55.0.0", "ready: 12 executors registered\n"), some(12));
        assert_eq!(read("ballista/55.0.0", "not ready: 0/1 executors registered\n"), some(0));
        assert_eq!(read("nginx", "ready: 12 executors registered\n"), None);
        assert_eq!(read("ballista/55.0.0", "hello"), None);
        assert_eq!(Answer::read(""), None);
    }

    #[tokio::test]
    async fn a_closed_port_is_unreachable() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let fault = probe(&address.parse().unwrap()).await.unwrap_err();
        assert!(matches!(&fault, ClusterError::Unreachable { address: at, .. } if *at == address), "{fault}");
    }

    #[tokio::test]
    async fn another_program_is_not_a_scheduler() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SchedulerAddress = listener.local_addr().unwrap().to_string().parse().unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
        };
        let (outcome, ()) = tokio::join!(probe(&address), server);
        assert!(
            matches!(outcome, Err(ClusterError::NotAScheduler { .. } | ClusterError::Unreachable { .. })),
            "{outcome:?}"
        );
    }
}
