//! Opening and evaluating networks.

use std::fmt;
#[cfg(not(target_family = "wasm"))]
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use shakmaty::{Chess, Color, MoveList, Position};
use tabia_encoding::{Batch, Column, Encoding, MoveVocabulary, Situation, TIME_BINS, encoding, vocabulary};
use tabia_onnx::check::GraphInfo;
use tabia_onnx::proto::ModelProto;
use tabia_onnx::tensors::MAX_ELEMENTS;
use tabia_runtime::accumulator::nnue::{Nnue, NnueGraph, NnueState};
use tabia_runtime::accumulator::{AccumulatorNet, AccumulatorState, MlpGraph};
use tabia_runtime::transformer::{self, TransformerSession};
use tabia_runtime::{InputData, InputTensor, Int8Kernel, OutputTensor, RunError, Session};

use crate::action_values;
use crate::card::{ModelCard, OutcomeOrder, PolicyHead, Side, ValueHead, WdlHead, WdlScale};
use crate::detect;
use crate::evaluation::{Evaluation, Policy, Wdl, softmax};
use crate::nets::WeightsApart;
use crate::source::Source;
use crate::{Format, LoadError, LoadErrorKind};

/// A network of any format, ready to evaluate positions.
///
/// ```no_run
/// use shakmaty::Chess;
/// use tabia_encoding::Situation;
/// use tabia_model::Model;
///
/// let model = Model::open("maia-1500.pb.gz")?;
/// let start = Chess::default();
/// let evaluation = &model.evaluate(&[Situation::of(&start)])?[0];
/// for candidate in evaluation.policy.iter().flat_map(|p| p.candidates()).take(3) {
///     println!("{} {:.1}%", candidate.mv, 100.0 * candidate.probability);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Model {
    card: ModelCard,
    format: Format,
    sha256: String,
    bytes: usize,
    parameters: u64,
    graph: GraphInfo,
    encoding: &'static dyn Encoding,
    heads: Heads,
    backend: Backend,
    accelerator: RwLock<Option<Arc<dyn Accelerator>>>,
}

/// Another device that evaluates a transformer, with the runtime to fall back on.
pub trait Accelerator: Send + Sync {
    /// The values of every output, in the order of the graph and row-major, or `None` to leave them to the runtime.
    ///
    /// # Errors
    /// [`RunError::Deferred`] if they are not there yet.
    fn outputs(&self, inputs: &[InputTensor<'_>]) -> Option<Result<Vec<Vec<f32>>, RunError>>;
}

/// The runtime of a network.
enum Backend {
    General(Box<Session>),
    Transformer(Box<TransformerSession>),
    Accumulator(Arc<AccumulatorNet>),
    /// Exact values from the graph, quantised ones for searches, and for everything where graphs cannot run.
    Nnue(Option<Box<Session>>, Arc<Nnue>),
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("card", &self.card)
            .field("runtime", &self.runtime())
            .finish_non_exhaustive()
    }
}

/// The card's heads with their outputs found in the graph.
#[derive(Debug, Default)]
struct Heads {
    policy: Option<PolicyReader>,
    value: Option<(usize, ValueHead)>,
    wdl: Option<(usize, WdlHead)>,
    think_time: Option<usize>,
}

#[derive(Debug)]
struct PolicyReader {
    output: usize,
    promotion: Option<usize>,
    vocabulary: &'static dyn MoveVocabulary,
    /// Whether it values a single move of the input.
    action_values: bool,
}

/// The runtime of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// Any graph, on rten.
    General,
    /// A graph with integer products, on rten with this kernel.
    Int8(Int8Kernel),
    /// One of our transformers, at this kernel level.
    Transformer(transformer::Level),
    /// An MLP over sparse features with an incrementally updated first layer.
    Accumulator,
    /// The graph for each position if graphs can run; in a search 16-bit accumulators, updated by moves.
    Nnue,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Runtime::General => "general (rten)",
            Runtime::Int8(kernel) => return write!(f, "general (rten), 8-bit products by {kernel}"),
            Runtime::Transformer(level) => return write!(f, "transformer, {level}"),
            Runtime::Accumulator => "accumulator (incremental updates)",
            Runtime::Nnue if cfg!(feature = "rten") => "general (rten); in a search 16-bit NNUE accumulators",
            Runtime::Nnue => "16-bit NNUE accumulators",
        })
    }
}

