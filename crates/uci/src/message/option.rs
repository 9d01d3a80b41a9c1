#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;

use super::{
    Unreadable,
    words::{Words, one_line},
};

/// A setting an engine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// May hold single blanks. Compared without regard to case; must not hold the words `type` or `value`.
    pub name: String,
    /// What it may be set to.
    pub kind: OptionKind,
}

/// What a setting may be set to, and what it is at first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// On or off.
    Check {
        /// At first.
        default: bool,
    },
    /// A whole number in a range, both ends included.
    Spin {
        /// At first.
        default: i64,
        /// The least.
        min: i64,
        /// The most.
        max: i64,
    },
    /// One of a few words.
    Combo {
        /// At first.
        default: String,
        /// All of them. None may hold the words `var` or `default`.
        choices: Vec<String>,
    },
    /// Something to trigger: it has no value.
    Button,
    /// Any text.
    String {
        /// At first; written `<empty>` when it is.
        default: String,
    },
}

/// A value that fits its setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// For [`OptionKind::Check`].
    Check(bool),
    /// For [`OptionKind::Spin`], in range.
    Spin(i64),
    /// For [`OptionKind::Combo`], spelled as the engine does.
    Combo(String),
    /// For [`OptionKind::Button`].
    Button,
    /// For [`OptionKind::String`].
    String(String),
}

/// Why a setting cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionFault {
    /// There is no setting of that name.
    #[error("there is no option '{name}'{}", did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        name: String,
        /// Settings with a similar name, the nearest first; all of them where none is similar.
        near: Vec<String>,
    },
    /// The value does not fit.
    #[error("option '{name}' takes {allowed}, not {}", quoted(.value))]
    Value {
        /// The setting, spelled as the engine does.
        name: String,
        /// What was given.
        value: Option<String>,
        /// What it takes, in words.
        allowed: String,
    },
    /// The engine has a reason of its own.
    #[error("option '{name}': {reason}")]
    Refused {
        /// The setting, spelled as the engine does.
        name: String,
        /// The engine's words.
        reason: String,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() {
        "; the engine has none".to_owned()
    } else {
        format!("; there is {}", near.join(", "))
    }
}

fn quoted(value: &Option<String>) -> String {
    value.as_ref().map_or_else(|| "no value".to_owned(), |value| format!("'{value}'"))
}

/// How many settings an error names when none has a similar name.
const MOST_NAMED: usize = 40;

impl OptionSpec {
    /// On or off.
    pub fn check(name: &str, default: bool) -> OptionSpec {
        OptionSpec { name: name.to_owned(), kind: OptionKind::Check { default } }
    }

    /// A number from `range`.
    pub fn spin(name: &str, default: i64, range: std::ops::RangeInclusive<i64>) -> OptionSpec {
        let (min, max) = range.into_inner();
        OptionSpec { name: name.to_owned(), kind: OptionKind::Spin { default, min, max } }
    }

    /// One of `choices`.
    pub fn combo(name: &str, default: &str, choices: &[&str]) -> OptionSpec {
        let choices = choices.iter().map(|&choice| choice.to_owned()).collect();
        OptionSpec { name: name.to_owned(), kind: OptionKind::Combo { default: default.to_owned(), choices } }
    }

    /// Something to trigger.
    pub fn button(name: &str) -> OptionSpec {
        OptionSpec { name: name.to_owned(), kind: OptionKind::Button }
    }

    /// Any text.
    pub fn string(name: &str, default: &str) -> OptionSpec {
        OptionSpec { name: name.to_owned(), kind: OptionKind::String { default: default.to_owned() } }
    }

