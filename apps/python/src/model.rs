//! Networks and their evaluations.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use shakmaty::{CastlingMode, Chess, Color, Position as _};
use tabia_cli::PlayerFactory;
use tabia_encoding::MoveVocabulary;
use tabia_game::{History, fen_of};
use tabia_model as tabia;
use tabia_players::BuiltInNetwork;

use crate::arrays::owned;
use crate::board;
use crate::conditions::{Arguments, Conditions};
use crate::error::{failed, failed_at, readable};
use crate::interrupt::Signals;
use crate::positions::{Given, single};

/// Positions that are evaluated between two looks for signals.
const PIECE: usize = 32;

/// Moves drawn as arrows.
const ARROWS: usize = 3;

/// Players and networks of this process: a file is opened once.
pub(crate) static PLAYERS: LazyLock<PlayerFactory> = LazyLock::new(PlayerFactory::default);

/// A network that evaluates positions.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Model {
    model: Arc<tabia::Model>,
    source: String,
}

/// Opens a network of any known format: ONNX, safetensors, TFLite, lc0, PyTorch or bullet. "human" and "value" are the bundled
/// networks.
///
/// >>> import tabia
/// >>> tabia.open("human").encoding in tabia.encodings()
/// True
#[pyfunction]
pub(crate) fn open(py: Python<'_>, path: PathBuf) -> PyResult<Model> {
    let source = path.display().to_string();
    let built_in = match path.to_str() {
        _ if path.exists() => None,
        Some("human") => Some(BuiltInNetwork::Human),
        Some("value") => Some(BuiltInNetwork::Value),
        _ => None,
    };
    let model = match built_in {
        Some(network) => py.detach(|| PLAYERS.built_in(network)).map_err(failed)?,
        None => {
            readable(&path)?;
            py.detach(|| tabia::Model::open(&path)).map(Arc::new).map_err(|error| failed_at(&path, error))?
        }
    };
    Ok(Model { model, source })
}

#[pymethods]
impl Model {
    #[getter]
    fn name(&self) -> String {
        let file = Path::new(&self.source).file_stem();
        let stem = file.map_or_else(|| self.source.clone(), |stem| stem.to_string_lossy().into_owned());
        self.model.card().name.clone().unwrap_or(stem)
    }

    #[getter]
    fn format(&self) -> String {
        self.model.format().to_string()
    }

    #[getter]
    fn encoding(&self) -> &'static str {
        self.model.encoding().id().0
    }

    #[getter]
    fn vocabulary(&self) -> Option<&str> {
        self.model.card().policy.as_ref().map(|policy| policy.vocabulary.as_str())
    }

    #[getter]
    fn parameters(&self) -> u64 {
        self.model.parameters()
    }

    #[getter]
    fn sha256(&self) -> &str {
        self.model.sha256()
    }

    #[getter]
    fn runtime(&self) -> String {
        self.model.runtime().to_string()
    }

    /// The model card: what the inputs and outputs mean.
    #[getter]
    fn card<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(self.model.card()).map_err(failed)?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// Evaluates one position, or a sequence of them.
    ///
    /// A position is a FEN, moves from the start in UCI or algebraic notation, a `chess.Board`, or `FEN moves e2e4 ...`. `elo`
    /// and `opponent_elo` are ratings in `pool` (lichess, chess.com, online, over-the-board); the opponent is taken to be as strong
    /// unless given, and NaN is an unknown rating. `clock` and `opponent_clock` are seconds left, `time_control` is base and
    /// increment such as "180+2". Ratings and clocks are a number for all positions or one for each. `context` is the position
    /// that a two-input network judges from.
    ///
    /// >>> import tabia
    /// >>> evaluation = tabia.open("human").evaluate("1. e4 e5 2. Nf3", elo=1500, pool="lichess")
    /// >>> evaluation.best
    /// 'b8c6'
    /// >>> 0.99 < sum(evaluation.policy.values()) < 1.01
    /// True
    #[pyo3(signature = (positions, *, elo = None, opponent_elo = None, clock = None, opponent_clock = None, time_control = None, pool = None, context = None))]
    #[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        positions: &Bound<'py, PyAny>,
        elo: Option<Bound<'py, PyAny>>,
        opponent_elo: Option<Bound<'py, PyAny>>,
        clock: Option<Bound<'py, PyAny>>,
        opponent_clock: Option<Bound<'py, PyAny>>,
        time_control: Option<String>,
        pool: Option<String>,
        context: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given::of(positions)?;
        let histories = given.as_slice();
        let arguments = Arguments { elo, opponent_elo, clock, opponent_clock, time_control, pool };
        let conditions = Conditions::of(&arguments, histories.len())?;
        let context = context.as_ref().map(single).transpose()?;
        let evaluations = self.run(py, histories, &conditions, context.as_ref())?;
        match (&given, evaluations.as_slice()) {
            (Given::One(history), [evaluation]) => {
                Ok(Bound::new(py, Evaluation::of(history.current(), evaluation))?.into_any())
            }
            _ => {
                let positions = histories.iter().map(|history| history.current().clone()).collect();
                let vocabulary = self.vocabulary().and_then(tabia_encoding::vocabulary);
                Ok(Bound::new(py, Evaluations { positions, evaluations, vocabulary })?.into_any())
            }
        }
    }

    /// The raw outputs of the network by their names, one row for each position. Arguments are those of `evaluate`.
    #[pyo3(signature = (positions, *, elo = None, opponent_elo = None, clock = None, opponent_clock = None, time_control = None, pool = None))]
    #[expect(clippy::too_many_arguments, reason = "the options of a Python function")]
    fn outputs<'py>(
        &self,
        py: Python<'py>,
        positions: &Bound<'py, PyAny>,
        elo: Option<Bound<'py, PyAny>>,
        opponent_elo: Option<Bound<'py, PyAny>>,
        clock: Option<Bound<'py, PyAny>>,
        opponent_clock: Option<Bound<'py, PyAny>>,
        time_control: Option<String>,
        pool: Option<String>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let given = Given::of(positions)?;
        let histories = given.as_slice();
        let arguments = Arguments { elo, opponent_elo, clock, opponent_clock, time_control, pool };
        let conditions = Conditions::of(&arguments, histories.len())?;
        let situations: Vec<_> =
            histories.iter().enumerate().map(|(row, history)| conditions.situation(history, row)).collect();
        let outputs = py.detach(|| self.model.outputs(&situations)).map_err(|error| self.failed(error))?;
        let arrays = PyDict::new(py);
        for output in outputs {
            arrays.set_item(output.name, owned(py, output.values, &output.shape)?)?;
        }
        Ok(arrays)
    }

    fn __repr__(&self) -> String {
        let (name, format, parameters) = (self.name(), self.format(), self.parameters());
        format!("<tabia.Model {name}: {format}, {}, {parameters} parameters>", self.encoding())
    }
}

