//! Skipped tests and the programs they need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;
use crate::{apt, process};

/// Variable with the path of the log of skipped tests, read by `crates/requires`.
const VARIABLE: &str = "TABIA_SKIP_LOG";

/// One line per test: `missing` (installable) or `machine` (not), the requirement, the test.
pub(crate) struct SkipLog(PathBuf);

impl SkipLog {
    /// An empty log.
    pub(crate) fn begin(workspace: &Workspace) -> Result<Self> {
        let path = workspace.target.join("skipped-tests.tsv");
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", path.display()))
            }
            _ => Ok(SkipLog(path)),
        }
    }

    /// Sets the log of a command's tests.
    pub(crate) fn of<'a>(&self, tests: &'a mut Command) -> &'a mut Command {
        tests.env(VARIABLE, &self.0)
    }

    /// Prints the skipped tests and their requirements.
    pub(crate) fn report(&self) {
        match std::fs::read_to_string(&self.0) {
            Ok(text) if !text.is_empty() => println!("\n== skipped\n{}", summary(&text)),
            _ => {}
        }
    }
}

fn summary(log: &str) -> String {
    let mut needs: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for line in log.lines() {
        if let [kind, need, test] = line.split('\t').collect::<Vec<_>>()[..] {
            needs.entry((kind, need)).or_default().insert(test);
        }
    }
    let mut lines = Vec::new();
    for (kind, title) in [
        ("missing", "for want of something that can be installed; TABIA_REQUIRE_ALL=1 fails them"),
        ("machine", "for want of what only another machine has; they are never required"),
    ] {
        let of_kind = || needs.iter().filter(|((of, _), _)| *of == kind);
        let count = of_kind().flat_map(|(_, tests)| tests).collect::<BTreeSet<_>>().len();
        if count > 0 {
            lines.push(format!("{count} {} skipped {title}:", if count == 1 { "test" } else { "tests" }));
            lines.extend(of_kind().map(|((_, need), tests)| {
                format!("  {need}: {}", tests.iter().copied().collect::<Vec<_>>().join(", "))
            }));
        }
    }
    lines.join("\n")
}

/// Installs the programs that tests need; prints a message if that is impossible.
pub(crate) fn install_programs() {
    let starts = |program: &str| process::succeeds(Command::new(program).arg("--version"));
    let wanted = [
        ("g++", "emulating the GPU's kernels", starts("c++")),
        ("stockfish", "driving a real engine", Path::new("/usr/games/stockfish").exists()),
        ("nodejs", "the script of the runs' page", starts("node")),
        ("util-linux", "filling a disk", starts("unshare")),
    ];
    for (package, purpose, _) in wanted.into_iter().filter(|(_, _, there)| !there) {
        if let Err(error) = apt::install(&[package], purpose) {
            println!("{error:#}: tests that need it are skipped");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_grouped_by_requirement() {
        let log = "missing\tStockfish\ta b\nmissing\tStockfish\ta c\nmissing\tStockfish\ta b\n\
                   missing\tshared data (x)\ta b\nmachine\ta GPU\td e\n";
        let expected = "\
2 tests skipped for want of something that can be installed; TABIA_REQUIRE_ALL=1 fails them:
  Stockfish: a b, a c
  shared data (x): a b
1 test skipped for want of what only another machine has; they are never required:
  a GPU: d e";
        assert_eq!(summary(log), expected);
    }
}
