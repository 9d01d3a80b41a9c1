//! The page and its files.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use super::server::{Answer, Server};
use crate::process::{Folder, fail, tabia};

const INDEX: &str = "<!doctype html><title>a page</title>";
const SCRIPT: &str = "export const answer = 42; // and some more text, so that there is something to pack";

/// Serves a small page: a script in all forms, a wasm file that is only packed, a file outside.
fn small_page() -> Server {
    let folder = Folder::new();
    let page = folder.file("page");
    fs::create_dir_all(page.join("assets")).unwrap();
    folder.written("outside.txt", "secret");
    fs::write(page.join("index.html"), INDEX).unwrap();
    fs::write(page.join(".hidden"), "secret").unwrap();
    fs::write(page.join("sw.js"), "").unwrap();
    fs::write(page.join("assets/app-1a2b.js"), SCRIPT).unwrap();
    fs::write(page.join("assets/app-1a2b.js.br"), "as brotli").unwrap();
    fs::write(page.join("assets/app-1a2b.js.gz"), packed(SCRIPT.as_bytes())).unwrap();
    fs::write(page.join("assets/tabia-3c4d.wasm.gz"), packed(b"\0asm")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.file("outside.txt"), page.join("link.txt")).unwrap();
    let server = Server::start(folder, "--page", &page);
    fs::remove_file(page.join("sw.js")).unwrap(); // the page is read once
    server
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn ask(server: &Server, path: &str, encodings: &str) -> Answer {
    server.ask_with(path, &format!("Host: {}\r\nAccept-Encoding: {encodings}\r\n", server.address))
}

#[test]
fn files_come_with_their_types_their_policy_and_how_long_they_keep() {
    let server = small_page();
    for path in ["/", "/index.html"] {
        let page = server.ask(path);
        assert_eq!((page.status, page.body.as_str()), (200, INDEX));
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert_eq!(page.header("cache-control"), Some("no-cache"));
        let policy = page.header("content-security-policy").unwrap();
        for rule in ["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "frame-ancestors 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
        // Without these, also on scripts of workers, browsers do not let threads share memory.
        assert_eq!(page.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(page.header("cross-origin-embedder-policy"), Some("require-corp"));
        let worker = server.ask("/assets/app-1a2b.js");
        assert_eq!(worker.header("cross-origin-embedder-policy"), Some("require-corp"));
    }
    let script = server.ask("/assets/app-1a2b.js");
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
    let worker = server.ask("/sw.js");
    assert_eq!((worker.status, worker.header("cache-control")), (200, Some("no-cache")));
    let wasm = server.ask("/assets/tabia-3c4d.wasm");
    assert_eq!(wasm.header("content-type"), Some("application/wasm"));
    assert_eq!(wasm.bytes, b"\0asm", "unpacked for who takes no packing");
}

#[test]
fn packed_forms_go_to_those_who_take_them() {
    let server = small_page();
    let path = "/assets/app-1a2b.js";
    let brotli = ask(&server, path, "gzip, deflate, br, zstd");
    assert_eq!((brotli.header("content-encoding"), brotli.body.as_str()), (Some("br"), "as brotli"));
    assert_eq!(brotli.header("vary"), Some("accept-encoding"));
    let gzip = ask(&server, path, "gzip, br;q=0");
    assert_eq!((gzip.header("content-encoding"), &gzip.bytes), (Some("gzip"), &packed(SCRIPT.as_bytes())));
    let plain = ask(&server, path, "identity");
    assert_eq!((plain.header("content-encoding"), plain.body.as_str()), (None, SCRIPT));

    let tag = brotli.header("etag").unwrap();
    let host = &server.address;
    let again = |encodings: &str| {
        let headers = format!("Host: {host}\r\nAccept-Encoding: {encodings}\r\nIf-None-Match: {tag}\r\n");
        server.ask_with(path, &headers).status
    };
    assert_eq!((again("br"), again("gzip")), (304, 200));
}

#[test]
fn nothing_but_the_page_can_be_read() {
    let server = small_page();
    for path in [
        "/../outside.txt",
        "/%2e%2e/outside.txt",
        "/..%2foutside.txt",
        "/assets/../../outside.txt",
        "//etc/passwd",
        "/.hidden",
        "/link.txt",
        "/assets/app-1a2b.js.br",
        "/assets",
        "/models/given/x",
        "/index.html%00",
    ] {
        let answer = server.ask(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.body);
    }
    for path in ["/", "/sw.js", "/models/value.safetensors", "/api/about", "/api/arena"] {
        assert_eq!(server.ask_with(path, "Host: evil.example\r\n").status, 421, "{path}");
        assert_eq!(server.ask_with(path, "").status, 421, "{path} without a host");
    }
}

#[test]
fn without_folders_the_page_and_its_networks_are_there() {
    let server = Server::of(Folder::new(), &mut tabia(["serve", "--port", "0"]));
    let page = server.ask("/");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Tabia"), "{}", page.body);
    let network = server.ask("/models/human.safetensors");
    assert_eq!(network.header("content-type"), Some("application/octet-stream"));
    assert_eq!(network.header("cache-control"), Some("no-cache"));
    assert!(
        network.bytes == include_bytes!("../../../../../models/human.safetensors"),
        "the network's own bytes"
    );
    let about = server.ask("/api/about");
    assert_eq!(about.header("cache-control"), Some("no-store"));
    assert_eq!(
        about.json(),
        json!({ "version": env!("CARGO_PKG_VERSION"), "data": false, "runs": false, "arena": false, "given": [] })
    );
    assert_eq!(server.ask("/api/runs").json(), json!({ "runs": [] }));
    assert_eq!(server.ask("/api/data").json(), json!([]));
    assert_eq!(server.ask("/api/nothing").status, 404);
}

/// Where browsers are found by the path, so that none is opened by this test.
#[cfg(target_os = "linux")]
#[test]
fn opening_a_browser_where_there_is_none_does_no_harm() {
    let mut command = tabia(["serve", "--port", "0", "--open"]);
    let server = Server::of(Folder::new(), command.env("PATH", "/nowhere").env_remove("BROWSER"));
    assert_eq!(server.ask("/api/about").status, 200);
}

#[test]
fn a_folder_without_a_page_is_refused() {
    assert!(fail(tabia(["serve", "--page", env!("CARGO_MANIFEST_DIR")])).contains("index.html"));
}

#[test]
fn only_pages_of_allowed_origins_may_show_the_page_in_a_frame() {
    let mut command = tabia(["serve", "--port", "0"]);
    command.args(["--allow-frame", "https://example.org", "--allow-frame", "http://localhost:8000"]);
    let server = Server::of(Folder::new(), &mut command);
    for path in ["/", "/api/about", "/runs"] {
        let answer = server.ask(path);
        let policy = answer.header("content-security-policy").unwrap();
        let frames = policy.split("; ").find(|rule| rule.starts_with("frame-ancestors"));
        assert_eq!(
            frames,
            Some("frame-ancestors 'self' https://example.org http://localhost:8000"),
            "{path}"
        );
        assert!(policy.starts_with("default-src 'none'; script-src 'self' "), "{policy}");
        assert_eq!(answer.header("x-frame-options"), None, "{path}");
    }
}

#[test]
fn what_is_no_origin_is_refused() {
    for text in ["example.org", "https://example.org/page", "https://*", "http://localhost:http", "*"] {
        let error = fail(tabia(["serve", "--allow-frame", text]));
        assert!(error.contains("--allow-frame") && error.contains("expected"), "{text}: {error}");
    }
}
