//! The curve as a picture: ratings asked for and shown, with their intervals.

use super::Shown;
use crate::chart::{Axis, Chart, Even, Point, Series};

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