impl Model {
    /// Opens a model file, with the sidecar `FILE.card.json` if there is one.
    ///
    /// # Errors
    /// If the file or the card is invalid.
    #[cfg(not(target_family = "wasm"))]
    pub fn open(path: impl AsRef<Path>) -> Result<Model, LoadError> {
        let path = path.as_ref();
        let sidecar = Model::sidecar(path)?;
        Model::new(Source::open_with(path, sidecar.as_deref())?, sidecar.as_deref())
    }

    /// The text of `FILE.card.json` beside a model file, if there is one.
    ///
    /// # Errors
    /// If it exists but cannot be read.
    #[cfg(not(target_family = "wasm"))]
    pub fn sidecar(path: &Path) -> Result<Option<String>, LoadError> {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".card.json");
        let sidecar = path.with_file_name(name);
        match std::fs::read_to_string(&sidecar) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(LoadError::unformatted(LoadErrorKind::Io, format!("{}: {e}", sidecar.display()))),
        }
    }

    /// Opens the bytes of a model file.
    ///
    /// # Errors
    /// If the file is invalid.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, LoadError> {
        Model::new(Source::read(bytes)?, None)
    }

    /// Prepares a network; `overlay` is a (partial) card as JSON that overrides the file's. If it has a `state_dict`, the source
    /// must be [read with it](Source::read_with).
    ///
    /// # Errors
    /// If the graph cannot be run, the card cannot be read or the two disagree.
    pub fn new(source: Source, overlay: Option<&str>) -> Result<Model, LoadError> {
        Model::at_level(source, overlay, transformer::Level::best())
    }

    /// The same with a transformer on the given kernels. The level changes the speed and nothing else.
    ///
    /// # Errors
    /// As [`Model::new`].
    pub fn at_level(
        source: Source,
        overlay: Option<&str>,
        level: transformer::Level,
    ) -> Result<Model, LoadError> {
        let graph = source.check()?;
        let (encoding, card) = assemble_card(&source, &graph, overlay)?;
        let wrong = |message: String| LoadError::new(LoadErrorKind::UnknownNetwork, source.format, message);
        if card.state_dict.as_ref() != source.state_dict_card() {
            let message = match source.format {
                Format::Safetensors | Format::Torch | Format::Bullet => {
                    "the file was read without the state_dict of the card"
                }
                Format::Onnx | Format::Tflite | Format::Lc0 => {
                    "the card has a state_dict, but the file already holds a graph"
                }
            };
            return Err(wrong(message.to_owned()));
        }
        if !detect::inputs_fit(encoding, &graph) {
            let message =
                format!("encoding {} of the card does not fit {}", card.encoding, detect::describe(&graph));
            return Err(LoadError::new(LoadErrorKind::Shape, source.format, message));
        }
        let heads = Heads::find(&card, &graph).map_err(wrong)?;
        let parameters = source.parameters();
        let (format, sha256, bytes) = (source.format, source.sha256.clone(), source.bytes);
        let backend = backend(source, encoding, &card, &graph, level)?;
        let accelerator = RwLock::default();
        Ok(Model { card, format, sha256, bytes, parameters, graph, encoding, heads, backend, accelerator })
    }

    /// The model card.
    pub fn card(&self) -> &ModelCard {
        &self.card
    }

    /// The file format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Length of the file in bytes.
    pub fn file_bytes(&self) -> usize {
        self.bytes
    }

    /// The number of parameters, see [`Source::parameters`].
    pub fn parameters(&self) -> u64 {
        self.parameters
    }

    /// Inputs, outputs and cost.
    pub fn graph(&self) -> &GraphInfo {
        &self.graph
    }

    /// The runtime in use.
    pub fn runtime(&self) -> Runtime {
        match &self.backend {
            Backend::General(session) => session.int8().map_or(Runtime::General, Runtime::Int8),
            Backend::Transformer(session) => Runtime::Transformer(session.level()),
            Backend::Accumulator(_) => Runtime::Accumulator,
            Backend::Nnue(..) => Runtime::Nnue,
        }
    }

    /// The network for an [`AccumulatorState`], if it runs on accumulators. Its outputs are those of the only head;
    /// [`ValueHead::read`] turns the number of a value head ([`ValueHead::index`]) into a score.
    pub fn accumulator_net(&self) -> Option<&Arc<AccumulatorNet>> {
        match &self.backend {
            Backend::Accumulator(net) => Some(net),
            Backend::General(_) | Backend::Transformer(_) | Backend::Nnue(..) => None,
        }
    }

    /// The network for an [`NnueState`](tabia_runtime::accumulator::nnue::NnueState), if it is an NNUE. Its value is that of the only
    /// head ([`ValueHead::read`]), quantised with an error of about a centipawn.
    pub fn nnue(&self) -> Option<&Arc<Nnue>> {
        match &self.backend {
            Backend::Nnue(_, net) => Some(net),
            Backend::General(_) | Backend::Transformer(_) | Backend::Accumulator(_) => None,
        }
    }

    /// Lets another device evaluate positions, if its runtime is that of transformers; `None` ends that.
    pub fn set_accelerator(&self, accelerator: Option<Arc<dyn Accelerator>>) {
        *self.accelerator.write().unwrap_or_else(PoisonError::into_inner) = accelerator;
    }

    /// The encoding of its inputs.
    pub fn encoding(&self) -> &'static dyn Encoding {
        self.encoding
    }

    /// Evaluates each situation.
    ///
    /// # Errors
    /// If an output is not finite, or the runtime fails.
    pub fn evaluate(&self, situations: &[Situation<'_>]) -> Result<Vec<Evaluation>, RunError> {
        if situations.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(head) = self.heads.policy.as_ref().filter(|head| head.action_values) {
            return self.evaluate_moves(head, situations);
        }
        let outputs = self.outputs(situations)?;
        let rows = situations.len();
        Ok(situations.iter().enumerate().map(|(row, s)| self.read(&outputs, row, rows, s)).collect())
    }

    /// Evaluates situations by the value of each legal move.
    fn evaluate_moves(
        &self,
        head: &PolicyReader,
        situations: &[Situation<'_>],
    ) -> Result<Vec<Evaluation>, RunError> {
        let mut batch = Batch::new(self.encoding);
        let moves: Vec<_> = situations.iter().map(|s| s.position.legal_moves()).collect();
        for (situation, legal) in situations.iter().zip(&moves) {
            for &m in legal {
                batch.push_move(situation, head.vocabulary.slot(situation.position.turn(), m).index);
            }
        }
        let mut values = Vec::new();
        if batch.rows() > 0 {
            let outputs = self.run_batch(&batch, |inputs| match &self.backend {
                Backend::General(session) => session.run(inputs),
                Backend::Transformer(session) => session.run(inputs),
                Backend::Accumulator(_) | Backend::Nnue(..) => unreachable!("its inputs are numbers"),
            })?;
            let output = &outputs[head.output].values;
            values
                .extend(output.chunks_exact(output.len() / batch.rows()).map(action_values::win_probability));
        }
        let mut values = values.into_iter();
        let evaluation = |(situation, legal): (&Situation<'_>, &MoveList)| {
            let values = values.by_ref().take(legal.len()).collect();
            action_values::evaluation(situation, legal, values)
        };
        Ok(situations.iter().zip(&moves).map(evaluation).collect())
    }

    /// The raw outputs that [`evaluate`](Self::evaluate) reads, one row per situation.
    ///
    /// # Errors
    /// If an output is not finite, or the runtime fails.
    pub fn outputs(&self, situations: &[Situation<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        let start = Chess::default();
        match &self.backend {
            Backend::General(session) | Backend::Nnue(Some(session), _) => {
                self.run_from_scratch(situations, &start, |inputs| session.run(inputs))
            }
            Backend::Nnue(None, net) => {
                let mut state = NnueState::new(Arc::clone(net), &start);
                self.run_incremental(situations, 1, |situation, out| {
                    state.set_position(situation.position);
                    out[0] = state.evaluate();
                })
            }
            Backend::Transformer(session) => self.run_from_scratch(situations, &start, |inputs| {
                self.run_elsewhere(inputs, || session.run(inputs))
            }),
            Backend::Accumulator(net) => self.run_accumulator(net, situations, &start),
        }
    }

    /// The outputs of the accelerator, if it has them, else those of the runtime.
    fn run_elsewhere(
        &self,
        inputs: &[InputTensor<'_>],
        here: impl FnOnce() -> Result<Vec<OutputTensor>, RunError>,
    ) -> Result<Vec<OutputTensor>, RunError> {
        let accelerator = self.accelerator.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(outputs) = accelerator.and_then(|accelerator| accelerator.outputs(inputs)) else {
            return here();
        };
        let rows = inputs.first().and_then(|input| input.shape.first()).copied().unwrap_or(0);
        let outputs = outputs?;
        let widths: Vec<usize> = self.graph.outputs.iter().filter_map(detect::row_len).collect();
        let fits = |(values, width): (&Vec<f32>, &usize)| {
            values.len() == rows * width && values.iter().all(|value| value.is_finite())
        };
        // Another device may fail in any way.
        if outputs.len() != widths.len() || !outputs.iter().zip(&widths).all(fits) {
            return here();
        }
        let named = self.graph.outputs.iter().zip(widths).zip(outputs).map(|((output, width), values)| {
            OutputTensor { name: output.name.clone(), shape: vec![rows, width], values }
        });
        Ok(named.collect())
    }

    /// The default context is the start position for a comparing network, else the position itself.
    fn context<'a>(&self, situation: &Situation<'a>, start: &'a Chess) -> &'a Chess {
        let own = if self.card.compares() { start } else { situation.position };
        situation.context.unwrap_or(own)
    }

    fn run_accumulator(
        &self,
        net: &Arc<AccumulatorNet>,
        situations: &[Situation<'_>],
        start: &Chess,
    ) -> Result<Vec<OutputTensor>, RunError> {
        let mut evaluator = AccumulatorState::new(Arc::clone(net), start);
        self.run_incremental(situations, net.outputs(), |situation, out| {
            evaluator.set_context(self.context(situation, start));
            evaluator.set_position(situation.position);
            evaluator.evaluate(out);
        })
    }

    /// Evaluates one situation after the other into rows of `width` numbers.
    fn run_incremental(
        &self,
        situations: &[Situation<'_>],
        width: usize,
        mut evaluate: impl FnMut(&Situation<'_>, &mut [f32]),
    ) -> Result<Vec<OutputTensor>, RunError> {
        let mut values = vec![0.0; width * situations.len()];
        for (situation, out) in situations.iter().zip(values.chunks_exact_mut(width)) {
            evaluate(situation, out);
        }
        let name = self.graph.outputs[0].name.clone();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(RunError::NotFinite { output: name });
        }
        Ok(vec![OutputTensor { name, shape: vec![situations.len(), width], values }])
    }

    fn run_from_scratch(
        &self,
        situations: &[Situation<'_>],
        start: &Chess,
        run: impl FnOnce(&[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError>,
    ) -> Result<Vec<OutputTensor>, RunError> {
        let mut batch = Batch::new(self.encoding);
        for situation in situations {
            let context = self.context(situation, start);
            // A comparing network takes the position first and the reference second.
            let (first, second) = if self.card.compares() {
                (situation.position, context)
            } else {
                (context, situation.position)
            };
            batch.push(&Situation { position: second, context: Some(first), ..*situation });
        }
        self.run_batch(&batch, run)
    }

    fn run_batch(
        &self,
        batch: &Batch,
        run: impl FnOnce(&[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError>,
    ) -> Result<Vec<OutputTensor>, RunError> {
        let shapes: Vec<Vec<usize>> = self
            .graph
            .inputs
            .iter()
            .map(|t| std::iter::once(batch.rows()).chain(t.shape.iter().skip(1).flatten().copied()).collect())
            .collect();
        let inputs: Vec<_> = batch
            .columns()
            .iter()
            .zip(&shapes)
            .map(|(column, shape)| {
                let data = match column {
                    Column::Ids(ids) => InputData::Ids(ids),
                    Column::Values(values) => InputData::Values(values),
                };
                InputTensor { shape, data }
            })
            .collect();
        run(&inputs)
    }

    /// The evaluation of one row of the outputs.
    fn read(&self, outputs: &[OutputTensor], row: usize, rows: usize, s: &Situation<'_>) -> Evaluation {
        let of = |output: usize| {
            let values = &outputs[output].values;
            let len = values.len() / rows;
            &values[row * len..][..len]
        };
        let turn = s.position.turn();
        let context_turn = s.context.unwrap_or(s.position).turn();
        Evaluation {
            policy: self.heads.policy.as_ref().map(|head| {
                let promotions = head.promotion.map_or(&[][..], of);
                let legal = s.position.legal_moves();
                Policy::from_logits(head.vocabulary, turn, &legal, of(head.output), promotions)
            }),
            score: self
                .heads
                .value
                .as_ref()
                .map(|(output, head)| head.read(of(*output)[head.index.unwrap_or(0)], turn, context_turn)),
            wdl: self.heads.wdl.as_ref().map(|(output, head)| wdl(head, of(*output), turn)),
            think_time: self.heads.think_time.map(|output| {
                of(output).try_into().expect("the width of the head was checked when its output was found")
            }),
        }
    }
}

impl Heads {
    fn find(card: &ModelCard, graph: &GraphInfo) -> Result<Heads, String> {
        let one_of = |name: &str, widths: &[usize]| -> Result<usize, String> {
            let Some(index) = graph.outputs.iter().position(|t| t.name == name) else {
                return Err(format!("unknown output {name:?} in the card ({})", detect::describe(graph)));
            };
            match detect::row_len(&graph.outputs[index]) {
                Some(len) if widths.contains(&len) => Ok(index),
                Some(len) => {
                    let needed: Vec<_> = widths.iter().map(usize::to_string).collect();
                    let needed = needed.join(" or ");
                    Err(format!("output {name:?} has {len} numbers per position (expected {needed})"))
                }
                None => Err(format!("output {name:?} does not have one row per position")),
            }
        };
        let output = |name: &str, width: usize| one_of(name, &[width]);
        let policy = |head: &PolicyHead| -> Result<PolicyReader, String> {
            let moves = vocabulary(&head.vocabulary).ok_or_else(|| {
                let known: Vec<_> = tabia_encoding::vocabularies().map(|v| v.id().0).collect();
                format!("unknown vocabulary {:?} (known: {})", head.vocabulary, known.join(", "))
            })?;
            let promotion = match (&head.promotion_output, moves.promotion_width()) {
                (_, 0) => None,
                (Some(name), width) => Some(one_of(name, &[width, 8 * width])?),
                (None, _) => {
                    return Err(format!(
                        "missing promotion_output (required by vocabulary {})",
                        head.vocabulary
                    ));
                }
            };
            let action_values = head.action_values;
            let output = if action_values {
                one_of(&head.output, &action_values::ROW_LENGTHS)?
            } else {
                output(&head.output, moves.width())?
            };
            Ok(PolicyReader { output, promotion, vocabulary: moves, action_values })
        };
        let value = |head: ValueHead| -> Result<(usize, ValueHead), String> {
            let Some(index) = head.index else { return Ok((output(&head.output, 1)?, head)) };
            let named = graph.outputs.iter().find(|tensor| tensor.name == head.output);
            let width = named.and_then(detect::row_len).unwrap_or(0);
            // Also reports an unknown output.
            let found = output(&head.output, width)?;
            if index < width {
                Ok((found, head))
            } else {
                let ValueHead { output, .. } = head;
                Err(format!(
                    "index {index} out of range for output {output:?} ({width} numbers per position)"
                ))
            }
        };
        let heads = Heads {
            policy: card.policy.as_ref().map(policy).transpose()?,
            value: card.value.clone().map(value).transpose()?,
            wdl: card.wdl.clone().map(|h| Ok::<_, String>((output(&h.output, 3)?, h))).transpose()?,
            think_time: card.think_time.as_ref().map(|h| output(&h.output, TIME_BINS)).transpose()?,
        };
        if heads.policy.is_none() && heads.value.is_none() && heads.wdl.is_none() {
            return Err(format!(
                "no known head among its outputs: {}; a policy that does not have all 1968 moves needs its vocab.npy beside the file",
                detect::describe(graph)
            ));
        }
        Ok(heads)
    }
}

/// The detected card, overlaid by the file's, overlaid by the sidecar.
fn assemble_card(
    source: &Source,
    graph: &GraphInfo,
    overlay: Option<&str>,
) -> Result<(&'static dyn Encoding, ModelCard), LoadError> {
    let wrong = |message: String| LoadError::new(LoadErrorKind::UnknownNetwork, source.format, message);
    let facts = &source.facts;
    let layers: Vec<&str> = facts.card.as_deref().into_iter().chain(overlay).collect();
    // The encoding decides how heads are read, so it must be known first.
    let mut declared = None;
    for text in &layers {
        let encoding = ModelCard::declared_encoding(text).map_err(|e| wrong(e.to_string()))?;
        declared = encoding.or(declared);
    }
    let encoding = match declared {
        Some(id) => encoding(&id).ok_or_else(|| {
            let known: Vec<_> = tabia_encoding::encodings().map(|e| e.id().0).collect();
            wrong(format!("unknown encoding {id:?} in the card (known: {})", known.join(", ")))
        }),
        None => facts.encoding.and_then(encoding).or_else(|| detect::encoding_of(graph)).ok_or_else(|| {
            wrong(format!(
                "no known encoding has these shapes ({}); name one in a sidecar FILE.card.json",
                detect::describe(graph)
            ))
        }),
    }?;
    let mut card = detect::card(encoding, graph, source.graph());
    if let (Some(policy), Some(vocabulary)) = (&mut card.policy, facts.vocabulary) {
        policy.vocabulary = vocabulary.to_owned();
    }
    card.architecture = facts.architecture.clone().or_else(|| encoding.system().map(str::to_owned));
    card.licence.clone_from(&facts.licence);
    card.notes.clone_from(&facts.notes);
    for text in layers {
        card = card.overlaid(text).map_err(|e| wrong(e.to_string()))?;
    }
    Ok((encoding, card))
}

/// The specialised runtime for a network if there is one, else the general one.
fn backend(
    mut source: Source,
    encoding: &'static dyn Encoding,
    card: &ModelCard,
    graph: &GraphInfo,
    level: transformer::Level,
) -> Result<Backend, LoadError> {
    if let Some(WeightsApart { tensors, detected }) = source.weights_apart() {
        let outputs = graph.outputs.iter().map(|output| output.name.clone()).collect();
        let session = TransformerSession::new(&detected.net, tensors, outputs, level);
        if let Some(session) = session.map_err(|e| LoadError::of_tensors(source.format, e))? {
            return Ok(Backend::Transformer(Box::new(session)));
        }
    }
    // Updates of the first layer save little of such a network, and copies of its weights take much.
    let small = source.parameters() <= MAX_ELEMENTS as u64;
    let proto = source.into_graph()?;
    if !small {
        return Ok(Backend::General(Box::new(Session::new(proto)?)));
    }
    if let Some(net) = accumulator_net(&proto, encoding, card) {
        return Ok(Backend::Accumulator(Arc::new(net)));
    }
    Ok(match nnue(&proto, encoding) {
        Some(net) => {
            let session = cfg!(feature = "rten").then(|| Session::new(proto).map(Box::new)).transpose()?;
            Backend::Nnue(session, Arc::new(net))
        }
        None => Backend::General(Box::new(Session::new(proto)?)),
    })
}

/// The network on accumulators, if it is an MLP over a sparse encoding.
fn accumulator_net(
    graph: &ModelProto,
    encoding: &'static dyn Encoding,
    card: &ModelCard,
) -> Option<AccumulatorNet> {
    let sparse = encoding.sparse()?;
    let dense = MlpGraph::recognise(graph)?;
    // The position is what moves change: input 1 as a rule, input 0 of a comparing network.
    AccumulatorNet::new(&if card.compares() { dense.swapped() } else { dense }, sparse)
}

/// The quantised network for a search, if it is an NNUE.
fn nnue(graph: &ModelProto, encoding: &'static dyn Encoding) -> Option<Nnue> {
    let sparse = encoding.sparse()?;
    Nnue::new(&NnueGraph::recognise(graph, &sparse.other_view()?)?, sparse)
}

fn wdl(head: &WdlHead, raw: &[f32], turn: Color) -> Wdl {
    let chances = match head.scale {
        WdlScale::Probabilities => raw.to_vec(),
        WdlScale::Logits => softmax(raw),
    };
    let (win, draw, loss) = match head.order {
        OutcomeOrder::WinDrawLoss => (chances[0], chances[1], chances[2]),
        OutcomeOrder::LossDrawWin => (chances[2], chances[1], chances[0]),
    };
    match (head.perspective, turn) {
        (Side::Mover, _) | (Side::White, Color::White) => Wdl { win, draw, loss },
        (Side::White, Color::Black) => Wdl { win: loss, draw, loss: win },
    }
}
