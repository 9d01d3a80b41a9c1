//! The page that plots runs side by side: one text, served with its runs asked for bit by bit, or alone with its runs inside.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::find::FoundRun;

const HTML: &str = include_str!("../page/page.html");

/// The page's style sheet.
pub const STYLE: &str = include_str!("../page/page.css");

/// The script's modules by name, each after those it imports.
const MODULES: [(&str, &str); 10] = [
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
];

/// A page that stands alone has no use for a network.
const ALONE: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// How many lines of a run travel to the page: more than a chart has pixels, so that a part of it can be looked at closely.
pub const MOST_LINES: usize = 2_000;
/// How many lines a page that stands alone holds of all its runs.
const MOST_LINES_ALONE: usize = 60_000;

/// A run whose metrics cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", run.display())]
pub struct PageError {
    /// Which run.
    pub run: PathBuf,
    /// What is wrong.
    pub error: io::Error,
}

/// The page that asks its server for runs, for the browser to find its style and its script at these addresses.
pub fn served(style: &str, script: &str) -> String {
    let style = format!("<link rel=\"stylesheet\" href=\"{style}\">");
    let script = format!("<script type=\"module\" src=\"{script}\"></script>");
    assemble("", &style, &script, "null")
}

/// A page that stands alone, with the metrics of `runs` as of `now`, in seconds since 1970.
///
/// # Errors
/// If the metrics of a run cannot be read. A run without any is an empty one.
pub fn alone(runs: &[FoundRun], now: u64) -> Result<String, PageError> {
    let most_lines = (MOST_LINES_ALONE / runs.len().max(1)).clamp(200, MOST_LINES);
    let mut inside = Vec::new();
    for FoundRun { name, folder } in runs {
        let metrics = folder
            .first_metrics(most_lines)
            .map_err(|error| PageError { run: folder.path().to_owned(), error })?;
        inside.push(json!({
            "name": name,
            "glance": folder.glance(),
            "about": folder.about(),
            "metrics": metrics.text,
            "unreadable": metrics.unreadable,
        }));
    }
    let data = json!({ "made": now, "runs": Value::Array(inside) });
    // What a run is called must not end the element it is written in.
    let data = data.to_string().replace('<', "\\u003c");
    let policy = format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{ALONE}\">");
    let style = format!("<style>\n{STYLE}</style>");
    let script = format!("<script type=\"module\">\n{}</script>", script());
    Ok(assemble(&policy, &style, &script, &data))
}

/// The runs come last: what they hold is not looked at for places to fill.
fn assemble(policy: &str, style: &str, script: &str, data: &str) -> String {
    let page = HTML.replacen("<!--POLICY-->", policy, 1);
    let page = page.replacen("<!--STYLE-->", style, 1);
    let page = page.replacen("<!--SCRIPT-->", script, 1);
    page.replacen("<!--DATA-->", data, 1)
}

/// The modules as one script: each becomes a function that is called at once and returns what it exports.
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
    fn every_import_is_of_an_earlier_module_that_exports_it() {
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
    fn nothing_is_fetched_from_elsewhere() {
        let namespace = "http://www.w3.org/2000/svg";
        for text in [served("/a.css", "/b.js"), script().replace(namespace, ""), STYLE.to_owned()] {
            assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("url(\""));
        }
        // The server's policy refuses both.
        assert!(!HTML.contains(" style=") && !HTML.contains(" on"), "inline style or script");
        assert!(
            !served("/a.css", "/b.js").contains("<!--")
                && served("/a.css", "/b.js").contains("id=\"data\">null<")
        );
    }
}
