//! The five levels of the Chess Challenge.

mod classic;
mod enhanced;

use std::fmt;

use tabia_encoding::ForMover;
use tabia_game::History;
use tabia_search::{Choice, Limits, Line, SearchControl, SearchError};

use crate::{Decision, Player, PlayerError, ending::report, move_order};

/// A level of the Chess Challenge, from 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(u8);

impl Level {
    /// All levels, the weakest first.
    pub const ALL: [Level; 5] = [Level(1), Level(2), Level(3), Level(4), Level(5)];

    /// `None` unless the number is from 1 to 5.
    pub fn new(number: u8) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.0 == number)
    }

    /// From 1 to 5.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Its name in the challenge.
    pub fn name(self) -> &'static str {
        match self.0 {
            1 => "Beginner",
            2 => "Novice",
            3 => "Intermediate",
            4 => "Advanced",
            _ => "Expert",
        }
    }

    /// Search depth in plies, before quiescence.
    pub fn depth(self) -> u32 {
        match self.0 {
            1 => 1,
            2 => 2,
            3 | 4 => 3,
            _ => 4,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A level as a player. It searches to the depth of its level, whatever the limits and the time; of the limits only
/// [`Limits::search_moves`] counts.
#[derive(Clone, Copy, Debug)]
pub struct LevelPlayer {
    level: Level,
}

impl LevelPlayer {
    /// A player of this level.
    pub fn new(level: Level) -> LevelPlayer {
        LevelPlayer { level }
    }
}

impl Player for LevelPlayer {
    fn name(&self) -> String {
        format!("Level {} ({})", self.level, self.level.name())
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let candidates = move_order::candidates(game, limits)?;
        let depth = self.level.depth();
        let search = if self.level.number() <= 3 { classic::search } else { enhanced::search };
        let found = search(game, &candidates, depth).ok_or(SearchError::GameOver)?;
        let line = Line {
            rank: 1,
            depth,
            seldepth: depth,
            score: Some(ForMover(report(found.score))),
            nodes: found.nodes,
            moves: vec![found.mv],
            ..Line::default()
        };
        let choice = Choice { mv: found.mv, ponder: None, lines: vec![line], nodes: found.nodes };
        Ok(Decision::by_score(game, choice))
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{ByColor, CastlingMode, Chess, Move, Position};
    use tabia_encoding::{Score, parse_uci};
    use tabia_game::position_from_fen;
    use tabia_search::{NoControl, material_gain};

    use super::*;

    fn game(fen: &str) -> History {
        History::new(position_from_fen(fen).unwrap(), ByColor::default())
    }

    fn chosen(level: Level, game: &History) -> Choice {
        LevelPlayer::new(level).choose(game, &Limits::default(), &NoControl).unwrap()
    }

    fn uci(m: Move) -> String {
        m.to_uci(CastlingMode::Standard).to_string()
    }

    #[test]
    fn every_level_mates_in_one() {
        let mates = [
            ("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "d1d8"),
            ("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 0 4", "f3f7"),
            ("k2r4/8/8/8/8/8/5PPP/6K1 b - - 0 1", "d8d1"),
            // Only the promotion to a knight mates.
            ("rb6/k1P5/2K5/8/8/8/8/5B2 w - - 0 1", "c7c8n"),
        ];
        for (fen, mate) in mates {
            for level in Level::ALL {
                let choice = chosen(level, &game(fen));
                assert_eq!(uci(choice.mv), mate, "level {level}, {fen}");
                let score = choice.lines[0].score.unwrap();
                assert_eq!(score, ForMover(Score::Mate(1.try_into().unwrap())), "level {level}, {fen}");
            }
        }
    }

    #[test]
    fn deeper_levels_find_longer_mates() {
        // Two rooks: 1. Ra7 cuts the king off (any move), 2. Rb8 mates; three plies.
        let two = game("7k/8/8/8/8/8/R7/1R5K w - - 0 1");
        for level in Level::ALL {
            let found =
                matches!(chosen(level, &two).lines[0].score, Some(ForMover(Score::Mate(m))) if m.get() == 2);
            assert_eq!(found, level.depth() >= 3, "level {level}");
        }
    }

    #[test]
    fn forks_are_found_at_depth_two() {
        // Nc7+ wins the rook on a8 after the king has moved: three plies.
        let fork = game("r3k3/8/8/1N6/8/8/5PPP/6K1 w - - 0 1");
        for level in Level::ALL.into_iter().filter(|level| level.depth() >= 2) {
            assert_eq!(uci(chosen(level, &fork).mv), "b5c7", "level {level}");
        }
    }

    #[test]
    fn a_poisoned_capture_is_refused_by_quiescence() {
        // The pawn on d5 is defended: even one ply does not give the queen for it.
        let poisoned = game("4k3/8/4p3/3p4/8/8/8/3QK3 w - - 0 1");
        for level in Level::ALL {
            assert_ne!(uci(chosen(level, &poisoned).mv), "d1d5", "level {level}");
        }
    }

    #[test]
    fn quiescence_sees_en_passant() {
        // 1. c4 would attack two pieces, were it not for dxc3 in passing, which leaves White without the pawn.
        let score = |level, fen| match chosen(level, &game(fen)).lines[0].score {
            Some(ForMover(Score::Centipawns(cp))) => cp,
            other => panic!("{other:?}"),
        };
        let only_c4 = |fen| {
            let game = game(fen);
            let c4 = parse_uci(game.current(), "c2c4").unwrap();
            let limits = Limits { search_moves: vec![c4], ..Limits::default() };
            let choice = LevelPlayer::new(Level::ALL[0]).choose(&game, &limits, &NoControl).unwrap();
            assert_eq!(choice.mv, c4);
            choice.lines[0].score
        };
        let takes = only_c4("4k3/8/8/8/3p4/8/2P5/4K3 w - - 0 1");
        let Some(ForMover(Score::Centipawns(after))) = takes else { panic!("{takes:?}") };
        assert!(after < -100, "the pawn is lost in passing: {after}");
        assert!(score(Level::ALL[0], "4k3/8/8/8/3p4/8/2P5/4K3 w - - 0 1") > after);
    }

    #[test]
    fn quiescence_sees_quiet_promotions() {
        // Black's pawn queens next move unless the king, who can, steps in front of it.
        let race = game("8/8/8/8/8/1k6/p2K4/8 w - - 0 1");
        for level in Level::ALL {
            let Some(ForMover(Score::Centipawns(cp))) = chosen(level, &race).lines[0].score else {
                panic!("no mate is near");
            };
            assert!(cp < -700, "level {level} must expect a queen: {cp}");
        }
    }

    #[test]
    fn a_win_is_not_thrown_away_by_stalemate_or_repetition() {
        // Qc7 would be stalemate.
        let stalemate = game("k7/8/1K6/8/8/8/2Q5/8 w - - 0 1");
        let mate = game("k7/8/1K6/8/8/8/8/2Q5 w - - 0 1");
        for level in Level::ALL {
            assert_ne!(uci(chosen(level, &stalemate).mv), "c2c7", "level {level}");
            assert_eq!(uci(chosen(level, &mate).mv), "c1c8", "level {level}");
        }
        // The position after Kb1 has been there twice: White, winning, goes elsewhere.
        let mut shuffled = game("7k/8/8/8/8/8/1R6/K7 w - - 0 1");
        for m in ["a1b1", "h8g8", "b1a1", "g8h8", "a1b1", "h8g8", "b1a1", "g8h8"] {
            let m = parse_uci(shuffled.current(), m).unwrap();
            shuffled.push(m, None);
        }
        for level in Level::ALL {
            assert_ne!(uci(chosen(level, &shuffled).mv), "a1b1", "level {level}");
        }
    }

    #[test]
    fn castling_is_no_capture() {
        let castles = game("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K2R w K - 0 1");
        for m in move_order::candidates(&castles, &Limits::default()).unwrap() {
            assert!(!move_order::is_tactical(m) && material_gain(m) == 0);
        }
    }

    /// The moves of a game of a level against itself.
    fn played(level: Level, plies: usize) -> Vec<Move> {
        let mut game = History::new(Chess::default(), ByColor::default());
        let mut player = LevelPlayer::new(level);
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
    fn games_are_reproducible() {
        for level in Level::ALL {
            let plies = if level.number() < 3 { 40 } else { 8 };
            assert_eq!(played(level, plies), played(level, plies), "level {level}");
        }
    }

    #[test]
    fn a_choice_does_not_depend_on_earlier_searches() {
        let (start, other) =
            (History::new(Chess::default(), ByColor::default()), game("6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1"));
        let mut player = LevelPlayer::new(Level::ALL[3]);
        let fresh = player.choose(&start, &Limits::default(), &NoControl).unwrap();
        player.choose(&other, &Limits::default(), &NoControl).unwrap();
        assert_eq!(player.choose(&start, &Limits::default(), &NoControl).unwrap(), fresh);
    }

    #[test]
    fn enhanced_search_finds_the_same_moves_without_null_move() {
        // Up to three plies the table, the windows and the order of moves change nothing. Delta pruning may, but only
        // where taking changes the evaluation by far more than the pieces taken: not in ordinary games.
        let mut nodes = [0, 0];
        let mut game = History::new(Chess::default(), ByColor::default());
        for mv in played(Level::ALL[0], 30) {
            game.push(mv, None);
            let candidates = move_order::candidates(&game, &Limits::default()).unwrap();
            for depth in 1..=3 {
                let plain = classic::search(&game, &candidates, depth).unwrap();
                let quick = enhanced::search(&game, &candidates, depth).unwrap();
                assert_eq!((plain.mv, plain.score), (quick.mv, quick.score), "depth {depth}");
                nodes[0] += plain.nodes;
                nodes[1] += quick.nodes;
            }
        }
        assert!(nodes[1] < nodes[0], "{nodes:?}");
    }

    #[test]
    fn no_legal_move_is_an_error() {
        let over = game("7k/6Q1/5K2/8/8/8/8/8 b - - 0 1");
        let mut player = LevelPlayer::new(Level::ALL[0]);
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

    #[test]
    fn levels_are_one_to_five() {
        assert_eq!([0, 6].map(Level::new), [None, None]);
        assert!(Level::ALL.into_iter().all(|level| Level::new(level.number()) == Some(level)));
    }
}
