//! An engine that plays against a person of a rating: it avoids draws and exchanges, and among good moves chooses the one that
//! such a person is likeliest to answer badly.

use std::{sync::Arc, time::Duration};

use shakmaty::{Color, Move, Position};
use tabia_encoding::{Elo, ForMover, Score};
use tabia_game::History;
use tabia_model::{Candidate, Model};
use tabia_search::{
    Choice, Contempt, ContemptEvaluator, ContemptSide, Engine, EngineOptions, Evaluator, Limits, Line,
    SearchControl, winning_chance,
};

use crate::{Decision, NoPolicy, Persona, Player, PlayerError, strength_at};

/// The best moves of the engine that are considered.
const CANDIDATES: usize = 4;
/// Moves that cost more of the winning chance than this are not played in an even position, however people would reply.
const MAX_COST: f64 = 0.03;
/// The share of nodes and time that goes to the search of the position; the rest goes to the replies.
const ROOT_SHARE: f64 = 0.6;
/// The replies that are searched: the likeliest, each at least this likely.
const REPLIES: usize = 6;
const LEAST_PROBABILITY: f32 = 0.03;
/// The fewest nodes of a search of replies.
const MIN_REPLY_NODES: u64 = 200;

/// The rating of people who hold the engine in an equal position, and how many centipawns a person gets for each point below it.
/// Measured with 4,000 nodes a move: it scores about as much as `human,elo=1500` without its queen and as `human,elo=1800`
/// without a rook.
const EQUAL_RATING: f64 = 2050.0;
const CENTIPAWNS_PER_POINT: f64 = 1.8;
/// How much more the engine expects with all pieces on the board than without any, as a share of the rest.
const PIECES_SHARE: f64 = 1.0 / 3.0;

/// What the engine expects of a position against a person of this rating, beyond its evaluation.
fn contempt_for(opponent: Elo) -> Contempt {
    let points = (EQUAL_RATING - f64::from(opponent.0)).max(0.0);
    let endgame = CENTIPAWNS_PER_POINT * points;
    Contempt { endgame: endgame.round() as i32, opening: (endgame * (1.0 + PIECES_SHARE)).round() as i32 }
}

/// The alpha-beta [`Engine`], which chooses the move with the greatest expected score against a person.
///
/// It searches with [contempt](Contempt): a draw is worth less than an even game, and so is an exchange of pieces. Among the
/// moves that are nearly as good as the best, it then chooses by the likely replies: what a move gains is the winning chance
/// that the replies lose against the best one, weighted by how likely a person is to play them.
pub struct OpponentModelPlayer {
    name: String,
    engine: Engine,
    model: Arc<Model>,
    opponent: Persona,
    /// How much likelier good replies are than by the network: [`SearchBlend::trust`](crate::SearchBlend::trust).
    trust: f64,
    contempt: Contempt,
    side: ContemptSide,
    /// The side of the last decision.
    last_side: Option<Color>,
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
        let calibrated = opponent.rating.zip(model.card().strength.as_ref());
        let calibrated = calibrated.and_then(|(rating, table)| strength_at(table, rating));
        let trust = calibrated.map_or(0.0, |(_, settings)| f64::from(settings.blend.trust));
        let told = calibrated.map(|(told, _)| told).or(opponent.rating);
        let contempt = opponent.rating.map_or_else(Contempt::default, contempt_for);
        let side = ContemptSide::default();
        let evaluator = Box::new(ContemptEvaluator::new(evaluator, contempt, side.clone()));
        let (engine, opponent) = (Engine::new(options, evaluator), Persona { rating: told, ..opponent });
        Ok(OpponentModelPlayer { name, engine, model, opponent, trust, contempt, side, last_side: None })
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

    /// The winning chance that the opponent is expected to lose in the position after a candidate, and the nodes it took.
    /// `best` is the engine's reply.
    fn expected_loss(
        &mut self,
        after: &History,
        replies: &[Candidate],
        best: Option<Move>,
        nodes: u64,
        control: &dyn SearchControl,
    ) -> Result<(f64, u64), PlayerError> {
        let mut likely = likely_replies(replies, best);
        if after.current().is_insufficient_material() || likely.len() < 2 {
            return Ok((0.0, 0));
        }
        let moves: Vec<Move> = likely.iter().map(|reply| reply.mv).collect();
        let limits =
            Limits { nodes: Some(nodes), lines: moves.len(), search_moves: moves, ..Limits::default() };
        let found = self.engine.search(after, &limits, &Quiet(control))?;
        let chance = |mv: Move| {
            let line = found.lines.iter().find(|line| line.moves.first() == Some(&mv));
            line.and_then(|line| line.score).map(winning_chance)
        };
        likely.retain(|reply| chance(reply.mv).is_some());
        let replies: Vec<(f64, f64)> = likely
            .iter()
            .map(|reply| (f64::from(reply.probability), chance(reply.mv).unwrap_or(0.0)))
            .collect();
        Ok((mean_loss(&replies, self.trust), found.nodes))
    }

