//! `tabia model fetch`: download a model file, resumed after an interruption.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use tabia_report::Progress;
use ureq::Agent;
use ureq::http::header::{
    CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, IF_RANGE, LAST_MODIFIED, RANGE,
};
use ureq::http::{Response, StatusCode};

use super::grouped;
use crate::cli::FetchArgs;

/// Failed attempts in a row, none of which received anything, after which the download is given up.
const ATTEMPTS: u32 = 4;
/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);
/// Files that accompany a model and are not models themselves.
const COMPANIONS: [&str; 3] = ["npy", "json", "toml"];

pub(crate) fn run(args: &FetchArgs) -> Result<()> {
    let target = target(&args.url, args.out.as_deref())?;
    if target.exists() && !args.force {
        if args.sha256.as_ref().is_some_and(|wanted| sha256(&target).is_ok_and(|found| found == *wanted)) {
            println!("{} is already there", target.display());
            return describe(&target);
        }
        bail!("{} exists; --force replaces it", target.display());
    }
    let download = Download {
        url: &args.url,
        sha256: args.sha256.as_deref(),
        part: with_suffix(&target, ".part"),
        validator: with_suffix(&target, ".part.etag"),
        agent: agent(&args.url),
    };
    download.run()?;
    let found = sha256(&download.part)?;
    if let Some(wanted) = &args.sha256
        && found != *wanted
    {
        download.discard();
        bail!("{}: the SHA-256 is {found}, not {wanted}; the download was discarded", args.url);
    }
    fs::rename(&download.part, &target).with_context(|| format!("cannot write {}", target.display()))?;
    download.discard();
    println!("{}: {} bytes, sha256 {found}", target.display(), grouped(target.metadata()?.len()));
    describe(&target)
}

/// Where the file goes: `--out`, a folder or a file, and otherwise the name in the address.
fn target(url: &str, out: Option<&Path>) -> Result<PathBuf> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    let name = name.and_then(|(_, path)| path.rsplit('/').next()).unwrap_or_default();
    match out {
        Some(out) if !out.is_dir() => Ok(out.to_owned()),
        _ if name.is_empty() || name == "." || name == ".." => {
            bail!("{url} does not name a file (use --out FILE)")
        }
        folder => Ok(folder.unwrap_or(Path::new("")).join(name)),
    }
}

fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(suffix);
    name.into()
}

