use std::time::Duration;

use shakmaty::{ByColor, Color};

use crate::{Stage, TimeControl};

/// Both players' clocks as data. The caller measures the elapsed time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    rules: ByColor<Rule>,
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
        Clock::at_odds(ByColor { white: control, black: control })
    }

    /// Clocks of a game at time odds; `None` if a side has no time control.
    pub fn at_odds(controls: ByColor<&TimeControl>) -> Option<Clock> {
        let ByColor { white, black } = controls;
        let ((white, white_hand), (black, black_hand)) = (start(white)?, start(black)?);
        Some(Clock {
            rules: ByColor { white, black },
            hands: ByColor { white: white_hand, black: black_hand },
        })
    }

    /// The time a player has left.
    pub fn remaining(&self, color: Color) -> Duration {
        self.hands[color].remaining
    }

    /// The increment of the next move.
    pub fn increment(&self, color: Color) -> Duration {
        match &self.rules[color] {
            Rule::Stages(stages) => stages[self.hands[color].stage].increment,
            Rule::Hourglass => Duration::ZERO,
        }
    }

    /// Moves to go in the current period; `None` in a period to the end of the game.
    pub fn moves_to_go(&self, color: Color) -> Option<u32> {
        let hand = self.hands[color];
        match &self.rules[color] {
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
        match &self.rules[color] {
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

fn start(control: &TimeControl) -> Option<(Rule, Hand)> {
    let (rule, remaining) = match control {
        TimeControl::Unknown | TimeControl::Unlimited => return None,
        TimeControl::Stages(stages) => (Rule::Stages(stages.clone()), stages.first()?.time),
        TimeControl::Hourglass(time) => (Rule::Hourglass, *time),
    };
    Some((rule, Hand { remaining, stage: 0, moves_in_stage: 0 }))
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

    #[test]
    fn time_odds_give_each_side_its_own_time_and_increment() {
        let (long, short): (TimeControl, TimeControl) = ("300+3".parse().unwrap(), "60".parse().unwrap());
        let mut clock = Clock::at_odds(ByColor { white: &long, black: &short }).unwrap();
        let second = Duration::from_secs(1);
        assert_eq!(clock.press(Color::White, second), Press::InTime);
        assert_eq!(clock.press(Color::Black, second), Press::InTime);
        assert_eq!(clock.remaining(Color::White), Duration::from_secs(302));
        assert_eq!(clock.remaining(Color::Black), Duration::from_secs(59));
        assert_eq!(clock.press(Color::Black, Duration::from_secs(60)), Press::FlagFell);
        assert_eq!(Clock::at_odds(ByColor { white: &long, black: &TimeControl::Unlimited }), None);
    }
}
