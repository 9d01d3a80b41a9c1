//! What a person does at the board besides choosing a move: take time, resign, offer and accept draws.

use std::time::Duration;

use fastrand::Rng;
use shakmaty::{ByColor, Position};
use tabia_encoding::{Elo, TIME_BINS};
use tabia_game::History;

use crate::{Choice, TimeLeft, think_time};

/// Below this expected score a person thinks of resigning: the middle of where people do, at any rating.
const HOPELESS: f32 = 0.06;
/// Nobody resigns before this move.
const FIRST_RESIGNATION: u32 = 15;
/// How likely people are to resign on a move on which they think of it, by rating. Of their lost games people below 1600
/// let two in five go on to mate, at 1800 one in four, and from 2200 on one in thirty.
const RESIGNING: [(f32, f32); 5] =
    [(800.0, 0.05), (1400.0, 0.08), (1800.0, 0.13), (2200.0, 0.35), (2600.0, 0.45)];
/// Above this chance of a draw a person thinks of offering one: the middle of where people agree on draws.
const DRAWISH: f32 = 0.7;
/// Nobody offers a draw before this move.
const FIRST_OFFER: u32 = 30;
/// How likely people are to offer a draw on a move on which they think of it, by rating. Masters agree on every third
/// game, people below 1600 on one in twenty.
const OFFERING: [(f32, f32); 4] = [(1000.0, 0.03), (1800.0, 0.06), (2200.0, 0.15), (2600.0, 0.3)];
/// The rating of people of whom nothing is known.
const USUAL: f32 = 1500.0;
/// An offer is accepted by who expects no more than this.
const CONTENT: f32 = 0.5;

/// One move takes at most this share of what the clock shows: one in twenty of people's takes longer,
const LARGEST_SHARE: f32 = 0.25;
/// once this many seconds are kept back: for the way to the clock, and for the moves of a long game without increment.
const RESERVE: f32 = 1.5;
/// And nobody waits longer for a player than this, in seconds, where no clock runs.
const LONGEST_UNTIMED: f32 = 20.0;

/// How one player behaves. With the same seed and the same calls it behaves the same.
pub struct HumanBehaviour {
    rng: Rng,
    rating: f32,
    /// Where each side's prospects were last looked at: the number of moves made by then, and the expected score.
    before: ByColor<Option<(usize, f32)>>,
}

/// What a person would do, besides the move.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HumanAction {
    /// How long a person would take for the move; zero where the network does not say.
    pub pause: Duration,
    /// Gives up instead of moving.
    pub resigns: bool,
    /// Offers a draw with the move.
    pub offers_draw: bool,
    /// Would accept a draw now.
    pub accepts_draw: bool,
}

impl HumanBehaviour {
    /// HumanBehaviour whose chances come from `seed`.
    pub fn new(seed: u64) -> HumanBehaviour {
        HumanBehaviour { rng: Rng::with_seed(seed), rating: USUAL, before: ByColor::default() }
    }

    /// The behaviour of people of a rating; without one, of usual people.
    pub fn of(self, rating: Option<Elo>) -> HumanBehaviour {
        HumanBehaviour { rating: rating.map_or(USUAL, |rating| f32::from(rating.0)), ..self }
    }

    /// What a person would do who chose this in this game. `clock` is the mover's, where one runs.
    pub fn action(&mut self, game: &History, choice: &Choice, clock: Option<TimeLeft>) -> HumanAction {
        let first = choice.lines.first();
        let pause = match first.and_then(|line| line.think_time.as_ref()) {
            Some(chances) => self.pause(chances, clock),
            None => Duration::ZERO,
        };
        let Some(wdl) = first.and_then(|line| line.wdl) else {
            return HumanAction { pause, ..HumanAction::default() };
        };
        let (plies, turn) = (game.situation().last_moves.len(), game.current().turn());
        let expected = wdl.expected();
        let hopeless_before =
            self.before[turn].is_some_and(|(earlier, expected)| earlier + 2 == plies && expected < HOPELESS);
        self.before[turn] = Some((plies, expected));
        let number = game.current().fullmoves().get();
        let drawish = wdl.draw > DRAWISH && number >= FIRST_OFFER;
        let hopeless = expected < HOPELESS && hopeless_before && number >= FIRST_RESIGNATION;
        HumanAction {
            pause,
            resigns: hopeless && self.happens(&RESIGNING),
            offers_draw: drawish && self.happens(&OFFERING),
            accepts_draw: drawish
                || (expected <= CONTENT && wdl.draw > DRAWISH / 2.0 && number >= FIRST_OFFER),
        }
    }

    /// Whether something happens whose chance depends on the rating.
    fn happens(&mut self, chances: &[(f32, f32)]) -> bool {
        self.rng.f32() < at(chances, self.rating)
    }

