//! Checks that the licence of every dependency is compatible with GPL-3.0-or-later.
//!
//! `cargo deny check licenses` does the same, but building cargo-deny takes several minutes on a bare machine. This reads
//! the SPDX expressions of manifests that cargo has already fetched.

use anyhow::{Context as _, Result, ensure};
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

/// The workspace, and the packages outside it.
const MANIFESTS: [&str; 3] = ["Cargo.toml", "fuzz/Cargo.toml", "apps/desktop/Cargo.toml"];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    for manifest in MANIFESTS {
        let metadata = workspace.dependency_graph(manifest)?;
        let mut refused = Vec::new();
        for package in &metadata.packages {
            let outcome = package.license.as_deref().context("states no licence").and_then(compatible);
            if let Err(reason) = outcome {
                refused.push(format!("{}: {reason}", package.name));
            }
        }
        ensure!(
            refused.is_empty(),
            "{manifest} (`cargo tree --invert NAME` shows who needs it):\n  {}",
            refused.join("\n  ")
        );
        println!("{manifest}: {} packages", metadata.packages.len());
    }
    Ok(())
}

/// Whether an SPDX expression allows a compatible choice.
fn compatible(expression: &str) -> Result<()> {
    // Lax: older manifests write `MIT/Apache-2.0` and `GPL-3.0+`.
    let parsed = Expression::parse_mode(expression, ParseMode::LAX)
        .map_err(|error| anyhow::anyhow!("`{expression}` is not an SPDX expression: {}", error.reason))?;
    parsed.evaluate_with_failures(allowed).map_err(|failures| {
        let names: Vec<String> = failures.iter().map(|failure| failure.req.to_string()).collect();
        anyhow::anyhow!("`{expression}` is not compatible with GPL-3.0-or-later ({})", names.join(", "))
    })
}

/// Exceptions (`WITH ...`) only grant more rights.
fn allowed(requirement: &LicenseReq) -> bool {
    COMPATIBLE.contains(&requirement.license.to_string().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_compatible_choice_suffices() {
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
    fn incompatible_licences_are_refused() {
        for expression in ["GPL-2.0-only", "CC-BY-NC-4.0", "MIT AND CDDL-1.0", "LicenseRef-ours", "nonsense"]
        {
            assert!(compatible(expression).is_err(), "{expression}");
        }
    }

    #[test]
    fn every_name_in_the_list_is_an_spdx_licence() {
        for name in COMPATIBLE {
            assert!(compatible(name).is_ok(), "{name}: {:?}", compatible(name));
        }
    }
}
