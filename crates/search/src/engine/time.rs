//! Time management, as pure functions of the clocks.

use std::time::Duration;

use shakmaty::Color;

use crate::{Limits, TimeLeft};

/// Time limits since the start of the search; `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimeBudget {
    /// No new iteration is started after this, scaled by stability.
    pub(super) soft: Option<Duration>,
    /// The search is stopped after this.
    pub(super) hard: Option<Duration>,
}

/// Expected number of moves to come in sudden death.
const EXPECTED_MOVES: u32 = 28;
/// The most moves to plan for.
const MOST_MOVES: u32 = 50;

/// The time limits for one move of `turn`, less `overhead`.
pub(super) fn time_budget(limits: &Limits, turn: Color, overhead: Duration) -> TimeBudget {
    if limits.infinite {
        return TimeBudget::default();
    }
    let fixed = limits.movetime.map(|time| keep_back(time, overhead));
    let Some(clocks) = &limits.clocks else { return TimeBudget { soft: None, hard: fixed } };
    let (soft, hard) = share(clocks[turn], limits.moves_to_go, overhead);
    let hard = fixed.map_or(hard, |fixed| fixed.min(hard));
    TimeBudget { soft: Some(soft.min(hard)), hard: Some(hard) }
}

/// `time` less the overhead, but at least half of it.
fn keep_back(time: Duration, overhead: Duration) -> Duration {
    time.saturating_sub(overhead).max(time / 2)
}

/// The soft and hard limits for one move.
fn share(clock: TimeLeft, moves_to_go: Option<u32>, overhead: Duration) -> (Duration, Duration) {
    let usable = keep_back(clock.remaining, overhead);
    let moves = moves_to_go.map_or(EXPECTED_MOVES, |moves| moves.clamp(1, MOST_MOVES));
    if moves == 1 {
        // The time control follows this move.
        let most = usable * 9 / 10;
        return (usable * 2 / 3, most);
    }
    let soft = usable / moves + clock.increment * 3 / 4;
    let most = usable * 2 / 5;
    (soft.min(most), (soft * 4).min(most))
}

/// The stability of the last iterations, for [`scaled`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stability {
    /// Iterations in a row with the same best move.
    pub(super) unchanged: u32,
    /// Centipawns the value fell since the iteration before.
    pub(super) fell: i32,
    /// The share of nodes of the best move, in thousandths.
    pub(super) effort: u32,
}

/// The soft limit, longer for unstable searches and shorter for stable ones.
pub(super) fn scaled(soft: Duration, stability: Stability) -> Duration {
    let steadiness = [150, 120, 105, 95, 88, 82][stability.unchanged.min(5) as usize];
    let alarm = (100 + stability.fell.clamp(-20, 60)).unsigned_abs();
    let doubt = 150 - stability.effort.min(1000) / 12;
    // Three percentages, multiplied.
    soft * steadiness / 100 * alarm / 100 * doubt / 100
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;

    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn clock(remaining: u64, increment: u64, moves_to_go: Option<u32>) -> Limits {
        let ours = TimeLeft { remaining: ms(remaining), increment: ms(increment) };
        let clocks = Some(ByColor { white: ours, black: TimeLeft::default() });
        Limits { clocks, moves_to_go, ..Limits::default() }
    }

    #[test]
    fn limits_stay_within_the_clock() {
        for remaining in [0, 1, 5, 9, 10, 11, 20, 50, 100, 1_000, 60_000, 7_200_000] {
            for increment in [0, 10, 1_000, 60_000] {
                for moves in [None, Some(0), Some(1), Some(2), Some(5), Some(40), Some(200)] {
                    let limits = clock(remaining, increment, moves);
                    let time_budget = time_budget(&limits, Color::White, ms(10));
                    let (soft, hard) = (time_budget.soft.unwrap(), time_budget.hard.unwrap());
                    assert!(soft <= hard, "{limits:?}");
                    assert!(hard <= ms(remaining), "{limits:?}");
                    if remaining >= 20 {
                        assert!(hard <= ms(remaining - 10), "{limits:?} keeps the overhead");
                        assert!(hard > Duration::ZERO, "{limits:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn hard_limits_never_lose_on_time() {
        // Each move really takes its hard limit and a latency a little under the overhead.
        for (start, increment, period) in [(1_000, 0, None), (10_000, 100, None), (60_000, 0, Some(40))] {
            let mut remaining = ms(start);
            for played in 0..200 {
                let moves = period.map(|period| period - played % period);
                let limits = clock(u64::try_from(remaining.as_millis()).unwrap(), increment, moves);
                let spent = time_budget(&limits, Color::White, ms(10)).hard.unwrap() + ms(2);
                if remaining <= ms(12) && increment == 0 {
                    break;
                }
                assert!(spent < remaining, "{remaining:?} left at move {played}");
                remaining = remaining - spent + ms(increment);
                if moves == Some(1) {
                    remaining += ms(start);
                }
            }
        }
    }

    #[test]
    fn movetime_and_infinite() {
        let movetime = Limits { movetime: Some(ms(100)), ..Limits::default() };
        let expected = TimeBudget { soft: None, hard: Some(ms(90)) };
        assert_eq!(time_budget(&movetime, Color::White, ms(10)), expected);
        assert_eq!(time_budget(&Limits::default(), Color::White, ms(10)), TimeBudget::default());
        let infinite = Limits { infinite: true, ..clock(1000, 0, None) };
        assert_eq!(time_budget(&infinite, Color::White, ms(10)), TimeBudget::default());
    }

    #[test]
    fn unstable_search_gets_more_time() {
        let clear = Stability { unchanged: 8, fell: -10, effort: 950 };
        let unclear = Stability { unchanged: 0, fell: 50, effort: 300 };
        let soft = ms(1000);
        assert!(scaled(soft, clear) < soft);
        assert!(scaled(soft, unclear) > soft * 2);
    }

    #[test]
    fn empty_clock_gives_no_time() {
        let time_budget = time_budget(&clock(0, 0, None), Color::White, ms(10));
        assert_eq!(time_budget.hard, Some(Duration::ZERO));
    }
}
