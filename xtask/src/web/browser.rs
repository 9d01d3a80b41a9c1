//! The browser the page is tested and photographed in.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::apt;

/// The variable that names another browser; the page's tests read it too.
pub(crate) const VARIABLE: &str = "TABIA_CHROMIUM";

/// Where systems put it.
const PLACES: [&str; 4] = [
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// The Chromium of this machine, installed where that is possible.
pub(crate) fn chromium() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE) {
        let named = PathBuf::from(named);
        if !named.exists() {
            bail!("{VARIABLE} says {}, and there is no such file", named.display());
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
        None => bail!("apt installed chromium, and it is at none of {}", PLACES.join(", ")),
    }
}
