use std::time::Duration;

use shakmaty::{ByColor, Position};
use tabia_game::History;

use crate::{Choice, HumanBehaviour, Limits, Player, PlayerError, SearchControl, TimeLeft};

/// Nobody waits who would not have the time for so many more moves at once.
const MOVES_TO_COME: u32 = 100;
/// What a move has cost besides waiting counts this much less with every move since: a machine may be busy for a while.
const FADING: f64 = 0.98;

/// A player who takes as long for a move as a person would, where clocks run; elsewhere it moves at once.
///
/// How long is drawn from what the player itself says ([`Line::think_time`](crate::Line::think_time)), within what the
/// clock allows. Thinking counts: a player that needed longer than a person would does not wait. What its moves cost
/// besides waiting, thinking and the way to the clock and back, is measured, and kept on the clock for the moves to come.
pub struct HumanTiming {
    player: Box<dyn Player>,
    behaviour: HumanBehaviour,
    costs: ByColor<Costs>,
}

/// What the moves of one side cost besides waiting.
#[derive(Clone, Copy, Debug, Default)]
struct Costs {
    /// The most of late, in seconds.
    most: f64,
    /// What the clock would have shown after the last move, had the wait been all.
    expected: Option<Duration>,
}

impl Costs {
    /// The clock when the player is asked tells how late the last move was.
    fn look_at(&mut self, clock: TimeLeft) {
        if let Some(expected) = self.expected.take() {
            self.most *= FADING;
            // A clock that shows more, or much less, is another one.
            let late = expected.saturating_sub(clock.remaining).as_secs_f64();
            let plausible = late < expected.as_secs_f64() / 2.0;
            if plausible {
                self.most = self.most.max(late);
            }
        }
    }

    /// What is left of a clock when the moves to come are paid.
    fn left_of(&self, clock: TimeLeft) -> TimeLeft {
        let unpaid = (self.most - clock.increment.as_secs_f64()).max(0.0);
        let kept = Duration::try_from_secs_f64(unpaid * f64::from(MOVES_TO_COME)).unwrap_or(Duration::MAX);
        TimeLeft { remaining: clock.remaining.saturating_sub(kept), ..clock }
    }
}

impl HumanTiming {
    /// The player with its patience.
    pub fn new(player: Box<dyn Player>, behaviour: HumanBehaviour) -> HumanTiming {
        HumanTiming { player, behaviour, costs: ByColor::default() }
    }
}

