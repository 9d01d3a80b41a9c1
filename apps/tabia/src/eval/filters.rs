//! Which moves of human games count: options, and the presets of papers.

use std::fmt;
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tabia_encoding::RatingPool;
use tabia_human_eval::{MoveFilter, Speed};

/// First ply that counts unless an option or a preset says otherwise.
const FIRST_PLY: u32 = 10;

/// Which moves count.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct FilterArgs {
    /// Skip positions before this ply [default: 10].
    #[arg(long, value_name = "PLY")]
    pub(super) first_ply: Option<u32>,
    /// Skip positions after this ply.
    #[arg(long, value_name = "PLY|any")]
    last_ply: Option<Only<u32>>,
    /// Skip positions where the side to move has less time left, or an unknown time.
    #[arg(long, value_name = "SECONDS|any")]
    min_clock: Option<Only<u64>>,
    /// Skip positions where the side to move has more time left, or an unknown time.
    #[arg(long, value_name = "SECONDS|any")]
    max_clock: Option<Only<u64>>,
    /// Only games of these speeds: bullet, blitz, rapid, classical, unknown.
    #[arg(long, value_name = "SPEED,...|any")]
    speed: Option<Only<List<Speed>>>,
    /// Only games of these rating pools; online includes every server.
    #[arg(long, value_name = "POOL,...|any")]
    only_pool: Option<Only<List<RatingPool>>>,
    /// Only games in which both players' ratings are in this range.
    #[arg(long, value_name = "LOW-HIGH|any")]
    ratings: Option<Only<Ratings>>,
    /// Only games in which both ratings are in the same band of this width: 100 is 1500-1599, 1600-1699, ...
    #[arg(long, value_name = "WIDTH|any")]
    same_band: Option<Only<NonZeroU16>>,
}

/// The selection of positions of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Protocol {
    /// Maia-1 (KDD 2020): Lichess, no bullet, ply 10 and later, 30 s or more left, both players in the same band of 100 from
    /// 1100 to 1999.
    Maia,
    /// Maia-2 (NeurIPS 2024): Lichess rapid, ply 10 to 300, 30 s or more left.
    Maia2,
    /// Maia-3 (ICLR 2026): Lichess blitz, ply 10 and later, 30 s or more left.
    Maia3,
}

impl Protocol {
    /// The options it stands for.
    pub(super) fn filters(self) -> FilterArgs {
        let common = FilterArgs {
            first_ply: Some(FIRST_PLY),
            min_clock: Some(Only::These(30)),
            only_pool: Some(Only::These(List(vec![RatingPool::Lichess]))),
            ..FilterArgs::default()
        };
        let speed = |speeds: &[Speed]| Some(Only::These(List(speeds.to_vec())));
        match self {
            Protocol::Maia => FilterArgs {
                speed: speed(&[Speed::Blitz, Speed::Rapid, Speed::Classical]),
                ratings: Some(Only::These(Ratings(1100..=1999))),
                same_band: NonZeroU16::new(100).map(Only::These),
                ..common
            },
            Protocol::Maia2 => {
                FilterArgs { speed: speed(&[Speed::Rapid]), last_ply: Some(Only::These(300)), ..common }
            }
            Protocol::Maia3 => FilterArgs { speed: speed(&[Speed::Blitz]), ..common },
        }
    }

    /// Width of its rating bands, if it reports by them.
    pub(super) fn band_width(self) -> Option<NonZeroU16> {
        match self {
            Protocol::Maia | Protocol::Maia2 => NonZeroU16::new(100),
            Protocol::Maia3 => None,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Protocol::Maia => "maia",
            Protocol::Maia2 => "maia2",
            Protocol::Maia3 => "maia3",
        }
    }
}

impl FilterArgs {
    /// These options where they are given, those of `preset` elsewhere.
    pub(super) fn or(&self, preset: FilterArgs) -> FilterArgs {
        let own = self.clone();
        FilterArgs {
            first_ply: own.first_ply.or(preset.first_ply),
            last_ply: own.last_ply.or(preset.last_ply),
            min_clock: own.min_clock.or(preset.min_clock),
            max_clock: own.max_clock.or(preset.max_clock),
            speed: own.speed.or(preset.speed),
            only_pool: own.only_pool.or(preset.only_pool),
            ratings: own.ratings.or(preset.ratings),
            same_band: own.same_band.or(preset.same_band),
        }
    }

