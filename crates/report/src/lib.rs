//! Progress meters and SVG charts of the command-line programs.
#![forbid(unsafe_code)]

mod chart;
mod progress;
mod svg;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([percent(1, 3), percent(0, 0)], ["33.3%", "-"]);
    }
}
