use shakmaty::{Board, Color, Role};
use tabia_encoding::{Elo, Pace, RatingPool};

use super::Category;
use crate::GameHead;

/// Speed of a game as defined by Lichess: by the estimated time for 40 moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeClass {
    /// Below half a minute.
    UltraBullet,
    /// Below 3 minutes.
    Bullet,
    /// Below 8 minutes.
    Blitz,
    /// Below 25 minutes.
    Rapid,
    /// The rest.
    Classical,
    /// No time control is known.
    Unknown,
}

impl TimeClass {
    /// The class of a time control.
    pub fn of(pace: Option<Pace>) -> TimeClass {
        let Some(pace) = pace else { return TimeClass::Unknown };
        match pace.base.as_secs().saturating_add(40 * pace.increment.as_secs()) {
            0..30 => TimeClass::UltraBullet,
            30..180 => TimeClass::Bullet,
            180..480 => TimeClass::Blitz,
            480..1500 => TimeClass::Rapid,
            _ => TimeClass::Classical,
        }
    }
}

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
        match self {
            TimeClass::UltraBullet => "ultrabullet",
            TimeClass::Bullet => "bullet",
            TimeClass::Blitz => "blitz",
            TimeClass::Rapid => "rapid",
            TimeClass::Classical => "classical",
            TimeClass::Unknown => "unknown",
        }
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
        Pool(RatingPool::Online),
        Pool(RatingPool::Puzzle),
        Pool(RatingPool::Unknown),
    ];

    fn label(self) -> &'static str {
        self.0.label()
    }
}

/// Game phase by the number of pieces left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// More than ten pieces other than kings and pawns.
    #[default]
    Opening,
    /// Seven to ten of them.
    Middlegame,
    /// Six or fewer.
    Endgame,
}

impl Phase {
    /// The phase of a position.
    pub fn of(board: &Board) -> Phase {
        let rest = board.occupied() ^ board.by_role(Role::Pawn) ^ board.by_role(Role::King);
        match rest.count() {
            0..=6 => Phase::Endgame,
            7..=10 => Phase::Middlegame,
            _ => Phase::Opening,
        }
    }
}

impl Category for Phase {
    const ALL: &'static [Phase] = &[Phase::Opening, Phase::Middlegame, Phase::Endgame];

    fn label(self) -> &'static str {
        match self {
            Phase::Opening => "opening",
            Phase::Middlegame => "middlegame",
            Phase::Endgame => "endgame",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::ByColor;

    use super::*;

    #[test]
    fn time_controls_are_divided_by_the_time_for_40_moves() {
        let class = |base, increment| {
            TimeClass::of(Some(Pace {
                base: Duration::from_secs(base),
                increment: Duration::from_secs(increment),
            }))
        };
        let classes =
            [class(15, 0), class(60, 0), class(120, 1), class(180, 2), class(600, 0), class(900, 15)];
        let expected = [
            TimeClass::UltraBullet,
            TimeClass::Bullet,
            TimeClass::Bullet,
            TimeClass::Blitz,
            TimeClass::Rapid,
            TimeClass::Classical,
        ];
        assert_eq!(classes, expected);
        assert_eq!(TimeClass::of(None), TimeClass::Unknown);
    }

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
