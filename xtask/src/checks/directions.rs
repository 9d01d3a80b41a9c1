//! The dependency directions of ARCHITECTURE.md, and the other promises a manifest or a crate's head can break.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, Package};

use crate::workspace::Workspace;

/// What each crate may depend on within the workspace: nothing else, in any kind of dependency.
///
/// A crate that does not exist yet is allowed here; a crate that is not here is an error.
const DIRECTIONS: [(&str, &[&str]); 25] = [
    // How the benches of the others compare.
    ("tabia-bench", &[]),
    // What the tests of the others need of the machine.
    ("tabia-requires", &[]),
    ("tabia-encoding", &[]),
    ("tabia-game", &["tabia-encoding", "tabia-requires"]),
    ("tabia-nets", &["tabia-encoding"]),
    // Kernels and products on a device: nothing of networks.
    ("tabia-gpu", &["tabia-requires"]),
    ("tabia-model", &["tabia-bench", "tabia-encoding", "tabia-game", "tabia-nets", "tabia-requires"]),
    ("tabia-search", &["tabia-encoding", "tabia-game", "tabia-model"]),
    ("tabia-players", &["tabia-bench", "tabia-encoding", "tabia-game", "tabia-model", "tabia-search"]),
    // Messages only: players and engines meet in the apps.
    ("tabia-uci", &["tabia-requires"]),
    ("tabia-arena", &["tabia-encoding", "tabia-game", "tabia-model", "tabia-players", "tabia-requires"]),
    ("tabia-data", &["tabia-encoding", "tabia-game", "tabia-requires"]),
    ("tabia-query", &["tabia-data", "tabia-encoding", "tabia-game"]),
    // How runs look from outside: the lean program shows them, the laboratory makes them.
    ("tabia-runs", &["tabia-requires"]),
    // Of the search it asks which positions a network is to judge without one.
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
            "tabia-requires",
            "tabia-search",
        ],
    ),
    // What networks foretell against what people did.
    ("tabia-human-eval", &["tabia-data", "tabia-encoding", "tabia-game", "tabia-model", "tabia-players"]),
    // The networks that come along, as bytes.
    ("tabia-networks", &[]),
    // How programs print.
    ("tabia-stdio", &[]),
    // The page and what can be shown on it.
    (
        "tabia-serve",
        &["tabia-arena", "tabia-data", "tabia-encoding", "tabia-game", "tabia-networks", "tabia-runs"],
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
            "tabia-networks",
            "tabia-players",
            "tabia-search",
            "tabia-stdio",
            "tabia-uci",
        ],
    ),
    (
        "tabia",
        &[
            "tabia-arena",
            "tabia-cli",
            "tabia-data",
            "tabia-encoding",
            "tabia-game",
            "tabia-human-eval",
            "tabia-model",
            "tabia-players",
            "tabia-requires",
            "tabia-runs",
            "tabia-search",
            "tabia-serve",
            "tabia-stdio",
            "tabia-uci",
        ],
    ),
    // The one app that learns.
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
            "tabia-requires",
            "tabia-runs",
            "tabia-stdio",
            "tabia-train",
            "tabia-uci",
        ],
    ),
    ("tabia-wasm", &["tabia-arena", "tabia-encoding", "tabia-game", "tabia-model", "tabia-players"]),
    ("tabia-desktop", &["tabia-serve"]),
    ("xtask", &["tabia-stdio"]),
];

/// Crates whose head forbids `unsafe`.
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
        bail!("{} broken promises:\n  {}", broken.len(), broken.join("\n  "));
    }
    println!("{} crates, {edges} dependencies", metadata.workspace_packages().len());
    Ok(())
}

/// Libraries live in `crates/`; the apps and xtask are programs.
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

/// What is wrong with one crate's dependencies, an edge a line.
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
    fn an_edge_against_the_direction_is_named() {
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
    fn nothing_but_the_lab_learns_and_no_library_sees_an_app() {
        let apps = ["tabia", "tabia-lab", "tabia-wasm", "tabia-desktop"];
        for (name, allowed) in DIRECTIONS {
            assert!(name == "tabia-lab" || !allowed.contains(&"tabia-train"), "{name}");
            assert!(apps.iter().all(|app| !allowed.contains(app)), "{name}");
        }
    }
}
