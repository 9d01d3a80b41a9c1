//! The page that plots runs: served, fetching its data from the server, or standalone with the data embedded.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::find::FoundRun;

const HTML: &str = include_str!("../page/page.html");

/// The part of the page that the app shows too, as `#/training`.
const VIEW: &str = include_str!("../page/view.html");

/// Style sheet of the page, which begins with those of the app.
pub const STYLE: &str = concat!(
    include_str!("../../../web/src/styles/tokens.css"),
    include_str!("../../../web/src/styles/base.css"),
    include_str!("../../../web/src/styles/controls.css"),
    "main { max-width: 90rem; margin: 0 auto; padding: var(--space-4); }\n",
    include_str!("../page/page.css"),
);

/// JavaScript modules in dependency order.
const MODULES: [(&str, &str); 11] = [
    ("lines", include_str!("../page/lines.mjs")),
    ("series", include_str!("../page/series.mjs")),
    ("scale", include_str!("../page/scale.mjs")),
    ("dom", include_str!("../page/dom.mjs")),
    ("config", include_str!("../page/config.mjs")),
    ("chart", include_str!("../page/chart.mjs")),
    ("tables", include_str!("../page/tables.mjs")),
    ("list", include_str!("../page/list.mjs")),
    ("feed", include_str!("../page/feed.mjs")),
    ("main", include_str!("../page/main.mjs")),
    ("standalone", include_str!("../page/standalone.mjs")),
];

/// Content security policy of the standalone page, which needs no network.
const STANDALONE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Maximum number of lines of a run sent to the page. More than a chart has pixels, to allow zooming.
pub const MAX_LINES: usize = 2_000;
/// Maximum number of lines of all runs in a standalone page.
const MAX_LINES_STANDALONE: usize = 60_000;

/// A run whose metrics cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read the metrics of {}: {error}", run.display())]
pub struct PageError {
    /// Folder of the run.
    pub run: PathBuf,
    /// Cause.
    pub error: io::Error,
}

/// The page that fetches its data from the server. `style` and `script` are URLs.
pub fn served(style: &str, script: &str) -> String {
    let style = format!("<link rel=\"stylesheet\" href=\"{style}\">");
    let script = format!("<script type=\"module\" src=\"{script}\"></script>");
    assemble("", &style, &script, "null")
}

/// A standalone page with the metrics of `runs` embedded, made at Unix time `now`.
///
/// # Errors
/// If the metrics of a run cannot be read. Runs without metrics are included.
pub fn standalone(runs: &[FoundRun], now: u64) -> Result<String, PageError> {
    let max_lines = (MAX_LINES_STANDALONE / runs.len().max(1)).clamp(200, MAX_LINES);
    let mut inside = Vec::new();
    for FoundRun { name, folder } in runs {
        let metrics =
            folder.metrics(max_lines).map_err(|error| PageError { run: folder.path().to_owned(), error })?;
        inside.push(json!({
            "name": name,
            "glance": folder.summary(),
            "about": folder.about(),
            "metrics": metrics.text,
            "unreadable": metrics.unreadable,
        }));
    }
    let data = json!({ "made": now, "runs": Value::Array(inside) });
    // A run's name must not close the script element.
    let data = data.to_string().replace('<', "\\u003c");
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{STANDALONE_POLICY}\">");
    let style = format!("<style>\n{STYLE}</style>");
    let script = format!("<script type=\"module\">\n{}</script>", script());
    Ok(assemble(&policy, &style, &script, &data))
}

/// Fills in the template. The data comes last so that placeholders in it are not replaced.
fn assemble(policy: &str, style: &str, script: &str, data: &str) -> String {
    let page = HTML.replacen("<!--POLICY-->", policy, 1);
    let page = page.replacen("<!--STYLE-->", style, 1);
    let page = page.replacen("<!--VIEW-->", VIEW, 1);
    let page = page.replacen("<!--SCRIPT-->", script, 1);
    page.replacen("<!--DATA-->", data, 1)
}

/// Bundles the modules into one script: each becomes an immediately invoked function that returns its exports.
pub fn script() -> String {
    let mut script = String::new();
    for (name, source) in MODULES {
        let mut exports = Vec::new();
        let mut body = String::new();
        for line in source.lines() {
            if let Some((names, from)) = imported(line) {
                body.push_str(&format!("const {{ {names} }} = {from}_module;"));
            } else if let Some(rest) = line.strip_prefix("export ") {
                exports.extend(declared(rest));
                body.push_str(rest);
            } else {
                body.push_str(line);
            }
            body.push('\n');
        }
        script.push_str(&format!(
            "const {name}_module = (() => {{\n{body}return {{ {} }};\n}})();\n",
            exports.join(", ")
        ));
    }
    script
}

/// `import { a, b } from "./c.mjs";` as the names and `c`.
fn imported(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("import { ")?.strip_suffix(".mjs\";")?.split_once(" } from \"./")
}

/// The name that `const name = ...`, `function name(...)` or `class Name` declares.
fn declared(line: &str) -> Option<&str> {
    let (_, rest) = ["const ", "class ", "function "].iter().find_map(|word| line.split_once(word))?;
    rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_resolve_to_earlier_modules() {
        let mut known: Vec<(String, String)> = Vec::new();
        for (name, source) in MODULES {
            for line in source.lines().filter(|line| line.starts_with("import")) {
                let (names, from) = imported(line).unwrap_or_else(|| panic!("{name}.mjs: {line}"));
                for imported in names.split(", ") {
                    assert!(
                        known.contains(&(from.to_owned(), imported.to_owned())),
                        "{name}.mjs: {imported} of {from}"
                    );
                }
            }
            let exports = source.lines().filter_map(|line| line.strip_prefix("export "));
            for line in exports {
                let export = declared(line).unwrap_or_else(|| panic!("{name}.mjs: {line}"));
                known.push((name.to_owned(), export.to_owned()));
            }
        }
    }

    #[test]
    fn page_references_no_external_resources() {
        let namespace = "http://www.w3.org/2000/svg";
        for text in [served("/a.css", "/b.js"), script().replace(namespace, ""), STYLE.to_owned()] {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("url(\""));
        }
        // The server's content security policy rejects both.
        for html in [HTML, VIEW] {
            assert!(!html.contains(" style=") && !html.contains(" on"), "inline style or script");
        }
        assert!(
            !served("/a.css", "/b.js").contains("<!--")
                && served("/a.css", "/b.js").contains("id=\"data\">null<")
        );
    }
}
