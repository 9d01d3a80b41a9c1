#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "part of a program: it reads the environment, and prints"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::LineProcess;

/// A child process that runs `tools/bench_onnxruntime.py`, in the interpreter `TABIA_PYTHON` or `python3`.
pub struct Onnxruntime {
    process: LineProcess,
    folder: PathBuf,
}

impl Onnxruntime {
    /// Starts it on a network with the values of its inputs, in order, and the number of rows of each batch. Its files go to a
    /// new folder in `scratch`.
    ///
    /// # Errors
    /// Says why it cannot be run.
    pub fn start(
        scratch: &Path,
        net: &[u8],
        output: &str,
        inputs: &[&[f32]],
        batches: &[usize],
    ) -> Result<Self, String> {
        let folder = scratch.join(format!("onnxruntime-{output}"));
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
    ///
    /// # Panics
    /// If it has ended.
    pub fn run(&mut self, mode: &str, outputs: &mut Vec<f32>) -> Duration {
        self.process.say(mode).expect("the child is listening");
        let answer = self.process.answer().expect("the child is listening");
        let found = fs::read(self.folder.join("outputs.f32")).expect("the child has written its outputs");
        outputs.extend(found.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)));
        Duration::from_nanos(answer.parse().expect("the child answers with nanoseconds"))
    }

    /// The network that the mode `int8 single` has quantised.
    ///
    /// # Panics
    /// If it has not been run in that mode.
    pub fn quantised(&self) -> Vec<u8> {
        fs::read(self.folder.join("net-int8.onnx")).expect("the child has written it")
    }
}
