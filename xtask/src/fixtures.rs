use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::python::Environment;
use crate::steps::{self, Step};
use crate::workspace::Workspace;

/// The scripts in `tools/` that write fixtures, by file stem, with their packages.
const SCRIPTS: [Environment; 18] = [
    Environment { name: "positions", packages: &["chess==1.11.2"] },
    Environment { name: "perft_fixture", packages: &["chess==1.11.2"] },
    Environment { name: "encoding_goldens", packages: &["chess==1.11.2", "numpy==2.4.6"] },
    Environment {
        name: "onnx_fixtures",
        packages: &["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1", "torch==2.15.0"],
    },
    Environment {
        name: "statedict_fixtures",
        packages: &["numpy==2.4.6", "safetensors==0.8.0", "torch==2.15.0"],
    },
    Environment {
        name: "human_fixtures",
        packages: &["chess==1.11.2", "numpy==2.4.6", "safetensors==0.8.0", "torch==2.15.0"],
    },
    Environment {
        name: "perspective_fixtures",
        packages: &["chess==1.11.2", "numpy==2.4.6", "safetensors==0.8.0"],
    },
    Environment { name: "tflite_fixtures", packages: &["numpy==2.4.6", "tensorflow-cpu==2.21.0"] },
    Environment { name: "elo_goldens", packages: &["numpy==2.4.6", "scipy==1.16.3"] },
    Environment { name: "lc0_fixtures", packages: &["numpy==2.4.6"] },
    Environment {
        name: "lc0_attention_fixtures",
        packages: &[
            "chess==1.11.2",
            "numpy==2.4.6",
            "lczero_bindings @ https://github.com/LeelaChessZero/lc0/archive/909a40826db9e8b221d9209a487daba6ab57e3b7.zip",
        ],
    },
    Environment {
        name: "position_fixtures",
        packages: &[
            "chess==1.11.2",
            "numpy==2.4.6",
            "onnx==1.23.2",
            "onnxruntime==1.31.1",
            "safetensors==0.8.0",
            "tensorflow-cpu==2.21.0",
            "torch==2.15.0",
        ],
    },
    Environment {
        name: "maia_fixtures",
        packages: &[
            "chess==1.11.2",
            "onnx==1.23.2",
            "maia2==0.11.0",
            "maia3 @ https://github.com/CSSLab/maia3/archive/1e13597c42d4858b7cfd7cfdae01e297263364b2.zip",
        ],
    },
    Environment { name: "bullet_fixtures", packages: &["chess==1.11.2", "numpy==2.4.6"] },
    Environment {
        name: "searchless_fixtures",
        packages: &[
            "chess==1.11.2",
            "numpy==2.4.6",
            "onnx==1.23.2",
            "onnxruntime==1.31.1",
            "scipy==1.16.3",
            "torch==2.15.0",
        ],
    },
    Environment { name: "npy_fixtures", packages: &["chess==1.11.2", "numpy==2.4.6"] },
    Environment { name: "challenge_reference", packages: &["numpy==2.4.6", "onnx==1.23.2"] },
    Environment { name: "fuzz_seeds", packages: &["numpy==2.4.6", "onnx==1.23.2"] },
];

/// Regenerate the fixtures with the reference Python libraries
///
/// The scripts are deterministic: `git diff fixtures` shows the changes of a new library version.
///
/// Examples:
///   cargo xtask fixtures
///   cargo xtask fixtures --only positions
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Fixtures {
    /// Run only this script; repeatable
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

impl Fixtures {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        if let Some(unknown) =
            self.only.iter().find(|name| !SCRIPTS.iter().any(|script| script.name == **name))
        {
            let names: Vec<&str> = SCRIPTS.iter().map(|script| script.name).collect();
            bail!("unknown fixture script {unknown} (expected {})", names.join(", "));
        }
        let chosen = SCRIPTS
            .iter()
            .filter(|script| self.only.is_empty() || self.only.iter().any(|name| name == script.name));
        let steps = chosen
            .map(|script| Step {
                name: script.name.into(),
                what: format!("tools/{}.py with {}", script.name, script.packages.join(", ")),
                alone: format!("cargo xtask fixtures --only {}", script.name),
                action: Box::new(|| remake(script, workspace)),
            })
            .collect();
        steps::run(steps)
    }
}

fn remake(script: &Environment, workspace: &Workspace) -> Result<()> {
    let python = script.ready(workspace)?;
    let file = format!("tools/{}.py", script.name);
    process::run(Command::new(python).arg(&file).current_dir(&workspace.root))
        .with_context(|| format!("{file} did not write its fixtures"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripts that write fixtures say so at the start of a line of their docstring.
    fn writes_fixtures(text: &str) -> bool {
        text.lines().take(12).any(|line| line.trim_start_matches(['"', ' ']).starts_with("Writes "))
    }

    #[test]
    fn every_fixture_script_is_in_the_table() {
        // At run time, as the target folder may be shared by checkouts.
        let tools = Workspace::open().expect("a checkout").root.join("tools");
        for entry in std::fs::read_dir(&tools).expect("the folder of scripts") {
            let path = entry.expect("a readable entry").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let is_script = path.extension().is_some_and(|extension| extension == "py");
            if is_script && writes_fixtures(&std::fs::read_to_string(&path).expect("a readable script")) {
                let listed = SCRIPTS.iter().filter(|script| script.name == name).count();
                assert_eq!(listed, 1, "tools/{name}.py in the table of {}", file!());
            }
        }
    }
}
