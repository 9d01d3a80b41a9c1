use std::{borrow::Cow, fmt, time::Duration};

use shakmaty::ByColor;
use tabia_game::TimeControl;
use tabia_players::Limits;

use crate::PlayerId;

/// Rules of a game.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Limits and time control.
    pub budget: Budget,
    /// Number of plies after the opening at which the game is drawn.
    pub max_plies: Option<u32>,
    /// Adjudication by the players' scores.
    pub adjudication: Adjudication,
    /// Number of MultiPV lines requested; 0 is the player's default.
    pub lines: usize,
    /// Which positions are draws.
    pub draws: DrawRules,
    /// Endgame tables that end a game once they have its position.
    #[cfg(feature = "syzygy")]
    pub tables: Option<std::sync::Arc<tabia_syzygy::Tables>>,
}

/// Which positions are draws. Draws that can be claimed are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DrawRules {
    /// The rules of chess.
    #[default]
    Standard,
    /// As in the harness of the Chess Challenge: play goes on without mating material, and a position that follows a double
    /// pawn step is never the same as one that does not, even if no pawn can take it.
    Challenge,
}

/// Limits and time control of both players. Without limits, players use their own defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// For each move; a player that exceeds [`Limits::movetime`] loses the game.
    pub limits: Limits,
    /// The clocks' control; a player whose flag falls loses the game.
    pub control: Option<TimeControl>,
    /// Time odds: the control of the other side, where it differs. In a run, that of all players but the first; in a single
    /// game, that of Black. Without effect if `control` is `None`.
    pub other_control: Option<TimeControl>,
    /// Time margin: how far a move may exceed its time before the game is lost.
    pub margin: Duration,
}

/// Adjudication by the players' scores, as in cutechess. A move without a score resets all counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjudication {
    /// Resignation.
    pub resign: Option<ResignAdjudication>,
    /// Draw.
    pub draw: Option<DrawAdjudication>,
}

/// A player loses after a number of consecutive moves with a bad score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResignAdjudication {
    /// Number of consecutive moves of the player.
    pub move_count: u32,
    /// Centipawns behind; being mated counts too.
    pub score: i32,
    /// Whose scores are needed.
    pub agreement: Agreement,
}

/// Whose scores a resignation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The loser's.
    OneSided,
    /// Both players'.
    TwoSided,
}

/// A game is drawn after a number of consecutive moves of both players with a score near zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawAdjudication {
    /// First move number at which it applies.
    pub move_number: u32,
    /// Number of consecutive moves of each player. Captures and pawn moves reset the count.
    pub move_count: u32,
    /// Maximum distance from zero in centipawns.
    pub score: i32,
}

impl Rules {
    /// The rules of one game of a run.
    pub(crate) fn seated(&self, seats: ByColor<PlayerId>) -> Cow<'_, Rules> {
        const FIRST: PlayerId = PlayerId(0);
        let (Some(own), Some(other)) = (&self.budget.control, &self.budget.other_control) else {
            return Cow::Borrowed(self);
        };
        let controls = seats.map(|player| if player == FIRST { own } else { other });
        let mut rules = self.clone();
        rules.budget.control = Some(controls.white.clone());
        rules.budget.other_control = (controls.black != controls.white).then(|| controls.black.clone());
        Cow::Owned(rules)
    }
}

impl Budget {
    /// The time controls of a single game; `None` without clocks.
    pub fn controls(&self) -> Option<ByColor<&TimeControl>> {
        let white = self.control.as_ref()?;
        Some(ByColor { white, black: self.other_control.as_ref().unwrap_or(white) })
    }
}

/// `10+0.1, depth 4`, `300+0, others 60+0`, or `no limits`.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(control) = &self.control {
            parts.push(control.to_string());
            parts.extend(self.other_control.as_ref().map(|other| format!("others {other}")));
        }
        if let Some(time) = self.limits.movetime {
            parts.push(format!("{} ms a move", time.as_secs_f64() * 1000.0));
        }
        if let Some(nodes) = self.limits.nodes {
            parts.push(format!("{nodes} nodes"));
        }
        if let Some(depth) = self.limits.depth {
            parts.push(format!("depth {depth}"));
        }
        if parts.is_empty() {
            parts.push("no limits".to_owned());
        }
        if !self.margin.is_zero() {
            parts.push(format!("margin {} ms", self.margin.as_secs_f64() * 1000.0));
        }
        f.write_str(&parts.join(", "))
    }
}

/// `off`, or a description of the rules.
impl fmt::Display for Adjudication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(ResignAdjudication { move_count: moves, score, agreement }) = self.resign {
            let who = match agreement {
                Agreement::OneSided => "",
                Agreement::TwoSided => " for both",
            };
            parts.push(format!("resign after {moves} moves at -{score} cp{who}"));
        }
        if let Some(DrawAdjudication { move_number, move_count, score }) = self.draw {
            parts.push(format!("draw after {move_count} moves within {score} cp from move {move_number}"));
        }
        f.write_str(&if parts.is_empty() { "off".to_owned() } else { parts.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_player_keeps_its_clock_with_both_colours() {
        let control = |text: &str| Some(text.parse::<TimeControl>().unwrap());
        let (own, other) = (control("180+2"), control("60+0"));
        let budget = Budget { control: own.clone(), other_control: other.clone(), ..Budget::default() };
        assert_eq!(budget.to_string(), "180+2, others 60+0");
        let rules = Rules { budget, ..Rules::default() };
        let seated = |white, black| {
            let seats = ByColor { white: PlayerId(white), black: PlayerId(black) };
            let rules = rules.seated(seats);
            let controls = rules.budget.controls().unwrap();
            (controls.white.to_string(), controls.black.to_string())
        };
        let texts = |white: &str, black: &str| (white.to_owned(), black.to_owned());
        assert_eq!(seated(0, 1), texts("180+2", "60+0"));
        assert_eq!(seated(2, 0), texts("60+0", "180+2"));
        assert_eq!(seated(1, 2), texts("60+0", "60+0"), "neither is the first");
        let even = Rules { budget: Budget { control: own, ..Budget::default() }, ..Rules::default() };
        assert_eq!(*even.seated(ByColor { white: PlayerId(1), black: PlayerId(0) }), even);
    }
}
