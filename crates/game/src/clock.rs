use std::time::Duration;

use shakmaty::{ByColor, Color};

use crate::{Stage, TimeControl};

/// Both players' clocks as data. The caller measures the elapsed time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    rule: Rule,
    hands: ByColor<Hand>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    /// Never empty.
    Stages(Vec<Stage>),
    Hourglass,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hand {
    remaining: Duration,
    /// Index into the stages; stays at the last one.
    stage: usize,
    moves_in_stage: u32,
}

/// Result of pressing the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// The move was made in time.
    InTime,
    /// The flag fell before the move. The move does not count, and the clock shows zero.
    FlagFell,
}

impl Clock {
    /// Clocks at the start of a game; `None` without a time control.
    pub fn new(control: &TimeControl) -> Option<Clock> {
        let (rule, start) = match control {
            TimeControl::Unknown | TimeControl::Unlimited => return None,
            TimeControl::Stages(stages) => (Rule::Stages(stages.clone()), stages.first()?.time),
            TimeControl::Hourglass(time) => (Rule::Hourglass, *time),
        };
        let hand = Hand { remaining: start, stage: 0, moves_in_stage: 0 };
        Some(Clock { rule, hands: ByColor { white: hand, black: hand } })
    }

    /// The time a player has left.
    pub fn remaining(&self, color: Color) -> Duration {
        self.hands[color].remaining
    }

    /// The increment of the next move.
    pub fn increment(&self, color: Color) -> Duration {
        match &self.rule {
            Rule::Stages(stages) => stages[self.hands[color].stage].increment,
            Rule::Hourglass => Duration::ZERO,
        }
    }

    /// Moves to go in the current period; `None` in a period to the end of the game.
    pub fn moves_to_go(&self, color: Color) -> Option<u32> {
        let hand = self.hands[color];
        match &self.rule {
            Rule::Stages(stages) => stages[hand.stage].moves.map(|moves| moves.get() - hand.moves_in_stage),
            Rule::Hourglass => None,
        }
    }

    /// Whether `elapsed` of thinking uses up what `color` has left.
    pub fn flag_falls(&self, color: Color, elapsed: Duration) -> bool {
        elapsed >= self.hands[color].remaining
    }

    /// `color` made a move after thinking for `elapsed`.
    pub fn press(&mut self, color: Color, elapsed: Duration) -> Press {
        if self.flag_falls(color, elapsed) {
            self.hands[color].remaining = Duration::ZERO;
            return Press::FlagFell;
        }
        let hand = &mut self.hands[color];
        hand.remaining -= elapsed;
        match &self.rule {
            Rule::Hourglass => {
                let other = &mut self.hands[!color].remaining;
                *other = other.saturating_add(elapsed);
            }
            Rule::Stages(stages) => {
                let stage = stages[hand.stage];
                hand.remaining = hand.remaining.saturating_add(stage.increment);
                hand.moves_in_stage += 1;
                if stage.moves.is_some_and(|moves| hand.moves_in_stage >= moves.get()) {
                    hand.moves_in_stage = 0;
                    hand.stage = (hand.stage + 1).min(stages.len() - 1);
                    hand.remaining = hand.remaining.saturating_add(stages[hand.stage].time);
                }
            }
        }
        Press::InTime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(control: &str) -> Clock {
        Clock::new(&control.parse().unwrap()).unwrap()
    }

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_move_costs_its_time_and_gains_the_increment() {
        let mut clock = clock("60+2");
        assert_eq!(clock.press(Color::White, secs(10)), Press::InTime);
        assert_eq!(clock.remaining(Color::White), secs(52));
        assert_eq!(clock.remaining(Color::Black), secs(60));
    }

    #[test]
    fn a_fallen_flag_gains_no_increment() {
        let mut clock = clock("5+9");
        assert_eq!(clock.press(Color::Black, secs(5)), Press::FlagFell);
        assert_eq!(clock.remaining(Color::Black), Duration::ZERO);
    }

    #[test]
    fn reaching_the_move_count_opens_the_next_period() {
        let mut clock = clock("2/100+1:50");
        assert_eq!(clock.moves_to_go(Color::White), Some(2));
        clock.press(Color::White, secs(10));
        assert_eq!(clock.remaining(Color::White), secs(91));
        assert_eq!(clock.moves_to_go(Color::White), Some(1));
        clock.press(Color::White, secs(10));
        assert_eq!(clock.moves_to_go(Color::White), None);
        assert_eq!(clock.remaining(Color::White), secs(82 + 50));
        clock.press(Color::White, secs(10));
        assert_eq!(clock.remaining(Color::White), secs(122), "the second period has no increment and no end");
    }

    #[test]
    fn a_last_period_with_a_move_count_repeats() {
        let mut clock = clock("1/60");
        for _ in 0..3 {
            clock.press(Color::White, secs(60 - 1));
        }
        assert_eq!(clock.remaining(Color::White), secs(60 + 3));
    }

    #[test]
    fn an_hourglass_gives_the_time_to_the_opponent() {
        let mut clock = clock("*60");
        clock.press(Color::White, secs(20));
        assert_eq!((clock.remaining(Color::White), clock.remaining(Color::Black)), (secs(40), secs(80)));
    }

    #[test]
    fn no_time_control_has_no_clock() {
        assert_eq!(Clock::new(&TimeControl::Unlimited), None);
        assert_eq!(Clock::new(&TimeControl::Unknown), None);
    }
}
