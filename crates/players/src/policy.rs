//! Players that pick their moves from a network's policy head.

use std::{cell::RefCell, collections::HashMap, ops::RangeInclusive, sync::Arc};

use fastrand::Rng;
use shakmaty::{Bitboard, CastlingMode, Chess, EnPassantMode, Move, Position};
use tabia_encoding::{Elo, ForMover, RatingPool, Score, Situation};
use tabia_game::History;
use tabia_model::{Candidate, Evaluation, Model};
use tabia_search::{Choice, Evaluator, Limits, Line, SearchControl};

use crate::{
    Adapter, Decision, Player, PlayerError, SearchBlend, move_order, policy_search::PolicySearch,
    think_time_for, time_cap::TimeCap,
};

/// A network that plays from its policy head: human-like networks, Maia and other Leela networks. A shallow search may
/// change its probabilities.
///
/// The same seed and the same calls give the same moves.
pub struct PolicyPlayer {
    name: String,
    model: Arc<Model>,
    persona: Persona,
    pick: Pick,
    /// Turns the network's probabilities into those of one person.
    adapter: Option<Arc<Adapter>>,
    search: Option<PolicySearch>,
    /// Plies from the initial position that are sampled from the raw policy.
    opening: usize,
    /// Whether the likeliest move is found before its promotion piece.
    piece_last: bool,
    /// The start of Chess960 that [`Player::check_start`] last found the network fit for.
    checked: RefCell<Option<Chess>>,
    rng: Rng,
}

/// Encodings of the networks whose own program takes the likeliest pair of squares first, then the likeliest promotion
/// piece.
const PIECE_LAST: [&str; 2] = ["humchess-68", "humchess-74"];

/// Whom a network imitates, if it takes a rating. What is not set comes from the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Persona {
    /// The player's rating.
    pub rating: Option<Elo>,
    /// The pool of the rating.
    pub pool: Option<RatingPool>,
}

/// How a move is picked from the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// The likeliest move: one that promotes counts with its piece, in networks of HumChess before its piece is chosen.
    Likeliest,
    /// A random move.
    Sampled {
        /// Probabilities are raised to the power of one over this: 1 leaves them, less sharpens them, 0 leaves only the
        /// likeliest move.
        temperature: f32,
        /// Nucleus sampling: the likeliest moves that together reach this probability are kept; 1 keeps all.
        top_p: f32,
    },
}

impl Pick {
    /// The allowed temperatures.
    pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=100.0;

    /// Samples the policy as it is.
    pub const RAW: Pick = Pick::Sampled { temperature: 1.0, top_p: 1.0 };

    /// Whether moves are sampled.
    pub fn is_sampled(self) -> bool {
        self != Pick::Likeliest
    }
}

/// The network has no policy head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network has no policy head")]
pub struct NoPolicy;

/// The pawns, kings and one rook of a start position, so that it can castle at once; for each castling right.
fn castling_alone(start: &Chess) -> Vec<Chess> {
    let board = start.board();
    let mut positions = Vec::new();
    for rook in start.castles().castling_rights() {
        let mut setup = start.to_setup(EnPassantMode::Legal);
        for square in board.occupied() & !(board.pawns() | board.kings()).with(rook) {
            setup.board.discard_piece_at(square);
        }
        setup.castling_rights = Bitboard::from(rook);
        setup.turn = board.color_at(rook).unwrap_or(setup.turn);
        positions.extend(setup.position(CastlingMode::Chess960).ok());
    }
    positions
}

impl PolicyPlayer {
    /// A player called `name` that imitates `persona`.
    ///
    /// # Errors
    /// If the network has no policy head.
    pub fn new(
        name: String,
        model: Arc<Model>,
        persona: Persona,
        pick: Pick,
        seed: u64,
    ) -> Result<PolicyPlayer, NoPolicy> {
        if model.card().policy.is_none() {
            return Err(NoPolicy);
        }
        let piece_last = PIECE_LAST.contains(&model.card().encoding.as_str());
        let rng = Rng::with_seed(seed);
        Ok(PolicyPlayer {
            name,
            model,
            persona,
            pick,
            adapter: None,
            search: None,
            opening: 0,
            piece_last,
            checked: RefCell::new(None),
            rng,
        })
    }

