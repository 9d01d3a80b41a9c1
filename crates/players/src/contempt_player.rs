//! An engine that plays against a person of a rating: it avoids draws and exchanges.

use std::time::Duration;

use shakmaty::{Color, Position as _};
use tabia_encoding::{Elo, ForMover, Score};
use tabia_game::History;
use tabia_search::{
    Choice, Contempt, ContemptEvaluator, ContemptSide, Engine, EngineOptions, Evaluator, Limits, Line,
    SearchControl,
};

use crate::{Decision, Player, PlayerError};

/// The rating of people who hold the engine in an equal position, and how many centipawns a person gets for each point below it
/// in an endgame.
const EQUAL_RATING: f64 = 2050.0;
const CENTIPAWNS_PER_POINT: f64 = 0.9;
/// How much more the engine expects with all pieces on the board than without any: the more pieces, the more errors.
const ALL_PIECES: f64 = 2.5;

/// What the engine expects of a position against a person of this rating, beyond its evaluation.
fn contempt_for(opponent: Elo) -> Contempt {
    let endgame = CENTIPAWNS_PER_POINT * (EQUAL_RATING - f64::from(opponent.0)).max(0.0);
    Contempt { endgame: endgame.round() as i32, opening: (endgame * ALL_PIECES).round() as i32 }
}

/// The alpha-beta [`Engine`] with [contempt](Contempt) for a person of a rating: a draw is worth less than an even game, and an
/// exchange costs what a person is expected to lose while the pieces are on the board.
pub struct ContemptPlayer {
    name: String,
    engine: Engine,
    contempt: Contempt,
    side: ContemptSide,
    /// The side of the last decision.
    last_side: Option<Color>,
}

impl ContemptPlayer {
    /// An engine called `name` against a person of this rating.
    pub fn new(
        name: String,
        options: EngineOptions,
        evaluator: Box<dyn Evaluator>,
        opponent: Elo,
    ) -> ContemptPlayer {
        let (contempt, side) = (contempt_for(opponent), ContemptSide::default());
        let evaluator = Box::new(ContemptEvaluator::new(evaluator, contempt, side.clone()));
        ContemptPlayer { name, engine: Engine::new(options, evaluator), contempt, side, last_side: None }
    }

    /// The same with endgame tables.
    #[cfg(feature = "syzygy")]
    pub fn with_tables(mut self, tables: Option<tabia_search::TableUse>) -> ContemptPlayer {
        self.engine.set_tables(tables);
        self
    }
}

impl Player for ContemptPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_game(&mut self) {
        self.engine.new_game();
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let turn = game.current().turn();
        if self.last_side.replace(turn) != Some(turn) {
            self.side.set(Some(turn));
            // Its table has the other side's values.
            self.engine.new_game();
        }
        let contempt = self.contempt.at(game.current());
        let choice = self.engine.search(game, limits, &Reported { control, contempt })?;
        // It accepts a draw only where it expects to lose.
        let decision = Decision::by_score(game, choice);
        let lines = decision.choice.lines.iter().map(|line| without_contempt(line, contempt)).collect();
        Ok(Decision { choice: Choice { lines, ..decision.choice }, ..decision })
    }
}

/// A line with the engine's own evaluation. A draw stays a draw.
fn without_contempt(line: &Line, contempt: i32) -> Line {
    let score = line.score.map(|ForMover(score)| match score {
        Score::Centipawns(cp) if cp != 0 => ForMover(Score::Centipawns(cp - contempt)),
        score => ForMover(score),
    });
    Line { score, ..line.clone() }
}

/// Reports lines without the contempt.
struct Reported<'a> {
    control: &'a dyn SearchControl,
    contempt: i32,
}