    pub(super) fn filter(&self) -> MoveFilter {
        let seconds = |setting: &Option<Only<u64>>| these(setting).copied().map(Duration::from_secs);
        let list = these(&self.speed).map_or(&[][..], |speeds| &speeds.0);
        MoveFilter {
            first_ply: self.first_ply.unwrap_or(FIRST_PLY),
            last_ply: these(&self.last_ply).copied(),
            min_clock: seconds(&self.min_clock),
            max_clock: seconds(&self.max_clock),
            speeds: list.iter().copied().collect(),
            pools: these(&self.only_pool).map(|pools| pools.0.clone()).unwrap_or_default(),
            ratings: these(&self.ratings).map(|ratings| ratings.0.clone()),
            same_band: these(&self.same_band).copied(),
        }
    }

    /// The filters for the JSON file.
    pub(super) fn json(&self) -> Value {
        let filter = self.filter();
        json!({
            "first_ply": filter.first_ply,
            "last_ply": filter.last_ply,
            "min_clock_seconds": filter.min_clock.map(|clock| clock.as_secs()),
            "max_clock_seconds": filter.max_clock.map(|clock| clock.as_secs()),
            "speeds": these(&self.speed).map_or(&[][..], |speeds| &speeds.0).iter().map(|speed| speed.label()).collect::<Vec<_>>(),
            "pools": filter.pools,
            "ratings": filter.ratings.map(|ratings| [*ratings.start(), *ratings.end()]),
            "same_band": filter.same_band,
        })
    }
}

/// The options that select the same positions.
impl fmt::Display for FilterArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn option<T: fmt::Display>(
            f: &mut fmt::Formatter<'_>,
            name: &str,
            setting: &Option<Only<T>>,
        ) -> fmt::Result {
            these(setting).map_or(Ok(()), |value| write!(f, " --{name} {value}"))
        }
        write!(f, "--first-ply {}", self.first_ply.unwrap_or(FIRST_PLY))?;
        option(f, "last-ply", &self.last_ply)?;
        option(f, "min-clock", &self.min_clock)?;
        option(f, "max-clock", &self.max_clock)?;
        option(f, "speed", &self.speed)?;
        option(f, "only-pool", &self.only_pool)?;
        option(f, "ratings", &self.ratings)?;
        option(f, "same-band", &self.same_band)
    }
}

/// The value of a filter, or `any` to switch off that of a preset.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Only<T> {
    Any,
    These(T),
}

fn these<T>(setting: &Option<Only<T>>) -> Option<&T> {
    match setting {
        Some(Only::These(value)) => Some(value),
        Some(Only::Any) | None => None,
    }
}

impl<T: FromStr<Err: fmt::Display>> FromStr for Only<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "any" => Ok(Only::Any),
            _ => text.parse().map(Only::These).map_err(|error| format!("{error} (or any)")),
        }
    }
}

/// Values separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
struct List<T>(Vec<T>);

impl<T: FromStr> FromStr for List<T> {
    type Err = T::Err;

    fn from_str(text: &str) -> Result<Self, T::Err> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(List)
    }
}

impl<T: fmt::Display> fmt::Display for List<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if number > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// `LOW-HIGH`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ratings(RangeInclusive<u16>);

impl FromStr for Ratings {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let range = text.split_once('-').and_then(|(low, high)| Some(low.parse().ok()?..=high.parse().ok()?));
        match range {
            Some(range) if !range.is_empty() => Ok(Ratings(range)),
            _ => Err(format!("invalid range of ratings {text:?} (expected LOW-HIGH, such as 1100-1999)")),
        }
    }
}

impl fmt::Display for Ratings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.0.start(), self.0.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        filters: FilterArgs,
    }

    fn parse(options: &str) -> FilterArgs {
        Command::try_parse_from(["command"].into_iter().chain(options.split_whitespace())).unwrap().filters
    }

    #[test]
    fn a_protocol_prints_the_options_it_stands_for() {
        for protocol in Protocol::value_variants() {
            let written = protocol.filters().to_string();
            assert_eq!(parse(&written).to_string(), written);
        }
        assert_eq!(
            Protocol::Maia.filters().to_string(),
            "--first-ply 10 --min-clock 30 --speed blitz,rapid,classical --only-pool lichess --ratings 1100-1999 --same-band 100"
        );
    }

    #[test]
    fn options_override_a_protocol_and_any_switches_a_filter_off() {
        let filters = parse("--speed rapid --ratings any --min-clock 60").or(Protocol::Maia.filters());
        assert_eq!(
            filters.to_string(),
            "--first-ply 10 --min-clock 60 --speed rapid --only-pool lichess --same-band 100"
        );
    }

    #[test]
    fn bad_filters_are_refused() {
        for options in
            ["--ratings 1500", "--ratings 1900-1100", "--same-band 0", "--speed fast", "--only-pool fide"]
        {
            let args = ["command"].into_iter().chain(options.split_whitespace());
            assert!(Command::try_parse_from(args).is_err(), "{options}");
        }
    }
}
