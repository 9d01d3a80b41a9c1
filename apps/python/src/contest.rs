//! Matches and the challenge ladder.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use shakmaty::{Chess, Position as _};
use tabia_arena as arena;
use tabia_arena::challenge::Ladder;
use tabia_arena::statistics::{EloEstimate, Tally};
use tabia_arena::{
    Budget, Entrant, Finished, Format, GameRecord, Ledger, Openings, PlayerId, Report, Rules, Run, Schedule,
    Standings, Stop, StopRequest, WallTimer,
};
use tabia_cli::{SpecEntrant, entrants, player_spec, today};
use tabia_encoding::parse_uci;
use tabia_game::{TimeControl, position_from_fen};
use tabia_players::{ChallengeRules, Level, Limits, NetSearch, NetSpec, Spec, admit};
use tabia_report::{Axis, Chart, Even, Point, Series};

use crate::board;
use crate::error::{failed, failed_at, invalid, readable};
use crate::interrupt::interruptible;
use crate::meter::Meter;
use crate::model::PLAYERS;

/// Time for a move without any other limit.
const DEFAULT_MOVETIME: Duration = Duration::from_millis(100);

/// Points of a curve, at most.
const CURVE: usize = 40;

/// Limits, openings and order of a contest, as Python passes them.
pub(crate) struct Table {
    pub(crate) movetime: Option<u64>,
    pub(crate) nodes: Option<u64>,
    pub(crate) depth: Option<u32>,
    pub(crate) time_control: Option<String>,
    pub(crate) openings: Option<PathBuf>,
    pub(crate) seed: u64,
    pub(crate) jobs: Option<usize>,
    pub(crate) pgn: Option<PathBuf>,
}

/// What is shown while games are played: games, all of them, and a note.
type Progress = (u32, u32, String);

