use shakmaty::Position;
use tabia_game::History;

use crate::{Choice, Limits, Manners, Player, PlayerError, Watch};

/// A player who takes as long for a move as a person would, where clocks run; elsewhere it moves at once.
///
/// How long is drawn from what the player itself says ([`Line::think_time`](crate::Line::think_time)), within what the
/// clock allows. Thinking counts: a player that needed longer than a person would does not wait.
pub struct Paced {
    player: Box<dyn Player>,
    manners: Manners,
}

impl Paced {
    /// The player with its patience.
    pub fn new(player: Box<dyn Player>, manners: Manners) -> Paced {
        Paced { player, manners }
    }
}

impl Player for Paced {
    fn name(&self) -> String {
        self.player.name()
    }

    fn new_game(&mut self) {
        self.player.new_game();
    }

    fn choose(&mut self, game: &History, limits: &Limits, watch: &dyn Watch) -> Result<Choice, PlayerError> {
        let choice = self.player.choose(game, limits, watch)?;
        if let Some(clocks) = &limits.clocks {
            let clock = clocks[game.current().turn()];
            let pause = self.manners.conduct(game, &choice, Some(clock)).pause;
            let longest = limits.movetime.unwrap_or(pause);
            watch.wait_until(pause.min(longest));
        }
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicU64, Ordering::Relaxed},
        time::Duration,
    };

    use shakmaty::{ByColor, Chess, Color};

    use super::*;
    use crate::{Line, TimeLeft};
    use tabia_encoding::TIME_BINS;

    /// A player whose moves take 20 ms and who would rather think for long.
    struct Slow;

    /// Time that passes when somebody waits or thinks, in microseconds.
    #[derive(Default)]
    struct Passing(AtomicU64);

    impl Watch for Passing {
        fn elapsed(&self) -> Duration {
            Duration::from_micros(self.0.load(Relaxed))
        }

        fn stopped(&self) -> bool {
            false
        }

        fn wait_until(&self, moment: Duration) {
            self.0.fetch_max(u64::try_from(moment.as_micros()).unwrap(), Relaxed);
        }
    }

    const THINKING: Duration = Duration::from_millis(20);

    impl Player for Slow {
        fn name(&self) -> String {
            "Slow".to_owned()
        }

        fn choose(&mut self, game: &History, _: &Limits, watch: &dyn Watch) -> Result<Choice, PlayerError> {
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

    /// Plays until the clock shows next to nothing; the longest of its moves.
    fn play(start: Duration, increment: Duration) -> Vec<Duration> {
        let game = History::new(Chess::default(), ByColor::default());
        let mut player = Paced::new(Box::new(Slow), Manners::new(5));
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
        let mut player = Paced::new(Box::new(Slow), Manners::new(5));
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
}
