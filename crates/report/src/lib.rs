//! Progress meters, SVG charts and boards of the programs.
#![forbid(unsafe_code)]

mod board;
mod chart;
mod progress;
mod svg;

pub use board::{Arrow, BoardPicture};
pub use chart::{Axis, Chart, Even, Point, Series};
pub use progress::Progress;
pub use svg::{Svg, escape};

/// A number with its thousands separated: `1,234,567`.
pub fn grouped(number: u64) -> String {
    indicatif::HumanCount(number).to_string()
}

/// A share in percent with one decimal; `-` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}

/// A text table: the first column aligned to the left, the others to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<String>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<String>>().join("\n")
}

/// The names of columns, as a row.
pub fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([percent(1, 3), percent(0, 0)], ["33.3%", "-"]);
    }
}
