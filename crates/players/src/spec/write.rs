//! Writing settings in the shortest form that parses to the same.

use std::{borrow::Cow, fmt, path::Path};

use tabia_search::Limits;

use crate::Pick;

/// The subject of a spec, if it has one.
pub(super) struct Subject<'a>(pub(super) Option<&'a Path>);

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |file| write!(f, ":{}", quoted(&file.to_string_lossy())))
    }
}

/// A setting with its comma; nothing if it is not set.
pub(super) struct Setting<T>(pub(super) &'static str, pub(super) Option<T>);

impl<T: fmt::Display> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.as_ref().map_or(Ok(()), |value| write!(f, ",{}={value}", self.0))
    }
}

/// The settings of a pick, less the mode.
pub(super) fn sampling(f: &mut fmt::Formatter<'_>, pick: Pick) -> fmt::Result {
    let Pick::Sampled { temperature, top_p } = pick else { return Ok(()) };
    let unusual = |value: f32| (value != 1.0).then_some(value);
    write!(f, "{}{}", Setting("temp", unusual(temperature)), Setting("top_p", unusual(top_p)))
}

pub(super) fn limits(f: &mut fmt::Formatter<'_>, limits: &Limits) -> fmt::Result {
    let movetime = limits.movetime.map(|time| time.as_millis());
    write!(f, "{}{}", Setting("depth", limits.depth), Setting("nodes", limits.nodes))?;
    write!(f, "{}", Setting("movetime", movetime))
}

/// Quoted where necessary.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains(',') || text.starts_with('"') {
        Cow::Owned(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    } else {
        Cow::Borrowed(text)
    }
}
