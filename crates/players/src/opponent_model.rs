//! An engine that plays against a person of a rating: it weighs its candidates by the replies such a person is likely to play.

use std::sync::Arc;
use std::time::Duration;

use shakmaty::{Move, Position};
use tabia_encoding::ForMover;
use tabia_game::History;
use tabia_model::{Candidate, Model};
use tabia_search::{
    Engine, EngineOptions, Evaluator, Limits, Line, NoControl, SearchControl, winning_chance,
};

use crate::{Decision, NoPolicy, Persona, Player, PlayerError};

/// The candidates of the engine that are considered.
const CANDIDATES: usize = 8;
/// Candidates that cost more of the winning chance than this are not played, however people would reply.
const MAX_COST: f64 = 0.12;
/// The replies that are searched: the likeliest, until they make up this share.
const REPLIES: usize = 5;
const REPLY_MASS: f32 = 0.92;
/// The fewest nodes of a reply's search.
const MIN_REPLY_NODES: u64 = 200;

/// The alpha-beta [`Engine`], which chooses the move with the greatest expected score against a person.
///
/// The first half of its time goes to a search of the position. The other half goes to the likely replies to each good
/// candidate: a candidate's value is the winning chance after each reply, weighted by how likely it is, and the engine's own
/// value of the candidate for the replies that were not searched.
pub struct OpponentModelPlayer {
    name: String,
    engine: Engine,
    model: Arc<Model>,
    opponent: Persona,
}

impl OpponentModelPlayer {
    /// An engine called `name` against people as `model` knows them.
    ///
    /// # Errors
    /// If `model` has no policy head.
    pub fn new(
        name: String,
        options: EngineOptions,
        evaluator: Box<dyn Evaluator>,
        model: Arc<Model>,
        opponent: Persona,
    ) -> Result<OpponentModelPlayer, NoPolicy> {
        if model.card().policy.is_none() {
            return Err(NoPolicy);
        }
        Ok(OpponentModelPlayer { name, engine: Engine::new(options, evaluator), model, opponent })
    }

    /// What the opponent may reply in each game, likeliest first.
    fn replies(&self, games: &[History]) -> Result<Vec<Vec<Candidate>>, PlayerError> {
        let situations: Vec<_> = games
            .iter()
            .map(|game| {
                let mut situation = game.situation();
                situation.mover.rating = self.opponent.rating.or(situation.mover.rating);
                situation.pool = self.opponent.pool.unwrap_or(situation.pool);
                situation
            })
            .collect();
        let evaluations = self.model.evaluate(&situations)?;
        let candidates = |policy: tabia_model::Policy| policy.candidates().to_vec();
        Ok(evaluations.into_iter().map(|e| e.policy.map(candidates).unwrap_or_default()).collect())
    }

    /// The mover's expected score after a candidate, where `value` is the engine's.
    fn expected_score(
        &mut self,
        after: &History,
        replies: &[Candidate],
        value: f64,
        nodes: u64,
        control: &dyn SearchControl,
    ) -> Result<f64, PlayerError> {
        let (mut expected, mut mass) = (0.0, 0.0);
        for reply in replies.iter().take(REPLIES) {
            if mass >= REPLY_MASS || control.stopped() {
                break;
            }
            let answered = next(after, reply.mv);
            expected += f64::from(reply.probability) * self.chance(&answered, nodes)?;
            mass += reply.probability;
        }
        Ok(expected + f64::from(1.0 - mass.min(1.0)) * value)
    }

    /// The expected score of the side to move.
    fn chance(&mut self, game: &History, nodes: u64) -> Result<f64, PlayerError> {
        let position = game.current();
        if position.legal_moves().is_empty() {
            return Ok(if position.is_check() { 0.0 } else { 0.5 });
        }
        if position.is_insufficient_material() {
            return Ok(0.5);
        }
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let choice = self.engine.search(game, &limits, &NoControl)?;
        Ok(choice.lines.first().and_then(|line| line.score).map_or(0.5, winning_chance))
    }
}

