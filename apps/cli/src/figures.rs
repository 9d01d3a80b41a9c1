//! Estimates as text.

use std::time::Duration;

use indicatif::HumanCount;
use tabia_human_eval::Estimate;

/// Evaluations per second.
pub fn pace(answers: u64, spent: Duration) -> String {
    let each = answers as f64 / spent.as_secs_f64().max(1e-3);
    format!("{} answers in {:.1} s, {each:.0} a second", HumanCount(answers), spent.as_secs_f64())
}

/// A share in percent.
pub fn percent(estimate: Estimate) -> String {
    format!("{:.1}%{}", 100.0 * estimate.value, interval(estimate, 100.0, 1))
}

/// The same with a sign.
pub fn signed_percent(estimate: Estimate) -> String {
    format!("{:+.1}%{}", 100.0 * estimate.value, interval(estimate, 100.0, 1))
}

/// A loss in nats.
pub fn nats(estimate: Estimate) -> String {
    format!("{:.3}{}", estimate.value, interval(estimate, 1.0, 3))
}

/// The same with a sign.
pub fn signed_nats(estimate: Estimate) -> String {
    format!("{:+.3}{}", estimate.value, interval(estimate, 1.0, 3))
}

/// ` ±1.2`, or ` [58.8, 99.2]` if asymmetric; empty without an interval. More digits where it would round to zero.
fn interval(Estimate { value, low, high }: Estimate, scale: f64, digits: usize) -> String {
    let (Some(low), Some(high)) = (low, high) else { return String::new() };
    let (below, above) = (scale * (value - low), scale * (high - value));
    let shown = |number: f64, digits: usize| format!("{number:.digits$}");
    let rounds_to_nothing = |digits: usize| shown((below + above) / 2.0, digits) == shown(0.0, digits);
    let digits = (digits..digits + 6).find(|digits| !rounds_to_nothing(*digits)).unwrap_or(digits);
    // Rounded separately, equal sides could differ in the last digit.
    if (below - above).abs() < 10_f64.powi(-i32::try_from(digits).unwrap_or(0)) {
        format!(" ±{}", shown((below + above) / 2.0, digits))
    } else {
        format!(" [{}, {}]", shown(scale * low, digits), shown(scale * high, digits))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_never_round_to_zero() {
        let cases = [
            ((0.576, Some(0.5641), Some(0.5881)), "57.6% ±1.2"),
            ((1.0, Some(0.5885), Some(1.0)), "100.0% [58.9, 100.0]"),
            ((0.0, Some(0.0), Some(0.4115)), "0.0% [0.0, 41.1]"),
            ((1.0, Some(0.9998), Some(1.0)), "100.0% [99.98, 100.00]"),
            ((0.4, None, None), "40.0%"),
        ];
        for ((value, low, high), text) in cases {
            assert_eq!(percent(Estimate { value, low, high }), text);
        }
        let loss = Estimate { value: 1.5, low: Some(1.4999), high: Some(1.5001) };
        assert_eq!(
            (nats(loss), signed_nats(loss)),
            ("1.500 ±0.0001".to_owned(), "+1.500 ±0.0001".to_owned())
        );
    }
}