fn report_to(meter: &Meter) -> impl FnMut(Python<'_>, Progress) -> PyResult<()> + '_ {
    move |py, (done, total, note)| meter.show(py, done.into(), total.into(), &note)
}

/// A player as text: a spec, or the path of a network.
pub(crate) struct Named(pub(crate) String);

impl<'a, 'py> FromPyObject<'a, 'py> for Named {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Named> {
        let path: PathBuf = given.extract()?;
        Ok(Named(path.display().to_string()))
    }
}

pub(crate) fn spec(text: &str) -> PyResult<Spec> {
    player_spec(text).map_err(invalid)
}

impl Table {
    fn budget(&self) -> PyResult<Budget> {
        let control: Option<TimeControl> = self
            .time_control
            .as_deref()
            .map(|text| text.parse().map_err(|error| invalid(format!("time_control: {error}"))))
            .transpose()?;
        let movetime = self.movetime.map(Duration::from_millis);
        let mut limits = Limits { depth: self.depth, nodes: self.nodes, movetime, ..Limits::default() };
        if limits.is_unlimited() && control.is_none() {
            limits.movetime = Some(DEFAULT_MOVETIME);
        }
        let margin = Duration::from_millis(if control.is_some() { 100 } else { 1000 });
        Ok(Budget { limits, control, margin, ..Budget::default() })
    }

    fn openings(&self) -> PyResult<Openings> {
        let Some(path) = &self.openings else { return Ok(Openings::balanced()) };
        readable(path)?;
        Openings::open(path).map_err(failed)
    }

    fn jobs(&self) -> NonZeroUsize {
        tabia_cli::jobs(self.jobs.and_then(NonZeroUsize::new))
    }
}

/// A contest that was played.
pub(crate) struct Played {
    pub(crate) finished: Finished,
    games: Vec<Game>,
}

/// Plays `games` games, rounded up to pairs, of the first player against each of the others.
pub(crate) fn contest(
    py: Python<'_>,
    specs: &[Spec],
    games: u32,
    table: &Table,
    meter: &Meter,
) -> PyResult<Played> {
    let (budget, openings) = (table.budget()?, table.openings()?);
    let players: Vec<SpecEntrant<'_>> = py.detach(|| entrants(specs, &budget, &PLAYERS)).map_err(failed)?;
    let opponents = u32::try_from(specs.len()).unwrap_or(u32::MAX).saturating_sub(1).max(1);
    let format = if specs.len() == 2 { Format::Match } else { Format::Gauntlet };
    let rounds = games.div_ceil(2 * opponents);
    let schedule = Schedule::new(format, specs.len(), rounds, openings.list().len()).map_err(failed)?;
    let rules = Rules { budget: Budget { limits: Limits::default(), ..budget.clone() }, ..Rules::default() };
    let run = Run {
        event: "Tabia match".to_owned(),
        date: today(),
        entrants: players.iter().map(|player| player as &dyn Entrant).collect(),
        openings: &openings,
        schedule: &schedule,
        rules: &rules,
        seed: table.seed,
        jobs: table.jobs(),
        sprt: None,
    };
    let mut settings = run.settings();
    settings.set("limits", budget.to_string());
    for known in players.iter().filter_map(SpecEntrant::file) {
        settings.set(&format!("contents of {}", known.file), &known.hash);
    }
    let ledger = table.pgn.as_deref().map(|pgn| Ledger::open(pgn, &settings)).transpose();
    let mut ledger = ledger.map_err(failed)?;
    let stop = Stop::new();
    let total = schedule.games();
    let finished = interruptible(
        py,
        || stop.request(StopRequest::Now),
        |shown| {
            // Zero games played: players may take long for the first.
            let _ = shown.send((0, total, String::new()));
            run.play(ledger.as_mut(), &WallTimer::new(), &stop, &mut |progress| {
                let games = progress.standings.overall(PlayerId(0));
                let note = format!("+{} ={} -{}", games.wins, games.draws, games.losses);
                // It is gone only if this thread was stopped.
                let _ = shown.send((progress.done, progress.total, note));
            })
        },
        report_to(meter),
    )?
    .map_err(failed)?;
    let names: Vec<String> = players.iter().map(Entrant::name).collect();
    let games = finished.records.iter().map(|record| Game::of(record, &names)).collect();
    Ok(Played { finished, games })
}

/// Plays two players against each other: games in pairs with reversed colours, from balanced openings.
///
/// A player is a spec such as "human,elo=1500", "engine,nodes=5000", "level:3" or "uci:stockfish,elo=1500", or the path of a network.
/// Limits (`movetime` in milliseconds, `nodes`, `depth`) are for players that set none; `time_control` such as "10+0.1" is for both.
/// With `pgn` the games are saved, and the same call resumes them after an interruption. `progress=False` shows no bar.
///
/// >>> import tabia
/// >>> match = tabia.play("level:1", "random", games=4, progress=False)
/// >>> len(match), match.wins + match.draws + match.losses
/// (4, 4)
#[pyfunction]
#[pyo3(signature = (
    first, second, *, games = 100, movetime = None, nodes = None, depth = None, time_control = None,
    openings = None, seed = 0, jobs = None, pgn = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
pub(crate) fn play(
    py: Python<'_>,
    first: Named,
    second: Named,
    games: u32,
    movetime: Option<u64>,
    nodes: Option<u64>,
    depth: Option<u32>,
    time_control: Option<String>,
    openings: Option<PathBuf>,
    seed: u64,
    jobs: Option<usize>,
    pgn: Option<PathBuf>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Match> {
    let table = Table { movetime, nodes, depth, time_control, openings, seed, jobs, pgn };
    let meter = Meter::begin(py, progress, "games")?;
    if games == 0 {
        return Err(invalid("games: expected at least 1"));
    }
    let specs = [spec(&first.0)?, spec(&second.0)?];
    let played = contest(py, &specs, games, &table, &meter);
    meter.end(py)?;
    let Played { finished, games } = played?;
    let report = Report::of_records(&finished.standings, &finished.records).to_string();
    Ok(Match { standings: finished.standings, records: finished.records, games, report })
}

/// The games of two players.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Match {
    standings: Standings,
    records: Vec<GameRecord>,
    games: Vec<Game>,
    report: String,
}

impl Match {
    fn tally(&self) -> Tally {
        self.standings.overall(PlayerId(0))
    }

    fn estimate(&self) -> Option<EloEstimate> {
        self.standings.between(PlayerId(0), PlayerId(1)).elo()
    }
}

#[pymethods]
impl Match {
    #[getter]
    fn players(&self) -> Vec<String> {
        self.standings.names().to_vec()
    }

    #[getter]
    fn wins(&self) -> u64 {
        self.tally().wins
    }

    #[getter]
    fn draws(&self) -> u64 {
        self.tally().draws
    }

    #[getter]
    fn losses(&self) -> u64 {
        self.tally().losses
    }

    #[getter]
    fn points(&self) -> f64 {
        self.tally().points()
    }

    /// Points per game.
    #[getter]
    fn score(&self) -> Option<f64> {
        self.tally().score()
    }

    #[getter]
    fn elo(&self) -> Option<f64> {
        self.estimate()?.elo
    }

    /// The ends of the 95% interval of the Elo difference.
    #[getter]
    fn interval(&self) -> (Option<f64>, Option<f64>) {
        self.estimate().map_or((None, None), |elo| (elo.low, elo.high))
    }

    /// The probability that the first player is the stronger one.
    #[getter]
    fn superiority(&self) -> Option<f64> {
        Some(self.estimate()?.superiority)
    }

    #[getter]
    fn games(&self) -> Vec<Game> {
        self.games.clone()
    }

    fn __len__(&self) -> usize {
        self.games.len()
    }

    /// All games as PGN.
    #[getter]
    fn pgn(&self) -> String {
        self.games.iter().map(Game::pgn).collect()
    }

    fn __str__(&self) -> &str {
        &self.report
    }

    fn __repr__(&self) -> String {
        let Tally { wins, draws, losses } = self.tally();
        let elo = self.estimate().map_or(String::new(), |elo| format!(", Elo {elo}"));
        let names = self.standings.names().join(" - ");
        format!("<tabia.Match {names}: +{wins} ={draws} -{losses}{elo}>")
    }

    /// The score after each game, with its interval.
    fn _repr_svg_(&self) -> String {
        let mut tally = Tally::default();
        let mut points = Vec::new();
        let step = self.records.len().div_ceil(CURVE).max(1);
        for (number, record) in (1..).zip(&self.records) {
            if let Some(scored) = record.points_of(PlayerId(0)) {
                tally.record(scored);
            }
            let Some(score) = tally.score() else { continue };
            if number % step != 0 && number != self.records.len() {
                continue;
            }
            let share = |elo: Option<f64>, without: f64| {
                100.0 * elo.map_or(without, arena::statistics::expected_score)
            };
            let (low, high) = tally.elo().map_or((0.0, 100.0), |e| (share(e.low, 0.0), share(e.high, 1.0)));
            let value = 100.0 * score;
            let note = format!("{value:.1}% of {number} games [{low:.1}%, {high:.1}%]");
            points.push(Point { at: number as f64, value, low, high, note });
        }
        let games = self.records.len() as f64;
        let title = self.__repr__();
        Chart {
            title: &title,
            across: Axis { label: "games", step: nice_step(games), unit: "" },
            up: Axis { label: "points of the first player", step: 20.0, unit: "%" },
            even: Even::None,
            series: vec![Series { name: self.standings.names()[0].clone(), points }],
        }
        .svg()
    }
}

/// A distance between grid lines: 1, 2 or 5 times a power of ten.
fn nice_step(range: f64) -> f64 {
    let rough = (range / 8.0).max(1.0);
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|step| *step >= rough).unwrap_or(rough)
}

