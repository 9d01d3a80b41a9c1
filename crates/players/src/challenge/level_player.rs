//! A level as a player.

use std::num::NonZeroI32;

use fastrand::Rng;
use shakmaty::{Chess, Move};
use tabia_encoding::{ForMover, Score};
use tabia_game::History;
use tabia_search::{Choice, Limits, Line, SearchControl, SearchError};

use super::{
    Level,
    search::{Classic, Enhanced, MATE},
};
use crate::{Decision, Player, PlayerError, move_order::best_first};

/// A level of the Chess Challenge as a player, as strong as in its harness and no stronger: it knows no repetitions and
/// dead positions, and does not prefer the shorter mate.
///
/// It searches to the depth of its level, whatever the time; of the limits only [`Limits::search_moves`] and
/// [`Limits::lines`] count. What the upper levels learn stays through a game.
pub struct LevelPlayer {
    level: Level,
    rng: Rng,
    /// The tables of the upper levels, from the first move of a game on.
    enhanced: Option<Enhanced>,
}

impl LevelPlayer {
    /// A player of this level. The seed decides between equally good moves, under rules that leave it to chance.
    pub fn new(level: Level, seed: u64) -> LevelPlayer {
        LevelPlayer { level, rng: Rng::with_seed(seed), enhanced: None }
    }

    /// All legal moves with their scores, in the order they are searched, and the number of nodes.
    fn scores(&mut self, position: &Chess) -> (Vec<(Move, i32)>, u64) {
        let (rules, depth) = (self.level.rules(), self.level.depth());
        if self.level.is_enhanced() {
            let search = self.enhanced.get_or_insert_with(|| Enhanced::new(rules));
            let before = search.nodes();
            let scores = search.root(position, depth);
            return (scores, search.nodes() - before);
        }
        let mut search = Classic { rules, nodes: 0 };
        (search.root(position, depth), search.nodes)
    }

    /// A score with mates. How far a mate is away is not known: it is taken to be as far as the level searches.
    fn report(&self, score: i32) -> Score {
        if score.abs() < MATE {
            return Score::Centipawns(score);
        }
        let plies = self.level.depth() + u32::from(score > 0);
        let moves = i32::try_from(plies / 2).unwrap_or(1).max(1);
        NonZeroI32::new(moves * score.signum()).map_or(Score::Centipawns(score), Score::Mate)
    }
}

impl Player for LevelPlayer {
    fn name(&self) -> String {
        format!("Level {} ({})", self.level, self.level.name())
    }

