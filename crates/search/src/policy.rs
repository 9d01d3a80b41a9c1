//! Players that move as their network's move head says.

use std::{ops::RangeInclusive, sync::Arc};

use fastrand::Rng;
use shakmaty::{Chess, Position};
use tabia_encoding::{Elo, ForMover, RatingPool, Score};
use tabia_game::History;
use tabia_model::{Candidate, Model, Policy};

use crate::{
    Choice, Evaluator, Limits, Line, Player, PlayerError, SearchBlend, SearchControl, order,
    policy_search::{self, PolicySearch},
    think_time_for,
    time_cap::TimeCap,
};

/// A network that plays from its move head: human-like networks, Maia and other Leela networks. A light search may
/// have a say.
///
/// With the same seed and the same calls it makes the same choices.
pub struct PolicyPlayer {
    name: String,
    model: Arc<Model>,
    persona: Persona,
    pick: Pick,
    policy_search: Option<PolicySearch>,
    /// The first half-moves of a game are made as the network says, without policy_search or dials.
    from_memory: usize,
    rng: Rng,
}

/// Whom a network plays like, if it listens to that. What is not said is taken from the game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Persona {
    /// The player's rating.
    pub rating: Option<Elo>,
    /// Whose scale it is on.
    pub pool: Option<RatingPool>,
}

/// How a move is picked from the probabilities of all moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// The likeliest move.
    Likeliest,
    /// At random.
    Sampled {
        /// Probabilities are raised to one over this: 1 leaves them, less makes likely moves likelier. At 0 only
        /// the likeliest is left.
        temperature: f32,
        /// Of the likeliest moves, as many are kept as it takes to reach this probability; 1 keeps all.
        top_p: f32,
    },
}

impl Pick {
    /// The temperatures that can be asked for.
    pub const TEMPERATURES: RangeInclusive<f32> = 0.0..=100.0;

    /// At random, each move as often as the network says.
    pub const AS_THE_NETWORK_SAYS: Pick = Pick::Sampled { temperature: 1.0, top_p: 1.0 };
}

/// A network without a move head: it cannot say which moves are likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network has no move head")]
pub struct NoPolicy;

impl PolicyPlayer {
    /// A player called `name`, who plays like `persona`.
    ///
    /// # Errors
    /// If the network has no move head.
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
        Ok(PolicyPlayer {
            name,
            model,
            persona,
            pick,
            policy_search: None,
            from_memory: 0,
            rng: Rng::with_seed(seed),
        })
    }

    /// The player with a light search at its side, which judges by `evaluator`.
    pub fn advised(self, blend: SearchBlend, evaluator: Box<dyn Evaluator>) -> PolicyPlayer {
        PolicyPlayer { policy_search: Some(PolicySearch::new(blend, evaluator)), ..self }
    }

    /// The player with openings it knows: so many half-moves of games from the usual start are drawn as the network says,
    /// whatever else decides its moves. People do not calculate there, and whoever does has few openings.
    pub fn from_memory(self, plies: usize) -> PolicyPlayer {
        PolicyPlayer { from_memory: plies, ..self }
    }

    fn remembers(&self, game: &History) -> bool {
        let situation = game.situation();
        let start = situation.earlier.last().unwrap_or(situation.position);
        situation.last_moves.len() < self.from_memory && *start == Chess::default()
    }
}