/// A finished game.
#[pyclass(frozen, module = "tabia")]
#[derive(Clone)]
pub(crate) struct Game {
    #[pyo3(get)]
    white: String,
    #[pyo3(get)]
    black: String,
    #[pyo3(get)]
    result: &'static str,
    #[pyo3(get)]
    reason: String,
    #[pyo3(get)]
    opening: String,
    /// The position after the opening.
    #[pyo3(get)]
    start: String,
    #[pyo3(get)]
    moves: Vec<String>,
}

impl Game {
    fn of(record: &GameRecord, names: &[String]) -> Game {
        let name = |player: PlayerId| names.get(player.0).cloned().unwrap_or_default();
        Game {
            white: name(record.white),
            black: name(record.black),
            result: match record.result {
                arena::GameResult::WhiteWins => "1-0",
                arena::GameResult::BlackWins => "0-1",
                arena::GameResult::Draw => "1/2-1/2",
            },
            reason: record.reason.clone(),
            opening: record.opening_label.clone(),
            start: record.fen.clone(),
            moves: record.moves.clone(),
        }
    }

    /// The last position, and the move that led there.
    fn last(&self) -> Option<(Chess, Option<shakmaty::Move>)> {
        let mut position = position_from_fen(&self.start).ok()?;
        let mut last = None;
        for text in &self.moves {
            let played = parse_uci(&position, text).ok()?;
            position.play_unchecked(played);
            last = Some(played);
        }
        Some((position, last))
    }

