use crate::Svg;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;
/// Number of series with a colour of their own.
const COLOURS: usize = 5;

/// Measured values with their intervals, as points in one or more series.
pub struct Chart<'a> {
    /// Read by screen readers.
    pub title: &'a str,
    /// The horizontal axis.
    pub across: Axis<'a>,
    /// The vertical axis.
    pub up: Axis<'a>,
    /// Whether the diagonal is drawn.
    pub even: Even,
    /// The data; a legend names several series.
    pub series: Vec<Series>,
}

/// The dashed diagonal of a chart whose axes have the same unit.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Even {
    /// Both axes have the same range; the diagonal is where both values are equal.
    Line,
    /// No diagonal; each axis has its own range.
    None,
}

/// An axis.
pub struct Axis<'a> {
    /// Its caption.
    pub label: &'a str,
    /// Distance between grid lines.
    pub step: f64,
    /// Suffix of each number.
    pub unit: &'a str,
}

/// A named series of points.
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<Point>,
}

/// A measured value with its interval.
pub struct Point {
    /// Position on the horizontal axis.
    pub at: f64,
    /// The value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Tooltip.
    pub note: String,
}

/// The range of an axis, from grid line to grid line.
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

    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        let (across, up) = self.spans();
        let x = |number: f64| LEFT + across.share(number) * (WIDTH - LEFT - RIGHT);
        let y = |number: f64| HEIGHT - BOTTOM - up.share(number) * (HEIGHT - TOP - BOTTOM);
        let mut svg = Svg::default();
        for tick in across.ticks(self.across.step) {
            line(&mut svg, "grid", (x(tick), y(up.low)), (x(tick), y(up.high)));
            let label = format!("{tick}{}", self.across.unit);
            text(&mut svg, "middle", (x(tick), HEIGHT - BOTTOM + 18.0), &label);
        }
        for tick in up.ticks(self.up.step) {
            line(&mut svg, "grid", (x(across.low), y(tick)), (x(across.high), y(tick)));
            text(&mut svg, "end", (LEFT - 8.0, y(tick) + 4.0), &format!("{tick}{}", self.up.unit));
        }
        if self.even == Even::Line {
            line(&mut svg, "even", (x(across.low), y(up.low)), (x(across.high), y(up.high)));
        }
        for (number, series) in self.series.iter().enumerate() {
            let class = format!("s{}", number % COLOURS);
            let bar = format!("bar {class}");
            for point in &series.points {
                line(&mut svg, &bar, (x(point.at), y(point.low)), (x(point.at), y(point.high)));
                for end in [point.low, point.high] {
                    line(&mut svg, &bar, (x(point.at) - 4.0, y(end)), (x(point.at) + 4.0, y(end)));
                }
            }
            for point in &series.points {
                circle(&mut svg, &class, (x(point.at), y(point.value)), Some(&point.note));
            }
            if self.series.len() > 1 {
                let (left, base) = (LEFT + 14.0, TOP + 16.0 + 18.0 * number as f64);
                circle(&mut svg, &class, (left, base - 4.0), None);
                text(&mut svg, "start", (left + 10.0, base), &series.name);
            }
        }
        text(&mut svg, "middle", ((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12.0), self.across.label);
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let upright =
            format_args!(r#"transform="translate(16 {middle:.1}) rotate(-90)" text-anchor="middle""#);
        svg.text(upright, self.up.label);
        svg.finish((WIDTH, HEIGHT), self.title, STYLE)
    }
}

const STYLE: &str = "
svg { font: 12px sans-serif; }
text { fill: #444; } .grid { stroke: #8884; } .even { stroke: #888; stroke-dasharray: 5 4; } .bar { stroke-width: 1.5; }
.s0 { fill: #1f6f8b; stroke: #1f6f8b; } .s1 { fill: #b5651d; stroke: #b5651d; } .s2 { fill: #6a5aa8; stroke: #6a5aa8; }
.s3 { fill: #4c7f35; stroke: #4c7f35; } .s4 { fill: #b03a5b; stroke: #b03a5b; }
@media (prefers-color-scheme: dark) { text { fill: #ccc; } .s0 { fill: #6cc0dc; stroke: #6cc0dc; }
.s1 { fill: #e8a565; stroke: #e8a565; } .s2 { fill: #b3a6ee; stroke: #b3a6ee; }
.s3 { fill: #97c97f; stroke: #97c97f; } .s4 { fill: #ef8fac; stroke: #ef8fac; } }
";

fn line(svg: &mut Svg, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let ends = format_args!(r#"class="{class}" x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}""#);
    svg.element("line", ends, None);
}

fn circle(svg: &mut Svg, class: &str, (x, y): (f64, f64), tooltip: Option<&str>) {
    svg.element("circle", format_args!(r#"class="{class}" cx="{x:.1}" cy="{y:.1}" r="3.5""#), tooltip);
}

fn text(svg: &mut Svg, anchor: &str, (x, y): (f64, f64), words: &str) {
    svg.text(format_args!(r#"x="{x:.1}" y="{y:.1}" text-anchor="{anchor}""#), words);
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
    fn each_point_has_its_interval_within_the_axes() {
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
    fn axes_with_a_diagonal_have_the_same_range() {
        let (across, up) = chart(Even::Line).spans();
        assert_eq!((across.low, across.high), (up.low, up.high));
        assert!(chart(Even::Line).svg().contains("class=\"even\""));
    }

    #[test]
    fn an_empty_chart_is_a_grid() {
        let empty = Chart { series: Vec::new(), ..chart(Even::Line) };
        assert!(!empty.svg().contains("NaN") && !empty.svg().contains("inf"));
    }
}
