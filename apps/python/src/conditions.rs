//! Ratings, clocks and time controls of positions.

use std::time::Duration;

use pyo3::prelude::*;
use shakmaty::Chess;
use tabia_encoding::{Elo, Pace, PlayerInfo, RatingPool, Situation};
use tabia_game::{History, TimeControl};

use crate::error::invalid;

/// A number for all positions, or one for each. NaN and None mean unknown.
enum Numbers {
    Same(Option<f64>),
    Each(Vec<Option<f64>>),
}

impl Numbers {
    fn of(given: Option<&Bound<'_, PyAny>>, name: &str, positions: usize) -> PyResult<Numbers> {
        let Some(given) = given else { return Ok(Numbers::Same(None)) };
        if let Ok(number) = given.extract::<f64>() {
            return Ok(Numbers::Same(Some(number)));
        }
        let wrong = || invalid(format!("{name}: expected a number, or one for each position"));
        let each: Vec<Option<f64>> = given
            .try_iter()
            .map_err(|_| wrong())?
            .map(|item| item?.extract().map_err(|_| wrong()))
            .collect::<PyResult<_>>()?;
        if each.len() != positions {
            return Err(invalid(format!("{name}: {} numbers for {positions} positions", each.len())));
        }
        Ok(Numbers::Each(each))
    }

    fn get(&self, row: usize) -> Option<f64> {
        let number = match self {
            Numbers::Same(number) => *number,
            Numbers::Each(each) => each.get(row).copied().flatten(),
        };
        number.filter(|number| number.is_finite())
    }
}

/// What is known of the players, beyond the positions.
pub(crate) struct Conditions {
    ratings: [Numbers; 2],
    clocks: [Numbers; 2],
    pace: Option<Pace>,
    pool: RatingPool,
}

/// As Python passes them.
pub(crate) struct Arguments<'py> {
    pub(crate) elo: Option<Bound<'py, PyAny>>,
    pub(crate) opponent_elo: Option<Bound<'py, PyAny>>,
    pub(crate) clock: Option<Bound<'py, PyAny>>,
    pub(crate) opponent_clock: Option<Bound<'py, PyAny>>,
    pub(crate) time_control: Option<String>,
    pub(crate) pool: Option<String>,
}

impl Conditions {
    /// The conditions of so many positions.
    pub(crate) fn of(arguments: &Arguments<'_>, positions: usize) -> PyResult<Conditions> {
        let numbers = |given: &Option<Bound<'_, PyAny>>, name| Numbers::of(given.as_ref(), name, positions);
        let pace = match &arguments.time_control {
            Some(text) => {
                let control: TimeControl =
                    text.parse().map_err(|error| invalid(format!("time_control: {error}")))?;
                let pace = control.pace();
                Some(pace.ok_or_else(|| {
                    invalid(format!("time_control: {text:?} is not base+increment in seconds, such as 180+2"))
                })?)
            }
            None => None,
        };
        // People mostly meet people of their strength, and networks are trained on their games.
        let opponent_elo = match &arguments.opponent_elo {
            Some(given) => Numbers::of(Some(given), "opponent_elo", positions)?,
            None => numbers(&arguments.elo, "elo")?,
        };
        Ok(Conditions {
            ratings: [numbers(&arguments.elo, "elo")?, opponent_elo],
            clocks: [
                numbers(&arguments.clock, "clock")?,
                numbers(&arguments.opponent_clock, "opponent_clock")?,
            ],
            pace,
            pool: arguments.pool.as_deref().map_or(Ok(RatingPool::Unknown), str::parse).map_err(invalid)?,
        })
    }

    /// A position under these conditions.
    pub(crate) fn situation<'a>(&self, history: &'a History, row: usize) -> Situation<'a> {
        let player = |side: usize| PlayerInfo {
            rating: self.ratings[side].get(row).map(|rating| Elo(rating.round().clamp(0.0, 65_535.0) as u16)),
            time_left: self.clocks[side]
                .get(row)
                .map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, 1e9))),
        };
        let (mover, opponent) = (player(0), player(1));
        Situation { mover, opponent, pool: self.pool, pace: self.pace, ..history.situation() }
    }

    /// The same with the position that a two-input network judges it from.
    pub(crate) fn in_context<'a>(
        &self,
        history: &'a History,
        row: usize,
        context: Option<&'a Chess>,
    ) -> Situation<'a> {
        Situation { context, ..self.situation(history, row) }
    }
}