impl Model {
    fn failed(&self, error: impl std::fmt::Display) -> PyErr {
        failed_at(Path::new(&self.source), error)
    }

    fn run(
        &self,
        py: Python<'_>,
        histories: &[History],
        conditions: &Conditions,
        context: Option<&History>,
    ) -> PyResult<Vec<tabia::Evaluation>> {
        let context = context.map(History::current);
        let mut signals = Signals::default();
        let mut all = Vec::with_capacity(histories.len());
        let outcome = py.detach(|| {
            for (piece, some) in histories.chunks(PIECE).enumerate() {
                let place = |row| piece * PIECE + row;
                let situations: Vec<_> = some
                    .iter()
                    .enumerate()
                    .map(|(row, history)| conditions.in_context(history, place(row), context))
                    .collect();
                match self.model.evaluate(&situations) {
                    Ok(evaluations) => all.extend(evaluations),
                    Err(error) => return Some(self.failed(error)),
                }
                if histories.len() > PIECE && signals.poll().is_break() {
                    return Some(failed("interrupted"));
                }
            }
            None
        });
        match outcome {
            None => Ok(all),
            Some(error) => Err(signals.or(|| error)),
        }
    }
}

/// The evaluation of one position, as far as the network has the heads.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Evaluation {
    position: Chess,
    policy: Option<Vec<(String, f32)>>,
    #[pyo3(get)]
    wdl: Option<(f32, f32, f32)>,
    #[pyo3(get)]
    value: Option<f32>,
    #[pyo3(get)]
    think_time: Option<Vec<f32>>,
}

impl Evaluation {
    fn of(position: &Chess, evaluation: &tabia::Evaluation) -> Evaluation {
        let text = |c: &tabia::Candidate| (c.mv.to_uci(CastlingMode::Standard).to_string(), c.probability);
        Evaluation {
            position: position.clone(),
            policy: evaluation.policy.as_ref().map(|policy| policy.candidates().iter().map(text).collect()),
            wdl: evaluation.wdl.map(|wdl| (wdl.win, wdl.draw, wdl.loss)),
            value: evaluation.score.map(|score| score.0),
            think_time: evaluation.think_time.map(|bins| bins.to_vec()),
        }
    }
}