    /// Plays like the person of an adapter. The rating of the persona is theirs, without the shift.
    pub fn with_adapter(self, adapter: Arc<Adapter>) -> PolicyPlayer {
        PolicyPlayer { adapter: Some(adapter), ..self }
    }

    /// Adds a shallow search over `evaluator`.
    pub fn with_search(self, blend: SearchBlend, evaluator: Box<dyn Evaluator>) -> PolicyPlayer {
        PolicyPlayer { search: Some(PolicySearch::new(blend, evaluator)), ..self }
    }

    /// Samples the first plies from the initial position from the raw policy, without search: people do not calculate
    /// there, and a search would narrow the choice of openings.
    pub fn with_opening(self, plies: usize) -> PolicyPlayer {
        PolicyPlayer { opening: plies, ..self }
    }

    /// Whether the position is played from memory.
    fn in_opening(&self, game: &History) -> bool {
        let situation = game.situation();
        if self.opening > 0 && self.adapter.as_ref().is_some_and(|adapter| adapter.knows(situation.position))
        {
            return true;
        }
        let start = situation.earlier.last().unwrap_or(situation.position);
        situation.last_moves.len() < self.opening && *start == Chess::default()
    }

    /// Stage 1: what the network says of the position, and its policy over the moves to choose from.
    fn prior(&self, game: &History, limits: &Limits) -> Result<(Evaluation, Vec<Candidate>), PlayerError> {
        let allowed = move_order::candidates(game, limits)?;
        let mut situation = game.situation();
        situation.mover.rating = self.persona.rating.or(situation.mover.rating);
        if let Some(adapter) = &self.adapter {
            situation.mover.rating = adapter.told(situation.mover.rating);
        }
        situation.pool = self.persona.pool.unwrap_or(situation.pool);
        if let Some(clocks) = &limits.clocks {
            let turn = situation.position.turn();
            situation.mover.time_left = Some(clocks[turn].remaining);
            situation.opponent.time_left = Some(clocks[!turn].remaining);
        }
        let mut evaluation = self.model.evaluate(&[situation])?.remove(0);
        let mut candidates = policy_of(&evaluation).to_vec();
        if let Some(adapter) = &self.adapter {
            adapter.adapt(&situation, &mut candidates);
            if let Some(chances) = &mut evaluation.think_time {
                adapter.pace_think_time(chances);
            }
        }
        candidates.retain(|candidate| allowed.contains(&candidate.mv));
        normalise(&mut candidates);
        Ok((evaluation, candidates))
    }
}

impl Player for PolicyPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Refuses Chess960 if the network has no move for castling: the head of a vocabulary counted from data gives moves that it
    /// lacks a probability of exactly zero.
    fn check_start(&self, start: &Chess) -> Result<(), PlayerError> {
        if !start.castles().mode().is_chess960() || self.checked.borrow().as_ref() == Some(start) {
            return Ok(());
        }
        for position in castling_alone(start) {
            let evaluation = self.model.evaluate(&[Situation::of(&position)])?.remove(0);
            let lacking = |candidate: &&Candidate| candidate.mv.is_castle() && candidate.probability == 0.0;
            if let Some(candidate) = policy_of(&evaluation).iter().find(lacking) {
                let castling = candidate.mv.to_uci(CastlingMode::Chess960);
                let problem = format!("{}: its policy head has no move for castling {castling}", self.name);
                return Err(PlayerError::External(format!("{problem}; it plays standard chess alone")));
            }
        }
        *self.checked.borrow_mut() = Some(start.clone());
        Ok(())
    }

    fn new_game(&mut self) {
        if let Some(search) = &mut self.search {
            search.new_game();
        }
    }

    /// The lines hold the candidates with the probabilities the player picks by, or the raw policy if it always takes the
    /// likeliest. The first line also holds the evaluation of the position and the think time of the move picked.
    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let (evaluation, mut candidates) = self.prior(game, limits)?;
        let in_opening = self.in_opening(game);
        let pick = if in_opening { Pick::RAW } else { self.pick };
        let mut search = self.search.as_mut().filter(|_| !in_opening);
        let mate = match &search {
            Some(search) => search.filter(game, &mut candidates),
            None => None,
        };
        if let Pick::Sampled { temperature, top_p } = pick {
            apply_temperature(&mut candidates, temperature);
            keep_nucleus(&mut candidates, top_p);
        }
        let searched = match &mut search {
            Some(search) => {
                let time_cap = TimeCap::of(limits, game.current().turn(), control);
                search.blend(game, &mut candidates, mate, &time_cap)?
            }
            None => 0,
        };
        if pick == Pick::Likeliest && self.piece_last {
            sort_piece_last(&mut candidates);
        }
        let mv = match pick {
            Pick::Likeliest => candidates[0].mv,
            Pick::Sampled { .. } => draw(&candidates, self.rng.f32()),
        };
        Ok(report(&evaluation, &candidates, mv, 1 + searched, limits.lines).into())
    }
}

