//! Charts as SVG and HTML.

use tabia_report::{Svg, escape, grouped, percent};

use super::charts::Chart;

const WIDTH: f64 = 960.0;
const MARGIN: f64 = 24.0;
const GAP: f64 = 32.0;
const ROW: f64 = 22.0;
const LABEL: f64 = 120.0;
const CELL: f64 = 104.0;
const BAR: f64 = 560.0;

const STYLE: &str = "\
:root{--paper:#fff;--ink:#1b1f24;--quiet:#667;--mark:#2a6fbb;--line:#ccd}\
@media (prefers-color-scheme:dark){:root{--paper:#14171b;--ink:#e7e9ec;--quiet:#99a;--mark:#6cb0ff;--line:#334}}\
svg{background:var(--paper);font:13px system-ui,sans-serif;fill:var(--ink)}\
.title{font-weight:600;font-size:15px}.quiet{fill:var(--quiet)}.mark{fill:var(--mark)}.cell{fill:var(--mark);stroke:var(--line)}\
.number{font-variant-numeric:tabular-nums}";

/// The charts below each other as one SVG document.
pub(crate) fn svg(title: &str, charts: &[Chart]) -> String {
    let mut out = Svg::default();
    let mut y = MARGIN + 20.0;
    text(&mut out, MARGIN, y, "title", title);
    y += GAP;
    for chart in charts {
        y = match chart {
            Chart::Facts(facts) => draw_facts(&mut out, y, facts),
            Chart::Bars { title, bars } => draw_bars(&mut out, y, title, bars),
            Chart::Heat { title, columns, rows } => draw_heat(&mut out, y, title, columns, rows),
        } + GAP;
    }
    out.finish((WIDTH, y), title, STYLE)
}

/// The same in an HTML page.
pub(crate) fn html(title: &str, charts: &[Chart]) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\"><title>{}</title>\
         <style>body{{margin:0;display:grid;justify-content:center;background:#fff}}svg{{max-width:100%;height:auto}}\
         @media (prefers-color-scheme:dark){{body{{background:#14171b}}}}</style></head><body>\n{}</body></html>\n",
        escape(title),
        svg(title, charts)
    )
}

fn draw_facts(out: &mut Svg, mut y: f64, facts: &[(&str, String)]) -> f64 {
    for (name, fact) in facts {
        text(out, MARGIN, y, "quiet", name);
        text(out, MARGIN + LABEL, y, "number", fact);
        y += ROW;
    }
    y
}

fn draw_bars(out: &mut Svg, y: f64, title: &str, bars: &[(String, u64)]) -> f64 {
    let (total, most) =
        bars.iter().fold((0, 0), |(total, most), (_, count)| (total + count, most.max(*count)));
    text(out, MARGIN, y, "title", title);
    let mut y = y + ROW;
    for (label, count) in bars {
        let width = *count as f64 / most.max(1) as f64 * BAR;
        let value = format!("{} ({})", grouped(*count), percent(*count, total));
        text(out, MARGIN, y, "quiet", label);
        let (x, top, height) = (MARGIN + LABEL, y - ROW + 8.0, ROW - 4.0);
        let place =
            format_args!(r#"class="mark" x="{x}" y="{top}" width="{width:.1}" height="{height}" rx="2""#);
        out.element("rect", place, Some(&format!("{label}: {value}")));
        text(out, (x + width).floor() + 8.0, y, "number", &value);
        y += ROW;
    }
    y
}

fn draw_heat(out: &mut Svg, y: f64, title: &str, columns: &[String], rows: &[(String, Vec<u64>)]) -> f64 {
    text(out, MARGIN, y, "title", title);
    let most = rows.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(0).max(1);
    let left = |column: usize| MARGIN + LABEL + column as f64 * CELL;
    let mut y = y + ROW;
    for (index, column) in columns.iter().enumerate() {
        text(out, left(index) + 8.0, y, "quiet", column);
    }
    y += 8.0;
    for (label, counts) in rows {
        text(out, MARGIN, y + ROW - 6.0, "quiet", label);
        for ((index, column), &count) in columns.iter().enumerate().zip(counts) {
            let x = left(index);
            // The square root keeps small counts visible; the cap keeps numbers legible.
            let opacity = (count as f64 / most as f64).sqrt() * 0.75;
            let place = format_args!(
                r#"class="cell" x="{x}" y="{y}" width="{CELL}" height="{ROW}" fill-opacity="{opacity:.3}""#
            );
            out.element("rect", place, Some(&format!("{label}, {column}: {}", grouped(count))));
            if count > 0 {
                text(out, x + 8.0, y + ROW - 6.0, "number", &grouped(count));
            }
        }
        y += ROW;
    }
    y + ROW
}

fn text(out: &mut Svg, x: f64, y: f64, class: &str, content: &str) {
    out.text(format_args!(r#"class="{class}" x="{x}" y="{y}""#), content);
}
