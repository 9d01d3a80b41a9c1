//! The browser of page tests and screenshots.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::apt;

/// Variable with another browser, also read by the page's tests.
pub(crate) const VARIABLE: &str = "TABIA_CHROMIUM";

/// Usual paths.
const PLACES: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// Chromium, installed if needed and possible.
pub(crate) fn chromium() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        if !named.exists() {
            bail!("{VARIABLE} is {}, which does not exist", named.display());
        }
        return Ok(named);
    }
    let there = || PLACES.iter().map(Path::new).find(|place| place.exists()).map(Path::to_owned);
    if let Some(found) = there() {
        return Ok(found);
    }
    apt::install(&["chromium"], &format!("testing the page (or {VARIABLE}=/path/to/a/chromium)"))?;
    match there() {
        Some(found) => Ok(found),
        None => bail!("apt installed chromium, but it is at none of {}", PLACES.join(", ")),
    }
}
