//! What a person does at the board besides choosing a move: take time, resign, offer and accept draws.

use std::time::Duration;

use fastrand::Rng;
use shakmaty::{ByColor, Position};
use tabia_encoding::{TIME_BINS, time_bin_range};
use tabia_game::History;

use crate::{Choice, TimeLeft};

/// Below this expected score a person thinks of resigning.
const HOPELESS: f32 = 0.03;
/// Nobody resigns before this move.
const FIRST_RESIGNATION: u32 = 15;
/// Above this chance of a draw a person thinks of offering one.
const DRAWISH: f32 = 0.85;
/// Nobody offers a draw before this move.
const FIRST_OFFER: u32 = 30;
/// An offer is accepted by who expects no more than this.
const CONTENT: f32 = 0.5;

/// One move takes at most this share of what the clock shows.
const LARGEST_SHARE: f32 = 0.1;
/// And nobody waits longer for a player than this, in seconds, where no clock runs.
const LONGEST_UNTIMED: f32 = 20.0;

/// How one player behaves. With the same seed and the same calls it behaves the same.
pub struct Manners {
    rng: Rng,
    /// Where each side's prospects were last looked at: the number of moves made by then, and the expected score.
    before: ByColor<Option<(usize, f32)>>,
}

/// What a person would do, besides the move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conduct {
    /// How long a person would take for the move; zero where the network does not say.
    pub pause: Duration,
    /// Gives up instead of moving.
    pub resigns: bool,
    /// Offers a draw with the move.
    pub offers_draw: bool,
    /// Would accept a draw now.
    pub accepts_draw: bool,
}

impl Manners {
    /// Manners whose chances come from `seed`.
    pub fn new(seed: u64) -> Manners {
        Manners { rng: Rng::with_seed(seed), before: ByColor::default() }
    }

    /// What a person would do who chose this in this game. `clock` is the mover's, where one runs.
    pub fn conduct(&mut self, game: &History, choice: &Choice, clock: Option<TimeLeft>) -> Conduct {
        let first = choice.lines.first();
        let pause = match first.and_then(|line| line.think_time.as_ref()) {
            Some(chances) => self.pause(chances, clock),
            None => Duration::ZERO,
        };
        let Some(wdl) = first.and_then(|line| line.wdl) else {
            return Conduct { pause, ..Conduct::default() };
        };
        let (plies, turn) = (game.situation().last_moves.len(), game.current().turn());
        let expected = wdl.expected();
        let hopeless_before =
            self.before[turn].is_some_and(|(earlier, expected)| earlier + 2 == plies && expected < HOPELESS);
        self.before[turn] = Some((plies, expected));
        let number = game.current().fullmoves().get();
        let drawish = wdl.draw > DRAWISH && number >= FIRST_OFFER;
        Conduct {
            pause,
            resigns: expected < HOPELESS && hopeless_before && number >= FIRST_RESIGNATION,
            offers_draw: drawish,
            accepts_draw: drawish
                || (expected <= CONTENT && wdl.draw > DRAWISH / 2.0 && number >= FIRST_OFFER),
        }
    }

