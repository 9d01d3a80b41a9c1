//! A plot of requested and measured ratings.

use tabia_report::{Axis, Chart, Even, Point, Series};

use super::Shown;

/// An SVG file.
pub(super) fn svg(title: &str, shown: &[Shown]) -> String {
    let points = shown.iter().map(|shown| Point {
        at: f64::from(shown.asked),
        value: shown.rating,
        low: shown.low,
        high: shown.high,
        note: format!(
            "asked {}, shown {:.0} [{:.0}, {:.0}]",
            shown.asked, shown.rating, shown.low, shown.high
        ),
    });
    let axis = |label| Axis { label, step: 200.0, unit: "" };
    let series = vec![Series { name: String::new(), points: points.collect() }];
    let (across, up) = (axis("rating asked for"), axis("rating shown, 95% interval"));
    Chart { title, across, up, even: Even::Line, series }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratings_are_plotted_with_intervals() {
        let shown = |asked: u16, rating: f64| Shown {
            asked,
            rating,
            low: rating - 50.0,
            high: rating + 50.0,
            games: 100,
        };
        let picture = svg("A curve", &[shown(1000, 1020.0), shown(1400, 1380.0)]);
        assert_eq!(picture.matches("<circle").count(), 2);
        assert_eq!(picture.matches("class=\"bar ").count(), 6);
        assert!(picture.contains("asked 1400, shown 1380 [1330, 1430]"));
    }
}