    /// Finds a setting by its name, in capitals or not.
    ///
    /// # Errors
    /// Names similar ones where there is none of that name.
    pub fn find<'a>(offered: &'a [OptionSpec], name: &str) -> Result<&'a OptionSpec, OptionFault> {
        offered
            .iter()
            .find(|spec| spec.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| OptionFault::Unknown { name: name.to_owned(), near: near(offered, name) })
    }

    /// Reads a value as this setting takes it.
    ///
    /// # Errors
    /// Says what is allowed where the value does not fit.
    pub fn read(&self, value: Option<&str>) -> Result<OptionValue, OptionFault> {
        let fault = || OptionFault::Value {
            name: self.name.clone(),
            value: value.map(str::to_owned),
            allowed: self.kind.allowed(),
        };
        let text = value.map(str::trim);
        match (&self.kind, text) {
            (OptionKind::Button, None | Some("")) => Ok(OptionValue::Button),
            (OptionKind::String { .. }, Some(text)) => Ok(OptionValue::String(text.to_owned())),
            (OptionKind::String { .. }, None) => Ok(OptionValue::String(String::new())),
            (OptionKind::Check { .. }, Some(text)) => truth(text).map(OptionValue::Check).ok_or_else(fault),
            (OptionKind::Spin { min, max, .. }, Some(text)) => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(&number))
                .map(OptionValue::Spin)
                .ok_or_else(fault),
            (OptionKind::Combo { choices, .. }, Some(text)) => choices
                .iter()
                .find(|choice| choice.eq_ignore_ascii_case(text))
                .map(|choice| OptionValue::Combo(choice.clone()))
                .ok_or_else(fault),
            _ => Err(fault()),
        }
    }

    pub(super) fn parse(mut words: Words<'_>) -> Result<OptionSpec, Unreadable> {
        let malformed = |what: &str| Unreadable::malformed("option", what);
        words.accept(|word| (word == "name").then_some(())).ok_or_else(|| malformed("no name"))?;
        // The name may hold any word, so it ends only where a type really follows.
        let mut name = String::new();
        let kind = loop {
            let part = words.until(|word| word == "type");
            if !name.is_empty() && !part.is_empty() {
                name.push(' ');
            }
            name.push_str(&part);
            words.next().ok_or_else(|| malformed("no type"))?;
            let known = |word: &str| {
                ["check", "spin", "combo", "button", "string"].into_iter().find(|&kind| kind == word)
            };
            match words.accept(known) {
                Some(kind) => break kind,
                None => name.push_str(if name.is_empty() { "type" } else { " type" }),
            }
        };
        if name.is_empty() {
            return Err(malformed("no name"));
        }
        Ok(OptionSpec { name, kind: OptionKind::parse(kind, words) })
    }
}

impl OptionKind {
    fn parse(kind: &str, mut words: Words<'_>) -> OptionKind {
        match kind {
            "string" => {
                words.until(|word| word == "default");
                words.next();
                OptionKind::String { default: read_text(words) }
            }
            "check" => {
                words.until(|word| word == "default");
                words.next();
                OptionKind::Check { default: words.accept(truth).unwrap_or(false) }
            }
            "spin" => {
                let (mut default, mut min, mut max) = (None, i64::MIN, i64::MAX);
                while let Some(word) = words.next() {
                    match word {
                        "default" => default = words.number().or(default),
                        "min" => min = words.number().unwrap_or(min),
                        "max" => max = words.number().unwrap_or(max),
                        _ => {}
                    }
                }
                OptionKind::Spin { default: default.unwrap_or(0.max(min).min(max)), min, max }
            }
            "combo" => {
                let (mut default, mut choices) = (String::new(), Vec::new());
                let begins = |word: &str| matches!(word, "default" | "var");
                words.until(begins);
                while let Some(word) = words.next() {
                    let text = words.until(begins);
                    if word == "var" {
                        choices.push(text);
                    } else {
                        default = text;
                    }
                }
                OptionKind::Combo { default, choices }
            }
            _ => OptionKind::Button,
        }
    }

    fn allowed(&self) -> String {
        match self {
            OptionKind::Check { .. } => "true or false".to_owned(),
            OptionKind::Spin { min, max, .. } => format!("a whole number from {min} to {max}"),
            OptionKind::Combo { choices, .. } => format!("one of {}", choices.join(", ")),
            OptionKind::Button => "no value".to_owned(),
            OptionKind::String { .. } => "any text".to_owned(),
        }
    }
}

fn truth(word: &str) -> Option<bool> {
    [("true", true), ("false", false)]
        .into_iter()
        .find_map(|(name, value)| word.eq_ignore_ascii_case(name).then_some(value))
}

/// Free text in which `<empty>` stands for none.
pub(super) fn read_text(words: Words<'_>) -> String {
    let text = words.text();
    if text == "<empty>" { String::new() } else { text }
}

pub(super) fn write_text(text: &str) -> String {
    let text = one_line(text);
    if text.is_empty() { "<empty>".to_owned() } else { text }
}

