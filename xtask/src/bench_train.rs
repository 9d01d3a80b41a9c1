//! The speed of training: the CPU's step against candle's operations, the GPU's against PyTorch.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// Python packages of the training bench. On Linux, PyTorch comes with CUDA: about 5 GB on disk.
const PYTORCH: Environment =
    Environment { name: "pytorch", packages: &["torch==2.15.0", "safetensors==0.8.0", "numpy==2.4.6"] };

/// The cargo profile of tabia-lab.
const PROFILE: &str = "lab";

/// The network of the GPU benchmark.
const CONFIG: &str = "configs/human.toml";

/// A training step of several networks against candle's operations; on an NVIDIA GPU also the human network against PyTorch
#[derive(clap::Args)]
pub(crate) struct TrainBench {
    /// A Python with torch, safetensors and numpy [default: an environment in the target folder, about 5 GB]
    #[arg(long, value_name = "PROGRAM")]
    python: Option<PathBuf>,
    /// The configurations to measure on the CPU, by name [default: six]
    #[arg(value_name = "NAME")]
    configs: Vec<String>,
}

impl TrainBench {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        process::run(
            workspace
                .cargo("bench")
                .args(["--profile", PROFILE, "--package", "tabia-train", "--bench", "step", "--"])
                .args(&self.configs),
        )?;
        if process::succeeds(Command::new("nvidia-smi").arg("-L")) {
            let python = match &self.python {
                Some(python) => python.clone(),
                None => PYTORCH.ready(workspace)?,
            };
            gpu(workspace, &python)
        } else {
            println!("\nno NVIDIA GPU found (nvidia-smi -L): the GPU trainer is not measured");
            Ok(())
        }
    }
}

fn gpu(workspace: &Workspace, python: &Path) -> Result<()> {
    let build = ["--profile", PROFILE, "--package", "tabia-lab", "--no-default-features"];
    process::run(workspace.cargo("build").args(build))?;
    let mut lab = Command::new(workspace.target.join(PROFILE).join("tabia-lab"));
    process::run(lab.args(["train", "bench", CONFIG]).current_dir(&workspace.root))?;
    let cuda = "import torch; assert torch.cuda.is_available()";
    if process::succeeds(Command::new(python).args(["-c", cuda])) {
        let script = workspace.root.join("tools/bench_torch_human.py");
        process::run(Command::new(python).arg(script).arg(CONFIG).current_dir(&workspace.root))
    } else {
        println!("skipping PyTorch: {} finds no GPU", python.display());
        Ok(())
    }
}
