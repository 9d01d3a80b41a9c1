//! Figures as people read them.

use std::time::Duration;

use indicatif::HumanCount;
use tabia_likeness::Estimate;

/// How fast networks answered.
pub(super) fn pace(answers: u64, spent: Duration) -> String {
    let each = answers as f64 / spent.as_secs_f64().max(1e-3);
    format!("{} answers in {:.1} s, {each:.0} a second", HumanCount(answers), spent.as_secs_f64())
}

fn margin(estimate: Estimate, scale: f64, digits: usize) -> String {
    estimate.margin.map_or(String::new(), |margin| format!(" ±{:.digits$}", scale * margin))
}

pub(crate) fn percent(estimate: Estimate) -> String {
    format!("{:.1}%{}", 100.0 * estimate.value, margin(estimate, 100.0, 1))
}

pub(crate) fn signed_percent(estimate: Estimate) -> String {
    format!("{:+.1}%{}", 100.0 * estimate.value, margin(estimate, 100.0, 1))
}

pub(super) fn nats(estimate: Estimate) -> String {
    format!("{:.3}{}", estimate.value, margin(estimate, 1.0, 3))
}

pub(super) fn signed_nats(estimate: Estimate) -> String {
    format!("{:+.3}{}", estimate.value, margin(estimate, 1.0, 3))
}