    fn to_pgn(&self) -> Option<String> {
        let start = position_from_fen(&self.start).ok()?;
        let mut position = start.clone();
        let mut game = tabia_game::Game::from_position(start);
        for (tag, value) in [
            ("White", &self.white),
            ("Black", &self.black),
            ("Opening", &self.opening),
            ("Termination", &self.reason),
        ] {
            game.headers.set(tag, value).ok()?;
        }
        let mut at = tabia_game::NodeId::ROOT;
        for text in &self.moves {
            let played = parse_uci(&position, text).ok()?;
            at = game.add_move(at, played).ok()?;
            position.play_unchecked(played);
        }
        game.result = self.result.parse().ok()?;
        let mut bytes = Vec::new();
        tabia_game::write_game(&game, &mut bytes).ok()?;
        String::from_utf8(bytes).ok()
    }
}

#[pymethods]
impl Game {
    /// The position at the end.
    #[getter]
    fn fen(&self) -> String {
        self.last().map_or_else(String::new, |(position, _)| tabia_game::fen_of(&position))
    }

    #[getter]
    fn pgn(&self) -> String {
        self.to_pgn().unwrap_or_default()
    }

    fn __len__(&self) -> usize {
        self.moves.len()
    }

    fn _repr_svg_(&self) -> Option<String> {
        let (position, last) = self.last()?;
        let last = last.and_then(|played| Some((played.from()?, played.to())));
        Some(board::draw(&position, false, last, Vec::new()))
    }

    fn __repr__(&self) -> String {
        let Game { white, black, result, reason, .. } = self;
        format!("<tabia.Game {white} - {black} {result}, {} plies: {reason}>", self.moves.len())
    }
}

