//! How much of a player's clock is for looking ahead.

use std::time::Duration;

use shakmaty::Color;

use crate::{Limits, SearchControl};

/// Looking ahead at one move takes at most this part of the clock,
const SHARE: f64 = 0.02;
/// once these seconds are kept back, in which a player moves without looking ahead,
const KEPT_BACK: f64 = 1.5;
/// and this part of what the move adds.
const SHARE_OF_INCREMENT: f64 = 0.4;
/// Positions a second that any machine visits. On one that is not much slower or busier the number of positions ends the
/// search, not the time, and the same clocks lead to the same move.
const POSITIONS_A_SECOND: f64 = 100_000.0;

/// A player's hurry: time passes as it does outside, and after a while it should move. Nobody listens.
pub(crate) struct TimeCap<'a> {
    watch: &'a dyn SearchControl,
    most: Option<Duration>,
}

impl TimeCap<'_> {
    /// The hurry of `turn` under these clocks; without clocks, none.
    pub(crate) fn of<'a>(limits: &Limits, turn: Color, watch: &'a dyn SearchControl) -> TimeCap<'a> {
        let most = limits.clocks.map(|clocks| {
            let clock = clocks[turn];
            let (remaining, increment) = (clock.remaining.as_secs_f64(), clock.increment.as_secs_f64());
            let free = (remaining - KEPT_BACK).max(0.0);
            // The increment comes only after the move.
            Duration::from_secs_f64((free * SHARE + increment * SHARE_OF_INCREMENT).min(free / 4.0))
        });
        TimeCap { watch, most }
    }

    /// How many of the positions that it would like to visit there is time for.
    pub(crate) fn positions(&self, wanted: u64) -> u64 {
        let affordable = |most: Duration| (most.as_secs_f64() * POSITIONS_A_SECOND) as u64;
        self.most.map_or(wanted, |most| wanted.min(affordable(most)))
    }
}

impl SearchControl for TimeCap<'_> {
    fn elapsed(&self) -> Duration {
        self.watch.elapsed()
    }

    fn stopped(&self) -> bool {
        self.watch.stopped() || self.most.is_some_and(|most| self.watch.elapsed() >= most)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;

    use super::*;
    use crate::{NoControl, TimeLeft};

    fn positions(seconds: f64, increment: f64) -> u64 {
        let clock = TimeLeft {
            remaining: Duration::from_secs_f64(seconds),
            increment: Duration::from_secs_f64(increment),
        };
        let clocks = Some(ByColor { white: clock, black: TimeLeft::default() });
        let limits = Limits { clocks, ..Limits::default() };
        TimeCap::of(&limits, Color::White, &NoControl).positions(200_000)
    }

    #[test]
    fn who_has_little_time_looks_less_far_ahead() {
        assert_eq!(positions(180.0, 0.0), 200_000);
        assert!((20_000..60_000).contains(&positions(20.0, 0.0)));
        assert!((5_000..20_000).contains(&positions(5.0, 0.1)));
        assert_eq!(positions(1.4, 0.0), 0);
        assert_eq!(positions(1.4, 10.0), 0, "the increment is not there yet");
        assert_eq!(
            TimeCap::of(&Limits::default(), Color::White, &NoControl).positions(7),
            7,
            "without clocks"
        );
    }

    /// A clock that has run for so long.
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
    fn on_a_busy_machine_time_ends_the_search() {
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