impl Player for HumanTiming {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
        for costs in &mut self.costs {
            costs.expected = None;
        }
    }

    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        let choice = self.player.choose(game, limits, watch)?;
        if let Some(clocks) = &limits.clocks {
            let turn = game.current().turn();
            let (clock, costs) = (clocks[turn], &mut self.costs[turn]);
            costs.look_at(clock);
            let thought = watch.elapsed();
            costs.most = costs.most.max(thought.as_secs_f64());
            let pause = self.behaviour.action(game, &choice, Some(costs.left_of(clock))).pause;
            let pause = pause.min(limits.movetime.unwrap_or(pause));
            watch.wait_until(pause);
            // Thinking is part of the pause where it is the shorter of the two.
            let waited = pause.saturating_sub(thought);
            costs.expected = Some((clock.remaining + clock.increment).saturating_sub(waited));
        }
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{ByColor, Chess, Color};

    use super::*;
    use crate::{Line, TimeLeft, test_time::Passing};
    use tabia_encoding::TIME_BINS;

    /// A player whose moves take 20 ms and who would rather think for long.
    struct Slow;

    const THINKING: Duration = Duration::from_millis(20);

    impl Player for Slow {
        fn name(&self) -> String {
            "Slow".to_owned()
        }

        fn choose(
            &mut self,
            game: &History,
            _: &Limits,
            watch: &dyn SearchControl,
        ) -> Result<Choice, PlayerError> {
            watch.wait_until(THINKING);
            let mut chances = [0.0; TIME_BINS];
            chances[TIME_BINS - 1] = 1.0;
            let line = Line { think_time: Some(chances), ..Line::default() };
            Ok(Choice { mv: game.current().legal_moves()[0], ponder: None, lines: vec![line], nodes: 1 })
        }
    }

    fn limits(remaining: Duration, increment: Duration) -> Limits {
        let clock = TimeLeft { remaining, increment };
        Limits { clocks: Some(ByColor { white: clock, black: clock }), ..Limits::default() }
    }

    /// Plays until the clock shows next to nothing; how long its moves took.
    fn play(start: Duration, increment: Duration) -> Vec<Duration> {
        let game = History::new(Chess::default(), ByColor::default());
        let mut player = HumanTiming::new(Box::new(Slow), HumanBehaviour::new(5));
        let mut clock = start;
        let mut spent = Vec::new();
        for _ in 0..300 {
            // Nobody can move faster than they think.
            if clock < 2 * THINKING {
                break;
            }
            let watch = Passing::default();
            player.choose(&game, &limits(clock, increment), &watch).unwrap();
            let taken = watch.elapsed();
            assert!(taken < clock, "{taken:?} of {clock:?}");
            clock = clock - taken + increment;
            spent.push(taken);
        }
        spent
    }

    #[test]
    fn who_would_think_for_ever_does_not_lose_on_time() {
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
    fn moves_come_faster_when_the_clock_is_low() {
        let spent = play(Duration::from_secs(180), Duration::ZERO);
        assert!(spent[0] > Duration::from_secs(5), "{:?}", spent[0]);
        assert!(spent[60] < spent[0] / 10, "{:?}", spent[60]);
        assert_eq!(*spent.last().unwrap(), THINKING, "at the end there is no time to wait");
    }

    #[test]
    fn without_clocks_nobody_waits() {
        let game = History::new(Chess::default(), ByColor::default());
        let mut player = HumanTiming::new(Box::new(Slow), HumanBehaviour::new(5));
        for limits in
            [Limits::default(), Limits { movetime: Some(Duration::from_secs(9)), ..Limits::default() }]
        {
            let watch = Passing::default();
            player.choose(&game, &limits, &watch).unwrap();
            assert_eq!(watch.elapsed(), THINKING);
        }
        let both = Limits {
            movetime: Some(Duration::from_secs(1)),
            ..limits(Duration::from_secs(600), Duration::ZERO)
        };
        let watch = Passing::default();
        player.choose(&game, &both, &watch).unwrap();
        assert_eq!(watch.elapsed(), Duration::from_secs(1), "the time for a move holds");
        assert_eq!(game.current().turn(), Color::White);
    }

    /// A player whose moves take as long as the machine pleases.
    struct Hindered {
        thinking: Vec<Duration>,
        moves: usize,
    }

    impl Player for Hindered {
        fn name(&self) -> String {
            "Hindered".to_owned()
        }

        fn choose(
            &mut self,
            game: &History,
            limits: &Limits,
            watch: &dyn SearchControl,
        ) -> Result<Choice, PlayerError> {
            watch.wait_until(self.thinking[self.moves % self.thinking.len()]);
            self.moves += 1;
            Slow.choose(game, limits, &crate::NoControl)
        }
    }

    #[test]
    fn on_a_busy_machine_nobody_loses_on_time_by_waiting() {
        let millis = Duration::from_millis;
        // Thinking, what passes before the player is asked and after it has moved, and how long waiting takes too long.
        let machines = [(vec![60], 30, 0), (vec![20, 20, 250], 5, 40), (vec![5], 150, 0), (vec![10], 0, 120)];
        for (thinking, way, oversleep) in machines {
            for (start, increment) in [(40_000, 0), (60_000, 0), (20_000, 0), (5_000, 300), (180_000, 2_000)]
            {
                let thinking: Vec<Duration> = thinking.iter().copied().map(millis).collect();
                let least: Duration = thinking.iter().sum::<Duration>() / thinking.len() as u32 + millis(way);
                let game = History::new(Chess::default(), ByColor::default());
                let player = Hindered { thinking, moves: 0 };
                let mut player = HumanTiming::new(Box::new(player), HumanBehaviour::new(5));
                let mut clock = millis(start);
                for number in 0..90 {
                    let watch = Passing::default();
                    player.choose(&game, &limits(clock, millis(increment)), &watch).unwrap();
                    let taken = watch.elapsed() + millis(way + oversleep);
                    let after =
                        format!("{start}+{increment}, {least:?} a move: move {number}, {clock:?} left");
                    assert!(taken < clock, "{after}");
                    clock = clock - taken + millis(increment);
                }
            }
        }
    }
}