    fn new_game(&mut self) {
        self.enhanced = None;
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let (mut scored, nodes) = self.scores(game.current());
        if scored.is_empty() {
            return Err(SearchError::GameOver.into());
        }
        scored.retain(|(m, _)| limits.search_moves.is_empty() || limits.search_moves.contains(m));
        let Some(most) = scored.iter().map(|(_, score)| *score).max() else {
            return Err(SearchError::NoSuchMove.into());
        };
        best_first(&mut scored);
        if self.level.rules().breaks_ties_at_random() {
            let equal = scored.partition_point(|(_, score)| *score == most);
            scored[..equal].swap(0, self.rng.usize(..equal));
        }
        let line = |(place, &(mv, score)): (usize, &(Move, i32))| Line {
            rank: place + 1,
            depth: self.level.depth(),
            seldepth: self.level.depth(),
            score: Some(ForMover(self.report(score))),
            nodes,
            moves: vec![mv],
            ..Line::default()
        };
        let lines: Vec<_> = scored.iter().take(limits.lines.max(1)).enumerate().map(line).collect();
        Ok(Decision::by_score(game, Choice { mv: scored[0].0, ponder: None, lines, nodes }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use shakmaty::{ByColor, CastlingMode, Position};
    use tabia_encoding::parse_uci;
    use tabia_game::position_from_fen;
    use tabia_search::NoControl;

    use super::*;
    use crate::ChallengeRules;

    fn game(fen: &str) -> History {
        History::new(position_from_fen(fen).unwrap(), ByColor::default())
    }

    fn levels() -> impl Iterator<Item = Level> {
        ChallengeRules::ALL.into_iter().flat_map(ChallengeRules::levels)
    }

    fn level(number: u8) -> Level {
        Level::new(number).unwrap()
    }

    fn chosen(level: Level, game: &History) -> Choice {
        LevelPlayer::new(level, 0).choose(game, &Limits::default(), &NoControl).unwrap()
    }

    fn uci(m: Move) -> String {
        m.to_uci(CastlingMode::Standard).to_string()
    }

    /// The score of one move, in centipawns.
    fn score_of(level: Level, fen: &str, uci: &str) -> i32 {
        let game = game(fen);
        let only = parse_uci(game.current(), uci).unwrap();
        let limits = Limits { search_moves: vec![only], ..Limits::default() };
        let choice = LevelPlayer::new(level, 0).choose(&game, &limits, &NoControl).unwrap();
        match choice.lines[0].score {
            Some(ForMover(Score::Centipawns(cp))) => cp,
            other => panic!("{other:?}"),
        }
    }

    /// The scores of the challenge's own code, by tools/compare_challenge_levels.py.
    #[test]
    fn scores_are_those_of_the_original() {
        let original = include_str!("../../../../fixtures/challenge/original.txt");
        let later = include_str!("../../../../fixtures/challenge/2026.txt");
        for (rules, text) in ChallengeRules::ALL.into_iter().zip([original, later]) {
            let mut player = LevelPlayer::new(rules.level(1).unwrap(), 0);
            let mut checked = 0;
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                if let Some(number) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                    player = LevelPlayer::new(rules.level(number.parse().unwrap()).unwrap(), 0);
                    continue;
                }
                let (fen, expected) = line.split_once("; ").unwrap();
                let fen = match fen.strip_prefix("+ ") {
                    Some(next) => next,
                    None => {
                        player.new_game();
                        fen
                    }
                };
                let (scores, _) = player.scores(&position_from_fen(fen).unwrap());
                let most = scores.iter().map(|(_, score)| *score).max().unwrap();
                let best: Vec<Move> =
                    scores.iter().filter(|(_, score)| *score == most).map(|(m, _)| *m).collect();
                let sum: i64 = scores.iter().map(|(_, score)| i64::from(*score)).sum();
                let found = format!("{most} {} {} {sum}", uci(best[0]), best.len());
                assert_eq!(found, expected, "rules {rules}, level {}, {fen}", player.level);
                checked += 1;
            }
            assert!(checked > 100, "{checked}");
        }
    }

    #[test]
    fn levels_one_and_two_mate_in_one() {
        for (fen, mate) in [
            ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "d1d8"),
            ("k2r4/8/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"),
            ("rb6/k1P5/2K5/8/8/8/8/5B2 w - - 0 1", "c7c8n"),
        ] {
            for level in levels().filter(|level| level.depth() <= 2) {
                let choice = chosen(level, &game(fen));
                assert_eq!(uci(choice.mv), mate, "level {level}, {fen}");
                assert_eq!(choice.lines[0].score, Some(ForMover(Score::Mate(1.try_into().unwrap()))));
            }
        }
    }

    #[test]
    fn a_mate_now_is_no_better_than_a_mate_later() {
        // Rb8 mates at once; Rb7 and others mate a move later.
        let game = game("7k/R7/8/8/8/8/8/1R5K w - - 0 1");
        let all = Limits { lines: 300, ..Limits::default() };
        let choice = LevelPlayer::new(level(3), 0).choose(&game, &all, &NoControl).unwrap();
        let mates = choice.lines.iter().filter(|line| matches!(line.score, Some(ForMover(Score::Mate(_)))));
        assert!(mates.count() > 1);
    }

    #[test]
    fn forks_are_found_at_depth_two() {
        let fork = game("r3k3/8/8/1N6/8/8/5PPP/6K1 w - - 0 1");
        for level in levels().filter(|level| level.depth() >= 2) {
            assert_eq!(uci(chosen(level, &fork).mv), "b5c7", "level {level}");
        }
    }

    #[test]
    fn a_poisoned_capture_is_refused_by_quiescence() {
        let poisoned = game("4k3/8/4p3/3p4/8/8/8/3QK3 w - - 0 1");
        for level in levels() {
            assert_ne!(uci(chosen(level, &poisoned).mv), "d1d5", "level {level}");
        }
    }

    #[test]
    fn quiescence_sees_promotions_only_by_the_rules_of_2026() {
        // After any move of the king, a1 promotes.
        let fen = "8/8/8/8/8/1k6/p6K/8 w - - 0 1";
        assert!(score_of(level(1), fen, "h2h3") > -700);
        assert!(score_of(ChallengeRules::Edition2026.level(1).unwrap(), fen, "h2h3") < -700);
    }

