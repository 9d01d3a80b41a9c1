//! Players that behave like people: they take time, resign, and offer and accept draws.

mod behaviour;
mod think_time;

use std::time::Duration;

use shakmaty::{ByColor, Chess, Position};
use tabia_game::History;
use tabia_search::{Limits, SearchControl, TimeLeft};

pub use self::{behaviour::HumanBehaviour, think_time::think_time_for};
use crate::{Decision, Player, PlayerError};

/// The overhead of this many moves to come is kept on the clock.
const MOVES_TO_COME: u32 = 100;
/// How much less a measured overhead counts with every move: a machine may be busy for a while.
const FADING: f64 = 0.98;

/// A player with the [behaviour](HumanBehaviour) of people.
///
/// Thinking times are drawn from what the player's network predicts ([`Line::think_time`](crate::Line::think_time)), within
/// what the clock allows. [`HumanPlayer::waiting`] also takes that time where clocks run; otherwise it is only reported.
pub struct HumanPlayer {
    player: Box<dyn Player>,
    behaviour: HumanBehaviour,
    waiting: Option<ByColor<Overhead>>,
}

impl HumanPlayer {
    /// The player with this behaviour; it moves at once.
    pub fn new(player: Box<dyn Player>, behaviour: HumanBehaviour) -> HumanPlayer {
        HumanPlayer { player, behaviour, waiting: None }
    }

    /// The same player, which waits for its thinking time where clocks run. The time spent computing counts towards it, and
    /// the measured overhead of its moves, computing and lag, is kept on the clock for the moves to come.
    pub fn waiting(self) -> HumanPlayer {
        HumanPlayer { waiting: Some(ByColor::default()), ..self }
    }
}

/// What the moves of one side cost besides waiting.
#[derive(Clone, Copy, Debug, Default)]
struct Overhead {
    /// The recent maximum, in seconds.
    most: f64,
    /// What the clock would show after the last move without overhead.
    expected: Option<Duration>,
}

impl Overhead {
    /// Measures the overhead of the last move from the clock.
    fn measure(&mut self, clock: TimeLeft) {
        if let Some(expected) = self.expected.take() {
            self.most *= FADING;
            // A clock that shows more, or much less, belongs to another game.
            let late = expected.saturating_sub(clock.remaining).as_secs_f64();
            if late < expected.as_secs_f64() / 2.0 {
                self.most = self.most.max(late);
            }
        }
    }

    /// The clock less the overhead of the moves to come.
    fn left_of(&self, clock: TimeLeft) -> TimeLeft {
        let unpaid = (self.most - clock.increment.as_secs_f64()).max(0.0);
        let kept = Duration::try_from_secs_f64(unpaid * f64::from(MOVES_TO_COME)).unwrap_or(Duration::MAX);
        TimeLeft { remaining: clock.remaining.saturating_sub(kept), ..clock }
    }
}

