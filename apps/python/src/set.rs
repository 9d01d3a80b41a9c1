//! Sets of shards.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabia_batches::BatchOptions;
use tabia_data as data;
use tabia_data::{
    BrokenGames, BuildError, Filter, GameRules, Need, OpenError, PoolRule, Repeat, Side, SourceFile, Split,
    SplitBy, StreamOptions, build_in_memory,
};
use tabia_encoding::RatingPool;

use crate::batches::Batches;
use crate::error::{failed, failed_at, invalid, readable, warn};
use crate::interrupt::Signals;
use crate::meter::Meter;
use crate::{encode, vocabulary};

/// One or more sets, streamed as one.
///
/// >>> import tabia
/// >>> games = tabia.Set("fixtures/shards/games")
/// >>> games.kind, games.records > 0
/// ('games', True)
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Set {
    sets: Vec<Arc<data::Set>>,
}

/// One path or several.
#[derive(FromPyObject)]
pub(crate) enum Paths {
    /// One.
    One(PathBuf),
    /// Several.
    Many(Vec<PathBuf>),
}

impl Paths {
    fn all(&self) -> Vec<PathBuf> {
        match self {
            Paths::One(path) => vec![path.clone()],
            Paths::Many(paths) => paths.clone(),
        }
    }
}

/// The options of a stream, as Python passes them.
struct Chosen {
    batch: usize,
    vocabulary: Option<String>,
    legal: bool,
    shuffle: u64,
    held_out: Option<bool>,
    held_out_share: f64,
    held_out_by: String,
    repeat: bool,
    threads: Option<usize>,
    open_games: u32,
    min_ply: u32,
    max_ply: Option<u32>,
    ratings: Option<(u16, u16)>,
    pools: Option<Vec<String>>,
    require: Vec<String>,
}

#[pymethods]
impl Set {
    #[new]
    fn new(py: Python<'_>, path: Paths) -> PyResult<Set> {
        let paths = path.all();
        if paths.is_empty() {
            return Err(invalid("no set"));
        }
        for path in &paths {
            readable(path)?;
        }
        let open = || paths.iter().map(|path| data::Set::open(path).map(Arc::new)).collect::<Result<_, _>>();
        Ok(Set { sets: py.detach(open).map_err(failed)? })
    }

    #[getter]
    fn paths(&self) -> Vec<PathBuf> {
        self.sets.iter().map(|set| set.dir().to_owned()).collect()
    }

    /// Games or analysed positions.
    #[getter]
    fn records(&self) -> u64 {
        self.sets.iter().map(|set| set.records()).sum()
    }

    #[getter]
    fn positions(&self) -> u64 {
        self.sets.iter().map(|set| set.positions()).sum()
    }

    /// `games`, `evaluations`, or both.
    #[getter]
    fn kind(&self) -> String {
        let mut kinds: Vec<String> = self.sets.iter().map(|set| set.kind().to_string()).collect();
        kinds.sort();
        kinds.dedup();
        kinds.join(" and ")
    }

    /// Training batches: the inputs of `encoding`, and a column for each thing that is known of the positions.
    ///
    /// The order is shuffled by the seed `shuffle` and does not depend on the number of threads. The last batches of an epoch may
    /// have fewer rows. `held_out` chooses the side
    /// of the split (None: all), `held_out_share` of the records, or of the players with `held_out_by="player"`. `require`
    /// skips positions without a "result", "evaluation" or "clock". `legal` adds masks of the legal moves in
    /// `vocabulary`. `open_games` are in memory to draw from: fewer start faster, more shuffle better. `position` resumes where
    /// `Batches.position` was.
    ///
    /// >>> import tabia
    /// >>> for batch in tabia.Set("fixtures/shards/games").batches("challenge-768", batch=64, held_out=None):
    /// ...     print(batch.inputs.shape, batch.inputs.dtype, len(batch.result) == len(batch))
    /// ...     break
    /// (64, 768) float32 True
    #[pyo3(signature = (
        encoding, *, batch = 4096, vocabulary = None, legal = false, shuffle = 0, held_out = Some(false),
        held_out_share = 0.01, held_out_by = "record".to_owned(), repeat = false, threads = None, open_games = 32768,
        min_ply = 0, max_ply = None, ratings = None, pools = None, require = Vec::new(), position = None
    ))]
    #[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
    fn batches(
        &self,
        py: Python<'_>,
        encoding: &str,
        batch: usize,
        vocabulary: Option<String>,
        legal: bool,
        shuffle: u64,
        held_out: Option<bool>,
        held_out_share: f64,
        held_out_by: String,
        repeat: bool,
        threads: Option<usize>,
        open_games: u32,
        min_ply: u32,
        max_ply: Option<u32>,
        ratings: Option<(u16, u16)>,
        pools: Option<Vec<String>>,
        require: Vec<String>,
        position: Option<String>,
    ) -> PyResult<Batches> {
        let chosen = Chosen {
            batch,
            vocabulary,
            legal,
            shuffle,
            held_out,
            held_out_share,
            held_out_by,
            repeat,
            threads,
            open_games,
            min_ply,
            max_ply,
            ratings,
            pools,
            require,
        };
        let options = options(encoding, &chosen)?;
        let place = position.as_deref().map(serde_json::from_str).transpose();
        let place = place.map_err(|error| invalid(format!("position: {error}")))?;
        let sets = self.sets.clone();
        let started = py.detach(|| tabia_batches::Batches::start(sets, &options, place.as_ref()));
        Ok(Batches::new(started.map_err(failed)?))
    }

    /// The same batches as a `torch.utils.data.IterableDataset` of dictionaries of tensors. Options are those of `batches`;
    /// use it with `DataLoader(dataset, batch_size=None)`. Its `state_dict` resumes it.
    #[pyo3(signature = (encoding, **options))]
    fn torch<'py>(
        slf: Bound<'py, Self>,
        encoding: &str,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let options = options.unwrap_or_else(|| PyDict::new(py));
        py.import("tabia._torch")?.call_method1("Positions", (slf, encoding, options))
    }

    fn __repr__(&self) -> String {
        let paths: Vec<String> = self.sets.iter().map(|set| set.dir().display().to_string()).collect();
        let (records, positions) = (self.records(), self.positions());
        format!("<tabia.Set {}: {records} {}, {positions} positions>", paths.join(", "), self.kind())
    }
}