impl SearchControl for Reported<'_> {
    fn elapsed(&self) -> Duration {
        self.control.elapsed()
    }

    fn stopped(&self) -> bool {
        self.control.stopped()
    }

    fn report(&self, line: &Line) {
        self.control.report(&without_contempt(line, self.contempt));
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_game::position_from_fen;
    use tabia_search::{BaselineEvaluator, NoControl};

    use super::*;

    fn player() -> ContemptPlayer {
        let evaluator = Box::new(BaselineEvaluator);
        ContemptPlayer::new("test".to_owned(), EngineOptions::default(), evaluator, Elo(1500))
    }

    fn decide(fen: &str, limits: &Limits) -> Decision {
        let game = History::new(position_from_fen(fen).unwrap(), ByColor::default());
        player().decide(&game, limits, &NoControl).unwrap()
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    #[test]
    fn a_forced_mate_is_played() {
        let limits = Limits { nodes: Some(2000), ..Limits::default() };
        let decision = decide("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", &limits);
        assert_eq!(decision.choice.mv.to_string(), "Ra1-a8");
    }

    #[test]
    fn moves_that_cost_much_are_never_played() {
        // Only taking the queen saves the game.
        let limits = Limits { nodes: Some(2000), ..Limits::default() };
        let decision = decide("3q2k1/8/8/8/8/8/3R4/3K4 w - - 0 1", &limits);
        assert_eq!(decision.choice.mv.to_string(), "Rd2xd8");
    }

    #[test]
    fn lines_are_those_asked_for_and_start_with_the_move() {
        for lines in [0, 1, 3] {
            let limits = Limits { nodes: Some(3000), lines, ..Limits::default() };
            let Decision { choice, .. } = decide(START, &limits);
            assert_eq!(choice.lines.len(), lines.max(1));
            assert_eq!(choice.lines[0].moves.first(), Some(&choice.mv));
            assert!(choice.lines.iter().enumerate().all(|(index, line)| line.rank == index + 1));
        }
    }

    #[test]
    fn the_same_game_gets_the_same_move() {
        let limits = Limits { nodes: Some(3000), ..Limits::default() };
        assert_eq!(decide(START, &limits).choice.mv, decide(START, &limits).choice.mv);
    }

    #[test]
    fn nodes_are_within_the_limit() {
        let limits = Limits { nodes: Some(8000), ..Limits::default() };
        for fen in [START, "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"] {
            let nodes = decide(fen, &limits).choice.nodes;
            assert!((4000..=8000 + 64).contains(&nodes), "{nodes} nodes");
        }
    }

    #[test]
    fn the_weaker_the_opponent_the_more_is_expected() {
        let expected = [2400, 2050, 1800, 1500, 1000].map(|rating| contempt_for(Elo(rating)));
        assert!(expected.is_sorted_by_key(|contempt| contempt.endgame), "{expected:?}");
        assert_eq!(expected[0], Contempt::default());
        assert!(expected[2..].iter().all(|contempt| contempt.opening > contempt.endgame), "{expected:?}");
    }

    #[test]
    fn a_worse_game_is_preferred_to_a_repetition() {
        let start = position_from_fen("6k1/5pp1/7p/3n4/8/8/r4PPP/1R4K1 w - - 0 1").unwrap();
        let mut game = History::new(start, ByColor::default());
        for uci in ["b1c1", "g8f8", "c1b1", "f8g8"].repeat(2) {
            game.push(tabia_encoding::parse_uci(game.current(), uci).unwrap(), None);
        }
        let limits = Limits { nodes: Some(4000), ..Limits::default() };
        let mut engine = crate::EnginePlayer::new(
            "plain".to_owned(),
            EngineOptions::default(),
            Box::new(BaselineEvaluator),
        );
        let plain = engine.choose(&game, &limits, &NoControl).unwrap();
        assert_eq!(plain.mv.to_string(), "Rb1-c1", "a draw is better than a knight less");
        let decision = player().decide(&game, &limits, &NoControl).unwrap();
        assert_ne!(decision.choice.mv, plain.mv);
        let Some(ForMover(Score::Centipawns(cp))) = decision.choice.lines[0].score else {
            panic!("{:?}", decision.choice.lines[0])
        };
        assert!((-900..0).contains(&cp), "the score is the engine's: {cp}");
    }

    #[test]
    fn reported_scores_are_those_of_the_engine() {
        let line = |cp| Line { score: Some(ForMover(Score::Centipawns(cp))), ..Line::default() };
        assert_eq!(without_contempt(&line(700), 900), line(-200));
        assert_eq!(without_contempt(&line(0), 900), line(0), "a draw");
        let mate = Line { score: Some(ForMover(Score::Mate(std::num::NonZeroI32::MIN))), ..Line::default() };
        assert_eq!(without_contempt(&mate, 900), mate);
    }
}