impl Player for OpponentModelPlayer {
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
        let root = Limits { lines: limits.lines.max(CANDIDATES), ..halved(limits) };
        let mut choice = self.engine.search(game, &root, control)?;
        let value = |line: &Line| line.score.map(winning_chance);
        let best = choice.lines.first().and_then(value).unwrap_or(0.5);
        let mut candidates: Vec<(usize, f64)> = choice
            .lines
            .iter()
            .enumerate()
            .filter_map(|(index, line)| Some((index, value(line).filter(|_| !line.upper_bound)?)))
            .filter(|&(_, chance)| best - chance <= MAX_COST)
            .collect();
        // A forced mate needs no guess.
        let mates = choice.lines.first().is_some_and(|line| line.score.is_some_and(is_win));
        if candidates.len() > 1 && !mates && !control.stopped() {
            let moves: Vec<Move> =
                candidates.iter().filter_map(|&(index, _)| first_move(&choice.lines, index)).collect();
            let after: Vec<History> = moves.iter().map(|&m| next(game, m)).collect();
            let replies = self.replies(&after)?;
            let searches = (candidates.len() * REPLIES) as u64;
            let nodes = (choice.nodes / searches).max(MIN_REPLY_NODES);
            for (((_, chance), after), replies) in candidates.iter_mut().zip(&after).zip(&replies) {
                *chance = self.expected_score(after, replies, *chance, nodes, control)?;
            }
            // The engine's order decides between equal ones.
            let first = candidates.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1)).map(|&(index, _)| index);
            if let Some(index) = first.filter(|&index| index > 0) {
                let line = choice.lines.remove(index);
                choice.lines.insert(0, line);
            }
        }
        if let Some(&m) = choice.lines.first().and_then(|line| line.moves.first()) {
            choice.mv = m;
            choice.ponder = choice.lines.first().and_then(|line| line.moves.get(1)).copied();
        }
        choice.lines.truncate(limits.lines.max(1));
        for (index, line) in choice.lines.iter_mut().enumerate() {
            line.rank = index + 1;
        }
        Ok(Decision::by_score(game, choice))
    }
}

fn first_move(lines: &[Line], index: usize) -> Option<Move> {
    lines.get(index)?.moves.first().copied()
}

fn is_win(score: ForMover<tabia_encoding::Score>) -> bool {
    matches!(score.0, tabia_encoding::Score::Mate(moves) if moves.get() > 0)
}

fn next(game: &History, m: Move) -> History {
    let mut after = game.clone();
    after.push(m, None);
    after
}

/// Half of the nodes and time; depth and clocks stay.
fn halved(limits: &Limits) -> Limits {
    let half = |time: Duration| time / 2;
    Limits {
        nodes: limits.nodes.map(|nodes| (nodes / 2).max(1)),
        movetime: limits.movetime.map(half),
        clocks: limits.clocks.map(|clocks| {
            clocks.map(|clock| tabia_search::TimeLeft {
                remaining: half(clock.remaining),
                increment: half(clock.increment),
            })
        }),
        ..limits.clone()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_encoding::{Elo, RatingPool};
    use tabia_game::position_from_fen;
    use tabia_search::BaselineEvaluator;

    use super::*;
    use crate::test_networks;

    fn player() -> OpponentModelPlayer {
        let opponent = Persona { rating: Some(Elo(1500)), pool: Some(RatingPool::Online) };
        let evaluator = Box::new(BaselineEvaluator);
        OpponentModelPlayer::new(
            "test".to_owned(),
            EngineOptions::default(),
            evaluator,
            test_networks::human(),
            opponent,
        )
        .unwrap()
    }

    fn decide(fen: &str, limits: &Limits) -> Decision {
        let game = History::new(position_from_fen(fen).unwrap(), ByColor::default());
        player().decide(&game, limits, &NoControl).unwrap()
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    #[test]
    fn a_forced_mate_is_played_whatever_people_reply() {
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
    fn half_of_the_budget_is_left_for_replies() {
        let limits =
            Limits { nodes: Some(1001), movetime: Some(Duration::from_secs(3)), ..Limits::default() };
        let half = halved(&limits);
        assert_eq!((half.nodes, half.movetime), (Some(500), Some(Duration::from_millis(1500))));
        assert_eq!(halved(&Limits::default()), Limits::default());
    }
}
