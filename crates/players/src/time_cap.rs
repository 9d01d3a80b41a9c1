//! How much of the clock the search of a policy player may use.

use std::time::Duration;

use shakmaty::Color;

use tabia_search::{Limits, SearchControl};

/// The largest share of the clock for one search,
const SHARE: f64 = 0.02;
/// after this reserve in seconds, within which the player does not search,
const KEPT_BACK: f64 = 1.5;
/// and the share of the increment.
const SHARE_OF_INCREMENT: f64 = 0.4;
/// Nodes per second that any machine reaches. Where it does, the node count ends the search and not the time, so the same
/// clocks give the same move.
const NODES_PER_SECOND: f64 = 100_000.0;

/// A [`SearchControl`] that also stops when the share of the clock is used up. It reports nothing.
pub(crate) struct TimeCap<'a> {
    control: &'a dyn SearchControl,
    most: Option<Duration>,
}

impl TimeCap<'_> {
    /// The cap for `turn` under these limits; none without clocks.
    pub(crate) fn of<'a>(limits: &Limits, turn: Color, control: &'a dyn SearchControl) -> TimeCap<'a> {
        let most = limits.clocks.map(|clocks| {
            let clock = clocks[turn];
            let (remaining, increment) = (clock.remaining.as_secs_f64(), clock.increment.as_secs_f64());
            let free = (remaining - KEPT_BACK).max(0.0);
            // The increment is added only after the move.
            Duration::from_secs_f64((free * SHARE + increment * SHARE_OF_INCREMENT).min(free / 4.0))
        });
        TimeCap { control, most }
    }

    /// How many of the nodes wanted there is time for.
    pub(crate) fn nodes(&self, wanted: u64) -> u64 {
        let affordable = |most: Duration| (most.as_secs_f64() * NODES_PER_SECOND) as u64;
        self.most.map_or(wanted, |most| wanted.min(affordable(most)))
    }
}

impl SearchControl for TimeCap<'_> {
    fn elapsed(&self) -> Duration {
        self.control.elapsed()
    }

    fn stopped(&self) -> bool {
        self.control.stopped() || self.most.is_some_and(|most| self.control.elapsed() >= most)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_search::{NoControl, TimeLeft};

    use super::*;

    fn nodes(seconds: f64, increment: f64) -> u64 {
        let clock = TimeLeft {
            remaining: Duration::from_secs_f64(seconds),
            increment: Duration::from_secs_f64(increment),
        };
        let clocks = Some(ByColor { white: clock, black: TimeLeft::default() });
        let limits = Limits { clocks, ..Limits::default() };
        TimeCap::of(&limits, Color::White, &NoControl).nodes(200_000)
    }

    #[test]
    fn short_clock_reduces_node_budget() {
        assert_eq!(nodes(180.0, 0.0), 200_000);
        assert!((20_000..60_000).contains(&nodes(20.0, 0.0)));
        assert!((5_000..20_000).contains(&nodes(5.0, 0.1)));
        assert_eq!(nodes(1.4, 0.0), 0);
        assert_eq!(nodes(1.4, 10.0), 0, "the increment comes after the move");
        assert_eq!(TimeCap::of(&Limits::default(), Color::White, &NoControl).nodes(7), 7, "without clocks");
    }

    /// A clock that has run this long.
    struct Late(Duration);

    impl SearchControl for Late {
        fn elapsed(&self) -> Duration {
            self.0
        }

        fn stopped(&self) -> bool {
            false
        }
    }

    #[test]
    fn time_ends_the_search_on_a_busy_machine() {
        let clock = TimeLeft { remaining: Duration::from_secs(20), increment: Duration::ZERO };
        let limits = Limits { clocks: Some(ByColor { white: clock, black: clock }), ..Limits::default() };
        let stopped = |millis| {
            let late = Late(Duration::from_millis(millis));
            TimeCap::of(&limits, Color::White, &late).stopped()
        };
        assert!(!stopped(100));
        assert!(stopped(400));
        assert!(!TimeCap::of(&Limits::default(), Color::White, &Late(Duration::from_secs(99))).stopped());
    }
}
