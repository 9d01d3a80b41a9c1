use std::fmt;

use shakmaty::Chess;
use tabia_encoding::Situation;
use tabia_game::position_from_fen;
use tabia_model::{Format, Model};
use tabia_runtime::RunError;

use super::ChallengeRules;

/// The inputs of challenge networks, for error messages.
pub const CHALLENGE_INPUT: &str =
    "the challenge takes one input \"board\" of 768 numbers (1540 with --rules 2026)";
/// The file format and operators that the rules of 2026 ask for.
const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;

/// The rule a network breaks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdmitted {
    /// It is in another format.
    #[error("the challenge takes ONNX files, not {0} (see tabia model convert)")]
    Format(Format),
    /// It is too large.
    #[error("{parameters} parameters; the challenge allows {limit}")]
    TooLarge {
        /// The number of parameters.
        parameters: u64,
        /// The most there may be.
        limit: u64,
    },
    /// It takes other inputs.
    #[error("{}, not {given}", input(*rules))]
    Inputs {
        /// The rules.
        rules: ChallengeRules,
        /// What it takes.
        given: String,
    },
    /// It has no evaluation output.
    #[error("no value output (expected one number, positive when the side to move is better)")]
    Output,
    /// Its output has another shape, where the rules are strict.
    #[error("output {name:?} has shape {shape:?} (the rules of 2026 take one output of shape [N, 1])")]
    OutputShape {
        /// The first output.
        name: String,
        /// Its shape.
        shape: Vec<Option<usize>>,
    },
    /// Another version of the file format.
    #[error("ONNX IR version {0} (the rules of 2026 ask for {IR_VERSION})")]
    IrVersion(i64),
    /// Another version of the operators.
    #[error("opset {0} (the rules of 2026 ask for {OPSET})")]
    Opset(i64),
    /// The batch dimension has no name.
    #[error(
        "{0:?} has an unnamed batch dimension (the rules of 2026 ask for a name, such as \"batch\", on every input and \
         output: export with dynamic_axes, and end with a Linear layer)"
    )]
    UnnamedBatch(String),
    /// It does not take more than one position at a time.
    #[error("the network does not run on two positions at once, as the rules of 2026 ask")]
    Unbatched,
    /// It does not run.
    #[error("the network fails on a simple position: {0}")]
    Fails(#[from] RunError),
}

/// The input of an edition, for error messages.
fn input(rules: ChallengeRules) -> &'static str {
    match rules {
        ChallengeRules::Original => "the original rules take one input \"board\" of 768 numbers",
        ChallengeRules::Edition2026 => "the rules of 2026 take one input \"board\" of 1540 numbers",
    }
}

/// The network has more than one output value; one of them counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputWarning {
    /// The output that counts.
    output: String,
    /// The index of the value, and the number of values.
    index: Option<(usize, usize)>,
    /// The number of outputs.
    outputs: usize,
}

impl fmt::Display for OutputWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutputWarning { output, index, outputs } = self;
        match index {
            Some((index, width)) => write!(
                f,
                "output {output:?} has {width} numbers where the challenge takes one; {output}[{index}] is the evaluation"
            ),
            None => {
                write!(f, "{outputs} outputs where the challenge takes one; {output:?} is the evaluation")
            }
        }
    }
}

/// Checks the rules of an edition, and that the network runs. By the original rules, too many outputs are a warning, as in
/// their harness.
///
/// # Errors
/// The first rule it violates.
pub fn admit(model: &Model, rules: ChallengeRules) -> Result<Option<OutputWarning>, NotAdmitted> {
    if model.format() != Format::Onnx {
        return Err(NotAdmitted::Format(model.format()));
    }
    let (parameters, limit) = (model.parameters(), rules.max_parameters());
    if parameters > limit {
        return Err(NotAdmitted::TooLarge { parameters, limit });
    }
    let inputs = &model.graph().inputs;
    let encoding = match rules {
        ChallengeRules::Original => "challenge-768",
        ChallengeRules::Edition2026 => "challenge-1540",
    };
    let is_board = matches!(inputs.as_slice(), [input] if input.name == "board");
    if model.encoding().id().0 != encoding || !is_board {
        let given: Vec<_> =
            inputs.iter().map(|input| format!("{:?} {:?}", input.name, input.shape)).collect();
        return Err(NotAdmitted::Inputs { rules, given: given.join(", ") });
    }
    if rules == ChallengeRules::Edition2026 {
        check_declarations(model)?;
    }
    let Some(head) = &model.card().value else { return Err(NotAdmitted::Output) };
    // A few positions, to detect NaN.
    let probes = [
        Chess::default(),
        position_from_fen("8/8/8/4k3/8/8/8/4K2R w - - 0 1").expect("a legal position"),
        position_from_fen("4k3/pppppppp/8/8/8/8/8/4K3 b - - 0 1").expect("a legal position"),
    ];
    let situations: Vec<_> = probes.iter().map(Situation::of).collect();
    model.evaluate(&situations)?;
    let outputs = &model.graph().outputs;
    let of_head = outputs.iter().find(|output| output.name == head.output);
    let width = of_head.and_then(|output| output.shape.iter().skip(1).copied().product()).unwrap_or(1);
    let index = head.index.map(|index| (index, width));
    let odd = index.is_some() || outputs.len() > 1;
    Ok(odd.then(|| OutputWarning { output: head.output.clone(), index, outputs: outputs.len() }))
}

/// What the rules of 2026 ask of the file itself.
fn check_declarations(model: &Model) -> Result<(), NotAdmitted> {
    let graph = model.graph();
    if graph.ir_version != IR_VERSION {
        return Err(NotAdmitted::IrVersion(graph.ir_version));
    }
    if graph.opset != OPSET {
        return Err(NotAdmitted::Opset(graph.opset));
    }
    if let Some(name) = graph.unnamed_batches.first() {
        return Err(NotAdmitted::UnnamedBatch(name.clone()));
    }
    let Some(output) = graph.outputs.first() else { return Err(NotAdmitted::Output) };
    match output.shape.as_slice() {
        [None, Some(1)] => Ok(()),
        // The batch was free in the declaration, but the graph ignores it.
        [Some(1), Some(1)] => Err(NotAdmitted::Unbatched),
        shape => Err(NotAdmitted::OutputShape { name: output.name.clone(), shape: shape.to_vec() }),
    }
}
