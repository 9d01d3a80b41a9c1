//! The program as a server, with a folder of its own.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::process::{Folder, tabia};

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: String,
    pub(crate) folder: Folder,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server may have been stopped by the test itself, or have ended, for which the test then failed.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    /// As text, as far as it is.
    pub(crate) body: String,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| {
            line.split_once(": ")
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.len())
        };
        self.head.lines().find_map(|line| of(line).map(|length| &line[line.len() - length..]))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    /// Serves `what` under the name of its option; `folder` goes away with the server.
    pub(crate) fn start(folder: Folder, option: &str, what: &Path) -> Server {
        Server::of(folder, tabia(["serve", "--port", "0", option]).arg(what))
    }

    /// A server of this command; `folder` goes away with it.
    pub(crate) fn of(folder: Folder, command: &mut Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on http://")?.split('/').next()?.to_owned()))
            .expect("the server says where it listens");
        Server { child, address, folder }
    }

    pub(crate) fn ask(&self, path: &str) -> Answer {
        self.ask_with(path, &format!("Host: {}\r\n", self.address))
    }

    pub(crate) fn ask_with(&self, path: &str, headers: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let gap = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head and a body");
        let head = String::from_utf8(answer[..gap].to_vec()).expect("heads are text");
        let bytes = answer.split_off(gap + 4);
        let body = String::from_utf8_lossy(&bytes).into_owned();
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Answer { status, head, body, bytes }
    }
}