    /// A time drawn from the chances of its bins, within what the mover's clock allows.
    pub fn pause(&mut self, chances: &[f32; TIME_BINS], clock: Option<TimeLeft>) -> Duration {
        let mut left = self.rng.f32();
        let hit = chances.iter().position(|chance| {
            left -= chance;
            left < 0.0
        });
        let range = time_bin_range(hit.unwrap_or(0));
        let drawn = range.start + self.rng.f32() * (range.end - range.start);
        let most = clock.map_or(LONGEST_UNTIMED, |clock| {
            let (remaining, increment) = (clock.remaining.as_secs_f32(), clock.increment.as_secs_f32());
            // The increment comes back, but not before the move is made.
            (remaining * LARGEST_SHARE + increment).min(remaining / 2.0)
        });
        Duration::try_from_secs_f32(drawn.min(most)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;
    use tabia_game::position_from_fen;
    use tabia_model::Wdl;

    use super::*;
    use crate::Line;

    /// A game that stands at this move of White's, after two plies.
    fn at_move(number: u32) -> History {
        let fen = format!("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 {number}");
        after(History::new(position_from_fen(&fen).unwrap(), ByColor::default()), 2)
    }

    fn after(mut game: History, plies: usize) -> History {
        for _ in 0..plies {
            let m = game.current().legal_moves()[0];
            game.push(m, None);
        }
        game
    }

    fn choice(wdl: Option<[f32; 3]>, bin: Option<usize>) -> Choice {
        let think_time = bin.map(|bin| {
            let mut chances = [0.0; TIME_BINS];
            chances[bin] = 1.0;
            chances
        });
        let wdl = wdl.map(|[win, draw, loss]| Wdl { win, draw, loss });
        let mv = Chess::default().legal_moves()[0];
        Choice { mv, ponder: None, lines: vec![Line { wdl, think_time, ..Line::default() }], nodes: 1 }
    }

    fn clock(remaining: u64, increment: u64) -> Option<TimeLeft> {
        Some(TimeLeft {
            remaining: Duration::from_secs(remaining),
            increment: Duration::from_secs(increment),
        })
    }

    #[test]
    fn a_person_resigns_when_it_was_hopeless_twice_running_and_not_in_the_opening() {
        let lost = choice(Some([0.0, 0.02, 0.98]), None);
        let mut manners = Manners::new(1);
        let game = at_move(30);
        assert!(!manners.conduct(&game, &lost, None).resigns, "the first time there may be hope");
        let later = after(game, 2);
        assert!(manners.conduct(&later, &lost, None).resigns);
        let unsure = choice(Some([0.05, 0.02, 0.93]), None);
        assert!(!manners.conduct(&after(later.clone(), 2), &unsure, None).resigns);
        assert!(!manners.conduct(&after(later, 4), &lost, None).resigns, "the row is broken");

        let mut early = Manners::new(1);
        early.conduct(&at_move(5), &lost, None);
        assert!(!early.conduct(&after(at_move(5), 2), &lost, None).resigns);
    }

    #[test]
    fn draws_are_offered_late_and_accepted_by_who_expects_no_more() {
        let mut manners = Manners::new(1);
        let level = choice(Some([0.05, 0.9, 0.05]), None);
        let conduct = manners.conduct(&at_move(40), &level, None);
        assert!(conduct.offers_draw && conduct.accepts_draw && !conduct.resigns);
        assert!(!manners.conduct(&at_move(20), &level, None).offers_draw);
        let worse = manners.conduct(&at_move(40), &choice(Some([0.1, 0.6, 0.3]), None), None);
        assert!(!worse.offers_draw && worse.accepts_draw);
        let better = manners.conduct(&at_move(40), &choice(Some([0.3, 0.6, 0.1]), None), None);
        assert!(!better.accepts_draw);
    }

    #[test]
    fn pauses_lie_in_their_bin_and_never_cost_the_game() {
        let mut manners = Manners::new(7);
        for _ in 0..100 {
            let quick = manners.conduct(&at_move(9), &choice(None, Some(2)), clock(300, 0)).pause;
            assert!(time_bin_range(2).contains(&quick.as_secs_f32()), "{quick:?}");
            let long = manners.conduct(&at_move(9), &choice(None, Some(19)), clock(60, 2)).pause;
            assert_eq!(long, Duration::from_secs(8));
            let scramble = manners.conduct(&at_move(9), &choice(None, Some(19)), clock(1, 10)).pause;
            assert_eq!(scramble, Duration::from_millis(500));
            assert_eq!(
                manners.conduct(&at_move(9), &choice(None, Some(19)), clock(0, 0)).pause,
                Duration::ZERO
            );
        }
        assert_eq!(manners.conduct(&at_move(9), &choice(None, None), clock(300, 0)), Conduct::default());
    }

    #[test]
    fn the_same_seed_pauses_the_same() {
        let pauses = |seed| {
            let mut manners = Manners::new(seed);
            (0..8)
                .map(|_| manners.conduct(&at_move(9), &choice(None, Some(9)), clock(900, 0)).pause)
                .collect::<Vec<_>>()
        };
        assert_eq!(pauses(3), pauses(3));
        assert_ne!(pauses(3), pauses(4));
    }
}
