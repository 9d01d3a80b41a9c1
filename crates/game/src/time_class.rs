use serde::{Deserialize, Serialize};
use tabia_encoding::Pace;

/// Speed of a game as defined by Lichess: by the estimated time for 40 moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

    /// Its name.
    pub const fn name(self) -> &'static str {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
}