fn policy_of(evaluation: &Evaluation) -> &[Candidate] {
    evaluation.policy.as_ref().expect("a player needs a policy head").candidates()
}

fn report(evaluation: &Evaluation, candidates: &[Candidate], mv: Move, nodes: u64, lines: usize) -> Choice {
    let line = |(place, candidate): (usize, &Candidate)| Line {
        rank: place + 1,
        probability: Some(candidate.probability),
        nodes,
        moves: vec![candidate.mv],
        ..Line::default()
    };
    let mut lines: Vec<Line> = candidates.iter().take(lines.max(1)).enumerate().map(line).collect();
    let prior = policy_of(evaluation).iter().find(|candidate| candidate.mv == mv);
    let prior = prior.map_or(0.0, |candidate| candidate.probability);
    lines[0].wdl = evaluation.wdl;
    lines[0].think_time = evaluation.think_time.map(|chances| think_time_for(&chances, prior));
    lines[0].score = evaluation.score.map(|score| ForMover(Score::Centipawns(score.0.round() as i32)));
    Choice { mv, ponder: None, lines, nodes }
}

/// Sorts by the probability of the pair of squares, then by that of the promotion piece, likeliest first.
fn sort_piece_last(candidates: &mut [Candidate]) {
    let pair = |candidate: &Candidate| (candidate.mv.from(), candidate.mv.to());
    let mut totals: HashMap<_, f32> = HashMap::new();
    for candidate in candidates.iter() {
        *totals.entry(pair(candidate)).or_default() += candidate.probability;
    }
    candidates.sort_by(|a, b| {
        let by_pair = totals[&pair(b)].total_cmp(&totals[&pair(a)]);
        by_pair.then(b.probability.total_cmp(&a.probability))
    });
}

/// Makes the probabilities add up to one; uniform if all are zero.
pub(crate) fn normalise(candidates: &mut [Candidate]) {
    let total: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    let even = 1.0 / candidates.len() as f32;
    for candidate in candidates {
        candidate.probability = if total > 0.0 { candidate.probability / total } else { even };
    }
}

/// Applies a temperature to probabilities sorted in descending order.
fn apply_temperature(candidates: &mut [Candidate], temperature: f32) {
    let Some(top) = candidates.first().map(|candidate| candidate.probability) else { return };
    for (place, candidate) in candidates.iter_mut().enumerate() {
        // Relative to the likeliest, so that only negligible probabilities underflow.
        candidate.probability = if temperature > 0.0 {
            (candidate.probability / top).powf(1.0 / temperature)
        } else {
            f32::from(u8::from(place == 0))
        };
    }
    normalise(candidates);
}

/// Keeps the likeliest candidates that together reach `top_p`; at least one.
fn keep_nucleus(candidates: &mut Vec<Candidate>, top_p: f32) {
    let mut sum = 0.0;
    let kept = candidates.iter().take_while(|candidate| {
        let needed = sum < top_p;
        sum += candidate.probability;
        needed
    });
    let kept = kept.count().max(1);
    if top_p < 1.0 {
        candidates.truncate(kept);
        normalise(candidates);
    }
}