    /// Puts the line that is best against the opponent in front; returns the nodes it took.
    fn choose_line(
        &mut self,
        game: &History,
        choice: &mut Choice,
        candidates: &[(usize, f64)],
        nodes: u64,
        control: &dyn SearchControl,
    ) -> Result<u64, PlayerError> {
        let line = |index: usize, ply: usize| choice.lines[index].moves.get(ply).copied();
        let moves: Vec<Move> = candidates.iter().filter_map(|&(index, _)| line(index, 0)).collect();
        let after: Vec<History> = moves.iter().map(|&m| next(game, m)).collect();
        let replies = self.replies(&after)?;
        let each = (nodes / candidates.len() as u64).max(MIN_REPLY_NODES);
        let (mut visited, mut best) = (0, None);
        for ((&(index, chance), after), replies) in candidates.iter().zip(&after).zip(&replies) {
            if control.stopped() {
                return Ok(visited);
            }
            let (loss, nodes) = self.expected_loss(after, replies, line(index, 1), each, control)?;
            visited += nodes;
            // The engine's order decides between equal ones.
            if best.is_none_or(|(_, most)| chance + loss > most) {
                best = Some((index, chance + loss));
            }
        }
        if let Some((index, _)) = best {
            choice.lines[..=index].rotate_right(1);
        }
        Ok(visited)
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
        let turn = game.current().turn();
        if self.last_side.replace(turn) != Some(turn) {
            self.side.set(Some(turn));
            // Its table has the other side's values.
            self.engine.new_game();
        }
        let contempt = self.contempt.at(game.current());
        let control = &Reported { control, contempt };
        let root = Limits {
            lines: limits.lines.max(CANDIDATES),
            within: Some(MAX_COST),
            ..shared(limits, ROOT_SHARE)
        };
        let mut choice = self.engine.search(game, &root, control)?;
        let best = choice.lines.first().and_then(|line| line.score);
        let chance = best.map_or(0.5, winning_chance);
        let max_cost = max_cost(chance);
        let candidates: Vec<(usize, f64)> = choice
            .lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.upper_bound)
            .filter_map(|(index, line)| Some((index, winning_chance(line.score?))))
            .filter(|&(_, value)| chance - value <= max_cost)
            .collect();
        let left = match limits.nodes {
            Some(nodes) => nodes.saturating_sub(choice.nodes),
            None => (choice.nodes as f64 * (1.0 / ROOT_SHARE - 1.0)) as u64,
        };
        let decided = best.is_some_and(is_mate) || control.stopped();
        if candidates.len() > 1 && !decided {
            choice.nodes += self.choose_line(game, &mut choice, &candidates, left, control)?;
        } else if limits.nodes.is_some() && left > 0 && limits.lines <= 1 && !decided {
            // The only good move so far: a longer search may find another.
            let searched = choice.nodes;
            choice = self.engine.search(game, &Limits { nodes: Some(left), ..limits.clone() }, control)?;
            choice.nodes += searched;
        }
        if let Some(&m) = choice.lines.first().and_then(|line| line.moves.first()) {
            choice.mv = m;
            choice.ponder = choice.lines.first().and_then(|line| line.moves.get(1)).copied();
        }
        choice.lines.truncate(limits.lines.max(1));
        for (index, line) in choice.lines.iter_mut().enumerate() {
            line.rank = index + 1;
        }
        // It accepts a draw only where it expects to lose.
        let decision = Decision::by_score(game, choice);
        let lines = decision.choice.lines.iter().map(|line| without_contempt(line, contempt)).collect();
        Ok(Decision { choice: Choice { lines, ..decision.choice }, ..decision })
    }
}

