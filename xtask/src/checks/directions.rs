//! Checks the dependency directions of ARCHITECTURE.md and other rules of crates.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, Package};

use crate::workspace::Workspace;

/// The workspace crates that each crate may depend on, including dev-dependencies.
///
/// Crates that do not exist are allowed here; crates that are missing here are an error.
const DIRECTIONS: &[(&str, &[&str])] = &[
    // Benches only.
    ("tabia-bench", &["tabia-onnx"]),
    // Tests only.
    ("tabia-requires", &[]),
    // Threads that wait for work, natively and in browsers.
    ("tabia-threads", &[]),
    ("tabia-encoding", &[]),
    ("tabia-game", &["tabia-encoding", "tabia-requires"]),
    ("tabia-nets", &["tabia-encoding"]),
    // Kernels and products on a device: nothing of networks.
    ("tabia-gpu", &["tabia-requires"]),
    ("tabia-onnx", &["tabia-encoding", "tabia-nets"]),
    ("tabia-runtime", &["tabia-bench", "tabia-encoding", "tabia-nets", "tabia-onnx", "tabia-threads"]),
    ("tabia-webgpu", &["tabia-encoding", "tabia-nets", "tabia-onnx", "tabia-runtime"]),
    (
        "tabia-model",
        &[
            "tabia-bench",
            "tabia-encoding",
            "tabia-nets",
            "tabia-onnx",
            "tabia-requires",
            "tabia-runtime",
            "tabia-threads",
        ],
    ),
    // Endgame tables.
    ("tabia-syzygy", &[]),
    (
        "tabia-search",
        &["tabia-encoding", "tabia-game", "tabia-model", "tabia-runtime", "tabia-syzygy", "tabia-threads"],
    ),
    (
        "tabia-players",
        &["tabia-bench", "tabia-encoding", "tabia-game", "tabia-model", "tabia-runtime", "tabia-search"],
    ),
    // Learning from games, for the page and the terminal.
    (
        "tabia-practice",
        &[
            "tabia-encoding",
            "tabia-game",
            "tabia-model",
            "tabia-players",
            "tabia-runtime",
            "tabia-search",
            "tabia-threads",
        ],
    ),
    // The protocol only: players and engines meet in the apps.
    ("tabia-uci", &["tabia-requires"]),
    (
        "tabia-arena",
        &[
            "tabia-encoding",
            "tabia-game",
            "tabia-model",
            "tabia-players",
            "tabia-requires",
            "tabia-syzygy",
            "tabia-threads",
        ],
    ),
    ("tabia-data", &["tabia-encoding", "tabia-game", "tabia-requires"]),
    // Training batches and tables of games, for programs in any language.
    ("tabia-batches", &["tabia-data", "tabia-encoding", "tabia-game"]),
    ("tabia-tables", &["tabia-data", "tabia-encoding", "tabia-game"]),
    ("tabia-query", &["tabia-data", "tabia-encoding", "tabia-game", "tabia-tables"]),
    // Reading of training runs, for tabia and tabia-lab.
    ("tabia-runs", &["tabia-requires"]),
    // Search decides which positions are quiet.
    (
        "tabia-train",
        &[
            "tabia-bench",
            "tabia-data",
            "tabia-encoding",
            "tabia-game",
            "tabia-gpu",
            "tabia-model",
            "tabia-nets",
            "tabia-onnx",
            "tabia-requires",
            "tabia-runtime",
            "tabia-search",
        ],
    ),
    // Players as bots of a server.
    ("tabia-lichess", &["tabia-game", "tabia-players", "tabia-requires"]),
    // Networks' predictions against human games.
    (
        "tabia-human-eval",
        &[
            "tabia-data",
            "tabia-encoding",
            "tabia-game",
            "tabia-model",
            "tabia-players",
            "tabia-practice",
            "tabia-runtime",
        ],
    ),
    // The bundled networks.
    ("tabia-bundled", &[]),
    ("tabia-stdio", &[]),
    // Progress meters and charts of the programs.
    ("tabia-report", &[]),
    // The web page and its API.
    (
        "tabia-serve",
        &["tabia-arena", "tabia-data", "tabia-encoding", "tabia-game", "tabia-bundled", "tabia-runs"],
    ),
    // What the command-line programs share.
    (
        "tabia-cli",
        &[
            "tabia-arena",
            "tabia-encoding",
            "tabia-game",
            "tabia-human-eval",
            "tabia-model",
            "tabia-bundled",
            "tabia-players",
            "tabia-report",
            "tabia-search",
            "tabia-stdio",
            "tabia-threads",
            "tabia-uci",
        ],
    ),
    (
        "tabia",
        &[
            "tabia-arena",
            "tabia-bench",
            "tabia-cli",
            "tabia-data",
            "tabia-encoding",
            "tabia-game",
            "tabia-human-eval",
            "tabia-lichess",
            "tabia-model",
            "tabia-onnx",
            "tabia-players",
            "tabia-practice",
            "tabia-report",
            "tabia-requires",
            "tabia-runs",
            "tabia-runtime",
            "tabia-search",
            "tabia-serve",
            "tabia-stdio",
            "tabia-syzygy",
            "tabia-uci",
        ],
    ),
    (
        "tabia-python",
        &[
            "tabia-arena",
            "tabia-batches",
            "tabia-cli",
            "tabia-data",
            "tabia-encoding",
            "tabia-game",
            "tabia-model",
            "tabia-players",
            "tabia-report",
            "tabia-tables",
        ],
    ),
    // The only app that trains.
    (
        "tabia-lab",
        &[
            "tabia-arena",
            "tabia-cli",
            "tabia-data",
            "tabia-encoding",
            "tabia-game",
            "tabia-human-eval",
            "tabia-model",
            "tabia-players",
            "tabia-query",
            "tabia-report",
            "tabia-requires",
            "tabia-runs",
            "tabia-search",
            "tabia-stdio",
            "tabia-train",
            "tabia-uci",
        ],
    ),
    (
        "tabia-wasm",
        &[
            "tabia-arena",
            "tabia-encoding",
            "tabia-game",
            "tabia-model",
            "tabia-players",
            "tabia-practice",
            "tabia-runtime",
            "tabia-threads",
        ],
    ),
    // Apart from the other module: few visitors need it.
    ("tabia-wasm-gpu", &["tabia-model", "tabia-webgpu"]),
    ("tabia-desktop", &["tabia-serve"]),
    ("xtask", &["tabia-stdio"]),
];

