//! `tabia model fetch` from a server with faults.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use crate::process::{Folder, fail, fixture, succeed, tabia};

const TAG: &str = "\"one\"";
const NAME: &str = "challenge-mlp.onnx";

/// What the server answers with.
#[derive(Clone)]
enum Reply {
    /// The file, or the part that is asked for.
    File,
    /// The same, but the connection is lost after so many bytes.
    BrokenAfter(usize),
    Status(&'static str),
    Page,
}

/// Serves a file with these replies, then with the last of them; gives its address and the headers of the requests.
fn serve(file: Vec<u8>, replies: Vec<Reply>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/networks/{NAME}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let reply = replies.get(number).or(replies.last()).unwrap();
            answer(stream.unwrap(), &file, reply, &sender);
        }
    });
    (address, receiver)
}

fn answer(mut stream: TcpStream, file: &[u8], reply: &Reply, requests: &Sender<String>) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let head: Vec<String> = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
    let value = |name: &str| {
        head.iter().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    };
    let same = value("if-range").is_none_or(|tag| tag == TAG);
    let range =
        value("range").filter(|_| same).and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
    let start: usize = range.map_or(0, |start| start.parse().unwrap());
    let body = &file[start..];
    let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    let kept = if let Reply::BrokenAfter(bytes) = reply { *bytes } else { body.len() };
    // A client that has gone does not matter.
    let _ = match reply {
        Reply::Status(status) => {
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        Reply::Page => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\n<p>")
        }
        _ => write!(
            stream,
            "HTTP/1.1 {status}\r\nETag: {TAG}\r\nContent-Range: bytes {start}-{}/{}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            file.len() - 1,
            file.len(),
            body.len()
        )
        .and_then(|()| stream.write_all(&body[..kept])),
    };
    let _ = requests.send(head.join("\n"));
}

fn network() -> Vec<u8> {
    std::fs::read(fixture("models").join(NAME)).unwrap()
}

/// The network's SHA-256.
fn checksum() -> String {
    let info = succeed(tabia(["model", "info", "--json"]).arg(fixture("models").join(NAME)));
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    info["sha256"].as_str().unwrap().to_owned()
}

#[test]
fn lost_connection_is_resumed_and_the_file_checked() {
    let folder = Folder::new();
    let (url, requests) =
        serve(network(), vec![Reply::BrokenAfter(1000), Reply::Status("503 Busy"), Reply::File]);
    let text = succeed(tabia(["model", "fetch", &url, "--sha256", &checksum()]).current_dir(folder.path()));
    assert!(text.contains("challenge-768"), "{text}");
    assert_eq!(std::fs::read(folder.file(NAME)).unwrap(), network());
    let requests: Vec<String> = requests.try_iter().collect();
    assert_eq!(requests.len(), 3);
    assert!(!requests[0].contains("bytes="), "{requests:?}");
    assert!(requests[2].contains("bytes=1000-") && requests[2].contains(TAG), "{requests:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn interrupted_download_is_resumed_only_if_it_is_of_the_same_file() {
    for (tag, asked_for_the_rest) in [(TAG, true), ("\"two\"", false)] {
        let folder = Folder::new();
        let start = if asked_for_the_rest { network()[..700].to_vec() } else { vec![0; 700] };
        folder.written("net.onnx.part", start);
        folder.written("net.onnx.part.etag", tag);
        let (url, requests) = serve(network(), vec![Reply::File]);
        succeed(tabia(["model", "fetch", &url, "--out", "net.onnx"]).current_dir(folder.path()));
        assert_eq!(std::fs::read(folder.file("net.onnx")).unwrap(), network(), "{tag}");
        assert!(requests.recv().unwrap().contains("bytes=700-"));
    }
}

#[test]
fn file_with_another_checksum_is_discarded() {
    let folder = Folder::new();
    let (url, _requests) = serve(network(), vec![Reply::File]);
    let wrong = "0".repeat(64);
    let errors = fail(tabia(["model", "fetch", &url, "--sha256", &wrong]).current_dir(folder.path()));
    assert!(errors.contains(&checksum()) && errors.contains(&wrong), "{errors}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let errors = fail(tabia(["model", "fetch", &url, "--sha256", "abc"]));
    assert!(errors.contains("64 hexadecimal digits"), "{errors}");
}

#[test]
fn pages_and_missing_files_are_refused_and_nothing_is_replaced() {
    let folder = Folder::new();
    for (reply, complaint) in [(Reply::Page, "a web page"), (Reply::Status("404 Not Found"), "404")] {
        let (url, _requests) = serve(network(), vec![reply]);
        let errors = fail(tabia(["model", "fetch", &url]).current_dir(folder.path()));
        assert!(errors.contains(complaint) && errors.contains(&url), "{errors}");
    }
    folder.written(NAME, "mine");
    let (url, requests) = serve(network(), vec![Reply::File]);
    let errors = fail(tabia(["model", "fetch", &url]).current_dir(folder.path()));
    assert!(errors.contains("--force") && requests.try_recv().is_err(), "{errors}");
    succeed(tabia(["model", "fetch", &url, "--force"]).current_dir(folder.path()));
    assert_eq!(std::fs::read(folder.file(NAME)).unwrap(), network());
}
