//! The curve as a picture: ratings asked for and shown, with their intervals.

use std::fmt::Write as _;

use super::Shown;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 50.0;

/// An SVG file. It follows a page's colours, light and dark.
pub(super) fn svg(title: &str, shown: &[Shown]) -> String {
    let numbers = || shown.iter().flat_map(|shown| [f64::from(shown.asked), shown.low, shown.high]);
    let floor = |number: f64| (number / 200.0).floor() * 200.0;
    let low = floor(numbers().fold(f64::INFINITY, f64::min));
    let high = floor(numbers().fold(f64::NEG_INFINITY, f64::max)) + 200.0;
    let share = |rating: f64| (rating - low) / (high - low);
    let x = |rating: f64| LEFT + share(rating) * (WIDTH - LEFT - RIGHT);
    let y = |rating: f64| HEIGHT - BOTTOM - share(rating) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<title>{title}</title>\n<style>\n\
         text {{ fill: #444; }} .grid {{ stroke: #8884; }} .even {{ stroke: #888; stroke-dasharray: 5 4; }}\n\
         .bar {{ stroke: #1f6f8b; stroke-width: 1.5; }} circle {{ fill: #1f6f8b; }}\n\
         @media (prefers-color-scheme: dark) {{ text {{ fill: #ccc; }} .bar {{ stroke: #6cc0dc; }} \
         circle {{ fill: #6cc0dc; }} }}\n</style>\n"
    );
    let mut line = |class: &str, from: (f64, f64), to: (f64, f64)| {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            svg,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    };
    let steps = ((high - low) / 200.0).round() as u32;
    let ticks: Vec<f64> = (0..=steps).map(|step| low + 200.0 * f64::from(step)).collect();
    for tick in &ticks {
        line("grid", (x(*tick), y(low)), (x(*tick), y(high)));
        line("grid", (x(low), y(*tick)), (x(high), y(*tick)));
    }
    line("even", (x(low), y(low)), (x(high), y(high)));
    for shown in shown {
        let at = x(f64::from(shown.asked));
        line("bar", (at, y(shown.low)), (at, y(shown.high)));
        for end in [shown.low, shown.high] {
            line("bar", (at - 4.0, y(end)), (at + 4.0, y(end)));
        }
    }
    for shown in shown {
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\"><title>asked {}, shown {:.0} [{:.0}, {:.0}]</title></circle>",
            x(f64::from(shown.asked)),
            y(shown.rating),
            shown.asked,
            shown.rating,
            shown.low,
            shown.high
        );
    }
    for tick in &ticks {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
            x(*tick),
            HEIGHT - BOTTOM + 18.0,
            LEFT - 8.0,
            y(*tick) + 4.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">rating asked for</text>\n\
         <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">rating shown, 95% interval</text>\n</svg>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 12.0,
        (TOP + HEIGHT - BOTTOM) / 2.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rating_is_a_point_with_its_interval() {
        let shown = |asked: u16, rating: f64| Shown {
            asked,
            rating,
            low: rating - 50.0,
            high: rating + 50.0,
            games: 100,
        };
        let picture = svg("A curve", &[shown(1000, 1020.0), shown(1400, 1380.0)]);
        assert_eq!(picture.matches("<circle").count(), 2);
        assert_eq!(picture.matches("class=\"bar\"").count(), 6);
        assert!(picture.contains("asked 1400, shown 1380 [1330, 1430]"));
        assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
        assert!(!picture.contains("NaN"));
    }
}
