//! What a person does besides choosing a move: think, resign, offer and accept draws.

use std::time::Duration;

use fastrand::Rng;
use shakmaty::{ByColor, Position};
use tabia_encoding::{Elo, TIME_BINS};
use tabia_game::History;
use tabia_search::{Choice, TimeLeft};

use super::think_time;
use crate::{Action, Decision};

/// Expected score below which people consider resigning: the median at any rating.
const HOPELESS: f32 = 0.06;
/// No resignations before this move.
const FIRST_RESIGNATION: u32 = 15;
/// The probability of resigning on a move in a hopeless position, by rating. Of their lost games people below 1600
/// play two in five on to mate, at 1800 one in four, and from 2200 on one in thirty.
const RESIGNING: [(f32, f32); 5] =
    [(800.0, 0.05), (1400.0, 0.08), (1800.0, 0.13), (2200.0, 0.35), (2600.0, 0.45)];
/// Draw probability above which people consider offering a draw: the median of where they agree on draws.
const DRAWISH: f32 = 0.7;
/// No draw offers before this move.
const FIRST_OFFER: u32 = 30;
/// The probability of offering a draw on a move in a drawish position, by rating. Masters agree on every third game,
/// people below 1600 on one in twenty.
const OFFERING: [(f32, f32); 4] = [(1000.0, 0.03), (1800.0, 0.06), (2200.0, 0.15), (2600.0, 0.3)];
/// The rating assumed where none is given.
const DEFAULT_RATING: f32 = 1500.0;
/// Expected score up to which a draw offer is accepted.
const CONTENT: f32 = 0.5;

/// The largest share of the clock one move takes; one in twenty of people's moves takes longer.
const LARGEST_SHARE: f32 = 0.25;
/// Seconds kept in reserve, for lag and for the moves of a long game without increment.
const RESERVE: f32 = 1.5;
/// The longest thinking time without a clock, in seconds.
const LONGEST_UNTIMED: f32 = 20.0;

/// Thinking times, resignations and draw offers of one player. The same seed and the same calls give the same results.
pub struct HumanBehaviour {
    rng: Rng,
    rating: f32,
    /// For each side, its last evaluation: the plies played by then and the expected score.
    before: ByColor<Option<(usize, f32)>>,
}

impl HumanBehaviour {
    /// The behaviour of people of an average rating.
    pub fn new(seed: u64) -> HumanBehaviour {
        HumanBehaviour { rng: Rng::with_seed(seed), rating: DEFAULT_RATING, before: ByColor::default() }
    }

    /// The behaviour of people of this rating; without one, of an average rating.
    pub fn rated(self, rating: Option<Elo>) -> HumanBehaviour {
        HumanBehaviour { rating: rating.map_or(DEFAULT_RATING, |rating| f32::from(rating.0)), ..self }
    }

    /// Forgets the last game.
    pub(super) fn new_game(&mut self) {
        self.before = ByColor::default();
    }

    /// What a person does who chose this move. `clock` is the mover's, if one runs.
    pub fn decide(&mut self, game: &History, choice: Choice, clock: Option<TimeLeft>) -> Decision {
        let mut decision = Decision::from(choice);
        let Some(first) = decision.choice.lines.first() else { return decision };
        if let Some(chances) = &first.think_time {
            decision.think_time = self.pause(chances, clock);
        }
        let Some(wdl) = first.wdl else { return decision };
        let (plies, turn) = (game.situation().last_moves.len(), game.current().turn());
        let expected = wdl.expected();
        let hopeless_before =
            self.before[turn].is_some_and(|(earlier, expected)| earlier + 2 == plies && expected < HOPELESS);
        self.before[turn] = Some((plies, expected));
        let number = game.current().fullmoves().get();
        let drawish = wdl.draw > DRAWISH && number >= FIRST_OFFER;
        let hopeless = expected < HOPELESS && hopeless_before && number >= FIRST_RESIGNATION;
        let resigns = hopeless && self.happens(&RESIGNING);
        let offers_draw = drawish && self.happens(&OFFERING);
        decision.action = match (resigns, offers_draw) {
            (true, _) => Action::Resign,
            (false, true) => Action::OfferDraw,
            (false, false) => Action::Move,
        };
        decision.accepts_draw =
            drawish || (expected <= CONTENT && wdl.draw > DRAWISH / 2.0 && number >= FIRST_OFFER);
        decision
    }

    /// Draws an event whose probability depends on the rating.
    fn happens(&mut self, chances: &[(f32, f32)]) -> bool {
        self.rng.f32() < interpolate(chances, self.rating)
    }