/// The candidate at `point` of the cumulative distribution, from 0 to 1.
fn draw(candidates: &[Candidate], point: f32) -> Move {
    let mut left = point;
    let hit = candidates.iter().find(|candidate| {
        left -= candidate.probability;
        left < 0.0
    });
    // Rounding may leave the probabilities slightly short of one.
    let last = || candidates.iter().rev().find(|candidate| candidate.probability > 0.0);
    hit.or_else(last).unwrap_or(&candidates[0]).mv
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{ByColor, Chess, Move};
    use tabia_encoding::{Pace, PlayerInfo, parse_uci};
    use tabia_game::Chess960;
    use tabia_search::{NoControl, TimeLeft};

    use super::*;
    use crate::test_networks;

    fn start() -> History {
        History::new(Chess::default(), ByColor::default())
    }

    /// As many moves as there are probabilities.
    fn candidates(probabilities: &[f32]) -> Vec<Candidate> {
        let moves = Chess::default().legal_moves();
        let pairs = moves.iter().zip(probabilities);
        pairs.map(|(&mv, &probability)| Candidate { mv, probability }).collect()
    }

    fn probabilities(candidates: &[Candidate]) -> Vec<f32> {
        candidates.iter().map(|candidate| candidate.probability).collect()
    }

    fn near(found: &[f32], expected: &[f32]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5)
    }

    fn player(rating: Option<Elo>, pick: Pick, seed: u64) -> PolicyPlayer {
        let persona = Persona { rating, pool: None };
        PolicyPlayer::new("human".to_owned(), test_networks::human(), persona, pick, seed).unwrap()
    }

    #[test]
    fn every_castling_of_chess960_is_asked_for() {
        for start in (0..Chess960::COUNT).filter_map(Chess960::new).map(Chess960::position) {
            let asked: Vec<Move> = castling_alone(&start)
                .iter()
                .flat_map(|position| position.legal_moves().into_iter().filter(|m| m.is_castle()))
                .collect();
            assert_eq!(asked.len(), 4, "{:?}", start.board());
        }
        // Its head has all moves.
        let chess960 = Chess960::new(17).unwrap().position();
        assert!(player(None, Pick::Likeliest, 1).check_start(&chess960).is_ok());
    }

    fn lines(player: &mut PolicyPlayer, game: &History, limits: &Limits) -> Vec<(Move, f32)> {
        let limits = Limits { lines: 300, ..limits.clone() };
        let choice = player.choose(game, &limits, &NoControl).unwrap();
        choice.lines.iter().map(|line| (line.moves[0], line.probability.unwrap())).collect()
    }

    #[test]
    fn temperature_sharpens_and_flattens() {
        let at = |temperature| {
            let mut sharpened = candidates(&[0.8, 0.2]);
            apply_temperature(&mut sharpened, temperature);
            probabilities(&sharpened)
        };
        assert!(near(&at(1.0), &[0.8, 0.2]));
        assert!(near(&at(0.5), &[16.0 / 17.0, 1.0 / 17.0]));
        assert!(near(&at(2.0), &[2.0 / 3.0, 1.0 / 3.0]));
        assert!(near(&at(0.0), &[1.0, 0.0]));
        assert!(near(&at(1e-9), &[1.0, 0.0]), "no overflow on the way to zero");
    }

    #[test]
    fn nucleus_keeps_the_fewest_moves_that_reach_top_p() {
        let kept = |top_p| {
            let mut kept = candidates(&[0.5, 0.3, 0.15, 0.05]);
            keep_nucleus(&mut kept, top_p);
            probabilities(&kept)
        };
        assert!(near(&kept(1.0), &[0.5, 0.3, 0.15, 0.05]));
        assert!(near(&kept(0.9), &[0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95]));
        assert!(near(&kept(0.79), &[0.625, 0.375]));
        assert!(near(&kept(0.4), &[1.0]));
        assert!(near(&kept(0.0), &[1.0]));
    }

    #[test]
    fn draw_follows_the_probabilities() {
        let candidates = candidates(&[0.5, 0.3, 0.2, 0.0]);
        let mut rng = Rng::with_seed(3);
        let mut counts: HashMap<Move, u32> = HashMap::new();
        for _ in 0..10_000 {
            *counts.entry(draw(&candidates, rng.f32())).or_default() += 1;
        }
        for candidate in &candidates {
            let expected = 10_000.0 * f64::from(candidate.probability);
            let found = f64::from(counts.get(&candidate.mv).copied().unwrap_or(0));
            assert!((found - expected).abs() < 200.0, "{found} {expected}");
        }
        assert_eq!(draw(&candidates, 1.0), candidates[2].mv, "never an impossible move");
    }

    #[test]
    fn sampling_matches_the_reported_probabilities() {
        let pick = Pick::Sampled { temperature: 0.3, top_p: 0.9 };
        let mut player = player(Some(Elo(1500)), pick, 11);
        let said = lines(&mut player, &start(), &Limits::default());
        assert!((said.iter().map(|(_, p)| p).sum::<f32>() - 1.0).abs() < 1e-4);
        let mut counts: HashMap<Move, u32> = HashMap::new();
        for _ in 0..400 {
            let mv = player.choose(&start(), &Limits::default(), &NoControl).unwrap().mv;
            *counts.entry(mv).or_default() += 1;
        }
        for (mv, probability) in &said {
            let found = f64::from(counts.remove(mv).unwrap_or(0)) / 400.0;
            assert!((found - f64::from(*probability)).abs() < 0.1, "{mv}: {found} {probability}");
        }
        assert!(counts.is_empty(), "moves outside the nucleus: {counts:?}");
    }

    #[test]
    fn the_seed_determines_the_game() {
        let played = |seed| {
            let mut game = start();
            let mut player = player(None, Pick::RAW, seed);
            for _ in 0..12 {
                let mv = player.choose(&game, &Limits::default(), &NoControl).unwrap().mv;
                game.push(mv, None);
            }
            game.situation().last_moves.to_vec()
        };
        assert_eq!(played(1), played(1));
        assert_ne!(played(1), played(2));
    }

    #[test]
    fn argmax_plays_the_first_policy_move() {
        for model in [test_networks::human(), test_networks::leela()] {
            let game = start();
            let evaluation = model.evaluate(&[game.situation()]).unwrap().remove(0);
            let expected = evaluation.policy.unwrap();
            let mut player =
                PolicyPlayer::new("net".to_owned(), model, Persona::default(), Pick::Likeliest, 0).unwrap();
            let limits = Limits { lines: 5, ..Limits::default() };
            let choice = player.choose(&game, &limits, &NoControl).unwrap();
            assert_eq!(choice.mv, expected.best().unwrap().mv);
            assert_eq!(choice.lines.len(), 5);
            for (line, candidate) in choice.lines.iter().zip(expected.candidates()) {
                assert_eq!(line.moves, [candidate.mv]);
                assert!((line.probability.unwrap() - candidate.probability).abs() < 1e-5);
            }
            assert_eq!(choice.lines[0].wdl, evaluation.wdl);
        }
    }

    #[test]
    fn argmax_of_humchess_chooses_the_move_before_the_promotion_piece() {
        let other_choices = |model: &Arc<Model>| {
            let mut count = 0;
            for (king, file) in (0..8).flat_map(|king| (0..8).map(move |file| (king, file))) {
                let row = |letter: char, file: usize| {
                    let (before, after) = (file, 7 - file);
                    let gap = |n: usize| if n > 0 { n.to_string() } else { String::new() };
                    format!("{}{letter}{}", gap(before), gap(after))
                };
                let fen = format!("8/{}/8/7k/8/8/8/{} w - - 0 1", row('P', file), row('K', king));
                let game = History::new(tabia_game::position_from_fen(&fen).unwrap(), ByColor::default());
                let policy = model.evaluate(&[game.situation()]).unwrap().remove(0).policy.unwrap();
                // The four promotions come down to one move in these positions.
                let promotions: Vec<&Candidate> =
                    policy.candidates().iter().filter(|candidate| candidate.mv.is_promotion()).collect();
                let promotion: f32 = promotions.iter().map(|candidate| candidate.probability).sum();
                let king = policy.candidates().iter().find(|candidate| !candidate.mv.is_promotion()).unwrap();
                let expected = if promotion > king.probability { promotions[0] } else { king };

                let mut player = PolicyPlayer::new(
                    "net".to_owned(),
                    model.clone(),
                    Persona::default(),
                    Pick::Likeliest,
                    0,
                )
                .unwrap();
                let limits = Limits { lines: 3, ..Limits::default() };
                let choice = player.choose(&game, &limits, &NoControl).unwrap();
                assert_eq!(choice.lines[0].moves, [choice.mv]);
                if PIECE_LAST.contains(&model.card().encoding.as_str()) {
                    assert_eq!(choice.mv, expected.mv, "{fen}");
                } else {
                    assert_eq!(choice.mv, policy.best().unwrap().mv, "{fen}");
                }
                count += usize::from(policy.best().unwrap().mv != expected.mv);
            }
            count
        };
        for model in [test_networks::human(), test_networks::human_of_a_game()] {
            assert!(other_choices(&model) > 0, "the two rules agree everywhere");
        }
    }

    #[test]
    fn persona_rating_overrides_the_game() {
        let rated = |rating| {
            let seat = PlayerInfo { rating: Some(Elo(rating)), time_left: None };
            History::new(Chess::default(), ByColor { white: seat, black: PlayerInfo::default() })
        };
        let said = |rating: Option<u16>, game: &History| {
            lines(&mut player(rating.map(Elo), Pick::Likeliest, 0), game, &Limits::default())
        };
        assert_eq!(said(Some(1000), &start()), said(None, &rated(1000)));
        assert_eq!(said(Some(1000), &rated(2400)), said(None, &rated(1000)));
        assert_ne!(said(Some(1000), &start()), said(Some(2400), &start()));
    }

    #[test]
    fn the_clock_reaches_the_network() {
        let with = |seconds: u64| {
            let left = TimeLeft { remaining: Duration::from_secs(seconds), ..TimeLeft::default() };
            let limits = Limits { clocks: Some(ByColor::new_with(|_| left)), ..Limits::default() };
            lines(&mut player(None, Pick::Likeliest, 0), &start(), &limits)
        };
        assert_ne!(with(5), with(800));
    }

    #[test]
    fn the_whole_situation_reaches_the_network() {
        let said = |persona: Persona, game: History| {
            let (name, model) = ("human".to_owned(), test_networks::human_of_a_game());
            let mut player = PolicyPlayer::new(name, model, persona, Pick::Likeliest, 0).unwrap();
            lines(&mut player, &game, &Limits::default())
        };
        let nobody = Persona::default();
        let in_pool = |pool| start().under(pool, None);
        let plain = said(nobody, start());
        let online = said(nobody, in_pool(RatingPool::Online));
        assert_ne!(plain, online);
        let persona = Persona { rating: None, pool: Some(RatingPool::Online) };
        assert_eq!(said(persona, in_pool(RatingPool::OverTheBoard)), online);

        let pace = Pace { base: Duration::from_secs(180), increment: Duration::from_secs(2) };
        assert_ne!(said(nobody, start().under(RatingPool::Unknown, Some(pace))), plain);
        let opponent = PlayerInfo { rating: Some(Elo(2400)), time_left: None };
        let rated = History::new(Chess::default(), ByColor { white: PlayerInfo::default(), black: opponent });
        assert_ne!(said(nobody, rated), plain);
    }

    #[test]
    fn opening_is_sampled_from_the_raw_policy() {
        let pick = Pick::Sampled { temperature: 0.0, top_p: 1.0 };
        let mut player = player(None, pick, 1).with_opening(2);
        let likely = |player: &mut PolicyPlayer, game: &History| {
            lines(player, game, &Limits::default())
                .iter()
                .filter(|(_, probability)| *probability > 0.0)
                .count()
        };
        let mut game = start();
        for _ in 0..2 {
            assert!(likely(&mut player, &game) > 10, "raw policy");
            game.push(game.current().legal_moves()[0], None);
        }
        assert_eq!(likely(&mut player, &game), 1, "temperature 0");
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1";
        let set_up = History::new(tabia_game::position_from_fen(fen).unwrap(), ByColor::default());
        assert_eq!(likely(&mut player, &set_up), 1, "another initial position");
    }

    #[test]
    fn search_moves_restrict_the_choice() {
        let game = start();
        let wanted = ["a2a3", "h2h4"].map(|m| parse_uci(game.current(), m).unwrap());
        let limits = Limits { search_moves: wanted.to_vec(), ..Limits::default() };
        let said = lines(&mut player(None, Pick::RAW, 0), &game, &limits);
        assert_eq!(said.len(), 2);
        assert!((said[0].1 + said[1].1 - 1.0).abs() < 1e-5);
        assert!(said.iter().all(|(mv, _)| wanted.contains(mv)));
    }

    #[test]
    fn network_without_policy_head_is_refused() {
        let pick = Pick::Likeliest;
        let refused =
            PolicyPlayer::new("net".to_owned(), test_networks::challenge(), Persona::default(), pick, 0);
        assert!(matches!(refused, Err(NoPolicy)));
    }
}
