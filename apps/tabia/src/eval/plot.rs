//! A plot of top-1 accuracy by rating: the first network and the best other in each band.

use tabia_cli::figures::percent;
use tabia_human_eval::{Estimate, Grouping, MoveGroup, MoveReport};
use tabia_report::{Axis, Chart, Even, Point, Series};

/// An SVG file. Bands with too few games for an interval are left out.
pub(super) fn svg(title: &str, report: &MoveReport) -> String {
    let bands = || report.groups.iter().filter(|group| matches!(group.by, Grouping::Elo { .. }));
    let first = bands().filter_map(|group| point(group, &report.models[0], group.figures.first()?.top1));
    let best = bands().filter_map(|group| {
        let name = &group.comparison.as_ref()?.best;
        let number = report.models.iter().position(|model| model == name)?;
        point(group, name, group.figures.get(number)?.top1)
    });
    let mut series = vec![Series { name: report.models[0].clone(), points: first.collect() }];
    let best: Vec<Point> = best.collect();
    if !best.is_empty() {
        series.push(Series { name: "the best other in each band".to_owned(), points: best });
    }
    let across = Axis { label: "rating of the mover", step: 200.0, unit: "" };
    let up = Axis { label: "top-1 accuracy, 95% interval", step: 5.0, unit: "%" };
    Chart { title, across, up, even: Even::None, series }.svg()
}

/// The top-1 of one network in one band, in percent, at the band's middle.
fn point(group: &MoveGroup, model: &str, top1: Estimate) -> Option<Point> {
    let (low, high) = group.band.split_once('-')?;
    let at = f64::midpoint(low.parse().ok()?, high.parse::<f64>().ok()? + 1.0);
    let note = format!("{}: {model} {}, {} positions", group.band, percent(top1), group.positions);
    let (low, high) = (100.0 * top1.low?, 100.0 * top1.high?);
    Some(Point { at, value: 100.0 * top1.value, low, high, note })
}
