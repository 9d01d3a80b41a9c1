use std::fmt;

use shakmaty::Chess;
use tabia_encoding::Situation;
use tabia_game::position_from_fen;
use tabia_model::{Format, Model, runtime::RunError};

/// The most parameters a network may have.
const MOST_PARAMETERS: u64 = 1_000_000;

/// The input of challenge networks, for error messages.
pub const CHALLENGE_INPUT: &str = "the challenge takes one input \"board\" of 768 (or 1540) numbers";

/// Why a network is not admitted to the challenge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdmitted {
    /// It is in another format.
    #[error("the challenge takes ONNX files, not {0} (see tabia model convert)")]
    Format(Format),
    /// It is too large.
    #[error("{0} parameters; the challenge allows {MOST_PARAMETERS}")]
    TooLarge(u64),
    /// It takes other inputs.
    #[error("{CHALLENGE_INPUT}, not {0}")]
    Inputs(String),
    /// It has no evaluation output.
    #[error("no value output (expected one number, positive when the side to move is better)")]
    Output,
    /// It does not run.
    #[error("the network fails on a simple position: {0}")]
    Fails(#[from] RunError),
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

/// Checks the rules of the challenge, and that the network runs. Too many outputs are a warning, as in the harness of the
/// challenge.
///
/// # Errors
/// The first rule it violates.
pub fn admit(model: &Model) -> Result<Option<OutputWarning>, NotAdmitted> {
    if model.format() != Format::Onnx {
        return Err(NotAdmitted::Format(model.format()));
    }
    let parameters = model.parameters();
    if parameters > MOST_PARAMETERS {
        return Err(NotAdmitted::TooLarge(parameters));
    }
    let inputs = &model.graph().inputs;
    let is_board = matches!(inputs.as_slice(), [input] if input.name == "board");
    if !model.encoding().is_challenge() || !is_board {
        let given: Vec<_> =
            inputs.iter().map(|input| format!("{:?} {:?}", input.name, input.shape)).collect();
        return Err(NotAdmitted::Inputs(given.join(", ")));
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
