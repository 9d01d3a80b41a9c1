use std::fmt;

use shakmaty::Chess;
use tabia_encoding::Situation;
use tabia_game::position_from_fen;
use tabia_model::{Format, Model, runtime::RunError};

/// The most parameters a network may have.
const MOST_PARAMETERS: u64 = 1_000_000;

/// What a network of the challenge is shown, for those who come with another.
pub const CHALLENGE_INPUT: &str = "the challenge takes one input \"board\" of 768 (or 1540) numbers";

/// Why a network may not take part in the challenge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotAdmitted {
    /// It is in another format.
    #[error("the challenge takes ONNX files, and this is a {0} file (tabia model convert makes one)")]
    Format(Format),
    /// It is too large.
    #[error("{0} parameters; the challenge allows {MOST_PARAMETERS}")]
    TooLarge(u64),
    /// It takes other inputs.
    #[error("{CHALLENGE_INPUT}, not {0}")]
    Inputs(String),
    /// It does not say who is better.
    #[error("the challenge takes one output of one number, positive when the side to move is better")]
    Output,
    /// It does not run.
    #[error("the network fails on a simple position: {0}")]
    Fails(#[from] RunError),
}

/// A network has more outputs than the rules say; one number of them counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputWarning {
    /// The output that counts.
    output: String,
    /// Which number of it, and of how many a position.
    index: Option<(usize, usize)>,
    /// How many outputs there are.
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

/// Whether a network keeps the rules of the challenge, and runs. One with too many outputs plays with a warning, as in the
/// challenge's own harness.
///
/// # Errors
/// With the first rule it breaks.
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
    // A few positions of different kinds: a network that gives NaN gives it soon.
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
