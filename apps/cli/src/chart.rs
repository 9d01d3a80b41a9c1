//! Charts of measured values with confidence intervals, as SVG with light and dark colours.

use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
/// The number of colours; further series reuse them.
const COLOURS: usize = 3;

/// A chart.
pub struct Chart<'a> {
    /// Its title for screen readers.
    pub title: &'a str,
    /// The x axis.
    pub across: Axis<'a>,
    /// The y axis.
    pub up: Axis<'a>,
    /// Whether a dashed line marks x = y.
    pub even: Even,
    /// Its series; several get a legend.
    pub series: Vec<Series>,
}

/// The dashed line of a chart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Even {
    /// Both axes have the same range.
    Line,
    /// Each axis has the range of its values.
    None,
}

/// An axis.
pub struct Axis<'a> {
    /// Its label.
    pub label: &'a str,
    /// The distance of grid lines.
    pub step: f64,
    /// The suffix of its numbers.
    pub unit: &'a str,
}

/// A series of points.
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// A measured value.
pub struct Point {
    /// Its x value.
    pub at: f64,
    /// Its y value.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Its tooltip.
    pub note: String,
}

/// The range of an axis, in whole grid steps.
#[derive(Clone, Copy)]
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn of(numbers: impl Iterator<Item = f64>, step: f64) -> Span {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = numbers.fold(ends, |(low, high), number| (low.min(number), high.max(number)));
        if low > high {
            return Span { low: 0.0, high: step };
        }
        Span { low: (low / step).floor() * step, high: ((high / step).floor() + 1.0) * step }
    }

    fn share(self, number: f64) -> f64 {
        (number - self.low) / (self.high - self.low)
    }

    fn ticks(self, step: f64) -> impl Iterator<Item = f64> {
        let steps = ((self.high - self.low) / step).round() as u32;
        (0..=steps).map(move |number| self.low + step * f64::from(number))
    }
}

impl Chart<'_> {
    fn spans(&self) -> (Span, Span) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let across = points().map(|point| point.at);
        let up = points().flat_map(|point| [point.low, point.high]);
        match self.even {
            Even::Line => {
                let both = Span::of(across.chain(up), self.up.step);
                (both, both)
            }
            Even::None => (Span::of(across, self.across.step), Span::of(up, self.up.step)),
        }
    }

    /// The SVG document.
    pub fn svg(&self) -> String {
        let (across, up) = self.spans();
        let x = |number: f64| LEFT + across.share(number) * (WIDTH - LEFT - RIGHT);
        let y = |number: f64| HEIGHT - BOTTOM - up.share(number) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"12\">\n<title>{}</title>\n{STYLE}",
            escaped(self.title)
        );
        for tick in across.ticks(self.across.step) {
            line(&mut svg, "grid", (x(tick), y(up.low)), (x(tick), y(up.high)));
            let unit = self.across.unit;
            text(&mut svg, "middle", (x(tick), HEIGHT - BOTTOM + 18.0), &format!("{tick}{unit}"));
        }
        for tick in up.ticks(self.up.step) {
            line(&mut svg, "grid", (x(across.low), y(tick)), (x(across.high), y(tick)));
            text(&mut svg, "end", (LEFT - 8.0, y(tick) + 4.0), &format!("{tick}{}", self.up.unit));
        }
        if self.even == Even::Line {
            line(&mut svg, "even", (x(across.low), y(up.low)), (x(across.high), y(up.high)));
        }
        for (number, series) in self.series.iter().enumerate() {
            let class = number % COLOURS;
            for point in &series.points {
                line(
                    &mut svg,
                    &format!("bar s{class}"),
                    (x(point.at), y(point.low)),
                    (x(point.at), y(point.high)),
                );
                for end in [point.low, point.high] {
                    let (from, to) = ((x(point.at) - 4.0, y(end)), (x(point.at) + 4.0, y(end)));
                    line(&mut svg, &format!("bar s{class}"), from, to);
                }
            }
            for point in &series.points {
                let (cx, cy, note) = (x(point.at), y(point.value), escaped(&point.note));
                let _ = writeln!(
                    svg,
                    "<circle class=\"s{class}\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3.5\"><title>{note}</title></circle>"
                );
            }
            if self.series.len() > 1 {
                let at = (LEFT + 14.0, TOP + 16.0 + 18.0 * number as f64);
                let _ = writeln!(
                    svg,
                    "<circle class=\"s{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"/>",
                    at.0,
                    at.1 - 4.0
                );
                text(&mut svg, "start", (at.0 + 10.0, at.1), &series.name);
            }
        }
        text(&mut svg, "middle", ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0), self.across.label);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>",
            (TOP + HEIGHT - BOTTOM) / 2.0,
            escaped(self.up.label)
        );
        svg
    }
}

const STYLE: &str = "<style>
text { fill: #444; } .grid { stroke: #8884; } .even { stroke: #888; stroke-dasharray: 5 4; } .bar { stroke-width: 1.5; }
.s0 { fill: #1f6f8b; stroke: #1f6f8b; } .s1 { fill: #b5651d; stroke: #b5651d; } .s2 { fill: #6a5aa8; stroke: #6a5aa8; }
@media (prefers-color-scheme: dark) { text { fill: #ccc; } .s0 { fill: #6cc0dc; stroke: #6cc0dc; }
.s1 { fill: #e8a565; stroke: #e8a565; } .s2 { fill: #b3a6ee; stroke: #b3a6ee; } }
</style>
";

fn line(svg: &mut String, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let _ = writeln!(
        svg,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

fn text(svg: &mut String, anchor: &str, (x, y): (f64, f64), words: &str) {
    let words = escaped(words);
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>");
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(even: Even) -> Chart<'static> {
        let point = |at: f64, value: f64| Point {
            at,
            value,
            low: value - 50.0,
            high: value + 50.0,
            note: format!("{at} & {value}"),
        };
        let series = |name: &str| Series {
            name: name.to_owned(),
            points: vec![point(1000.0, 1020.0), point(1400.0, 1780.0)],
        };
        let axis = |label| Axis { label, step: 200.0, unit: "" };
        let series = vec![series("first"), series("second")];
        Chart { title: "A curve", across: axis("asked"), up: axis("shown"), even, series }
    }

    #[test]
    fn points_and_intervals_lie_within_the_axes() {
        let picture = chart(Even::None).svg();
        assert_eq!(picture.matches("<circle").count(), 4 + 2, "points and the legend");
        assert_eq!(picture.matches("class=\"bar").count(), 4 * 3);
        assert!(picture.contains("1000 &amp; 1020") && picture.contains(">second</text>"));
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        assert!(!picture.contains("NaN") && !picture.contains("class=\"even\""));
        let axes = chart(Even::None).spans();
        assert_eq!((axes.0.low, axes.0.high, axes.1.low, axes.1.high), (1000.0, 1600.0, 800.0, 2000.0));
    }

    #[test]
    fn equal_axes_share_their_range() {
        let (across, up) = chart(Even::Line).spans();
        assert_eq!((across.low, across.high), (up.low, up.high));
        assert!(chart(Even::Line).svg().contains("class=\"even\""));
    }

    #[test]
    fn empty_chart_is_valid() {
        let empty = Chart { series: Vec::new(), ..chart(Even::Line) };
        assert!(!empty.svg().contains("NaN") && !empty.svg().contains("inf"));
    }
}
