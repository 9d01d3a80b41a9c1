//! Which challenges are accepted.

use std::{fmt, ops::RangeInclusive};

use tabia_game::position_from_fen;

use crate::events::{Challenge, ChallengeClock, Speed};

/// What challenges must be like. The first rule that is not met gives the reason of the refusal.
#[derive(Clone, Debug)]
pub struct Acceptance {
    /// Variants, by the server's keys: `standard`, `fromPosition`, `chess960`.
    pub variants: Vec<String>,
    /// Speeds.
    pub speeds: Vec<Speed>,
    /// Seconds for the game.
    pub base: RangeInclusive<u32>,
    /// Seconds for a move.
    pub increment: RangeInclusive<u32>,
    /// Rated games.
    pub rated: Only,
    /// Challenges by bots.
    pub bots: Only,
    /// The challenger's rating.
    pub rating: RangeInclusive<u16>,
    /// Nobody else may challenge, unless empty.
    pub opponents: Vec<String>,
    /// Users whose challenges are declined.
    pub blocked: Vec<String>,
    /// Rematches in a row with one opponent.
    pub rematches: u32,
}

/// Whether something is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Only {
    /// Yes, and its opposite too.
    Yes,
    /// No.
    No,
    /// Nothing else.
    Only,
}

/// Why a challenge is declined, in the words of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeclineReason {
    /// None that has a word.
    Generic,
    /// Not now.
    Later,
    /// The clock is too fast.
    TooFast,
    /// The clock is too slow.
    TooSlow,
    /// The time control.
    TimeControl,
    /// Rated games only.
    Rated,
    /// Casual games only.
    Casual,
    /// The variant.
    Variant,
    /// No bots.
    NoBot,
    /// Bots only.
    OnlyBot,
}

impl DeclineReason {
    /// Its key in the API.
    pub fn key(self) -> &'static str {
        match self {
            DeclineReason::Generic => "generic",
            DeclineReason::Later => "later",
            DeclineReason::TooFast => "tooFast",
            DeclineReason::TooSlow => "tooSlow",
            DeclineReason::TimeControl => "timeControl",
            DeclineReason::Rated => "rated",
            DeclineReason::Casual => "casual",
            DeclineReason::Variant => "variant",
            DeclineReason::NoBot => "noBot",
            DeclineReason::OnlyBot => "onlyBot",
        }
    }
}

impl fmt::Display for DeclineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeclineReason::Generic => "opponent",
            DeclineReason::Later => "busy",
            DeclineReason::TooFast => "too fast",
            DeclineReason::TooSlow => "too slow",
            DeclineReason::TimeControl => "time control",
            DeclineReason::Rated => "casual",
            DeclineReason::Casual => "rated",
            DeclineReason::Variant => "variant",
            DeclineReason::NoBot => "bot",
            DeclineReason::OnlyBot => "not a bot",
        })
    }
}

impl Default for Acceptance {
    fn default() -> Acceptance {
        Acceptance {
            variants: vec!["standard".to_owned()],
            speeds: vec![Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical],
            base: 0..=10_800,
            increment: 0..=180,
            rated: Only::Yes,
            bots: Only::Yes,
            rating: 0..=4000,
            opponents: Vec::new(),
            blocked: Vec::new(),
            rematches: u32::MAX,
        }
    }
}

impl Acceptance {
    /// Whether a challenge is accepted; `rematches` is how many rematches in a row it would be.
    ///
    /// # Errors
    /// Why not.
    pub fn judge(&self, challenge: &Challenge, rematches: u32) -> Result<(), DeclineReason> {
        let no_one = crate::events::Person::default();
        let challenger = challenge.challenger.as_ref().unwrap_or(&no_one);
        match self.bots {
            Only::No if challenger.is_bot() => return Err(DeclineReason::NoBot),
            Only::Only if !challenger.is_bot() => return Err(DeclineReason::OnlyBot),
            _ => {}
        }
        self.judge_clock(challenge)?;
        if !self.variants.contains(&challenge.variant.key) || !is_playable(challenge) {
            return Err(DeclineReason::Variant);
        }
        match self.rated {
            Only::No if challenge.rated => return Err(DeclineReason::Casual),
            Only::Only if !challenge.rated => return Err(DeclineReason::Rated),
            _ => {}
        }
        let named = |names: &[String]| names.iter().any(|name| challenger.is(name));
        let welcome = self.opponents.is_empty() || named(&self.opponents);
        // Without a rating there is nothing to compare.
        let in_range = challenger.rating.is_none_or(|rating| self.rating.contains(&rating));
        if !welcome || named(&self.blocked) || !in_range {
            return Err(DeclineReason::Generic);
        }
        if rematches > self.rematches { Err(DeclineReason::Later) } else { Ok(()) }
    }