impl Player for PolicyPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_game(&mut self) {
        if let Some(policy_search) = &mut self.policy_search {
            policy_search.new_game();
        }
    }

    /// The lines hold the candidates with their probabilities: those the player picks by, or the network's own if it
    /// always takes the likeliest. What the network says of the position itself is told with the first line, and how long
    /// a person would think about the move that was picked.
    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        let allowed = order::candidates(game, limits)?;
        let mut situation = game.situation();
        situation.mover.rating = self.persona.rating.or(situation.mover.rating);
        situation.pool = self.persona.pool.unwrap_or(situation.pool);
        if let Some(clocks) = &limits.clocks {
            let turn = situation.position.turn();
            situation.mover.time_left = Some(clocks[turn].remaining);
            situation.opponent.time_left = Some(clocks[!turn].remaining);
        }
        let evaluation = self.model.evaluate(&[situation])?.remove(0);
        let policy: Policy =
            evaluation.policy.expect("a network without a move head is refused at the start");
        let mut candidates: Vec<Candidate> =
            policy.candidates().iter().filter(|candidate| allowed.contains(&candidate.mv)).copied().collect();
        normalise(&mut candidates);
        let remembers = self.remembers(game);
        let pick = if remembers { Pick::AS_THE_NETWORK_SAYS } else { self.pick };
        let mut policy_search = self.policy_search.as_mut().filter(|_| !remembers);
        let mate = policy_search.as_ref().and_then(|policy_search| policy_search.mate(game, &candidates));
        if policy_search.is_some() {
            policy_search::keep_thinkable(&mut candidates, mate);
        }
        if let Pick::Sampled { temperature, top_p } = pick {
            sharpen(&mut candidates, temperature);
            keep_nucleus(&mut candidates, top_p);
        }
        let visited = match &mut policy_search {
            Some(policy_search) => {
                let time_cap = TimeCap::of(limits, game.current().turn(), watch);
                policy_search.weigh(game, &mut candidates, mate, &time_cap)?
            }
            None => 0,
        };
        let mv = match pick {
            Pick::Likeliest => candidates[0].mv,
            Pick::Sampled { .. } => draw(&candidates, self.rng.f32()),
        };
        let mut lines: Vec<Line> = candidates
            .iter()
            .take(limits.lines.max(1))
            .enumerate()
            .map(|(place, candidate)| Line {
                rank: place + 1,
                probability: Some(candidate.probability),
                nodes: 1 + visited,
                moves: vec![candidate.mv],
                ..Line::default()
            })
            .collect();
        lines[0].wdl = evaluation.wdl;
        let of_people = |picked: &&Candidate| picked.mv == mv;
        let probability = policy.candidates().iter().find(of_people).map_or(0.0, |picked| picked.probability);
        lines[0].think_time = evaluation.think_time.map(|chances| think_time_for(&chances, probability));
        lines[0].score = evaluation.score.map(|score| ForMover(Score::Centipawns(score.0.round() as i32)));
        Ok(Choice { mv, ponder: None, lines, nodes: 1 + visited })
    }
}

/// Makes the probabilities add up to one. Where nothing is left of them, all candidates are as likely.
pub(crate) fn normalise(candidates: &mut [Candidate]) {
    let total: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    let even = 1.0 / candidates.len() as f32;
    for candidate in candidates {
        candidate.probability = if total > 0.0 { candidate.probability / total } else { even };
    }
}

/// Applies a temperature to probabilities that are sorted, likeliest first.
fn sharpen(candidates: &mut [Candidate], temperature: f32) {
    let Some(top) = candidates.first().map(|candidate| candidate.probability) else { return };
    for (place, candidate) in candidates.iter_mut().enumerate() {
        // Relative to the likeliest, so that nothing is lost to underflow but what is out of the question.
        candidate.probability = if temperature > 0.0 {
            (candidate.probability / top).powf(1.0 / temperature)
        } else {
            f32::from(u8::from(place == 0))
        };
    }
    normalise(candidates);
}

/// Leaves as many of the likeliest as it takes to reach `top_p`; at least one.
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

/// The candidate at `point`, from 0 to 1, when they are laid side by side.
fn draw(candidates: &[Candidate], point: f32) -> shakmaty::Move {
    let mut left = point;
    let hit = candidates.iter().find(|candidate| {
        left -= candidate.probability;
        left < 0.0
    });
    // Rounding may leave a little after the last that is possible at all.
    let last = || candidates.iter().rev().find(|candidate| candidate.probability > 0.0);
    hit.or_else(last).unwrap_or(&candidates[0]).mv
}