impl Player for HumanPlayer {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
        self.behaviour.new_game();
        for overhead in self.waiting.iter_mut().flatten() {
            overhead.expected = None;
        }
    }

    fn check_start(&self, start: &Chess) -> Result<(), PlayerError> {
        self.player.check_start(start)
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let choice = self.player.choose(game, limits, control)?;
        let turn = game.current().turn();
        let clock = limits.clocks.as_ref().map(|clocks| clocks[turn]);
        let (Some(overhead), Some(clock)) = (&mut self.waiting, clock) else {
            return Ok(self.behaviour.decide(game, choice, clock));
        };
        let overhead = &mut overhead[turn];
        overhead.measure(clock);
        let computed = control.elapsed();
        overhead.most = overhead.most.max(computed.as_secs_f64());
        let mut decision = self.behaviour.decide(game, choice, Some(overhead.left_of(clock)));
        let think_time = limits.movetime.map_or(decision.think_time, |most| decision.think_time.min(most));
        decision.think_time = think_time;
        control.wait_until(think_time);
        let waited = think_time.saturating_sub(computed);
        overhead.expected = Some((clock.remaining + clock.increment).saturating_sub(waited));
        Ok(decision)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Color;

    use super::*;
    use crate::test_time::VirtualClock;
    use tabia_encoding::TIME_BINS;
    use tabia_search::{Choice, Line};

    /// A player whose moves take 20 ms and whose network predicts the longest think time.
    struct Slow;

    const THINKING: Duration = Duration::from_millis(20);

    impl Player for Slow {
        fn name(&self) -> String {
            "Slow".to_owned()
        }

        fn decide(
            &mut self,
            game: &History,
            _: &Limits,
            control: &dyn SearchControl,
        ) -> Result<Decision, PlayerError> {
            control.wait_until(THINKING);
            let mut chances = [0.0; TIME_BINS];
            chances[TIME_BINS - 1] = 1.0;
            let line = Line { think_time: Some(chances), ..Line::default() };
            let mv = game.current().legal_moves()[0];
            Ok(Choice { mv, ponder: None, lines: vec![line], nodes: 1 }.into())
        }
    }

    fn limits(remaining: Duration, increment: Duration) -> Limits {
        let clock = TimeLeft { remaining, increment };
        Limits { clocks: Some(ByColor { white: clock, black: clock }), ..Limits::default() }
    }

    /// Plays until the clock has nearly run out; the time of each move.
    fn play(start: Duration, increment: Duration) -> Vec<Duration> {
        let game = History::new(Chess::default(), ByColor::default());
        let mut player = HumanPlayer::new(Box::new(Slow), HumanBehaviour::new(5)).waiting();
        let mut clock = start;
        let mut spent = Vec::new();
        for _ in 0..300 {
            // Less than the computing time.
            if clock < 2 * THINKING {
                break;
            }
            let control = VirtualClock::default();
            player.choose(&game, &limits(clock, increment), &control).unwrap();
            let taken = control.elapsed();
            assert!(taken < clock, "{taken:?} of {clock:?}");
            clock = clock - taken + increment;
            spent.push(taken);
        }
        spent
    }

    #[test]
    fn long_think_times_never_lose_on_time() {
        let seconds = Duration::from_secs;
        for (start, increment) in [(60, 0), (1, 0), (180, 2), (5, 3), (900, 10), (0, 1)] {
            let spent = play(seconds(start), seconds(increment));
            assert!(
                spent.len() >= 60 || start + increment == 1,
                "{start}+{increment}: {} moves",
                spent.len()
            );
        }
    }

    #[test]
    fn low_clock_shortens_think_time() {
        let spent = play(Duration::from_secs(180), Duration::ZERO);
        assert!(spent[0] > Duration::from_secs(5), "{:?}", spent[0]);
        assert!(spent[60] < spent[0] / 10, "{:?}", spent[60]);
        assert_eq!(*spent.last().unwrap(), THINKING, "no time left to wait");
    }

    #[test]
    fn no_waiting_without_clocks() {
        let game = History::new(Chess::default(), ByColor::default());
        let mut player = HumanPlayer::new(Box::new(Slow), HumanBehaviour::new(5)).waiting();
        for limits in
            [Limits::default(), Limits { movetime: Some(Duration::from_secs(9)), ..Limits::default() }]
        {
            let control = VirtualClock::default();
            player.choose(&game, &limits, &control).unwrap();
            assert_eq!(control.elapsed(), THINKING);
        }
        let both = Limits {
            movetime: Some(Duration::from_secs(1)),
            ..limits(Duration::from_secs(600), Duration::ZERO)
        };
        let control = VirtualClock::default();
        player.choose(&game, &both, &control).unwrap();
        assert_eq!(control.elapsed(), Duration::from_secs(1), "movetime limits the think time");
        assert_eq!(game.current().turn(), Color::White);
    }

    /// A player with varying computing times.
    struct Busy {
        thinking: Vec<Duration>,
        moves: usize,
    }

    impl Player for Busy {
        fn name(&self) -> String {
            "Busy".to_owned()
        }

        fn decide(
            &mut self,
            game: &History,
            limits: &Limits,
            control: &dyn SearchControl,
        ) -> Result<Decision, PlayerError> {
            control.wait_until(self.thinking[self.moves % self.thinking.len()]);
            self.moves += 1;
            Slow.decide(game, limits, &crate::NoControl)
        }
    }

    #[test]
    fn waiting_never_loses_on_time_on_a_busy_machine() {
        let millis = Duration::from_millis;
        // Computing times, lag around each move, and how much too long waiting takes.
        let machines = [(vec![60], 30, 0), (vec![20, 20, 250], 5, 40), (vec![5], 150, 0), (vec![10], 0, 120)];
        for (thinking, way, oversleep) in machines {
            for (start, increment) in [(40_000, 0), (60_000, 0), (20_000, 0), (5_000, 300), (180_000, 2_000)]
            {
                let thinking: Vec<Duration> = thinking.iter().copied().map(millis).collect();
                let least: Duration = thinking.iter().sum::<Duration>() / thinking.len() as u32 + millis(way);
                let game = History::new(Chess::default(), ByColor::default());
                let player = Busy { thinking, moves: 0 };
                let mut player = HumanPlayer::new(Box::new(player), HumanBehaviour::new(5)).waiting();
                let mut clock = millis(start);
                for number in 0..90 {
                    let control = VirtualClock::default();
                    player.choose(&game, &limits(clock, millis(increment)), &control).unwrap();
                    let taken = control.elapsed() + millis(way + oversleep);
                    let after =
                        format!("{start}+{increment}, {least:?} a move: move {number}, {clock:?} left");
                    assert!(taken < clock, "{after}");
                    clock = clock - taken + millis(increment);
                }
            }
        }
    }
}