/// What a move may cost where the best has this winning chance. It is about the same in centipawns everywhere: in lost and in
/// won positions, a small part of the winning chance is a piece.
fn max_cost(chance: f64) -> f64 {
    MAX_COST * 4.0 * chance * (1.0 - chance)
}

/// The likely replies, and the engine's.
fn likely_replies(replies: &[Candidate], best: Option<Move>) -> Vec<Candidate> {
    let likely = replies.iter().take(REPLIES).filter(|reply| reply.probability >= LEAST_PROBABILITY);
    let mut likely: Vec<Candidate> = likely.copied().collect();
    if let Some(mv) = best.filter(|mv| likely.iter().all(|reply| reply.mv != *mv)) {
        likely.extend(replies.iter().find(|reply| reply.mv == mv));
    }
    likely
}

/// The winning chance that replies lose against the best of them, on average, given the probability and the chance of each.
/// Replies that are missing lose nothing. Every reply is less likely the more it loses, by `trust`.
fn mean_loss(replies: &[(f64, f64)], trust: f64) -> f64 {
    let best = replies.iter().map(|&(_, chance)| chance).fold(0.0, f64::max);
    let (mut lost, mut weights, mut likely) = (0.0, 0.0, 0.0);
    for &(probability, chance) in replies {
        let weight = probability * (-trust * (best - chance)).exp();
        lost += weight * (best - chance);
        weights += weight;
        likely += probability;
    }
    if weights > 0.0 { likely * lost / weights } else { 0.0 }
}

fn is_mate(score: ForMover<Score>) -> bool {
    matches!(score.0, Score::Mate(_))
}

fn next(game: &History, m: Move) -> History {
    let mut after = game.clone();
    after.push(m, None);
    after
}

/// A share of the nodes and time; depth stays.
fn shared(limits: &Limits, share: f64) -> Limits {
    let part = |time: Duration| time.mul_f64(share);
    Limits {
        nodes: limits.nodes.map(|nodes| ((nodes as f64 * share) as u64).max(1)),
        movetime: limits.movetime.map(part),
        clocks: limits.clocks.map(|clocks| {
            clocks.map(|clock| tabia_search::TimeLeft {
                remaining: part(clock.remaining),
                increment: part(clock.increment),
            })
        }),
        ..limits.clone()
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

/// Reports nothing: the lines of replies are not the game's.
struct Quiet<'a>(&'a dyn SearchControl);

impl SearchControl for Quiet<'_> {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_encoding::RatingPool;
    use tabia_game::position_from_fen;
    use tabia_search::{BaselineEvaluator, NoControl};

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
    fn nodes_are_within_the_limit() {
        let limits = Limits { nodes: Some(8000), ..Limits::default() };
        for fen in [START, "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"] {
            let nodes = decide(fen, &limits).choice.nodes;
            assert!((4000..=8000 + 64).contains(&nodes), "{nodes} nodes");
        }
    }

    #[test]
    fn a_share_of_the_budget_is_left_for_replies() {
        let limits =
            Limits { nodes: Some(1001), movetime: Some(Duration::from_secs(3)), ..Limits::default() };
        let half = shared(&limits, 0.5);
        assert_eq!((half.nodes, half.movetime), (Some(500), Some(Duration::from_millis(1500))));
        assert_eq!(shared(&Limits::default(), 0.5), Limits::default());
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
    fn moves_may_cost_as_many_centipawns_in_any_position() {
        for best in [-900, -300, 0, 300, 900] {
            let chance = |cp: i32| winning_chance(ForMover(Score::Centipawns(cp)));
            let cost = |cp: i32| chance(best) - chance(best - cp);
            assert!(cost(25) < max_cost(chance(best)) && cost(45) > max_cost(chance(best)), "{best}");
        }
    }

    #[test]
    fn likely_errors_count() {
        let even = [(0.5, 0.4), (0.5, 0.4)];
        assert_eq!(mean_loss(&even, 0.0), 0.0);
        let trap = [(0.7, 0.1), (0.3, 0.5)];
        assert!((mean_loss(&trap, 0.0) - 0.28).abs() < 1e-9);
        assert!(mean_loss(&trap, 5.0) < mean_loss(&trap, 0.0), "people who calculate err less");
        let unlikely = [(0.1, 0.1), (0.8, 0.5)];
        assert!(mean_loss(&unlikely, 0.0) < mean_loss(&trap, 0.0));
        assert_eq!(mean_loss(&[], 0.0), 0.0);
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
