//! The software bill of materials, as CycloneDX 1.5: every crate in the program, every package in the page.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, Metadata, PackageId};
use serde_json::{Value, json};

use crate::workspace::Workspace;

/// Writes the bill of the program and its page to `file`.
pub(super) fn write(workspace: &Workspace, version: &str, file: &Path) -> Result<()> {
    let metadata = workspace.dependency_graph("Cargo.toml")?;
    let lock = workspace.root.join("web/package-lock.json");
    let lock = fs::read_to_string(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let mut components = crates(&metadata, "tabia")?;
    components.extend(page_packages(&serde_json::from_str(&lock)?));
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "name": "tabia",
                "version": version,
                "licenses": [{"expression": "GPL-3.0-or-later"}],
            }
        },
        "components": components,
    });
    fs::write(file, serde_json::to_string_pretty(&bill)? + "\n")
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The crates of the registry that are compiled into a program, sorted by name.
fn crates(metadata: &Metadata, program: &str) -> Result<Vec<Value>> {
    let graph = metadata.resolve.as_ref().context("cargo metadata has no dependency graph")?;
    let start = metadata.packages.iter().find(|package| package.name.as_str() == program);
    let start = &start.with_context(|| format!("the workspace has no package {program}"))?.id;
    let mut reached: BTreeSet<&PackageId> = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(id) = open.pop() {
        let node = graph.nodes.iter().find(|node| node.id == *id);
        for dependency in node.map(|node| node.deps.as_slice()).unwrap_or_default() {
            let linked = dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal);
            if linked && reached.insert(&dependency.pkg) {
                open.push(&dependency.pkg);
            }
        }
    }
    let mut packages: Vec<_> = metadata
        .packages
        .iter()
        .filter(|package| reached.contains(&package.id) && package.source.is_some())
        .collect();
    packages.sort_by_key(|package| (package.name.to_string(), package.version.clone()));
    let component = |package: &&cargo_metadata::Package| {
        component("cargo", package.name.as_str(), &package.version.to_string(), package.license.as_deref())
    };
    Ok(packages.iter().map(component).collect())
}

/// The packages of npm's lock file that are in the page, not only used to build it.
fn page_packages(lock: &Value) -> Vec<Value> {
    let packages = lock["packages"].as_object().into_iter().flatten();
    let shipped = packages.filter(|(path, package)| !path.is_empty() && package["dev"] != true);
    let component = |(path, package): (&String, &Value)| {
        let name = path.rsplit("node_modules/").next()?;
        Some(component("npm", name, package["version"].as_str()?, package["license"].as_str()))
    };
    shipped.filter_map(component).collect()
}

fn component(registry: &str, name: &str, version: &str, licence: Option<&str>) -> Value {
    let url = format!("pkg:{registry}/{}@{version}", name.replace('@', "%40"));
    let mut component = json!({
        "type": "library", "name": name, "version": version, "purl": url, "bom-ref": url,
    });
    if let Some(licence) = licence {
        // Older manifests separate alternatives with a slash, which SPDX does not know.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shipped_packages_of_the_page_are_listed() {
        let lock = json!({"packages": {
            "": {"version": "0.1.0"},
            "node_modules/@lichess-org/chessground": {"version": "10.1.1", "license": "GPL-3.0-or-later"},
            "node_modules/vite": {"version": "8.0.0", "dev": true},
        }});
        let found = page_packages(&lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["purl"], "pkg:npm/%40lichess-org/chessground@10.1.1");
        assert_eq!(found[0]["licenses"][0]["expression"], "GPL-3.0-or-later");
    }

    #[test]
    fn the_program_contains_its_dependencies_but_not_those_of_tests_and_builds() {
        let workspace = Workspace::open().unwrap();
        let found = crates(&workspace.dependency_graph("Cargo.toml").unwrap(), "tabia").unwrap();
        let has = |name: &str| found.iter().any(|component| component["name"] == name);
        assert!(has("shakmaty") && has("clap") && has("axum"));
        assert!(!has("datafusion") && !has("wasm-bindgen-cli-support"));
    }

    #[test]
    fn old_licence_expressions_become_spdx() {
        let found = component("cargo", "x", "1.0.0", Some("MIT/Apache-2.0"));
        assert_eq!(found["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