    /// Draws a thinking time from the probabilities of its bins, within what the mover's clock allows. The bins are those
    /// of clocks that show whole seconds; the time drawn is continuous.
    pub fn pause(&mut self, chances: &[f32; TIME_BINS], clock: Option<TimeLeft>) -> Duration {
        let drawn = think_time::draw(chances, &mut self.rng);
        let most = clock.map_or(LONGEST_UNTIMED, |clock| {
            let (remaining, increment) = (clock.remaining.as_secs_f32(), clock.increment.as_secs_f32());
            let free = (remaining - RESERVE).max(0.0);
            // The increment is added only after the move.
            (free * LARGEST_SHARE + increment).min(free / 2.0)
        });
        Duration::try_from_secs_f32(drawn.min(most)).unwrap_or_default()
    }
}

/// Linear interpolation in a table by rating; constant beyond its ends.
fn interpolate(table: &[(f32, f32)], rating: f32) -> f32 {
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
    use tabia_search::Line;

    use super::*;

    /// A game at this move number of White, after two plies.
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

    /// How many of 1000 seeds do something on this move, after the same evaluation a move earlier.
    fn count_of_1000(rating: u16, number: u32, wdl: [f32; 3], does: impl Fn(&Decision) -> bool) -> usize {
        let said = choice(Some(wdl), None);
        let (game, later) = (at_move(number), after(at_move(number), 2));
        let person = |seed| {
            let mut behaviour = HumanBehaviour::new(seed).rated(Some(Elo(rating)));
            let first = behaviour.decide(&game, said.clone(), None);
            assert_ne!(first.action, Action::Resign, "hopeless only once");
            behaviour.decide(&later, said.clone(), None)
        };
        (0..1000).filter(|seed| does(&person(*seed))).count()
    }

    #[test]
    fn resignation_needs_two_hopeless_evaluations_in_a_row_after_the_opening() {
        let resigning = |rating, number, wdl| {
            count_of_1000(rating, number, wdl, |decision| decision.action == Action::Resign)
        };
        let lost = [0.0, 0.02, 0.98];
        assert!((25..80).contains(&resigning(800, 30, lost)));
        assert!((300..400).contains(&resigning(2200, 30, lost)));
        assert_eq!(resigning(2200, 30, [0.05, 0.04, 0.91]), 0, "not hopeless");
        assert_eq!(resigning(2200, 5, lost), 0, "in the opening");

        let said = choice(Some(lost), None);
        let given_up = (0..50).any(|seed| {
            let mut behaviour = HumanBehaviour::new(seed).rated(Some(Elo(2600)));
            behaviour.decide(&at_move(30), said.clone(), None);
            behaviour.decide(&after(at_move(30), 6), said.clone(), None).action == Action::Resign
        });
        assert!(!given_up, "not in a row");
    }

    #[test]
    fn draws_are_offered_late_and_accepted_when_not_better() {
        let level = [0.05, 0.9, 0.05];
        let offering = |rating, number| {
            count_of_1000(rating, number, level, |decision| decision.action == Action::OfferDraw)
        };
        assert!((10..70).contains(&offering(1000, 40)));
        assert!((250..350).contains(&offering(2600, 40)));
        assert_eq!(offering(2600, 20), 0);
        let mut behaviour = HumanBehaviour::new(1);
        assert!(behaviour.decide(&at_move(40), choice(Some(level), None), None).accepts_draw);
        let worse = behaviour.decide(&at_move(40), choice(Some([0.1, 0.6, 0.3]), None), None);
        assert!(worse.action == Action::Move && worse.accepts_draw);
        let better = behaviour.decide(&at_move(40), choice(Some([0.3, 0.6, 0.1]), None), None);
        assert!(!better.accepts_draw);
    }

    #[test]
    fn think_time_lies_in_its_bin_and_within_the_clock() {
        let mut behaviour = HumanBehaviour::new(7);
        for _ in 0..100 {
            let quick = behaviour.decide(&at_move(9), choice(None, Some(2)), clock(300, 0)).think_time;
            assert!((1.0..3.0).contains(&quick.as_secs_f32()), "{quick:?}");
            let long = behaviour.decide(&at_move(9), choice(None, Some(19)), clock(60, 2)).think_time;
            assert_eq!(long, Duration::from_secs_f32((60.0 - RESERVE) * LARGEST_SHARE + 2.0));
            let scramble = behaviour.decide(&at_move(9), choice(None, Some(19)), clock(1, 10)).think_time;
            assert_eq!(scramble, Duration::ZERO, "no time to wait");
            assert_eq!(
                behaviour.decide(&at_move(9), choice(None, Some(19)), clock(0, 0)).think_time,
                Duration::ZERO
            );
        }
        let silent = choice(None, None);
        assert_eq!(behaviour.decide(&at_move(9), silent.clone(), clock(300, 0)), silent.into());
    }

    #[test]
    fn same_seed_gives_the_same_think_times() {
        let pauses = |seed| {
            let mut behaviour = HumanBehaviour::new(seed);
            (0..8)
                .map(|_| behaviour.decide(&at_move(9), choice(None, Some(9)), clock(900, 0)).think_time)
                .collect::<Vec<_>>()
        };
        assert_eq!(pauses(3), pauses(3));
        assert_ne!(pauses(3), pauses(4));
    }
}
