//! The page: its files, from inside the program or from a folder, compressed where the browser takes it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod asset;
mod folder;
mod site;

use axum::body::Bytes;

pub(crate) use self::site::Site;
use crate::OfferError;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// What is shown where the page was not built.
const MISSING: &str = include_str!("missing.html");

/// A network that is offered to the page under `models/given/NAME`.
#[derive(Clone, Debug)]
pub struct GivenModel {
    /// The name, of letters, digits, `.`, `_` and `-`: see [`GivenModel::new`].
    name: String,
    bytes: Vec<u8>,
}

impl GivenModel {
    /// A network under its file's name; other characters than letters, digits, `.`, `_` and `-` become `-`.
    pub fn new(name: &str, bytes: Vec<u8>) -> GivenModel {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        GivenModel { name: name.chars().map(plain).collect(), bytes }
    }

    /// The name it is offered under.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The page from `folder`, or else the one in the program, with the networks that come along and those that are given.
pub(crate) fn site(folder: Option<&std::path::Path>, given: &[GivenModel]) -> Result<Site, OfferError> {
    let files: Vec<(String, Bytes)> = match folder {
        Some(folder) => folder::read(folder)?,
        None if FILES.is_empty() => vec![("index.html".to_owned(), Bytes::from_static(MISSING.as_bytes()))],
        None => FILES.iter().map(|&(name, bytes)| (name.to_owned(), Bytes::from_static(bytes))).collect(),
    };
    let mut site = Site::of(files);
    for (name, bytes) in tabia_networks::ALL {
        // A page that brings its own networks goes with those.
        site.add(format!("models/{name}"), Bytes::from_static(bytes));
    }
    for model in given {
        site.add(format!("models/given/{}", model.name), model.bytes.clone().into());
    }
    Ok(site)
}