    /// A time drawn from the chances of its bins, within what the mover's clock allows. The chances are of times as clocks
    /// show them, in whole seconds; the time is one behind them.
    pub fn pause(&mut self, chances: &[f32; TIME_BINS], clock: Option<TimeLeft>) -> Duration {
        let drawn = think_time::draw(chances, &mut self.rng);
        let most = clock.map_or(LONGEST_UNTIMED, |clock| {
            let (remaining, increment) = (clock.remaining.as_secs_f32(), clock.increment.as_secs_f32());
            let free = (remaining - RESERVE).max(0.0);
            // The increment comes back, but not before the move is made.
            (free * LARGEST_SHARE + increment).min(free / 2.0)
        });
        Duration::try_from_secs_f32(drawn.min(most)).unwrap_or_default()
    }
}

/// What stands in a table for a rating: evenly between its entries, and as they are beyond the ends.
fn at(table: &[(f32, f32)], rating: f32) -> f32 {
    let above = table.partition_point(|(knot, _)| *knot <= rating);
    match (above.checked_sub(1).and_then(|below| table.get(below)), table.get(above)) {
        (Some((low, from)), Some((high, to))) => from + (to - from) * (rating - low) / (high - low),
        (Some((_, value)), None) | (None, Some((_, value))) => *value,
        (None, None) => 0.0,
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

    /// How many of a thousand people of a rating do something on this move, after having thought the same a move ago.
    fn of_a_thousand(rating: u16, number: u32, wdl: [f32; 3], does: impl Fn(HumanAction) -> bool) -> usize {
        let said = choice(Some(wdl), None);
        let (game, later) = (at_move(number), after(at_move(number), 2));
        let person = |seed| {
            let mut behaviour = HumanBehaviour::new(seed).of(Some(Elo(rating)));
            assert!(!behaviour.action(&game, &said, None).resigns, "the first time there may be hope");
            behaviour.action(&later, &said, None)
        };
        (0..1000).filter(|seed| does(person(*seed))).count()
    }

    #[test]
    fn people_resign_when_it_was_hopeless_twice_running_and_not_in_the_opening() {
        let resigning = |rating, number, wdl| of_a_thousand(rating, number, wdl, |action| action.resigns);
        let lost = [0.0, 0.02, 0.98];
        assert!((25..80).contains(&resigning(800, 30, lost)));
        assert!((300..400).contains(&resigning(2200, 30, lost)));
        assert_eq!(resigning(2200, 30, [0.05, 0.04, 0.91]), 0, "there is hope");
        assert_eq!(resigning(2200, 5, lost), 0, "in the opening");

        let said = choice(Some(lost), None);
        let given_up = (0..50).any(|seed| {
            let mut behaviour = HumanBehaviour::new(seed).of(Some(Elo(2600)));
            behaviour.action(&at_move(30), &said, None);
            behaviour.action(&after(at_move(30), 6), &said, None).resigns
        });
        assert!(!given_up, "the row is broken");
    }

    #[test]
    fn draws_are_offered_late_and_accepted_by_who_expects_no_more() {
        let level = [0.05, 0.9, 0.05];
        let offering = |rating, number| of_a_thousand(rating, number, level, |action| action.offers_draw);
        assert!((10..70).contains(&offering(1000, 40)));
        assert!((250..350).contains(&offering(2600, 40)));
        assert_eq!(offering(2600, 20), 0);
        let mut behaviour = HumanBehaviour::new(1);
        assert!(behaviour.action(&at_move(40), &choice(Some(level), None), None).accepts_draw);
        let worse = behaviour.action(&at_move(40), &choice(Some([0.1, 0.6, 0.3]), None), None);
        assert!(!worse.offers_draw && worse.accepts_draw);
        let better = behaviour.action(&at_move(40), &choice(Some([0.3, 0.6, 0.1]), None), None);
        assert!(!better.accepts_draw);
    }

    #[test]
    fn pauses_lie_in_their_bin_and_never_cost_the_game() {
        let mut behaviour = HumanBehaviour::new(7);
        for _ in 0..100 {
            let quick = behaviour.action(&at_move(9), &choice(None, Some(2)), clock(300, 0)).pause;
            assert!((1.0..3.0).contains(&quick.as_secs_f32()), "{quick:?}");
            let long = behaviour.action(&at_move(9), &choice(None, Some(19)), clock(60, 2)).pause;
            assert_eq!(long, Duration::from_secs_f32((60.0 - RESERVE) * LARGEST_SHARE + 2.0));
            let scramble = behaviour.action(&at_move(9), &choice(None, Some(19)), clock(1, 10)).pause;
            assert_eq!(scramble, Duration::ZERO, "in a scramble nobody waits");
            assert_eq!(
                behaviour.action(&at_move(9), &choice(None, Some(19)), clock(0, 0)).pause,
                Duration::ZERO
            );
        }
        assert_eq!(behaviour.action(&at_move(9), &choice(None, None), clock(300, 0)), HumanAction::default());
    }

    #[test]
    fn the_same_seed_pauses_the_same() {
        let pauses = |seed| {
            let mut behaviour = HumanBehaviour::new(seed);
            (0..8)
                .map(|_| behaviour.action(&at_move(9), &choice(None, Some(9)), clock(900, 0)).pause)
                .collect::<Vec<_>>()
        };
        assert_eq!(pauses(3), pauses(3));
        assert_ne!(pauses(3), pauses(4));
    }
}
