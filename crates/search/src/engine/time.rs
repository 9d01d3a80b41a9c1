//! How long to think: pure functions of the clocks.

use std::time::Duration;

use shakmaty::Color;

use crate::{Limits, TimeLeft};

/// When to stop thinking, measured from the moment the player was asked. `None` is never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    /// After this a new iteration is not begun, unless the position needs more.
    pub(super) soft: Option<Duration>,
    /// After this nothing is finished.
    pub(super) hard: Option<Duration>,
}

/// How many more moves a game without time controls is expected to last.
const EXPECTED_MOVES: u32 = 28;
/// However many moves are left until the time control, plan for no more than these.
const MOST_MOVES: u32 = 50;

/// The time for one move of `turn`, keeping `overhead` for the way to the clock and back.
pub(super) fn budget(limits: &Limits, turn: Color, overhead: Duration) -> Budget {
    if limits.infinite {
        return Budget::default();
    }
    let fixed = limits.movetime.map(|time| keep_back(time, overhead));
    let Some(clocks) = &limits.clocks else { return Budget { soft: None, hard: fixed } };
    let (soft, hard) = share(clocks[turn], limits.moves_to_go, overhead);
    let hard = fixed.map_or(hard, |fixed| fixed.min(hard));
    Budget { soft: Some(soft.min(hard)), hard: Some(hard) }
}

/// What is left of `time` without the overhead; of a time that is mostly overhead, half.
fn keep_back(time: Duration, overhead: Duration) -> Duration {
    time.saturating_sub(overhead).max(time / 2)
}

/// A fair share of the clock for one move, and the most to spend on it.
fn share(clock: TimeLeft, moves_to_go: Option<u32>, overhead: Duration) -> (Duration, Duration) {
    let usable = keep_back(clock.remaining, overhead);
    let moves = moves_to_go.map_or(EXPECTED_MOVES, |moves| moves.clamp(1, MOST_MOVES));
    if moves == 1 {
        // The clock is refilled after this move: only a lost race could hurt.
        let most = usable * 9 / 10;
        return (usable * 2 / 3, most);
    }
    let soft = usable / moves + clock.increment * 3 / 4;
    let most = usable * 2 / 5;
    (soft.min(most), (soft * 4).min(most))
}

/// How the last iterations went, for [`scaled`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Course {
    /// Iterations in a row that ended with the same best move.
    pub(super) unchanged: u32,
    /// How many centipawns the value has fallen since the iteration before; negative if it rose.
    pub(super) fell: i32,
    /// What part of the last iterations' nodes went into the best move, in thousandths.
    pub(super) effort: u32,
}

/// The soft limit as the search sees it now: longer while it changes its mind, shorter when all is clear.
pub(super) fn scaled(soft: Duration, course: Course) -> Duration {
    let steadiness = [150, 120, 105, 95, 88, 82][course.unchanged.min(5) as usize];
    let alarm = (100 + course.fell.clamp(-20, 60)).unsigned_abs();
    let doubt = 150 - course.effort.min(1000) / 12;
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
    fn a_move_never_takes_more_than_the_clock_shows() {
        for remaining in [0, 1, 5, 9, 10, 11, 20, 50, 100, 1_000, 60_000, 7_200_000] {
            for increment in [0, 10, 1_000, 60_000] {
                for moves in [None, Some(0), Some(1), Some(2), Some(5), Some(40), Some(200)] {
                    let limits = clock(remaining, increment, moves);
                    let budget = budget(&limits, Color::White, ms(10));
                    let (soft, hard) = (budget.soft.unwrap(), budget.hard.unwrap());
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
    fn a_whole_game_at_the_hard_limit_does_not_flag() {
        // Each move really takes its hard limit and a latency a little under the overhead.
        for (start, increment, period) in [(1_000, 0, None), (10_000, 100, None), (60_000, 0, Some(40))] {
            let mut remaining = ms(start);
            for played in 0..200 {
                let moves = period.map(|period| period - played % period);
                let limits = clock(u64::try_from(remaining.as_millis()).unwrap(), increment, moves);
                let spent = budget(&limits, Color::White, ms(10)).hard.unwrap() + ms(2);
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
    fn fixed_times_and_no_times() {
        let movetime = Limits { movetime: Some(ms(100)), ..Limits::default() };
        let expected = Budget { soft: None, hard: Some(ms(90)) };
        assert_eq!(budget(&movetime, Color::White, ms(10)), expected);
        assert_eq!(budget(&Limits::default(), Color::White, ms(10)), Budget::default());
        let infinite = Limits { infinite: true, ..clock(1000, 0, None) };
        assert_eq!(budget(&infinite, Color::White, ms(10)), Budget::default());
    }

    #[test]
    fn an_unclear_position_gets_more_time_than_a_clear_one() {
        let clear = Course { unchanged: 8, fell: -10, effort: 950 };
        let unclear = Course { unchanged: 0, fell: 50, effort: 300 };
        let soft = ms(1000);
        assert!(scaled(soft, clear) < soft);
        assert!(scaled(soft, unclear) > soft * 2);
    }

    #[test]
    fn an_empty_clock_gives_no_time() {
        let budget = budget(&clock(0, 0, None), Color::White, ms(10));
        assert_eq!(budget.hard, Some(Duration::ZERO));
    }
}
