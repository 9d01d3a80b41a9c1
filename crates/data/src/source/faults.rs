use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// Number of examples kept of each kind.
const EXAMPLES: usize = 5;

/// Why a game, line or file of the input was rejected or cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A file that cannot be opened or has the wrong format. The caller decides whether it counts as a fault.
    Unreadable,
    /// A truncated or damaged stream; what came before is used.
    StreamFailed,
    /// A game or line longer than the limit.
    TooLong,
    /// Bytes that are not UTF-8 where text is expected.
    NotText,
    /// Text that holds no game.
    NoGame,
    /// A game without moves.
    NoMoves,
    /// A variant of chess, or a start that only Chess960 has.
    Variant,
    /// A game of a player titled BOT, if those are excluded.
    BotGame,
    /// An invalid position.
    BadPosition,
    /// An illegal move.
    IllegalMove,
    /// A move that matches several pieces.
    AmbiguousMove,
    /// A token that cannot be parsed as a move.
    UnreadableMove,
    /// Moves after the result.
    AfterResult,
    /// An unbalanced comment, variation or tag pair.
    Unbalanced,
    /// A line that is not JSON of the expected form.
    BadJson,
    /// An evaluation without a line of moves.
    NoLine,
    /// An evaluation without a score.
    NoScore,
    /// A number out of range: a depth of 300, a mate in 0.
    BadNumber,
    /// A line of EPD that cannot be read.
    BadEpd,
    /// A line of a puzzle table with too few columns.
    BadPuzzle,
    /// A move index outside the vocabulary file.
    UnknownMove,
}

impl FaultKind {
    /// Description of the kind, also a key in `set.json`.
    pub fn describe(self) -> &'static str {
        match self {
            FaultKind::Unreadable => "file that cannot be read",
            FaultKind::StreamFailed => "stream broken off or damaged",
            FaultKind::TooLong => "longer than the limit",
            FaultKind::NotText => "not text",
            FaultKind::NoGame => "text without a game",
            FaultKind::NoMoves => "game without moves",
            FaultKind::Variant => "variant of chess",
            FaultKind::BotGame => "game of a titled bot",
            FaultKind::BadPosition => "impossible position",
            FaultKind::IllegalMove => "illegal move",
            FaultKind::AmbiguousMove => "ambiguous move",
            FaultKind::UnreadableMove => "unreadable move",
            FaultKind::AfterResult => "moves after the result",
            FaultKind::Unbalanced => "unbalanced brackets or tags",
            FaultKind::BadJson => "not the expected JSON",
            FaultKind::NoLine => "evaluation without moves",
            FaultKind::NoScore => "evaluation without a score",
            FaultKind::BadNumber => "number out of range",
            FaultKind::BadEpd => "unreadable EPD",
            FaultKind::BadPuzzle => "incomplete puzzle",
            FaultKind::UnknownMove => "unknown move number",
        }
    }
}

/// A place in the input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Whereabouts {
    /// The file, as the user named it.
    pub source: Arc<str>,
    /// Offset of the part after decompression, from 0.
    pub offset: u64,
    /// The part.
    pub part: Part,
}

/// A part of a source; numbers are from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The whole source.
    Whole,
    /// A game.
    Game {
        /// Its number.
        number: u64,
        /// Its first line.
        line: u64,
    },
    /// The line of this number.
    Line(u64),
    /// The record of this number, in files without lines.
    Record(u64),
}

impl Whereabouts {
    /// A source as a whole.
    pub fn whole(source: Arc<str>) -> Whereabouts {
        Whereabouts { source, offset: 0, part: Part::Whole }
    }
}

/// An example of a fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Example {
    /// Where.
    pub at: Whereabouts,
    /// Details.
    pub what: String,
}

/// The number of faults of a kind, and the first examples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultCount {
    /// How often.
    pub count: u64,
    /// The first few by source name and offset.
    pub examples: Vec<Example>,
}

/// Faults by kind.
///
/// Merging the reports of parts gives the same report in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Faults {
    kinds: BTreeMap<FaultKind, FaultCount>,
}

