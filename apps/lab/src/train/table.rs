//! Tables of held-out results.

use tabia_report::aligned;
use tabia_train::{Evaluation, GroupScore};

/// A figure's name and formatter.
type Column = (&'static str, fn(&GroupScore) -> Option<String>);

/// Held-out results, one line per group. Columns without values are dropped.
pub(super) fn of_evaluation(evaluation: &Evaluation) -> String {
    let columns: [Column; 15] = [
        ("positions", |score| Some(score.count.to_string())),
        ("top-1", |score| score.top1.map(percent)),
        ("top-5", |score| score.top5.map(percent)),
        ("log-loss", |score| score.policy.map(number)),
        ("promotion loss", |score| score.promotion.map(number)),
        ("result loss", |score| score.outcome.map(number)),
        ("time loss", |score| score.think.map(number)),
        ("value loss", |score| score.value.map(number)),
        ("value error", |score| score.value_error.map(number)),
        ("correlation", |score| score.value_correlation.map(number)),
        ("better side", |score| score.value_sign.map(percent)),
        ("best move", |score| score.best_move.map(percent)),
        ("cp lost", |score| score.move_loss_cp.map(|cp| format!("{cp:.1}"))),
        ("points", |score| score.points.map(percent)),
        ("elo", |score| score.elo.map(|elo| format!("{elo:+.0}"))),
    ];
    let groups = || evaluation.groups.values();
    let shown: Vec<_> =
        columns.iter().filter(|(_, figure)| groups().any(|score| figure(score).is_some())).collect();
    let head = std::iter::once("held out").chain(shown.iter().map(|(label, _)| *label));
    let mut rows = vec![head.map(str::to_owned).collect::<Vec<String>>()];
    rows.extend(evaluation.groups.iter().map(|(group, score)| {
        let figures = shown.iter().map(|(_, figure)| figure(score).unwrap_or_default());
        std::iter::once(group.clone()).chain(figures).collect()
    }));
    aligned(&rows)
}

pub(super) fn number(value: f64) -> String {
    format!("{value:.3}")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let score = GroupScore { count: 1234, top1: Some(0.5), policy: Some(2.0), ..GroupScore::default() };
        let few = GroupScore { count: 7, policy: Some(10.25), ..GroupScore::default() };
        let groups = [("all".to_owned(), score), ("pool online 1000-1199".to_owned(), few)];
        let evaluation = Evaluation { step: 1, positions: 1, seconds: 0.0, groups: groups.into() };
        let expected = "\
held out               positions  top-1  log-loss
all                         1234  50.0%     2.000
pool online 1000-1199          7           10.250";
        assert_eq!(of_evaluation(&evaluation), expected);
    }
}