fn agent(url: &str) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        // A redirection must not give up encryption.
        .https_only(url.starts_with("https://"))
        .user_agent(concat!("tabia/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(SILENCE))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE));
    config.build().new_agent()
}

/// Says what the file is; an error if it is a model that cannot be opened.
fn describe(file: &Path) -> Result<()> {
    let companion = |ending: &std::ffi::OsStr| COMPANIONS.iter().any(|known| ending == *known);
    if file.extension().is_some_and(companion) {
        return Ok(());
    }
    let model =
        super::open(file, None).context("the download is complete, but it is not a model that opens")?;
    println!("{}, encoding {}", model.format(), model.card().encoding);
    Ok(())
}

/// The SHA-256 of a file in hexadecimal.
fn sha256(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut input = File::open(file).with_context(|| file.display().to_string())?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match input.read(&mut buffer).with_context(|| file.display().to_string())? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// A download into `part`.
struct Download<'a> {
    url: &'a str,
    sha256: Option<&'a str>,
    part: PathBuf,
    /// Holds the `ETag` or date of what is in `part`: the file may be another by the time the rest is asked for.
    validator: PathBuf,
    agent: Agent,
}

/// How an attempt ended.
enum Attempt {
    Complete,
    /// It is worth another: why, and whether anything was received.
    Interrupted(String, bool),
}

impl Download<'_> {
    fn run(&self) -> Result<()> {
        let mut failures = 0;
        loop {
            let Attempt::Interrupted(reason, received) = self.attempt()? else { return Ok(()) };
            failures = if received { 1 } else { failures + 1 };
            if failures > ATTEMPTS {
                bail!("{}: {reason}; the same command resumes", self.url);
            }
            let wait = Duration::from_secs(1 << failures);
            eprintln!("{reason}; trying again in {} s", wait.as_secs());
            thread::sleep(wait);
        }
    }

    /// Removes what is left of a download.
    fn discard(&self) {
        for file in [&self.part, &self.validator] {
            // What is not there need not be removed.
            let _ = fs::remove_file(file);
        }
    }

    fn attempt(&self) -> Result<Attempt> {
        let present = self.part.metadata().map_or(0, |metadata| metadata.len());
        let validator = fs::read_to_string(&self.validator).ok();
        // Without either, nobody would notice that the two parts are of different files.
        let resumes = present > 0 && (validator.is_some() || self.sha256.is_some());
        let mut request = self.agent.get(self.url);
        if resumes {
            request = request.header(RANGE, format!("bytes={present}-"));
            if let Some(validator) = &validator {
                request = request.header(IF_RANGE, validator);
            }
        }
        let response = match request.call() {
            Ok(response) => response,
            Err(
                error @ (ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::RequireHttpsOnly(_)),
            ) => {
                bail!("{}: {error}", self.url)
            }
            Err(error) => return Ok(Attempt::Interrupted(error.to_string(), false)),
        };
        let status = response.status();
        let start = match status {
            StatusCode::OK => 0,
            StatusCode::PARTIAL_CONTENT if resumes && starts_at(&response, present) => present,
            StatusCode::RANGE_NOT_SATISFIABLE if resumes => {
                if length_behind_star(&response) == Some(present) {
                    return Ok(Attempt::Complete);
                }
                self.discard();
                return Ok(Attempt::Interrupted("the file is another one now".to_owned(), false));
            }
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
                return Ok(Attempt::Interrupted(format!("the server answers {status}"), false));
            }
            _ => bail!("{}: the server answers {status}", self.url),
        };
        if header(&response, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("text/html")) {
            bail!("{}: the server sent a web page instead of a file", self.url);
        }
        self.receive(response, start)
    }

    /// Writes a body to the end of the first `start` bytes.
    fn receive(&self, response: Response<ureq::Body>, start: u64) -> Result<Attempt> {
        let cannot_write = || format!("cannot write {}", self.part.display());
        let mut file =
            OpenOptions::new().append(true).create(true).open(&self.part).with_context(cannot_write)?;
        if start == 0 {
            file.set_len(0).with_context(cannot_write)?;
            match validator(&response) {
                Some(text) => fs::write(&self.validator, text).with_context(cannot_write)?,
                None => drop(fs::remove_file(&self.validator)),
            }
        }
        let rest = header(&response, &CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
        let progress = rest.map_or_else(|| Progress::new("bytes"), |rest| Progress::of_bytes(start + rest));
        progress.skip(start);
        let mut body = response.into_body().into_reader();
        let mut buffer = vec![0; 64 << 10];
        let mut received = 0;
        let interruption = loop {
            match body.read(&mut buffer) {
                Ok(0) => break None,
                Ok(read) => {
                    file.write_all(&buffer[..read]).with_context(cannot_write)?;
                    received += read as u64;
                    progress.add(read as u64);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break Some(error.to_string()),
            }
        };
        progress.finish();
        let missing = rest.is_some_and(|rest| received < rest);
        Ok(match interruption {
            Some(reason) => Attempt::Interrupted(format!("the connection was lost ({reason})"), received > 0),
            None if missing => Attempt::Interrupted("the connection was lost".to_owned(), received > 0),
            None => Attempt::Complete,
        })
    }
}

fn header<'a>(response: &'a Response<ureq::Body>, name: &HeaderName) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

/// What tells this version of the file from others. Weak tags do not: they are for content that only means the same.
fn validator(response: &Response<ureq::Body>) -> Option<&str> {
    let tag = header(response, &ETAG).filter(|tag| !tag.starts_with("W/"));
    tag.or_else(|| header(response, &LAST_MODIFIED))
}

/// Whether a partial answer begins at this byte.
fn starts_at(response: &Response<ureq::Body>, start: u64) -> bool {
    header(response, &CONTENT_RANGE).is_some_and(|range| range.starts_with(&format!("bytes {start}-")))
}

/// The length of the whole file in an answer that has no such range.
fn length_behind_star(response: &Response<ureq::Body>) -> Option<u64> {
    header(response, &CONTENT_RANGE)?.strip_prefix("bytes */")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_names_the_file() {
        let named = |url: &str, out: Option<&str>| target(url, out.map(Path::new)).ok();
        let net = "https://example.org/models/net.onnx?download=true";
        assert_eq!(named(net, None), Some("net.onnx".into()));
        assert_eq!(named(net, Some("other.onnx")), Some("other.onnx".into()));
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(target(net, Some(folder.path())).unwrap(), folder.path().join("net.onnx"));
        for nameless in ["https://example.org", "https://example.org/", "https://example.org/.."] {
            assert_eq!(named(nameless, None), None, "{nameless}");
            assert_eq!(named(nameless, Some("net.onnx")), Some("net.onnx".into()));
        }
    }
}
