use shakmaty::Color;
use tabia_encoding::{Elo, RatingPool};
use tabia_game::{Phase, TimeClass};

use super::Category;
use crate::GameHead;

impl Category for TimeClass {
    const ALL: &'static [TimeClass] = &[
        TimeClass::UltraBullet,
        TimeClass::Bullet,
        TimeClass::Blitz,
        TimeClass::Rapid,
        TimeClass::Classical,
        TimeClass::Unknown,
    ];

    fn label(self) -> &'static str {
        self.name()
    }
}

/// The mean of a game's known ratings, in bands of 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RatingBand {
    /// Neither player's rating is known.
    Unknown,
    /// Starts at 200 times this number; 4 includes lower ratings, 14 higher ones.
    From(u8),
}

impl RatingBand {
    /// The band of a game.
    pub fn of(head: &GameHead) -> RatingBand {
        let known: Vec<u16> = head.ratings.into_iter().flatten().map(|Elo(rating)| rating).collect();
        if known.is_empty() {
            return RatingBand::Unknown;
        }
        let mean = known.iter().map(|&rating| u32::from(rating)).sum::<u32>() / known.len() as u32;
        RatingBand::From((mean / 200).clamp(4, 14) as u8)
    }
}

impl Category for RatingBand {
    const ALL: &'static [RatingBand] = &[
        RatingBand::Unknown,
        RatingBand::From(4),
        RatingBand::From(5),
        RatingBand::From(6),
        RatingBand::From(7),
        RatingBand::From(8),
        RatingBand::From(9),
        RatingBand::From(10),
        RatingBand::From(11),
        RatingBand::From(12),
        RatingBand::From(13),
        RatingBand::From(14),
    ];

    fn label(self) -> &'static str {
        match self {
            RatingBand::Unknown => "unknown",
            RatingBand::From(0..=4) => "<1000",
            RatingBand::From(5) => "1000-1199",
            RatingBand::From(6) => "1200-1399",
            RatingBand::From(7) => "1400-1599",
            RatingBand::From(8) => "1600-1799",
            RatingBand::From(9) => "1800-1999",
            RatingBand::From(10) => "2000-2199",
            RatingBand::From(11) => "2200-2399",
            RatingBand::From(12) => "2400-2599",
            RatingBand::From(13) => "2600-2799",
            RatingBand::From(14..) => "2800+",
        }
    }
}

/// The result of a game, for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameResult {
    /// White won.
    White,
    /// A draw.
    Draw,
    /// Black won.
    Black,
    /// Unknown.
    Unknown,
}

impl GameResult {
    /// The result of a game.
    pub fn of(head: &GameHead) -> GameResult {
        match head.result {
            Some(Some(Color::White)) => GameResult::White,
            Some(Some(Color::Black)) => GameResult::Black,
            Some(None) => GameResult::Draw,
            None => GameResult::Unknown,
        }
    }
}

impl Category for GameResult {
    const ALL: &'static [GameResult] =
        &[GameResult::White, GameResult::Draw, GameResult::Black, GameResult::Unknown];

    fn label(self) -> &'static str {
        match self {
            GameResult::White => "1-0",
            GameResult::Draw => "1/2-1/2",
            GameResult::Black => "0-1",
            GameResult::Unknown => "*",
        }
    }
}

/// A game's rating pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool(pub RatingPool);

impl Category for Pool {
    const ALL: &'static [Pool] = &[
        Pool(RatingPool::OverTheBoard),
        Pool(RatingPool::Lichess),
        Pool(RatingPool::ChessCom),
        Pool(RatingPool::Online),
        Pool(RatingPool::Puzzle),
        Pool(RatingPool::Unknown),
    ];

    fn label(self) -> &'static str {
        self.0.label()
    }
}

impl Category for Phase {
    const ALL: &'static [Phase] = &[Phase::Opening, Phase::Middlegame, Phase::Endgame];

    fn label(self) -> &'static str {
        self.name()
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;

    use super::*;

    #[test]
    fn every_rating_has_a_listed_band() {
        for rating in (0..4000).step_by(50) {
            let ratings = ByColor { white: Some(Elo(rating)), black: None };
            let band = RatingBand::of(&GameHead { ratings, ..GameHead::default() });
            assert!(RatingBand::ALL.contains(&band));
            if (1000..2800).contains(&rating) {
                assert!(band.label().starts_with(&(rating / 200 * 200).to_string()), "{rating} {band:?}");
            }
        }
        assert_eq!(RatingBand::of(&GameHead::default()), RatingBand::Unknown);
    }
}
