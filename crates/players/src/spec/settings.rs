//! Splitting a spec into its parts, and reading settings.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

use tabia_search::Limits;

use super::kinds::USAGES;
use crate::Pick;

/// A player spec that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("player {spec:?}: {problem}")]
pub struct SpecError {
    pub(super) spec: String,
    /// What is wrong with it.
    pub problem: SpecProblem,
}

/// What is wrong with a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecProblem {
    /// It starts with no known kind.
    #[error("unknown player kind {0:?} (expected {kinds})", kinds = USAGES.join(", "))]
    UnknownKind(String),
    /// The subject after the colon is missing, or there must be none.
    #[error("expected {0}")]
    Usage(&'static str),
    /// A value is out of range or not of the right form.
    #[error("invalid {name} {value} (expected {expected})")]
    InvalidValue {
        /// The setting.
        name: String,
        /// Its value.
        value: String,
        /// What it may be.
        expected: String,
    },
    /// The kind has no such setting.
    #[error("unknown setting {name:?} of {kind} (expected {expected})")]
    UnknownSetting {
        /// The kind of player.
        kind: String,
        /// The setting.
        name: String,
        /// Its settings.
        expected: String,
    },
    /// A setting is given twice.
    #[error("{0} is set twice")]
    SetTwice(String),
    /// Two settings exclude each other, or one needs another.
    #[error("{0} (expected {1})")]
    Conflict(String, String),
    /// It is not of the form `kind[:subject][,name=value]...`.
    #[error("{0} (expected {1})")]
    Syntax(String, &'static str),
}

/// A spec split into its parts.
pub(super) struct Parts {
    pub(super) kind: String,
    pub(super) subject: Option<String>,
    pub(super) settings: Settings,
}

/// `name=value` pairs; a kind takes those it knows.
pub(super) struct Settings {
    pairs: Vec<(String, String)>,
    known: &'static [&'static str],
}

impl Parts {
    pub(super) fn split(text: &str) -> Result<Parts, SpecProblem> {
        let end = text.find([':', ',']).unwrap_or(text.len());
        let (kind, mut rest) = text.split_at(end);
        let mut subject = None;
        if let Some(after) = rest.strip_prefix(':') {
            let (value, after) = value(after)?;
            subject = Some(value);
            rest = after;
        }
        let mut settings = Settings { pairs: Vec::new(), known: &[] };
        while let Some(after) = rest.strip_prefix(',') {
            let end = after.find(['=', ',']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            let Some(after) = after.strip_prefix('=') else {
                return Err(SpecProblem::Syntax(format!("{name:?} is not a setting"), "name=value"));
            };
            let (value, after) = value(after)?;
            // The long name is that of command lines.
            let name = if name.trim() == "temperature" { "temp" } else { name.trim() };
            settings.insert(settings.pairs.len(), name, &value)?;
            rest = after;
        }
        Ok(Parts { kind: kind.trim().to_owned(), subject, settings })
    }
}

/// A value at the start of `text`, plain up to the next comma or quoted, and the rest.
fn value(text: &str) -> Result<(String, &str), SpecProblem> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find(',').unwrap_or(text.len()));
        return Ok((value.to_owned(), rest));
    };
    let unclosed = || SpecProblem::Syntax("unclosed quote".to_owned(), "\"...\"");
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next() {
            Some('"') => break,
            Some('\\') => match chars.next() {
                Some(c @ ('"' | '\\')) => value.push(c),
                Some(c) => {
                    return Err(SpecProblem::Syntax(format!("\\{c} inside quotes"), "\\\" or \\\\"));
                }
                None => return Err(unclosed()),
            },
            Some(c) => value.push(c),
            None => return Err(unclosed()),
        }
    }
    let rest = chars.as_str();
    if rest.is_empty() || rest.starts_with(',') {
        Ok((value, rest))
    } else {
        Err(SpecProblem::Syntax(format!("{rest:?} after a closing quote"), "a comma or the end"))
    }
}

/// An error about the value of a setting.
pub(super) fn invalid(name: &str, value: &str, expected: impl Into<String>) -> SpecProblem {
    SpecProblem::InvalidValue { name: name.to_owned(), value: value.to_owned(), expected: expected.into() }
}

/// The file that must follow the colon.
pub(super) fn required_file(subject: Option<String>, usage: &'static str) -> Result<PathBuf, SpecProblem> {
    subject.filter(|file| !file.is_empty()).map(PathBuf::from).ok_or(SpecProblem::Usage(usage))
}

