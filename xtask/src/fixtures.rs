use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::python::Environment;
use crate::steps::{self, Step};
use crate::workspace::Workspace;

/// Every script in `tools/` that writes fixtures, with the packages it needs; its name is the file's stem.
const SCRIPTS: [Environment; 2] = [
    Environment { name: "fuzz_seeds", packages: &["numpy==2.4.6", "onnx==1.23.2"] },
    Environment { name: "positions", packages: &["chess==1.11.2"] },
];

/// Remake the fixtures with the real Python libraries
///
/// The scripts are deterministic: afterwards `git diff fixtures` shows what a library's new version changed.
///
/// Examples:
///   cargo xtask fixtures
///   cargo xtask fixtures --only positions
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Fixtures {
    /// Run only the script of this name; may be given again
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

impl Fixtures {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        if let Some(unknown) =
            self.only.iter().find(|name| !SCRIPTS.iter().any(|script| script.name == **name))
        {
            let names: Vec<&str> = SCRIPTS.iter().map(|script| script.name).collect();
            bail!("no fixture script is called {unknown}: there are {}", names.join(", "));
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
    use std::path::Path;

    use super::*;

    #[test]
    fn the_table_names_every_script_once_and_no_other() {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools");
        let mut files: Vec<String> = std::fs::read_dir(&tools)
            .expect("the folder of scripts")
            .map(|entry| entry.expect("a readable entry").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "py"))
            .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
            .collect();
        let mut listed: Vec<&str> = SCRIPTS.iter().map(|script| script.name).collect();
        files.sort();
        listed.sort_unstable();
        assert_eq!(files, listed, "tools/*.py against the table in {}", file!());
    }
}
