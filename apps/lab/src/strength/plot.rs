//! A plot of requested and measured ratings.

use tabia_report::{Axis, Chart, Even, Point, Series};

use super::Shown;
use super::legs::OnLeg;

/// An SVG file: the result with its intervals, and beside it each scale alone.
pub(super) fn svg(title: &str, shown: &[Shown], legs: &[OnLeg]) -> String {
    let point = |asked: u16, rating: f64, low: f64, high: f64| Point {
        at: f64::from(asked),
        value: rating,
        low,
        high,
        note: format!("asked {asked}, shown {rating:.0} [{low:.0}, {high:.0}]"),
    };
    let points = shown.iter().map(|shown| point(shown.asked, shown.rating, shown.low, shown.high));
    let together = if legs.len() > 1 { "together" } else { "" };
    let mut series = vec![Series { name: together.to_owned(), points: points.collect() }];
    for (number, on) in legs.iter().enumerate().filter(|_| legs.len() > 1) {
        // Beside each other, so that the intervals can be told apart.
        let aside = 14.0 * (number as f64 + 1.0);
        let points = shown.iter().zip(&on.ratings).map(|(shown, of)| {
            let point = point(shown.asked, of.rating, of.low, of.high);
            Point { at: point.at + aside, ..point }
        });
        series.push(Series { name: on.leg.name().to_owned(), points: points.collect() });
    }
    let axis = |label| Axis { label, step: 200.0, unit: "" };
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
        let picture = svg("A curve", &[shown(1000, 1020.0), shown(1400, 1380.0)], &[]);
        assert_eq!(picture.matches("<circle").count(), 2);
        assert_eq!(picture.matches("class=\"bar ").count(), 6);
        assert!(picture.contains("asked 1400, shown 1380 [1330, 1430]"));
    }
}