/// The file that may follow the colon.
pub(super) fn optional_file(
    subject: Option<String>,
    usage: &'static str,
) -> Result<Option<PathBuf>, SpecProblem> {
    subject.map(|file| required_file(Some(file), usage)).transpose()
}

impl Settings {
    /// Names the settings that are known, for the error about others.
    pub(super) fn known(&mut self, names: &'static [&'static str]) {
        self.known = names;
    }

    fn insert(&mut self, place: usize, name: &str, value: &str) -> Result<(), SpecProblem> {
        if self.has(name) {
            return Err(SpecProblem::SetTwice(name.to_owned()));
        }
        self.pairs.insert(place, (name.to_owned(), value.to_owned()));
        Ok(())
    }

    fn has(&self, name: &str) -> bool {
        self.pairs.iter().any(|(given, _)| given == name)
    }

    /// The first of these settings that is given.
    pub(super) fn any_of(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().copied().find(|name| self.has(name))
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(given, _)| given == name)?;
        Some(self.pairs.remove(at).1)
    }

    /// The settings whose names start with `prefix`, without it.
    pub(super) fn take_prefixed(&mut self, prefix: &str) -> Vec<(String, String)> {
        let (taken, rest) =
            std::mem::take(&mut self.pairs).into_iter().partition(|(name, _)| name.starts_with(prefix));
        self.pairs = rest;
        let without = |(name, value): (String, String)| (name.split_at(prefix.len()).1.to_owned(), value);
        Vec::into_iter(taken).map(without).collect()
    }

    /// A number in a range.
    pub(super) fn number<T>(&mut self, name: &str, range: RangeInclusive<T>) -> Result<Option<T>, SpecProblem>
    where
        T: FromStr + PartialOrd + fmt::Display,
    {
        let Some(text) = self.take(name) else { return Ok(None) };
        match text.parse().ok().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(invalid(name, &text, format!("{} to {}", range.start(), range.end()))),
        }
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
    ) -> Result<Option<T>, SpecProblem> {
        let Some(text) = self.take(name) else { return Ok(None) };
        match words.iter().find(|(word, _)| *word == text) {
            Some((_, meaning)) => Ok(Some(*meaning)),
            None => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                Err(invalid(name, &text, words.join(" or ")))
            }
        }
    }

    /// The subject, unless it is a known setting, which then joins the others: `human:elo=1500`.
    pub(super) fn subject_or_setting(
        &mut self,
        subject: Option<String>,
    ) -> Result<Option<String>, SpecProblem> {
        let setting = subject.as_deref().and_then(|subject| subject.split_once('='));
        let Some((name, value)) = setting.filter(|(name, _)| self.known.contains(name)) else {
            return Ok(subject);
        };
        self.insert(0, name, value)?;
        Ok(None)
    }

    pub(super) fn seed(&mut self) -> Result<Option<u64>, SpecProblem> {
        self.number("seed", 0..=u64::MAX)
    }

    pub(super) fn limits(&mut self) -> Result<Limits, SpecProblem> {
        Ok(Limits {
            depth: self.number("depth", 1..=200)?,
            nodes: self.number("nodes", 1..=u64::MAX)?,
            movetime: self.number("movetime", 1..=86_400_000)?.map(Duration::from_millis),
            ..Limits::default()
        })
    }

    /// How moves are picked. `temp` or `top_p` alone implies sampling.
    pub(super) fn pick(&mut self, default: Pick) -> Result<Pick, SpecProblem> {
        let sample = self.word("mode", &[("sample", true), ("argmax", false)])?;
        let shaped = self.any_of(&["temp", "top_p"]);
        let temperature = self.number("temp", Pick::TEMPERATURES)?.unwrap_or(1.0);
        let top_p = self.number("top_p", 0.0..=1.0)?.unwrap_or(1.0);
        match (sample, shaped) {
            (Some(false), Some(name)) => Err(SpecProblem::Conflict(
                format!("{name} has no effect with mode=argmax"),
                format!("mode=sample with {name}"),
            )),
            (Some(false), None) => Ok(Pick::Likeliest),
            (Some(true), _) | (None, Some(_)) => Ok(Pick::Sampled { temperature, top_p }),
            (None, None) => Ok(default),
        }
    }

    /// Nothing may be left over.
    pub(super) fn finish(self, kind: &str) -> Result<(), SpecProblem> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let expected = if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") };
        Err(SpecProblem::UnknownSetting { kind: kind.to_owned(), name: name.clone(), expected })
    }
}