#[pymethods]
impl Evaluation {
    /// Probabilities by move, most likely first.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(policy) = &self.policy else { return Ok(None) };
        let moves = PyDict::new(py);
        for (played, probability) in policy {
            moves.set_item(played, probability)?;
        }
        Ok(Some(moves))
    }

    /// The most likely move.
    #[getter]
    fn best(&self) -> Option<&str> {
        self.policy.as_ref()?.first().map(|(played, _)| played.as_str())
    }

    /// Expected points of the side to move.
    #[getter]
    fn expected(&self) -> Option<f32> {
        self.wdl.map(|(win, draw, _)| win + 0.5 * draw)
    }

    #[getter]
    fn fen(&self) -> String {
        fen_of(&self.position)
    }

    fn _repr_svg_(&self) -> String {
        let likely = self.policy.iter().flatten().take(ARROWS);
        let arrows = likely.filter_map(|(played, share)| Some((board::squares(played)?, *share)));
        board::draw(&self.position, self.position.turn() == Color::Black, None, arrows.collect())
    }

    fn __repr__(&self) -> String {
        let mut parts = Vec::new();
        if let Some(likely) = self.policy.as_ref().filter(|policy| !policy.is_empty()) {
            let shown = likely.iter().take(ARROWS);
            let shown: Vec<_> =
                shown.map(|(played, share)| format!("{played} {:.1}%", 100.0 * share)).collect();
            parts.push(shown.join(", "));
        }
        if let Some((win, draw, loss)) = self.wdl {
            parts.push(format!("win {win:.2} draw {draw:.2} loss {loss:.2}"));
        }
        if let Some(value) = self.value {
            parts.push(format!("{value:+.0} centipawns"));
        }
        format!("<tabia.Evaluation {}>", parts.join("; "))
    }
}

/// The evaluations of several positions: arrays, and each of them.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Evaluations {
    positions: Vec<Chess>,
    evaluations: Vec<tabia::Evaluation>,
    vocabulary: Option<&'static dyn MoveVocabulary>,
}

#[pymethods]
impl Evaluations {
    fn __len__(&self) -> usize {
        self.evaluations.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Evaluation> {
        let rows = self.evaluations.len();
        let row = if index < 0 { index.checked_add_unsigned(rows) } else { Some(index) };
        let row = row.and_then(|row| usize::try_from(row).ok()).filter(|row| *row < rows);
        let row = row.ok_or_else(|| PyIndexError::new_err(format!("evaluation {index} of {rows}")))?;
        Ok(Evaluation::of(&self.positions[row], &self.evaluations[row]))
    }

    /// Win, draw and loss, a row for each position.
    #[getter]
    fn wdl<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let numbers: Option<Vec<[f32; 3]>> =
            self.evaluations.iter().map(|e| e.wdl.map(|w| [w.win, w.draw, w.loss])).collect();
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else { return Ok(None) };
        let rows = numbers.len();
        Ok(Some(owned(py, numbers.into_flattened(), &[rows, 3])?.into_any()))
    }

    /// Centipawns for the side to move.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let numbers: Option<Vec<f32>> =
            self.evaluations.iter().map(|e| e.score.map(|score| score.0)).collect();
        let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) else { return Ok(None) };
        let rows = numbers.len();
        Ok(Some(owned(py, numbers, &[rows])?.into_any()))
    }

    /// Probabilities at the indices of the network's vocabulary, a row for each position.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(vocabulary) = self.vocabulary else { return Ok(None) };
        let width = vocabulary.width();
        let mut numbers = vec![0.0_f32; self.evaluations.len() * width];
        let rows = self.positions.iter().zip(&self.evaluations);
        for ((position, evaluation), row) in rows.zip(numbers.chunks_exact_mut(width)) {
            for candidate in evaluation.policy.iter().flat_map(tabia::Policy::candidates) {
                let slot = vocabulary.slot(position.turn(), candidate.mv);
                // The pieces of a promotion may share an index.
                row[usize::from(slot.index.0)] += candidate.probability;
            }
        }
        Ok(Some(owned(py, numbers, &[self.evaluations.len(), width])?.into_any()))
    }

    /// The most likely move of each position.
    #[getter]
    fn best(&self) -> Vec<Option<String>> {
        let best = |evaluation: &tabia::Evaluation| {
            let best = evaluation.policy.as_ref()?.best()?;
            Some(best.mv.to_uci(CastlingMode::Standard).to_string())
        };
        self.evaluations.iter().map(best).collect()
    }

    /// The probability of one move of each position.
    fn probability<'py>(&self, py: Python<'py>, moves: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        if moves.len() != self.evaluations.len() {
            let (moves, rows) = (moves.len(), self.evaluations.len());
            return Err(crate::error::invalid(format!("{moves} moves for {rows} positions")));
        }
        let mut numbers = Vec::with_capacity(moves.len());
        for ((position, evaluation), text) in self.positions.iter().zip(&self.evaluations).zip(&moves) {
            let played = crate::positions::parse_move(position, text)?;
            numbers.push(evaluation.policy.as_ref().map_or(f32::NAN, |policy| policy.probability(played)));
        }
        let rows = numbers.len();
        Ok(owned(py, numbers, &[rows])?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Evaluations of {} positions>", self.evaluations.len())
    }
}