/// Crates that must forbid `unsafe`.
const SAFE: [&str; 2] = ["tabia-encoding", "tabia-game"];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let metadata = workspace.dependency_graph("Cargo.toml")?;
    let mut broken = Vec::new();
    let mut edges = 0;
    for package in metadata.workspace_packages() {
        edges += package.dependencies.len();
        broken.extend(wrong_edges(&metadata, package));
        if SAFE.contains(&package.name.as_str()) && !forbids_unsafe(package)? {
            broken.push(format!("{}: its lib.rs does not say #![forbid(unsafe_code)]", package.name));
        }
    }
    if !broken.is_empty() {
        bail!("{} violations:\n  {}", broken.len(), broken.join("\n  "));
    }
    println!("{} crates, {edges} dependencies", metadata.workspace_packages().len());
    Ok(())
}

/// Libraries are in `crates/`; the apps and xtask are programs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Library,
    Program,
}

fn wrong_edges(metadata: &Metadata, package: &Package) -> Vec<String> {
    let members: Vec<&str> =
        metadata.workspace_packages().iter().map(|member| member.name.as_str()).collect();
    let kind = if package.manifest_path.starts_with(metadata.workspace_root.join("crates")) {
        Kind::Library
    } else {
        Kind::Program
    };
    let dependencies: Vec<&str> = package.dependencies.iter().map(|edge| edge.name.as_str()).collect();
    judge(&package.name, kind, &dependencies, &members)
}

/// Violations of one crate, one line each.
fn judge(name: &str, kind: Kind, dependencies: &[&str], members: &[&str]) -> Vec<String> {
    let Some((_, allowed)) = DIRECTIONS.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} is not in the table of {}: say what it may depend on", file!())];
    };
    let mut wrong = Vec::new();
    for edge in dependencies {
        if members.contains(edge) && *edge != name && !allowed.contains(edge) {
            let may = if allowed.is_empty() { "nothing in the workspace".into() } else { allowed.join(", ") };
            wrong.push(format!("{name} -> {edge}: {name} may depend on {may}"));
        }
        if kind == Kind::Library && *edge == "anyhow" {
            wrong.push(format!("{name} -> anyhow: a library gives its own error types"));
        }
    }
    wrong
}

fn forbids_unsafe(package: &Package) -> Result<bool> {
    let lib = package.targets.iter().find(|target| target.is_lib()).context("no library in the package")?;
    let head = std::fs::read_to_string(Path::new(&lib.src_path))
        .with_context(|| format!("cannot read {}", lib.src_path))?;
    Ok(head.lines().any(|line| line.trim() == "#![forbid(unsafe_code)]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: [&str; 5] = ["tabia-encoding", "tabia-game", "tabia-model", "tabia-train", "tabia"];

    #[test]
    fn a_forbidden_dependency_is_reported() {
        let wrong = judge("tabia-encoding", Kind::Library, &["shakmaty", "tabia-game"], &MEMBERS);
        assert_eq!(
            wrong,
            ["tabia-encoding -> tabia-game: tabia-encoding may depend on nothing in the workspace"]
        );
        assert!(judge("tabia-game", Kind::Library, &["shakmaty", "tabia-encoding"], &MEMBERS).is_empty());
    }

    #[test]
    fn only_apps_may_use_anyhow() {
        assert!(judge("tabia", Kind::Program, &["anyhow", "tabia-model"], &MEMBERS).is_empty());
        assert_eq!(judge("tabia-model", Kind::Library, &["anyhow"], &MEMBERS).len(), 1);
    }

    #[test]
    fn an_unlisted_crate_is_an_error() {
        assert!(judge("tabia-extra", Kind::Library, &[], &MEMBERS)[0].contains("not in the table"));
    }

    #[test]
    fn only_the_lab_trains_and_no_library_depends_on_an_app() {
        let apps = ["tabia", "tabia-lab", "tabia-wasm", "tabia-desktop"];
        for &(name, allowed) in DIRECTIONS {
            assert!(name == "tabia-lab" || !allowed.contains(&"tabia-train"), "{name}");
            assert!(apps.iter().all(|app| !allowed.contains(app)), "{name}");
        }
    }
}