    fn judge_clock(&self, challenge: &Challenge) -> Result<(), DeclineReason> {
        if !self.speeds.contains(&challenge.speed) {
            let slower = |speed: &Speed| rank(*speed) > rank(challenge.speed);
            return Err(match challenge.speed {
                Speed::Unknown => DeclineReason::TimeControl,
                _ if self.speeds.iter().all(slower) => DeclineReason::TooFast,
                _ if !self.speeds.iter().any(slower) => DeclineReason::TooSlow,
                _ => DeclineReason::TimeControl,
            });
        }
        let ChallengeClock::Clock { limit, increment } = challenge.time_control else { return Ok(()) };
        let judge = |value: u32, allowed: &RangeInclusive<u32>| match value {
            _ if value < *allowed.start() => Err(DeclineReason::TooFast),
            _ if value > *allowed.end() => Err(DeclineReason::TooSlow),
            _ => Ok(()),
        };
        judge(limit, &self.base).and_then(|()| judge(increment, &self.increment))
    }
}

fn rank(speed: Speed) -> u8 {
    match speed {
        Speed::UltraBullet => 0,
        Speed::Bullet => 1,
        Speed::Blitz => 2,
        Speed::Rapid => 3,
        Speed::Classical => 4,
        Speed::Correspondence | Speed::Unknown => 5,
    }
}

/// Whether the game starts from a legal position of chess.
fn is_playable(challenge: &Challenge) -> bool {
    let fen = challenge.initial_fen.as_deref().filter(|fen| *fen != "startpos");
    fen.is_none_or(|fen| position_from_fen(fen).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::{Person, Variant};

    fn challenge() -> Challenge {
        let challenger = Person { name: Some("Mary".into()), rating: Some(1500), ..Person::default() };
        Challenge {
            id: "abc".into(),
            challenger: Some(challenger),
            dest_user: None,
            variant: Variant { key: "standard".into() },
            rated: false,
            speed: Speed::Blitz,
            time_control: ChallengeClock::Clock { limit: 180, increment: 2 },
            initial_fen: None,
            rematch_of: None,
        }
    }

    #[test]
    fn each_rule_declines_for_its_reason() {
        use DeclineReason as Reason;
        let open = Acceptance::default();
        assert_eq!(open.judge(&challenge(), 7), Ok(()));
        let bot = |c: &mut Challenge| c.challenger.as_mut().unwrap().title = Some("BOT".into());
        type Rule = fn(&mut Acceptance);
        type Change = fn(&mut Challenge);
        let same: Change = |_| {};
        let cases: [(Rule, Change, Result<(), Reason>); 17] = [
            (|a| a.bots = Only::Only, same, Err(Reason::OnlyBot)),
            (|a| a.rated = Only::Only, same, Err(Reason::Rated)),
            (|a| a.rated = Only::No, |c| c.rated = true, Err(Reason::Casual)),
            (|_| {}, |c| c.variant.key = "atomic".into(), Err(Reason::Variant)),
            (|_| {}, |c| c.initial_fen = Some("8/8/8/8/8/8/8/8 w - - 0 1".into()), Err(Reason::Variant)),
            (|_| {}, |c| c.initial_fen = Some("startpos".into()), Ok(())),
            (|a| a.speeds = vec![Speed::Rapid], same, Err(Reason::TooFast)),
            (|a| a.speeds = vec![Speed::Bullet], same, Err(Reason::TooSlow)),
            (|a| a.speeds = vec![Speed::Bullet, Speed::Rapid], same, Err(Reason::TimeControl)),
            (|_| {}, |c| c.speed = Speed::Correspondence, Err(Reason::TooSlow)),
            (|_| {}, |c| c.speed = Speed::UltraBullet, Err(Reason::TooFast)),
            (|a| a.base = 300..=900, same, Err(Reason::TooFast)),
            (|a| a.increment = 0..=1, same, Err(Reason::TooSlow)),
            (|a| a.rating = 1600..=1800, same, Err(Reason::Generic)),
            (|a| a.opponents = vec!["bob".into()], same, Err(Reason::Generic)),
            (|a| a.opponents = vec!["mary".into()], same, Ok(())),
            (|a| a.blocked = vec!["MARY".into()], same, Err(Reason::Generic)),
        ];
        for (number, (rule, change, expected)) in cases.into_iter().enumerate() {
            let (mut rules, mut asked) = (open.clone(), challenge());
            rule(&mut rules);
            change(&mut asked);
            assert_eq!(rules.judge(&asked, 0), expected, "case {number}");
        }
        let mut asked = challenge();
        bot(&mut asked);
        assert_eq!(Acceptance { bots: Only::No, ..open.clone() }.judge(&asked, 0), Err(Reason::NoBot));
        assert_eq!(Acceptance { bots: Only::Only, ..open.clone() }.judge(&asked, 0), Ok(()));
        let two = Acceptance { rematches: 2, ..open };
        assert_eq!(two.judge(&challenge(), 2), Ok(()));
        assert_eq!(two.judge(&challenge(), 3), Err(Reason::Later));
    }
}
