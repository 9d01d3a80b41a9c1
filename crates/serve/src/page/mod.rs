//! The page, embedded in the program or from a folder, sent compressed where possible.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod asset;
mod folder;
mod site;

use axum::body::Bytes;

pub(crate) use self::site::Site;
use crate::ConfigError;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Shown if the program was built without the page.
const MISSING: &str = include_str!("missing.html");

/// A network served under `models/given/NAME`.
#[derive(Clone, Debug)]
pub struct LocalModel {
    name: String,
    bytes: Vec<u8>,
}

impl LocalModel {
    /// A network with a file name, in which characters other than letters, digits, `.`, `_` and `-` become `-`.
    pub fn new(name: &str, bytes: Vec<u8>) -> LocalModel {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        LocalModel { name: name.chars().map(plain).collect(), bytes }
    }

    /// Name in the URL.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Whether the program was built without the page.
pub(crate) fn is_missing() -> bool {
    FILES.is_empty()
}

/// The page from `folder`, or the embedded one, with the bundled networks and `models`.
pub(crate) fn site(folder: Option<&std::path::Path>, models: &[LocalModel]) -> Result<Site, ConfigError> {
    let files: Vec<(String, Bytes)> = match folder {
        Some(folder) => folder::read(folder)?,
        None if is_missing() => vec![("index.html".to_owned(), Bytes::from_static(MISSING.as_bytes()))],
        None => FILES.iter().map(|&(name, bytes)| (name.to_owned(), Bytes::from_static(bytes))).collect(),
    };
    let mut site = Site::new(files);
    for (name, bytes) in tabia_bundled::ALL {
        // Networks in the page's own folder take precedence.
        site.add(format!("models/{name}"), Bytes::from_static(bytes));
    }
    for model in models {
        site.add(format!("models/given/{}", model.name), model.bytes.clone().into());
    }
    Ok(site)
}
