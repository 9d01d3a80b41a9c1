//! Charts as a picture: SVG that follows the reader's light or dark theme.
//!
//! Written by hand: rectangles and texts are all there is, and colours must stay names that a style sheet can change,
//! which plotting crates do not do.

use std::fmt::Write;

use super::charts::{Chart, grouped, percent};

const WIDTH: usize = 960;
const MARGIN: usize = 24;
const GAP: usize = 32;
const ROW: usize = 22;
const LABEL: usize = 120;
const CELL: usize = 104;
const BAR: usize = 560;

const STYLE: &str = "\
:root{--paper:#fff;--ink:#1b1f24;--quiet:#667;--mark:#2a6fbb;--line:#ccd}\
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e7e9ec;--quiet:#99a;--mark:#6cb0ff;--line:#334}}\
svg{background:var(--paper);font:13px system-ui,sans-serif;fill:var(--ink)}\
.title{font-weight:600;font-size:15px}.quiet{fill:var(--quiet)}.mark{fill:var(--mark)}.cell{fill:var(--mark);stroke:var(--line)}\
.number{font-variant-numeric:tabular-nums}";

/// The charts as one picture, complete in itself.
pub(crate) fn svg(title: &str, charts: &[Chart]) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 20;
    text(&mut body, MARGIN, y, "title", title);
    y += GAP;
    for chart in charts {
        y = match chart {
            Chart::Facts(facts) => draw_facts(&mut body, y, facts),
            Chart::Bars { title, bars } => draw_bars(&mut body, y, title, bars),
            Chart::Heat { title, columns, rows } => draw_heat(&mut body, y, title, columns, rows),
        } + GAP;
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}\" width=\"{WIDTH}\" height=\"{y}\" \
         viewBox=\"0 0 {WIDTH} {y}\"><style>{STYLE}</style>\n<rect width=\"{WIDTH}\" height=\"{y}\" style=\"fill:var(--paper)\"/>\n{body}</svg>\n",
        escaped(title)
    )
}

/// The picture in a page of its own.
pub(crate) fn html(title: &str, charts: &[Chart]) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\"><title>{}</title>\
         <style>body{{margin:0;display:grid;justify-content:center;background:#fff}}svg{{max-width:100%;height:auto}}\
         @media (prefers-color-scheme:dark){{body{{background:#14171b}}}}</style></head><body>\n{}</body></html>\n",
        escaped(title),
        svg(title, charts)
    )
}

fn draw_facts(out: &mut String, mut y: usize, facts: &[(&str, String)]) -> usize {
    for (name, fact) in facts {
        text(out, MARGIN, y, "quiet", name);
        text(out, MARGIN + LABEL, y, "number", fact);
        y += ROW;
    }
    y
}

fn draw_bars(out: &mut String, y: usize, title: &str, bars: &[(String, u64)]) -> usize {
    let (total, most) =
        bars.iter().fold((0, 0), |(total, most), (_, count)| (total + count, most.max(*count)));
    text(out, MARGIN, y, "title", title);
    let mut y = y + ROW;
    for (label, count) in bars {
        let width = *count as f64 / most.max(1) as f64 * BAR as f64;
        let said = format!("{} ({})", grouped(*count), percent(*count, total));
        text(out, MARGIN, y, "quiet", label);
        let (x, top) = (MARGIN + LABEL, y - ROW + 8);
        write(
            out,
            format_args!(
                "<rect class=\"mark\" x=\"{x}\" y=\"{top}\" width=\"{width:.1}\" height=\"{}\" rx=\"2\"><title>{}: {said}</title></rect>\n",
                ROW - 4,
                escaped(label)
            ),
        );
        text(out, x + width as usize + 8, y, "number", &said);
        y += ROW;
    }
    y
}

fn draw_heat(
    out: &mut String,
    y: usize,
    title: &str,
    columns: &[String],
    rows: &[(String, Vec<u64>)],
) -> usize {
    text(out, MARGIN, y, "title", title);
    let most = rows.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(0).max(1);
    let mut y = y + ROW;
    for (index, column) in columns.iter().enumerate() {
        text(out, MARGIN + LABEL + index * CELL + 8, y, "quiet", column);
    }
    y += 8;
    for (label, counts) in rows {
        text(out, MARGIN, y + ROW - 6, "quiet", label);
        for (index, &count) in counts.iter().enumerate() {
            let (x, column) = (MARGIN + LABEL + index * CELL, columns.get(index).map_or("", String::as_str));
            // By the square root, so that what is rare can be told from what is not there. Never so strong that the
            // number cannot be read on it.
            let strength = (count as f64 / most as f64).sqrt() * 0.75;
            write(
                out,
                format_args!(
                    "<rect class=\"cell\" x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{ROW}\" fill-opacity=\"{strength:.3}\"><title>{}, {}: {}</title></rect>\n",
                    escaped(label),
                    escaped(column),
                    grouped(count)
                ),
            );
            if count > 0 {
                text(out, x + 8, y + ROW - 6, "number", &grouped(count));
            }
        }
        y += ROW;
    }
    y + ROW
}

fn text(out: &mut String, x: usize, y: usize, class: &str, content: &str) {
    write(out, format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(content)));
}

fn write(out: &mut String, piece: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(piece);
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
