//! Ratings with their intervals.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use tabia_arena::statistics::{Against, rate_against};
use tabia_arena::{PlayerId, Report, read_results};
use tabia_cli::Stockfish;
use tabia_data::{BytesRead, SourceFile};
use tabia_players::{Limits, Spec};
use tabia_report::{Axis, Chart, Even, Point, Series};

use crate::contest::{Named, Played, Table, contest, spec};
use crate::error::{failed, failed_at, invalid, readable};
use crate::meter::Meter;

/// The most players that are rated at once: the fit's time grows with the cube of their number.
const MOST_PLAYERS: usize = 500;

/// A rating with its 95% interval.
#[pyclass(frozen, module = "tabia", get_all)]
pub(crate) struct Rating {
    player: String,
    /// None if all games were won or all lost.
    rating: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    games: u64,
    points: f64,
    /// Opponent, its rating, games and points.
    against: Vec<(String, f64, u64, f64)>,
}

#[pymethods]
impl Rating {
    /// The ends of the 95% interval.
    #[getter]
    fn interval(&self) -> (Option<f64>, Option<f64>) {
        (self.low, self.high)
    }

    fn __str__(&self) -> String {
        let whole = |number: Option<f64>| number.map_or("?".to_owned(), |number| format!("{number:.0}"));
        match self.rating {
            Some(rating) => format!("{rating:.0} [{}, {}]", whole(self.low), whole(self.high)),
            None if self.low.is_some() => format!("above {}", whole(self.low)),
            None => format!("below {}", whole(self.high)),
        }
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Rating {}: {}, {} games>", self.player, self.__str__(), self.games)
    }

    /// The score against each opponent.
    fn _repr_svg_(&self) -> Option<String> {
        if self.against.is_empty() {
            return None;
        }
        let points = self.against.iter().filter(|(_, _, games, _)| *games > 0);
        let points = points.map(|(name, rating, games, points)| {
            let share = points / *games as f64;
            let value = 100.0 * share;
            let error = 196.0 * (share * (1.0 - share) / *games as f64).sqrt();
            let note = format!("{name}: {points} of {games}");
            Point {
                at: *rating,
                value,
                low: (value - error).max(0.0),
                high: (value + error).min(100.0),
                note,
            }
        });
        let title = self.__repr__();
        let series = vec![Series { name: self.player.clone(), points: points.collect() }];
        Some(
            Chart {
                title: &title,
                across: Axis { label: "rating of the opponent", step: 200.0, unit: "" },
                up: Axis { label: "points", step: 20.0, unit: "%" },
                even: Even::None,
                series,
            }
            .svg(),
        )
    }
}

/// Rates a player by games against Stockfish at fixed ratings up to `highest`, or against `opponents` of known rating.
///
/// The other arguments are those of `play`; `games` are divided among the opponents.
///
/// >>> import tabia
/// >>> rating = tabia.rate("level:1", games=4, opponents={"random": 0}, progress=False)
/// >>> rating.games
/// 4
#[pyfunction]
#[pyo3(signature = (
    player, *, games = 100, highest = 2100, stockfish = None, opponents = None, movetime = None, nodes = None,
    depth = None, time_control = None, openings = None, seed = 0, jobs = None, pgn = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
pub(crate) fn rate(
    py: Python<'_>,
    player: Named,
    games: u32,
    highest: u16,
    stockfish: Option<&str>,
    opponents: Option<BTreeMap<String, f64>>,
    movetime: Option<u64>,
    nodes: Option<u64>,
    depth: Option<u32>,
    time_control: Option<String>,
    openings: Option<PathBuf>,
    seed: u64,
    jobs: Option<usize>,
    pgn: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Rating> {
    let table = Table { movetime, nodes, depth, time_control, openings, seed, jobs, pgn };
    let mut specs = vec![spec(&player.0)?];
    let mut known: Vec<(String, f64)> = Vec::new();
    match opponents {
        Some(opponents) => {
            for (text, rating) in opponents {
                specs.push(spec(&text)?);
                known.push((text, rating));
            }
        }
        None => {
            let engine = py.detach(|| Stockfish::find(stockfish)).map_err(failed)?;
            for rating in engine.opponents(highest) {
                specs.push(engine.at(rating, Limits::default()));
                known.push((format!("{} {rating}", engine.name), f64::from(rating)));
            }
            if known.is_empty() {
                return Err(invalid(format!(
                    "highest: {} plays at {} or higher",
                    engine.name, engine.weakest
                )));
            }
        }
    }
    if known.is_empty() {
        return Err(invalid("opponents: expected at least one"));
    }
    let meter = Meter::begin(py, progress, "games")?;
    let played = contest(py, &specs, games, &table, &meter);
    meter.end(py)?;
    let Played { finished, .. } = played?;
    let against: Vec<Against> = known
        .iter()
        .zip(1..)
        .map(|((_, rating), place)| Against {
            rating: *rating,
            games: finished.standings.between(PlayerId(0), PlayerId(place)).games,
        })
        .collect();
    let all = finished.standings.overall(PlayerId(0));
    let estimate = rate_against(&against).ok_or_else(|| failed("no game was played"))?;
    Ok(Rating {
        player: player_name(&specs),
        rating: estimate.rating,
        low: estimate.low,
        high: estimate.high,
        games: all.games(),
        points: all.points(),
        against: known
            .into_iter()
            .zip(&against)
            .map(|((name, rating), against)| (name, rating, against.games.games(), against.games.points()))
            .collect(),
    })
}

fn player_name(specs: &[Spec]) -> String {
    specs.first().map(ToString::to_string).unwrap_or_default()
}

/// The ratings of the players of a PGN file, strongest first. Their average is zero.
#[pyfunction]
pub(crate) fn elo(py: Python<'_>, path: PathBuf) -> PyResult<Vec<Rating>> {
    readable(&path)?;
    py.detach(|| ratings(&path))
}

fn ratings(path: &Path) -> PyResult<Vec<Rating>> {
    let input = match SourceFile::find(path).map_err(failed)?.as_slice() {
        [file] => file.text(&BytesRead::default()).map_err(failed)?,
        _ => Box::new(File::open(path)?),
    };
    let results = read_results(input).map_err(|error| failed_at(path, error))?;
    if results.rows.is_empty() {
        let broken = results.broken.first().map_or(String::new(), |broken| format!(" ({broken})"));
        return Err(failed_at(path, format!("there are no finished games{broken}")));
    }
    let players = results.standings.names().len();
    if players > MOST_PLAYERS {
        return Err(failed_at(
            path,
            format!("{players} players; at most {MOST_PLAYERS} can be rated at once"),
        ));
    }
    let rows = results.rows.iter().map(|(row, opening)| (*row, opening.as_str()));
    let report = Report::of(&results.standings, rows);
    let rating = |row: tabia_arena::PlayerRow| Rating {
        player: row.name,
        rating: row.rating.and_then(|rating| rating.rating),
        low: row.rating.and_then(|rating| rating.low),
        high: row.rating.and_then(|rating| rating.high),
        games: row.games.games(),
        points: row.games.points(),
        against: Vec::new(),
    };
    let mut ratings: Vec<Rating> = report.players.into_iter().map(rating).collect();
    let strength =
        |rating: &Rating| rating.rating.or(rating.low).or(rating.high).unwrap_or(f64::NEG_INFINITY);
    ratings.sort_by(|one, other| strength(other).total_cmp(&strength(one)));
    Ok(ratings)
}