impl Faults {
    /// Counts a fault. `what` is evaluated only if the fault is kept as an example.
    pub fn add<W: Into<String>>(&mut self, kind: FaultKind, at: &Whereabouts, what: impl FnOnce() -> W) {
        let entry = self.kinds.entry(kind).or_default();
        entry.count += 1;
        if entry.examples.len() < EXAMPLES || entry.examples.last().is_some_and(|last| *at < last.at) {
            let example = Example { at: at.clone(), what: what().into() };
            let place = entry.examples.partition_point(|kept| *kept <= example);
            entry.examples.insert(place, example);
            entry.examples.truncate(EXAMPLES);
        }
    }

    /// Adds the faults of another part of the input.
    pub fn merge(&mut self, other: Faults) {
        for (kind, more) in other.kinds {
            let entry = self.kinds.entry(kind).or_default();
            entry.count += more.count;
            entry.examples.extend(more.examples);
            entry.examples.sort();
            entry.examples.truncate(EXAMPLES);
        }
    }

    /// How often a kind occurred.
    pub fn count(&self, kind: FaultKind) -> u64 {
        self.kinds.get(&kind).map_or(0, |entry| entry.count)
    }

    /// Total number of faults.
    pub fn total(&self) -> u64 {
        self.kinds.values().map(|entry| entry.count).sum()
    }

    /// Whether there are no faults.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The kinds that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (FaultKind, &FaultCount)> {
        self.kinds.iter().map(|(kind, count)| (*kind, count))
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Whereabouts { source, offset, part } = self;
        match part {
            Part::Whole => write!(f, "{source}"),
            Part::Game { number, line } => write!(f, "{source}, game {number} (line {line}, byte {offset})"),
            Part::Line(line) => write!(f, "{source}, line {line} (byte {offset})"),
            Part::Record(number) => write!(f, "{source}, record {number}"),
        }
    }
}

/// A table: a row per kind with its count, followed by its examples. Empty without faults.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, FaultCount { count, examples }) in self.iter() {
            writeln!(f, "{count:>10}  {}", kind.describe())?;
            for Example { at, what } in examples {
                writeln!(f, "{:>12}{at}: {what}", "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str, number: u64) -> Whereabouts {
        Whereabouts {
            source: source.into(),
            offset: number * 10,
            part: Part::Game { number, line: number * 2 },
        }
    }

    #[test]
    fn parts_merge_to_the_same_report_in_any_order() {
        let parts: Vec<Faults> = (0..4_u64)
            .map(|part| {
                let mut faults = Faults::default();
                for number in [7, 3, 5, 1, 9, 2, 8] {
                    let place = at(if part % 2 == 0 { "a" } else { "b" }, part * 10 + number);
                    faults.add(FaultKind::IllegalMove, &place, || format!("e{number}"));
                }
                faults.add(FaultKind::NoMoves, &at("c", part + 1), || "empty");
                faults
            })
            .collect();
        let merged = |order: &[usize]| {
            order.iter().fold(Faults::default(), |mut all, part| {
                all.merge(parts[*part].clone());
                all
            })
        };
        let whole = merged(&[0, 1, 2, 3]);
        assert_eq!(whole, merged(&[3, 1, 0, 2]));
        assert_eq!((whole.count(FaultKind::IllegalMove), whole.total()), (28, 32));
        let (_, illegal) = whole.iter().find(|(kind, _)| *kind == FaultKind::IllegalMove).unwrap();
        let offsets: Vec<u64> = illegal.examples.iter().map(|example| example.at.offset).collect();
        assert_eq!(offsets, [10, 20, 30, 50, 70]);
    }

    #[test]
    fn a_report_prints_as_a_table_and_round_trips_as_json() {
        let mut faults = Faults::default();
        faults.add(FaultKind::IllegalMove, &at("games.pgn", 4), || "`Ke9` is not a legal move");
        faults.add(
            FaultKind::BadJson,
            &Whereabouts { source: "e.jsonl".into(), offset: 5, part: Part::Line(2) },
            || "eh",
        );
        assert_eq!(
            faults.to_string(),
            "         1  illegal move\n            games.pgn, game 4 (line 8, byte 40): `Ke9` is not a legal move\n\
             \x20        1  not the expected JSON\n            e.jsonl, line 2 (byte 5): eh\n"
        );
        let json = serde_json::to_string(&faults).unwrap();
        assert!(json.starts_with(r#"{"illegal-move":{"count":1,"#), "{json}");
        assert_eq!(serde_json::from_str::<Faults>(&json).unwrap(), faults);
    }
}
