#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;

use super::{
    ParseError,
    tokens::{Tokens, one_line},
};

/// An engine option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionSpec {
    /// Name, case-insensitive. May contain single spaces but not the tokens `type` or `value`.
    pub name: String,
    /// Type, default and range.
    pub kind: OptionKind,
}

/// Type, default and range of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// Boolean.
    Check {
        /// Default.
        default: bool,
    },
    /// Integer in a range.
    Spin {
        /// Default.
        default: i64,
        /// Minimum.
        min: i64,
        /// Maximum.
        max: i64,
    },
    /// One of several choices.
    Combo {
        /// Default.
        default: String,
        /// Choices, which must not contain the tokens `var` or `default`.
        choices: Vec<String>,
    },
    /// Action without a value.
    Button,
    /// Text.
    String {
        /// Default; the empty string is written `<empty>`.
        default: String,
    },
}

/// A valid value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// Boolean.
    Check(bool),
    /// Integer in range.
    Spin(i64),
    /// Choice, spelled as in [`OptionKind::Combo`].
    Combo(String),
    /// Button press.
    Button,
    /// Text.
    String(String),
}

/// Error setting an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Unknown option.
    #[error("unknown option '{name}' (expected {})", .similar.join(", "))]
    Unknown {
        /// Name as received.
        name: String,
        /// Options with similar names, most similar first; all options if none is similar.
        similar: Vec<String>,
    },
    /// Missing or invalid value.
    #[error("invalid value '{}' of option '{name}' (expected {expected})", .value.as_deref().unwrap_or(""))]
    InvalidValue {
        /// Name of the option.
        name: String,
        /// Value as received.
        value: Option<String>,
        /// Description of valid values.
        expected: String,
    },
    /// Rejected by the engine.
    #[error("option '{name}': {reason}")]
    Rejected {
        /// Name of the option.
        name: String,
        /// Message of the engine.
        reason: String,
    },
}

/// Maximum number of options listed in an error.
const MAX_LISTED: usize = 40;

impl OptionSpec {
    /// A boolean option.
    pub fn check(name: &str, default: bool) -> OptionSpec {
        OptionSpec { name: name.to_owned(), kind: OptionKind::Check { default } }
    }

    /// An integer option.
    pub fn spin(name: &str, default: i64, range: std::ops::RangeInclusive<i64>) -> OptionSpec {
        let (min, max) = range.into_inner();
        OptionSpec { name: name.to_owned(), kind: OptionKind::Spin { default, min, max } }
    }

    /// An option with choices.
    pub fn combo(name: &str, default: &str, choices: &[&str]) -> OptionSpec {
        let choices = choices.iter().map(|&choice| choice.to_owned()).collect();
        OptionSpec { name: name.to_owned(), kind: OptionKind::Combo { default: default.to_owned(), choices } }
    }

    /// A button.
    pub fn button(name: &str) -> OptionSpec {
        OptionSpec { name: name.to_owned(), kind: OptionKind::Button }
    }

    /// A text option.
    pub fn string(name: &str, default: &str) -> OptionSpec {
        OptionSpec { name: name.to_owned(), kind: OptionKind::String { default: default.to_owned() } }
    }

    /// Finds an option by name, ignoring case.
    ///
    /// # Errors
    /// If there is none; the error lists similar names.
    pub fn find<'a>(options: &'a [OptionSpec], name: &str) -> Result<&'a OptionSpec, OptionError> {
        options
            .iter()
            .find(|spec| spec.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| OptionError::Unknown { name: name.to_owned(), similar: similar(options, name) })
    }

    /// Parses a value of this option.
    ///
    /// # Errors
    /// If the value is missing or invalid.
    pub fn parse_value(&self, value: Option<&str>) -> Result<OptionValue, OptionError> {
        let invalid = || OptionError::InvalidValue {
            name: self.name.clone(),
            value: value.map(str::to_owned),
            expected: self.kind.expected(),
        };
        let text = value.map(str::trim);
        match (&self.kind, text) {
            (OptionKind::Button, None | Some("")) => Ok(OptionValue::Button),
            (OptionKind::String { .. }, Some(text)) => Ok(OptionValue::String(text.to_owned())),
            (OptionKind::String { .. }, None) => Ok(OptionValue::String(String::new())),
            (OptionKind::Check { .. }, Some(text)) => {
                parse_bool(text).map(OptionValue::Check).ok_or_else(invalid)
            }
            (OptionKind::Spin { min, max, .. }, Some(text)) => text
                .parse()
                .ok()
                .filter(|number| (min..=max).contains(&number))
                .map(OptionValue::Spin)
                .ok_or_else(invalid),
            (OptionKind::Combo { choices, .. }, Some(text)) => choices
                .iter()
                .find(|choice| choice.eq_ignore_ascii_case(text))
                .map(|choice| OptionValue::Combo(choice.clone()))
                .ok_or_else(invalid),
            _ => Err(invalid()),
        }
    }

    pub(super) fn parse(mut tokens: Tokens<'_>) -> Result<OptionSpec, ParseError> {
        let malformed = |reason: &str| ParseError::malformed("option", reason);
        tokens.accept(|token| (token == "name").then_some(())).ok_or_else(|| malformed("missing name"))?;
        // The name may contain any token, even `type` if no known type follows.
        let mut name = String::new();
        let kind = loop {
            let part = tokens.until(|token| token == "type");
            if !name.is_empty() && !part.is_empty() {
                name.push(' ');
            }
            name.push_str(&part);
            tokens.next().ok_or_else(|| malformed("missing type"))?;
            let known = |token: &str| {
                ["check", "spin", "combo", "button", "string"].into_iter().find(|&kind| kind == token)
            };
            match tokens.accept(known) {
                Some(kind) => break kind,
                None => name.push_str(if name.is_empty() { "type" } else { " type" }),
            }
        };
        if name.is_empty() {
            return Err(malformed("missing name"));
        }
        Ok(OptionSpec { name, kind: OptionKind::parse(kind, tokens) })
    }
}

