//! A chart of measured figures with their intervals, as an SVG file that follows a page's colours, light and dark.
//!
//! Written by hand: a plotting library brings fonts and raster formats for what is a few lines and circles.

use std::fmt::Write as _;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
/// One class of colours for each series, in order; more series than that share them.
const COLOURS: usize = 3;

/// What a chart shows.
pub(crate) struct Chart<'a> {
    /// What a screen reader says.
    pub(crate) title: &'a str,
    /// Along the bottom.
    pub(crate) across: Axis<'a>,
    /// Along the left side.
    pub(crate) up: Axis<'a>,
    /// Whether a dashed line shows where both are equal.
    pub(crate) even: Even,
    /// What is drawn; a legend names them where there are several.
    pub(crate) series: Vec<Series>,
}

/// The dashed line of a chart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Even {
    /// Both axes have the same ends, and the line joins the corners.
    Line,
    /// Each axis goes as far as its figures.
    None,
}

/// One side of a chart.
pub(crate) struct Axis<'a> {
    /// What it counts.
    pub(crate) label: &'a str,
    /// From one line of the grid to the next.
    pub(crate) step: f64,
    /// Written after each number.
    pub(crate) unit: &'a str,
}

/// Points that belong together.
pub(crate) struct Series {
    /// Its name in the legend.
    pub(crate) name: String,
    /// Its points, from left to right.
    pub(crate) points: Vec<Point>,
}

/// One figure.
pub(crate) struct Point {
    /// Where it stands.
    pub(crate) at: f64,
    /// What was measured.
    pub(crate) value: f64,
    /// Its interval.
    pub(crate) low: f64,
    /// The upper end of it.
    pub(crate) high: f64,
    /// What is said when the pointer rests on it.
    pub(crate) note: String,
}

/// The ends of an axis, on lines of its grid.
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

    /// The file's text.
    pub(crate) fn svg(&self) -> String {
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
    fn every_figure_is_a_point_with_its_interval_inside_the_axes() {
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
    fn axes_that_count_the_same_have_the_same_ends() {
        let (across, up) = chart(Even::Line).spans();
        assert_eq!((across.low, across.high), (up.low, up.high));
        assert!(chart(Even::Line).svg().contains("class=\"even\""));
    }

    #[test]
    fn a_chart_of_nothing_is_an_empty_grid() {
        let empty = Chart { series: Vec::new(), ..chart(Even::Line) };
        assert!(!empty.svg().contains("NaN") && !empty.svg().contains("inf"));
    }
}