/// The names most like `name`, the nearest first.
fn near(offered: &[OptionSpec], name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut likely: Vec<(f64, &str)> = offered
        .iter()
        .map(|spec| {
            let offered = spec.name.to_lowercase();
            let part = offered.contains(&wanted) || wanted.contains(&offered);
            let alike = strsim::jaro_winkler(&offered, &wanted) + if part { 1.0 } else { 0.0 };
            (alike, spec.name.as_str())
        })
        .filter(|(alike, _)| *alike > 0.8)
        .collect();
    likely.sort_by(|a, b| b.0.total_cmp(&a.0));
    if likely.is_empty() {
        return offered.iter().take(MOST_NAMED).map(|spec| spec.name.clone()).collect();
    }
    likely.into_iter().take(5).map(|(_, name)| name.to_owned()).collect()
}

impl fmt::Display for OptionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "option name {} type ", one_line(&self.name))?;
        match &self.kind {
            OptionKind::Check { default } => write!(f, "check default {default}"),
            OptionKind::Spin { default, min, max } => {
                write!(f, "spin default {default} min {min} max {max}")
            }
            OptionKind::Combo { default, choices } => {
                write!(f, "combo default {}", one_line(default))?;
                choices.iter().try_for_each(|choice| write!(f, " var {}", one_line(choice)))
            }
            OptionKind::Button => f.write_str("button"),
            OptionKind::String { default } => write!(f, "string default {}", write_text(default)),
        }
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::Check(on) => write!(f, "{on}"),
            OptionValue::Spin(number) => write!(f, "{number}"),
            OptionValue::Combo(text) | OptionValue::String(text) => f.write_str(text),
            OptionValue::Button => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> OptionSpec {
        OptionSpec::parse(Words::new(line)).unwrap()
    }

    #[test]
    fn every_kind_is_read_and_written() {
        for line in [
            "option name Nullmove type check default true",
            "option name Skill Level type spin default 20 min 0 max 20",
            "option name Style type combo default Normal var Solid var Normal var Very Risky",
            "option name Clear Hash type button",
            "option name NalimovPath type string default c:\\max min\\var",
            "option name SyzygyPath type string default <empty>",
        ] {
            assert_eq!(parse(line.strip_prefix("option").unwrap()).to_string(), line);
        }
    }

    #[test]
    fn odd_lines_are_understood() {
        assert_eq!(
            parse("name  Piece  type Bonus type string default"),
            OptionSpec::string("Piece type Bonus", "")
        );
        assert_eq!(parse("name A type spin"), OptionSpec::spin("A", 0, i64::MIN..=i64::MAX));
        assert_eq!(parse("name A type spin min 5 max 9 default x"), OptionSpec::spin("A", 5, 5..=9));
        assert_eq!(parse("name A type check default TRUE"), OptionSpec::check("A", true));
        assert!(OptionSpec::parse(Words::new("name A B C")).is_err());
        assert!(OptionSpec::parse(Words::new("type check")).is_err());
    }

    #[test]
    fn values_are_checked() {
        let style = OptionSpec::combo("Style", "Solid", &["Solid", "Very Risky"]);
        assert_eq!(style.read(Some("very risky")), Ok(OptionValue::Combo("Very Risky".to_owned())));
        assert_eq!(
            style.read(Some("x")).unwrap_err().to_string(),
            "option 'Style' takes one of Solid, Very Risky, not 'x'"
        );
        let elo = OptionSpec::spin("UCI_Elo", 1350, 1350..=2850);
        assert_eq!(elo.read(Some("1350")), Ok(OptionValue::Spin(1350)));
        assert_eq!(
            elo.read(Some("1320")).unwrap_err().to_string(),
            "option 'UCI_Elo' takes a whole number from 1350 to 2850, not '1320'"
        );
        assert!(elo.read(None).unwrap_err().to_string().ends_with("not no value"));
        assert_eq!(OptionSpec::button("Clear").read(None), Ok(OptionValue::Button));
        assert!(OptionSpec::button("Clear").read(Some("now")).is_err());
    }

    #[test]
    fn an_unknown_name_meets_similar_ones() {
        let offered = ["Hash", "Clear Hash", "UCI_Elo", "Threads"].map(OptionSpec::button);
        assert_eq!(OptionSpec::find(&offered, "uci_elo").unwrap().name, "UCI_Elo");
        let fault = OptionSpec::find(&offered, "Elo").unwrap_err();
        assert_eq!(fault.to_string(), "there is no option 'Elo'; there is UCI_Elo");
        let fault = OptionSpec::find(&offered, "Hsah").unwrap_err();
        assert_eq!(fault.to_string(), "there is no option 'Hsah'; there is Hash");
        let fault = OptionSpec::find(&offered, "zzz").unwrap_err();
        assert!(fault.to_string().ends_with("Hash, Clear Hash, UCI_Elo, Threads"));
    }
}