    #[test]
    fn quiescence_does_not_see_en_passant() {
        // With a pawn on d4 next to it or on d5, where it cannot take, c4 is as good.
        let (beside, away) = ("4k3/8/8/8/3p4/8/2P5/4K3 w - - 0 1", "4k3/8/8/3p4/8/8/2P5/4K3 w - - 0 1");
        assert!(score_of(level(1), beside, "c2c4") > -100);
        // Taking straight ahead is seen.
        assert!(score_of(level(1), away, "c2c4") < -50);
    }

    #[test]
    fn repetitions_are_not_seen() {
        let mut game = game("7k/8/8/8/8/8/1R6/K7 w - - 0 1");
        let all = Limits { lines: 300, ..Limits::default() };
        let scores = |game: &History| {
            let choice = LevelPlayer::new(level(2), 0).choose(game, &all, &NoControl).unwrap();
            choice.lines.iter().map(|line| line.score).collect::<Vec<_>>()
        };
        let before = scores(&game);
        for m in ["a1b1", "h8g8", "b1a1", "g8h8", "a1b1", "h8g8", "b1a1", "g8h8"] {
            let m = parse_uci(game.current(), m).unwrap();
            game.push(m, None);
        }
        assert_eq!(scores(&game), before);
    }

    #[test]
    fn ties_are_broken_by_the_seed() {
        // Two knights that mirror each other.
        let even = game("4k3/8/8/8/8/8/8/1N1K2N1 w - - 0 1");
        let moves = |level: Level| -> HashSet<String> {
            let choose = |seed| LevelPlayer::new(level, seed).choose(&even, &Limits::default(), &NoControl);
            (0..40).map(|seed| uci(choose(seed).unwrap().mv)).collect()
        };
        let start = History::new(Chess::default(), ByColor::default());
        let first = |seed| LevelPlayer::new(level(1), seed).choose(&start, &Limits::default(), &NoControl);
        let openings: HashSet<_> = (0..40).map(|seed| uci(first(seed).unwrap().mv)).collect();
        assert!(openings.len() + moves(level(1)).len() > 2, "{openings:?}");
        assert_eq!(moves(ChallengeRules::Edition2026.level(1).unwrap()).len(), 1);
    }

    /// The moves of a game of a level against itself.
    fn played(level: Level, plies: usize) -> Vec<Move> {
        let mut game = History::new(Chess::default(), ByColor::default());
        let mut player = LevelPlayer::new(level, 3);
        (0..plies)
            .map_while(|_| {
                let mv = player.choose(&game, &Limits::default(), &NoControl).ok()?.mv;
                assert!(game.current().is_legal(mv));
                game.push(mv, None);
                Some(mv)
            })
            .collect()
    }

    #[test]
    fn the_seed_determines_the_game() {
        for level in levels() {
            let plies = if level.depth() < 3 { 40 } else { 6 };
            assert_eq!(played(level, plies), played(level, plies), "level {level}");
        }
    }

    #[test]
    fn tables_are_forgotten_after_a_game() {
        let start = History::new(Chess::default(), ByColor::default());
        let mut player = LevelPlayer::new(ChallengeRules::Edition2026.level(4).unwrap(), 0);
        let fresh = player.choose(&start, &Limits::default(), &NoControl).unwrap();
        let again = player.choose(&start, &Limits::default(), &NoControl).unwrap();
        assert!(again.nodes < fresh.nodes, "what it has seen stays through a game");
        player.new_game();
        assert_eq!(player.choose(&start, &Limits::default(), &NoControl).unwrap(), fresh);
    }

    #[test]
    fn no_legal_move_is_an_error() {
        let over = game("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1");
        let mut player = LevelPlayer::new(level(1), 0);
        let choose = |player: &mut LevelPlayer, game: &History, limits: &Limits| {
            player.choose(game, limits, &NoControl)
        };
        assert!(matches!(
            choose(&mut player, &over, &Limits::default()),
            Err(PlayerError::Search(SearchError::GameOver))
        ));
        let start = History::new(Chess::default(), ByColor::default());
        let d4 = parse_uci(start.current(), "d2d4").unwrap();
        let mut after = start.clone();
        after.push(d4, None);
        let limits = Limits { search_moves: vec![d4], ..Limits::default() };
        assert!(matches!(
            choose(&mut player, &after, &limits),
            Err(PlayerError::Search(SearchError::NoSuchMove))
        ));
        assert_eq!(choose(&mut player, &start, &limits).unwrap().mv, d4);
    }
}