#[cfg(test)]
mod tests {
    use std::{collections::HashMap, time::Duration};

    use shakmaty::{ByColor, Chess, Move};
    use tabia_encoding::{Pace, PlayerInfo, parse_uci};

    use super::*;
    use crate::{NoControl, TimeLeft, test_networks};

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

    fn lines(player: &mut PolicyPlayer, game: &History, limits: &Limits) -> Vec<(Move, f32)> {
        let limits = Limits { lines: 300, ..limits.clone() };
        let choice = player.choose(game, &limits, &NoControl).unwrap();
        choice.lines.iter().map(|line| (line.moves[0], line.probability.unwrap())).collect()
    }

    #[test]
    fn temperature_sharpens_and_flattens() {
        let at = |temperature| {
            let mut sharpened = candidates(&[0.8, 0.2]);
            sharpen(&mut sharpened, temperature);
            probabilities(&sharpened)
        };
        assert!(near(&at(1.0), &[0.8, 0.2]));
        assert!(near(&at(0.5), &[16.0 / 17.0, 1.0 / 17.0]));
        assert!(near(&at(2.0), &[2.0 / 3.0, 1.0 / 3.0]));
        assert!(near(&at(0.0), &[1.0, 0.0]));
        assert!(near(&at(1e-9), &[1.0, 0.0]), "no overflow on the way to zero");
    }

    #[test]
    fn the_nucleus_is_the_fewest_moves_that_suffice() {
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
    fn draws_follow_the_probabilities() {
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
        assert_eq!(draw(&candidates, 1.0), candidates[2].mv, "rounding never picks the impossible");
    }

    #[test]
    fn a_player_samples_as_it_says() {
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
    fn a_seed_decides_the_game() {
        let played = |seed| {
            let mut game = start();
            let mut player = player(None, Pick::AS_THE_NETWORK_SAYS, seed);
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
    fn the_likeliest_move_is_the_networks_first() {
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
    fn its_own_rating_goes_before_the_games() {
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

    /// Every part of what is known of a game makes a difference, and a persona goes before the game.
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
    fn openings_are_played_from_memory() {
        let pick = Pick::Sampled { temperature: 0.0, top_p: 1.0 };
        let mut player = player(None, pick, 1).from_memory(2);
        let likely = |player: &mut PolicyPlayer, game: &History| {
            lines(player, game, &Limits::default())
                .iter()
                .filter(|(_, probability)| *probability > 0.0)
                .count()
        };
        let mut game = start();
        for _ in 0..2 {
            assert!(likely(&mut player, &game) > 10, "all that people play");
            game.push(game.current().legal_moves()[0], None);
        }
        assert_eq!(likely(&mut player, &game), 1, "then as it is told");
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1";
        let set_up = History::new(tabia_game::position_from_fen(fen).unwrap(), ByColor::default());
        assert_eq!(likely(&mut player, &set_up), 1, "nobody remembers a position that was set up");
    }

    #[test]
    fn only_moves_asked_for_are_chosen() {
        let game = start();
        let wanted = ["a2a3", "h2h4"].map(|m| parse_uci(game.current(), m).unwrap());
        let limits = Limits { search_moves: wanted.to_vec(), ..Limits::default() };
        let said = lines(&mut player(None, Pick::AS_THE_NETWORK_SAYS, 0), &game, &limits);
        assert_eq!(said.len(), 2);
        assert!((said[0].1 + said[1].1 - 1.0).abs() < 1e-5);
        assert!(said.iter().all(|(mv, _)| wanted.contains(mv)));
    }

    #[test]
    fn a_network_without_moves_is_refused() {
        let pick = Pick::Likeliest;
        let refused =
            PolicyPlayer::new("net".to_owned(), test_networks::challenge(), Persona::default(), pick, 0);
        assert!(matches!(refused, Err(NoPolicy)));
    }
}
