//! Charts in a terminal.

use std::fmt::Write;

use super::charts::Chart;
use tabia_report::{grouped, percent};

const WIDEST_BAR: usize = 40;

/// The charts as text, one below the other.
pub(crate) fn text(charts: &[Chart]) -> String {
    let mut out = String::new();
    for chart in charts {
        // Writing to a string cannot fail.
        let _ = match chart {
            Chart::Facts(facts) => write_facts(&mut out, facts),
            Chart::Bars { title, bars } => write_bars(&mut out, title, bars),
            Chart::Heat { title, columns, rows } => write_heat(&mut out, title, columns, rows),
        };
        out.push('\n');
    }
    out
}

fn write_facts(out: &mut String, facts: &[(&str, String)]) -> std::fmt::Result {
    let widest = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    facts.iter().try_for_each(|(name, fact)| writeln!(out, "{name:widest$}  {fact}"))
}

fn write_bars(out: &mut String, title: &str, bars: &[(String, u64)]) -> std::fmt::Result {
    let (total, most) =
        bars.iter().fold((0, 0), |(total, most), (_, count)| (total + count, most.max(*count)));
    let label = bars.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let number = grouped(most).len();
    writeln!(out, "{title}")?;
    for (name, count) in bars {
        let line = format!(
            "  {name:label$}  {:>number$} {:>6}  {}",
            grouped(*count),
            percent(*count, total),
            bar(*count, most)
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A bar in eighths of a column, at least one if the count is not 0.
fn bar(count: u64, most: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let length = (count as f64 / most.max(1) as f64 * (WIDEST_BAR * 8) as f64).round() as usize;
    let length = if count > 0 { length.max(1) } else { 0 };
    format!("{}{}", "█".repeat(length / 8), EIGHTHS[length % 8])
}

fn write_heat(
    out: &mut String,
    title: &str,
    columns: &[String],
    rows: &[(String, Vec<u64>)],
) -> std::fmt::Result {
    let filled = |column: &usize| rows.iter().any(|(_, counts)| counts[*column] > 0);
    let shown: Vec<usize> = (0..columns.len()).filter(filled).collect();
    let label = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let widths: Vec<usize> = shown
        .iter()
        .map(|&column| {
            let numbers = rows.iter().map(|(_, counts)| grouped(counts[column]).len());
            numbers.chain([columns[column].len()]).max().unwrap_or(0)
        })
        .collect();
    writeln!(out, "{title}")?;
    write!(out, "  {:label$}", "")?;
    for (&column, &width) in shown.iter().zip(&widths) {
        write!(out, "  {:>width$}", columns[column])?;
    }
    out.push('\n');
    for (name, counts) in rows.iter().filter(|(_, counts)| counts.iter().any(|count| *count > 0)) {
        write!(out, "  {name:label$}")?;
        for (&column, &width) in shown.iter().zip(&widths) {
            let count = counts[column];
            let count = if count == 0 { "·".to_owned() } else { grouped(count) };
            write!(out, "  {count:>width$}")?;
        }
        out.push('\n');
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_and_tables_are_aligned() {
        let bars = vec![("1-0".to_owned(), 4000), ("1/2-1/2".to_owned(), 1)];
        let rows = vec![("low".to_owned(), vec![0, 0, 1200]), ("none".to_owned(), vec![0; 3])];
        let columns = ["a", "b", "c"].map(str::to_owned).to_vec();
        let charts = [
            Chart::Facts(vec![("games", "7".to_owned())]),
            Chart::Bars { title: "results", bars },
            Chart::Heat { title: "grid", columns, rows },
        ];
        let expected = format!(
            "games  7\n\nresults\n  1-0      4,000 100.0%  {}\n  1/2-1/2      1   0.0%  ▏\n\ngrid\n            c\n  low   1,200\n\n",
            "█".repeat(40)
        );
        assert_eq!(text(&charts), expected);
    }
}