impl OptionKind {
    fn parse(kind: &str, mut tokens: Tokens<'_>) -> OptionKind {
        match kind {
            "string" => {
                tokens.skip_past("default");
                OptionKind::String { default: parse_text(tokens) }
            }
            "check" => {
                tokens.skip_past("default");
                OptionKind::Check { default: tokens.accept(parse_bool).unwrap_or(false) }
            }
            "spin" => {
                let (mut default, mut min, mut max) = (None, i64::MIN, i64::MAX);
                while let Some(token) = tokens.next() {
                    match token {
                        "default" => default = tokens.number().or(default),
                        "min" => min = tokens.number().unwrap_or(min),
                        "max" => max = tokens.number().unwrap_or(max),
                        _ => {}
                    }
                }
                OptionKind::Spin { default: default.unwrap_or(0.max(min).min(max)), min, max }
            }
            "combo" => {
                let (mut default, mut choices) = (String::new(), Vec::new());
                let is_keyword = |token: &str| matches!(token, "default" | "var");
                tokens.until(is_keyword);
                while let Some(token) = tokens.next() {
                    let text = tokens.until(is_keyword);
                    if token == "var" {
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

    fn expected(&self) -> String {
        match self {
            OptionKind::Check { .. } => "true or false".to_owned(),
            OptionKind::Spin { min, max, .. } => format!("an integer from {min} to {max}"),
            OptionKind::Combo { choices, .. } => format!("one of {}", choices.join(", ")),
            OptionKind::Button => "no value".to_owned(),
            OptionKind::String { .. } => "any text".to_owned(),
        }
    }
}

fn parse_bool(token: &str) -> Option<bool> {
    token.to_ascii_lowercase().parse().ok()
}

/// Text in which `<empty>` stands for the empty string.
pub(super) fn parse_text(tokens: Tokens<'_>) -> String {
    let text = tokens.text();
    if text == "<empty>" { String::new() } else { text }
}

pub(super) fn format_text(text: &str) -> String {
    let text = one_line(text);
    if text.is_empty() { "<empty>".to_owned() } else { text }
}

/// Names similar to `name`, most similar first; all names if none is similar.
fn similar(options: &[OptionSpec], name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut candidates: Vec<(f64, &str)> = options
        .iter()
        .map(|spec| {
            let known = spec.name.to_lowercase();
            let is_part = known.contains(&wanted) || wanted.contains(&known);
            let similarity = strsim::jaro_winkler(&known, &wanted) + if is_part { 1.0 } else { 0.0 };
            (similarity, spec.name.as_str())
        })
        .filter(|(similarity, _)| *similarity > 0.8)
        .collect();
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
    if candidates.is_empty() {
        return options.iter().take(MAX_LISTED).map(|spec| spec.name.clone()).collect();
    }
    candidates.into_iter().take(5).map(|(_, name)| name.to_owned()).collect()
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
            OptionKind::String { default } => write!(f, "string default {}", format_text(default)),
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
        OptionSpec::parse(Tokens::new(line)).unwrap()
    }

    #[test]
    fn options_round_trip() {
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
    fn unusual_options_are_parsed() {
        assert_eq!(
            parse("name  Piece  type Bonus type string default"),
            OptionSpec::string("Piece type Bonus", "")
        );
        assert_eq!(parse("name A type spin"), OptionSpec::spin("A", 0, i64::MIN..=i64::MAX));
        assert_eq!(parse("name A type spin min 5 max 9 default x"), OptionSpec::spin("A", 5, 5..=9));
        assert_eq!(parse("name A type check default TRUE"), OptionSpec::check("A", true));
        assert!(OptionSpec::parse(Tokens::new("name A B C")).is_err());
        assert!(OptionSpec::parse(Tokens::new("type check")).is_err());
    }

    #[test]
    fn values_are_validated() {
        let style = OptionSpec::combo("Style", "Solid", &["Solid", "Very Risky"]);
        assert_eq!(style.parse_value(Some("very risky")), Ok(OptionValue::Combo("Very Risky".to_owned())));
        assert!(matches!(style.parse_value(Some("x")), Err(OptionError::InvalidValue { .. })));
        let elo = OptionSpec::spin("UCI_Elo", 1350, 1350..=2850);
        assert_eq!(elo.parse_value(Some("1350")), Ok(OptionValue::Spin(1350)));
        assert!(matches!(elo.parse_value(Some("1320")), Err(OptionError::InvalidValue { .. })));
        assert!(matches!(elo.parse_value(None), Err(OptionError::InvalidValue { value: None, .. })));
        assert_eq!(OptionSpec::button("Clear").parse_value(None), Ok(OptionValue::Button));
        assert!(OptionSpec::button("Clear").parse_value(Some("now")).is_err());
    }

    #[test]
    fn unknown_options_list_similar_names() {
        let names = ["Hash", "Clear Hash", "UCI_Elo", "Threads"];
        let options = names.map(OptionSpec::button);
        assert_eq!(OptionSpec::find(&options, "uci_elo").unwrap().name, "UCI_Elo");
        for (name, expected) in [("Elo", &["UCI_Elo"][..]), ("Hsah", &["Hash"]), ("zzz", &names)] {
            let Err(OptionError::Unknown { similar, .. }) = OptionSpec::find(&options, name) else {
                panic!("{name}");
            };
            assert_eq!(similar, expected);
        }
    }
}