/// Plays a network against the levels of the Chess Challenge, one after the other, until it does not pass one.
///
/// `rules` are "original" or "2026"; `level` plays only that one.
#[pyfunction]
#[pyo3(signature = (
    path, *, rules = "original", level = None, openings = None, seed = 0, jobs = None, progress = None
))]
#[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
pub(crate) fn compete(
    py: Python<'_>,
    path: PathBuf,
    rules: &str,
    level: Option<u8>,
    openings: Option<PathBuf>,
    seed: u64,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Scorecard> {
    let rules: ChallengeRules = rules.parse().map_err(|error| invalid(format!("rules: {error}")))?;
    readable(&path)?;
    let model = py.detach(|| PLAYERS.open(&path)).map_err(|error| failed_at(&path, error))?;
    py.detach(|| admit(&model, rules)).map_err(|error| failed_at(&path, error))?;
    let openings = match &openings {
        Some(book) => {
            readable(book)?;
            Openings::open(book).map_err(failed)?
        }
        None => Openings::challenge(rules, seed),
    };
    let levels: Vec<Level> = match level {
        Some(number) => vec![rules.level(number).ok_or_else(|| {
            let count = rules.levels().len();
            PyValueError::new_err(format!(
                "level: no level {number} by the rules {rules} (expected 1 to {count})"
            ))
        })?],
        None => rules.levels().collect(),
    };
    let challenger = Spec::Net(NetSpec { file: path.clone(), search: NetSearch::Challenge(rules) });
    let opponents = levels.iter().map(|level| Spec::Level((*level).into()));
    let specs: Vec<Spec> = std::iter::once(challenger).chain(opponents).collect();
    let players = py.detach(|| entrants(&specs, &Budget::default(), &PLAYERS)).map_err(failed)?;
    let Some((challenger, opponents)) = players.split_first() else {
        return Err(failed("no challenger"));
    };
    let ladder = Ladder {
        challenger,
        parameters: model.parameters(),
        rules,
        seed,
        levels: levels
            .iter()
            .zip(opponents)
            .map(|(level, player)| (u32::from(level.number()), player as &dyn Entrant))
            .collect(),
        openings: &openings,
        jobs: tabia_cli::jobs(jobs.and_then(NonZeroUsize::new)),
        folder: None,
        date: today(),
    };
    let meter = Meter::begin(py, progress, "games")?;
    let stop = Stop::new();
    let games = 2 * u32::try_from(openings.list().len()).unwrap_or(u32::MAX);
    let scorecard = interruptible(
        py,
        || stop.request(StopRequest::Now),
        |shown| {
            ladder.climb(&WallTimer::new(), &stop, &mut |progress| {
                let note = format!("level {}: {} points", progress.level, progress.games.points());
                // It is gone only if this thread was stopped.
                let _ = shown.send((u32::try_from(progress.games.games()).unwrap_or(0), games, note));
            })
        },
        report_to(&meter),
    );
    meter.end(py)?;
    let scorecard = scorecard?.map_err(|error| failed_at(Path::new(&path), error))?;
    Ok(Scorecard(scorecard))
}

/// How far a network climbed the ladder of the Chess Challenge.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Scorecard(arena::challenge::Scorecard);

#[pymethods]
impl Scorecard {
    #[getter]
    fn challenger(&self) -> &str {
        &self.0.challenger
    }

    #[getter]
    fn parameters(&self) -> u64 {
        self.0.parameters
    }

    /// The highest level passed together with all below it; 0 if none was.
    #[getter]
    fn climbed(&self) -> u32 {
        self.0.climbed()
    }

    #[getter]
    fn levels(&self) -> Vec<LevelScore> {
        let names = |opponent: &str| [self.0.challenger.clone(), opponent.to_owned()];
        let level = |score: &arena::challenge::LevelScore| LevelScore {
            level: score.level,
            opponent: score.opponent.clone(),
            wins: score.games.wins,
            draws: score.games.draws,
            losses: score.games.losses,
            points: score.points,
            passed: score.passed,
            games: score.records.iter().map(|record| Game::of(record, &names(&score.opponent))).collect(),
        };
        self.0.levels.iter().map(level).collect()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Scorecard {}: level {} passed>", self.0.challenger, self.0.climbed())
    }

    /// The share of the points on each level.
    fn _repr_svg_(&self) -> String {
        let point = |score: &arena::challenge::LevelScore| {
            let value = 100.0 * score.games.score().unwrap_or(0.0);
            let note = format!("level {}: {} of {}", score.level, score.points, score.games.games());
            Point { at: f64::from(score.level), value, low: value, high: value, note }
        };
        let title = self.__repr__();
        Chart {
            title: &title,
            across: Axis { label: "level", step: 1.0, unit: "" },
            up: Axis { label: "points (70% pass)", step: 10.0, unit: "%" },
            even: Even::None,
            series: vec![Series {
                name: self.0.challenger.clone(),
                points: self.0.levels.iter().map(point).collect(),
            }],
        }
        .svg()
    }
}

/// The games on a level.
#[pyclass(frozen, module = "tabia", get_all)]
pub(crate) struct LevelScore {
    level: u32,
    opponent: String,
    wins: u64,
    draws: u64,
    losses: u64,
    points: f64,
    passed: bool,
    games: Vec<Game>,
}

#[pymethods]
impl LevelScore {
    fn __repr__(&self) -> String {
        let LevelScore { level, wins, draws, losses, passed, .. } = self;
        let passed = if *passed { "passed" } else { "not passed" };
        format!("<tabia.LevelScore level {level}: +{wins} ={draws} -{losses}, {passed}>")
    }
}
