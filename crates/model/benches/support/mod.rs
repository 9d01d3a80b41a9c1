//! What the benches share: contenders as closures, positions, and onnxruntime in a Python child process.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use shakmaty::{CastlingMode, Chess, fen::Fen};
use tabia_bench::{Contender, LineProcess, Round};

/// Appends its outputs and returns the time it took.
type Evaluate<'a> = dyn FnMut(&mut Vec<f32>) -> Duration + 'a;

/// A contender that evaluates everything once a round.
pub(crate) struct Pass<'a> {
    pub(crate) name: String,
    evaluate: Box<Evaluate<'a>>,
    work: usize,
    /// The outputs of the last round.
    pub(crate) outputs: Vec<f32>,
}

impl<'a> Pass<'a> {
    /// Times `evaluate`, which appends its outputs for `work` evaluations.
    pub(crate) fn new(name: String, work: usize, mut evaluate: impl FnMut(&mut Vec<f32>) + 'a) -> Box<Self> {
        Pass::self_timed(name, work, move |outputs| {
            let started = Instant::now();
            evaluate(outputs);
            started.elapsed()
        })
    }

    /// The same for an `evaluate` that returns the time it took.
    pub(crate) fn self_timed(
        name: String,
        work: usize,
        evaluate: impl FnMut(&mut Vec<f32>) -> Duration + 'a,
    ) -> Box<Self> {
        Box::new(Pass { name, evaluate: Box::new(evaluate), work, outputs: Vec::new() })
    }
}

impl Contender for Pass<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn round(&mut self) -> Round {
        self.outputs.clear();
        let time = (self.evaluate)(&mut self.outputs);
        Round { work: self.work as u64, time }
    }
}

/// Positions, one FEN a line.
pub(crate) fn positions(text: &str) -> Vec<Chess> {
    let position = |line: &str| -> Chess {
        let fen: Fen = line.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        fen.into_position(CastlingMode::Standard).unwrap_or_else(|e| panic!("{line}: {e}"))
    };
    text.lines().map(position).collect()
}

/// A child process that runs `tools/bench_onnxruntime.py`, in the interpreter `TABIA_PYTHON` or `python3`.
pub(crate) struct Onnxruntime {
    process: LineProcess,
    folder: PathBuf,
}

impl Onnxruntime {
    /// Starts it on a network with the values of its inputs, in order, and the number of rows of each batch.
    pub(crate) fn start(
        net: &[u8],
        output: &str,
        inputs: &[&[f32]],
        batches: &[usize],
    ) -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("onnxruntime-{output}"));
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(|e| format!("{}: {e}", path.display()))
        };
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        write("net.onnx", net)?;
        let batches: Vec<String> = batches.iter().map(usize::to_string).collect();
        write("batches.txt", batches.join("\n").as_bytes())?;
        for (i, values) in inputs.iter().enumerate() {
            let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
            write(&format!("input{i}.f32"), &bytes)?;
        }
        let python = std::env::var("TABIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/bench_onnxruntime.py");
        let mut command = Command::new(&python);
        command.arg(script).arg(&folder).arg(output);
        let started = LineProcess::start(&mut command).and_then(|mut child| Ok((child.answer()?, child)));
        let (greeting, process) = started.map_err(|e| format!("{python}: {e}"))?;
        println!("{greeting}");
        let ready = greeting.starts_with("ready: ");
        ready.then_some(Onnxruntime { process, folder }).ok_or_else(|| format!("{python} cannot run it"))
    }

    /// Evaluates everything in a mode of the script: the time of the calls, appending the outputs.
    pub(crate) fn run(&mut self, mode: &str, outputs: &mut Vec<f32>) -> Duration {
        self.process.say(mode).expect("the child is listening");
        let answer = self.process.answer().expect("the child is listening");
        let found = fs::read(self.folder.join("outputs.f32")).expect("the child has written its outputs");
        outputs.extend(found.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        Duration::from_nanos(answer.parse().expect("the child answers with nanoseconds"))
    }

    /// The network that the mode `int8 single` has quantised.
    #[allow(dead_code, reason = "only the transformer bench quantises")]
    pub(crate) fn quantised(&self) -> Vec<u8> {
        fs::read(self.folder.join("net-int8.onnx")).expect("the child has written it")
    }
}
