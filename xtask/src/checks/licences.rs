//! Every dependency's licence lets the whole be distributed under GPL-3.0-or-later.
//!
//! Reads only the licence expressions in the manifests cargo has already fetched; asks no service.

use std::collections::{HashMap, HashSet, VecDeque};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, PackageId};
use spdx::{Expression, LicenseReq, ParseMode};

use crate::workspace::Workspace;

/// Licences whose code may be part of a GPL-3.0-or-later program.
const COMPATIBLE: [&str; 21] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "GPL-2.0-or-later",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "ISC",
    "LGPL-2.1-or-later",
    "LGPL-3.0-or-later",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "NCSA",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "bzip2-1.0.6",
];

/// The manifests whose dependencies are checked: the workspace's, and those of the fuzz targets and the window outside it.
const MANIFESTS: [&str; 3] = ["Cargo.toml", "fuzz/Cargo.toml", "apps/desktop/Cargo.toml"];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    for manifest in MANIFESTS {
        let metadata = workspace.dependency_graph(manifest)?;
        let mut offenders = Vec::new();
        for package in &metadata.packages {
            let Some(licence) = &package.license else {
                offenders.push(format!(
                    "{} states no licence: {}",
                    package.name,
                    path_to(&metadata, &package.id)?
                ));
                continue;
            };
            if let Err(reason) = compatible(licence) {
                offenders.push(format!("{}: {reason}: {}", package.name, path_to(&metadata, &package.id)?));
            }
        }
        if !offenders.is_empty() {
            bail!("{} of {manifest}'s dependencies:\n  {}", offenders.len(), offenders.join("\n  "));
        }
        println!("{manifest}: {} packages", metadata.packages.len());
    }
    Ok(())
}

/// Whether some choice an expression offers is compatible; the error says what stands in the way.
fn compatible(expression: &str) -> Result<()> {
    // Lax: older manifests write `MIT/Apache-2.0` and `GPL-3.0+`.
    let parsed = Expression::parse_mode(expression, ParseMode::LAX)
        .map_err(|error| anyhow::anyhow!("`{expression}` is not an SPDX expression: {}", error.reason))?;
    parsed.evaluate_with_failures(allowed).map_err(|failures| {
        let names: Vec<String> = failures.iter().map(|failure| failure.req.to_string()).collect();
        anyhow::anyhow!("`{expression}` is not compatible with GPL-3.0-or-later ({})", names.join(", "))
    })
}

/// An exception (`WITH ...`) only grants more, so the licence before it decides.
fn allowed(requirement: &LicenseReq) -> bool {
    COMPATIBLE.contains(&requirement.license.to_string().as_str())
}

/// How a package comes into the build: the shortest chain of dependencies from a crate of ours.
fn path_to(metadata: &Metadata, package: &PackageId) -> Result<String> {
    let graph = metadata.resolve.as_ref().context("cargo metadata gave no dependency graph")?;
    let edges: HashMap<&PackageId, &Vec<PackageId>> =
        graph.nodes.iter().map(|node| (&node.id, &node.dependencies)).collect();
    let mut waiting: VecDeque<Vec<&PackageId>> =
        metadata.workspace_members.iter().map(|member| vec![member]).collect();
    let mut seen: HashSet<&PackageId> = metadata.workspace_members.iter().collect();
    while let Some(path) = waiting.pop_front() {
        let last = *path.last().context("paths start with a member")?;
        if last == package {
            let names: Vec<&str> = path.iter().map(|id| metadata[id].name.as_str()).collect();
            return Ok(names.join(" -> "));
        }
        for next in edges.get(last).into_iter().copied().flatten() {
            if seen.insert(next) {
                let mut longer = path.clone();
                longer.push(next);
                waiting.push_back(longer);
            }
        }
    }
    bail!("{package} is in no crate's dependencies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_acceptable_choice_is_enough() {
        for expression in [
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "(MIT OR GPL-2.0-only) AND Unicode-3.0",
            "GPL-3.0+",
            "GPL-3.0-or-later",
        ] {
            assert!(compatible(expression).is_ok(), "{expression}: {:?}", compatible(expression));
        }
    }

    #[test]
    fn what_gpl_3_cannot_take_is_refused_with_its_name() {
        for expression in ["GPL-2.0-only", "CC-BY-NC-4.0", "MIT AND CDDL-1.0", "LicenseRef-ours", "nonsense"]
        {
            let refused = compatible(expression).unwrap_err().to_string();
            assert!(refused.contains(expression), "{refused}");
        }
    }

    #[test]
    fn every_name_in_the_list_is_an_spdx_licence() {
        for name in COMPATIBLE {
            assert!(compatible(name).is_ok(), "{name}: {:?}", compatible(name));
        }
    }
}