fn options(encoding: &str, chosen: &Chosen) -> PyResult<BatchOptions> {
    let encoding = encode::named(encoding)?;
    let vocabulary = match (&chosen.vocabulary, encoding.default_vocabulary()) {
        (Some(name), _) => Some(vocabulary::named(name)?),
        (None, usual) => usual.and_then(|id| tabia_encoding::vocabulary(id.0)),
    };
    if chosen.legal && vocabulary.is_none() {
        return Err(invalid(format!("legal: {} has no vocabulary of its own; name one", encoding.id())));
    }
    if chosen.batch == 0 {
        return Err(invalid("batch: expected at least 1"));
    }
    if !(0.0..=1.0).contains(&chosen.held_out_share) {
        return Err(invalid(format!("held_out_share: {} is not from 0 to 1", chosen.held_out_share)));
    }
    let by = match chosen.held_out_by.as_str() {
        "record" => SplitBy::Record,
        "player" => SplitBy::Player,
        other => return Err(invalid(format!("held_out_by: {other:?} (expected \"record\" or \"player\")"))),
    };
    let pool = |name: &String| name.parse::<RatingPool>().map_err(invalid);
    let mut filter = Filter {
        min_ply: chosen.min_ply,
        max_ply: chosen.max_ply,
        ratings: chosen.ratings.map(|(low, high)| low..=high),
        pools: chosen.pools.as_ref().map(|names| names.iter().map(pool).collect()).transpose()?,
        ..Filter::default()
    };
    for name in &chosen.require {
        let need = match name.as_str() {
            "result" => &mut filter.result,
            "evaluation" => &mut filter.evaluation,
            "clock" => &mut filter.clock,
            other => {
                let expected = "\"result\", \"evaluation\" or \"clock\"";
                return Err(invalid(format!("require: {other:?} (expected {expected})")));
            }
        };
        *need = Need::Required;
    }
    let stream = StreamOptions {
        seed: chosen.shuffle,
        split: Split::of_training((1e6 * chosen.held_out_share).round() as u32, by),
        side: match chosen.held_out {
            Some(true) => Side::HeldOut,
            Some(false) => Side::Training,
            None => Side::All,
        },
        cursors: (chosen.open_games / StreamOptions::default().lanes).max(1),
        repeat: if chosen.repeat { Repeat::Forever } else { Repeat::Once },
        filter,
        ..StreamOptions::default()
    };
    let threads =
        chosen.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    Ok(BatchOptions { encoding, vocabulary, legal: chosen.legal, rows: chosen.batch, stream, threads })
}

/// How games are read, from Python's arguments.
pub(crate) fn game_rules(pool: &str, broken: &str) -> PyResult<GameRules> {
    let pool: PoolRule = pool.parse().map_err(invalid)?;
    let broken = match broken {
        "skip" => BrokenGames::Skip,
        "keep" => BrokenGames::KeepPrefix { plies: 1 },
        other => return Err(invalid(format!("broken: {other:?} (expected \"skip\" or \"keep\")"))),
    };
    Ok(GameRules { pool, broken, ..GameRules::default() })
}

/// Builds a set in the folder `out` of the games of PGN files, in memory. For more games than that, `tabia-lab data build` writes
/// the same sets on disk.
///
/// `pool` is the rating pool, detected for each game by default; `broken` is "skip" or "keep": what becomes of games that
/// cannot be read to the end.
///
/// >>> import tabia, tempfile
/// >>> folder = tempfile.mkdtemp()
/// >>> tabia.build_set("fixtures/eval/games.pgn", folder, progress=False).kind
/// 'games'
#[pyfunction]
#[pyo3(signature = (sources, out, *, pool = "auto", broken = "skip", threads = None, progress = None))]
pub(crate) fn build_set(
    py: Python<'_>,
    sources: Paths,
    out: PathBuf,
    pool: &str,
    broken: &str,
    threads: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Set> {
    let rules = game_rules(pool, broken)?;
    let mut files = Vec::new();
    for source in &sources.all() {
        readable(source)?;
        files.extend(SourceFile::find(source).map_err(|error: OpenError| failed(error))?);
    }
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let total: u64 = files.iter().filter_map(|file| file.bytes).sum();
    let meter = Meter::begin(py, progress, "bytes")?;
    let mut signals = Signals::default();
    let built = py.detach(|| {
        build_in_memory(&out, &files, &rules, threads, &mut |read| {
            signals.poll_with(|py| meter.show(py, read, total, ""))
        })
    });
    meter.end(py)?;
    match built {
        Ok((set, faults)) => {
            if !faults.is_empty() {
                warn(py, &format!("{}: {faults}", out.display()))?;
            }
            Ok(Set { sets: vec![Arc::new(set)] })
        }
        Err(error @ BuildError::Nothing { .. }) => Err(failed_at(&out, error)),
        Err(error) => Err(signals.or(|| failed(error))),
    }
}
