//! The game in progress: moves, clocks, players and outcome.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use shakmaty::san::SanPlus;
use shakmaty::{ByColor, Chess, Color, Move, Position};
use tabia_game::{
    Clock, DrawReason, Game, History, NodeId, Outcome, Press, Status, TimeControl, WinReason, write_game,
};
use tabia_players::{Limits, TimeLeft};

/// The players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) names: ByColor<String>,
    /// The colour of the user; `None` when watching.
    pub(super) you: Option<Color>,
}

impl Sides {
    pub(super) fn against(opponent: &str, you: Color) -> Sides {
        let name = |color| if color == you { "You".to_owned() } else { opponent.to_owned() };
        Sides { names: ByColor::new_with(name), you: Some(you) }
    }
}

/// A game in progress.
pub(super) struct LiveGame {
    start: Chess,
    control: Option<TimeControl>,
    /// The opponent's, where it differs.
    opponent_control: Option<TimeControl>,
    sides: Sides,
    game: Game,
    here: NodeId,
    /// The position at `here`.
    position: Chess,
    /// The clocks before each move and now; empty without a time control.
    clocks: Vec<Clock>,
    bottom: Color,
    over: Option<Outcome>,
}

impl LiveGame {
    pub(super) fn new(start: Chess, sides: Sides, control: Option<TimeControl>) -> LiveGame {
        let mut live = LiveGame {
            game: Game::from_position(start.clone()),
            here: NodeId::ROOT,
            position: start.clone(),
            clocks: Vec::new(),
            bottom: Color::White,
            over: None,
            start,
            control,
            opponent_control: None,
            sides: sides.clone(),
        };
        live.restart(sides);
        live
    }

    /// The same at time odds: the opponent has another time control.
    #[must_use]
    pub(super) fn with_opponent_time(mut self, control: Option<TimeControl>) -> LiveGame {
        self.opponent_control = control;
        self.restart(self.sides.clone());
        self
    }

    /// The time controls of both sides; `None` without clocks.
    fn controls(&self, sides: &Sides) -> Option<ByColor<&TimeControl>> {
        let mine = self.control.as_ref()?;
        let theirs = self.opponent_control.as_ref().unwrap_or(mine);
        Some(ByColor::new_with(|color| if sides.you.is_none_or(|you| you == color) { mine } else { theirs }))
    }

    /// Restarts from the initial position.
    pub(super) fn restart(&mut self, sides: Sides) {
        self.game = Game::from_position(self.start.clone());
        (self.here, self.position, self.over) = (NodeId::ROOT, self.start.clone(), None);
        self.clocks = self.controls(&sides).and_then(Clock::at_odds).into_iter().collect();
        self.bottom = sides.you.unwrap_or(Color::White);
        let texts = self.controls(&sides).map(|controls| controls.map(ToString::to_string));
        if let Some(ByColor { white, black }) = texts {
            if white == black {
                self.game.headers.set("TimeControl", white).expect(PLAIN);
            } else {
                self.game.headers.set("WhiteTimeControl", white).expect(PLAIN);
                self.game.headers.set("BlackTimeControl", black).expect(PLAIN);
            }
        }
        self.rename(sides);
        self.check_end();
    }

    pub(super) fn rename(&mut self, sides: Sides) {
        self.game.headers.set("White", sides.names.white.clone()).expect(PLAIN);
        self.game.headers.set("Black", sides.names.black.clone()).expect(PLAIN);
        self.game.headers.set("Event", "Tabia").expect(PLAIN);
        self.sides = sides;
    }

    pub(super) fn sides(&self) -> &Sides {
        &self.sides
    }

    pub(super) fn game(&self) -> &Game {
        &self.game
    }

    pub(super) fn position(&self) -> &Chess {
        &self.position
    }

    pub(super) fn bottom(&self) -> Color {
        self.bottom
    }

    pub(super) fn over(&self) -> Option<Outcome> {
        self.over
    }

    pub(super) fn last_move(&self) -> Option<Move> {
        self.game.move_to(self.here)
    }

    /// The game as players see it, with clocks.
    pub(super) fn history(&self) -> History {
        self.game.history(self.here)
    }

    /// Whether the user is to move.
    pub(super) fn your_turn(&self) -> bool {
        self.over.is_none() && self.sides.you == Some(self.position.turn())
    }

    pub(super) fn flip(&mut self) {
        self.bottom = !self.bottom;
    }

    /// Plays a legal move after `elapsed`, or loses on time.
    pub(super) fn play(&mut self, m: Move, elapsed: Duration) {
        let mover = self.position.turn();
        // PGN clocks have milliseconds.
        let elapsed = elapsed - Duration::from_nanos(u64::from(elapsed.subsec_nanos() % 1_000_000));
        let pressed = self.clocks.last().cloned().map(|mut clock| (clock.press(mover, elapsed), clock));
        if let Some((Press::FlagFell, clock)) = pressed {
            if let Some(now) = self.clocks.last_mut() {
                *now = clock;
            }
            self.end(Outcome::on_time(&self.position, mover));
            return;
        }
        self.here = self.game.add_move(self.here, m).expect("the move was found among the legal ones");
        self.position.play_unchecked(m);
        if let Some((_, clock)) = pressed {
            self.game.notes_mut(self.here).clock = Some(clock.remaining(mover));
            self.clocks.push(clock);
        }
        self.check_end();
    }

    /// Ends the game if the flag of the side to move has fallen.
    pub(super) fn check_flag(&mut self, elapsed: Duration) {
        let mover = self.position.turn();
        if self.over.is_none()
            && let Some(clock) = self.clocks.last_mut()
            && clock.flag_falls(mover, elapsed)
        {
            clock.press(mover, elapsed);
            self.end(Outcome::on_time(&self.position, mover));
        }
    }

    /// The clock of `color` after the side to move has used `elapsed`; `None` without clocks.
    pub(super) fn time_left(&self, color: Color, elapsed: Duration) -> Option<Duration> {
        let left = self.clocks.last()?.remaining(color);
        let running = self.over.is_none() && color == self.position.turn();
        Some(if running { left.saturating_sub(elapsed) } else { left })
    }

    /// The limits of the side to move: its clock, if there is one.
    pub(super) fn limits(&self) -> Limits {
        let Some(clock) = self.clocks.last() else { return Limits::default() };
        let left = |color| TimeLeft { remaining: clock.remaining(color), increment: clock.increment(color) };
        Limits {
            clocks: Some(ByColor::new_with(left)),
            moves_to_go: clock.moves_to_go(self.position.turn()),
            ..Limits::default()
        }
    }

    fn check_end(&mut self) {
        let status = self.game.status(self.here);
        let outcome = match status {
            // Draws are claimed automatically in watched games.
            _ if self.sides.you.is_none() => status.outcome_with_claims(),
            Status::Over(outcome) => Some(outcome),
            Status::Ongoing { .. } => None,
        };
        if let Some(outcome) = outcome {
            self.end(outcome);
        }
    }

    fn end(&mut self, outcome: Outcome) {
        self.game.finish(outcome);
        self.over = Some(outcome);
    }

    /// Claims a draw, if the rules allow it.
    pub(super) fn claim_draw(&mut self) -> Option<Outcome> {
        match self.game.status(self.here) {
            Status::Ongoing { claim: Some(reason) } if self.over.is_none() => {
                self.end(Outcome::Draw(reason));
                self.over
            }
            _ => None,
        }
    }

    /// `loser` resigns; `None` if the game is over.
    pub(super) fn resign(&mut self, loser: Color) -> Option<Outcome> {
        if self.over.is_some() {
            return None;
        }
        self.end(Outcome::Win { winner: !loser, by: WinReason::Resignation });
        self.over
    }

    /// Takes back the user's last move and the reply, or one move when watching; false if there is none.
    pub(super) fn undo(&mut self) -> bool {
        let mut target = self.game.parent(self.here);
        while let Some(node) = target
            && self.sides.you.is_some_and(|you| self.game.position(node).turn() != you)
        {
            target = self.game.parent(node);
        }
        let Some(node) = target else { return false };
        let undone = self.game.line_after(node).next();
        (self.here, self.over) = (node, None);
        if let Some(undone) = undone {
            self.game.delete(undone);
        }
        self.position = self.game.position(node);
        self.clocks.truncate(self.game.path(node).len() + 1);
        self.game.result = shakmaty::Outcome::Unknown;
        self.game.headers.remove("Termination");
        true
    }

    /// The moves so far, with move numbers.
    pub(super) fn numbered_moves(&self) -> Vec<(Option<String>, String)> {
        let mut position = self.game.start().clone();
        let mut moves = Vec::new();
        for (i, m) in self.game.moves().enumerate() {
            let number = position.fullmoves();
            let number = match position.turn() {
                Color::White => Some(format!("{number}.")),
                Color::Black if i == 0 => Some(format!("{number}...")),
                Color::Black => None,
            };
            moves.push((number, SanPlus::from_move_and_play_unchecked(&mut position, m).to_string()));
        }
        moves
    }

    pub(super) fn moves_text(&self) -> String {
        let mut text = String::new();
        for (number, san) in self.numbered_moves() {
            if let Some(number) = number {
                text.push_str(&format!("{number} "));
            }
            text.push_str(&format!("{san} "));
        }
        if text.is_empty() { "No moves yet.".to_owned() } else { text }
    }

    pub(super) fn legal_text(&self) -> String {
        let san = |m| SanPlus::from_move(self.position.clone(), m).to_string();
        self.position.legal_moves().into_iter().map(san).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn save(&self, path: &Path) -> Result<()> {
        let mut text = Vec::new();
        write_game(&self.game, &mut text)?;
        std::fs::write(path, text).with_context(|| path.display().to_string())
    }
}

const PLAIN: &str = "these are plain tag names";

pub(super) fn named(color: Color) -> &'static str {
    color.fold_wb("White", "Black")
}

/// The result and its reason.
pub(super) fn outcome_text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Win { winner, by } => {
            let how = match by {
                WinReason::Checkmate => "checkmate",
                WinReason::Timeout => "time",
                WinReason::Resignation => "resignation",
                WinReason::Adjudication => "adjudication",
                WinReason::Abandonment => "abandonment",
                WinReason::RulesInfraction => "a rules infraction",
            };
            format!("{} {} wins by {how}.", winner.fold_wb("1-0", "0-1"), named(winner))
        }
        Outcome::Draw(reason) => {
            let how = match reason {
                DrawReason::Stalemate => "stalemate",
                DrawReason::ThreefoldRepetition => "threefold repetition",
                DrawReason::FivefoldRepetition => "fivefold repetition",
                DrawReason::FiftyMoves => "the fifty-move rule",
                DrawReason::SeventyFiveMoves => "the seventy-five-move rule",
                DrawReason::InsufficientMaterial => "insufficient material",
                DrawReason::TimeoutVsInsufficientMaterial => "time against insufficient material",
                DrawReason::Agreement => "agreement",
                DrawReason::Adjudication => "adjudication",
                DrawReason::PlyLimit => "length",
            };
            format!("1/2-1/2 Draw by {how}.")
        }
        Outcome::Abandoned => "* The game was abandoned.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::find_move;
    use super::*;

    fn live(control: &str) -> LiveGame {
        let control = if control.is_empty() { None } else { Some(control.parse().unwrap()) };
        LiveGame::new(Chess::default(), Sides::against("Tabia", Color::White), control)
    }

    fn play(live: &mut LiveGame, san: &str, seconds: u64) {
        let m = find_move(live.position(), san).unwrap();
        live.play(m, Duration::from_secs(seconds));
    }

    #[test]
    fn undo_restores_moves_and_clocks() {
        let mut live = live("60+2");
        for (san, seconds) in [("e4", 10), ("e5", 20), ("Nf3", 5), ("Nc6", 1)] {
            play(&mut live, san, seconds);
        }
        assert!(live.undo());
        assert_eq!(live.moves_text(), "1. e4 e5 ");
        assert_eq!(live.time_left(Color::White, Duration::ZERO), Some(Duration::from_secs(52)));
        assert_eq!(live.time_left(Color::Black, Duration::ZERO), Some(Duration::from_secs(42)));
        assert!(live.undo() && !live.undo());
        assert!(live.your_turn());
    }

    #[test]
    fn at_time_odds_each_side_has_its_own_clock() {
        let control = |text: &str| Some(text.parse::<TimeControl>().unwrap());
        for you in Color::ALL {
            let live = LiveGame::new(Chess::default(), Sides::against("Tabia", you), control("300+3"))
                .with_opponent_time(control("60"));
            let left = live.limits().clocks.unwrap();
            assert_eq!(left[you].remaining, Duration::from_secs(300));
            assert_eq!(
                (left[!you].remaining, left[!you].increment),
                (Duration::from_secs(60), Duration::ZERO)
            );
            let header = |name| live.game().headers.get(name).map(str::to_owned);
            let mine = you.fold_wb("WhiteTimeControl", "BlackTimeControl");
            assert_eq!((header(mine).as_deref(), header("TimeControl")), (Some("300+3"), None));
        }
    }

    #[test]
    fn pgn_clocks_have_milliseconds() {
        let mut live = live("60");
        let m = find_move(live.position(), "e4").unwrap();
        live.play(m, Duration::new(1, 234_567_891));
        let mut pgn = Vec::new();
        write_game(live.game(), &mut pgn).unwrap();
        let pgn = String::from_utf8(pgn).unwrap();
        assert!(pgn.contains("[%clk 0:00:58.766]"), "{pgn}");
    }

    #[test]
    fn history_and_limits_have_clocks() {
        let mut live = live("60+2");
        play(&mut live, "e4", 10);
        let history = live.history();
        let situation = history.situation();
        assert_eq!(situation.opponent.time_left, Some(Duration::from_secs(52)));
        assert_eq!(situation.mover.time_left, Some(Duration::from_secs(60)));
        assert_eq!(live.limits().clocks.unwrap().white.remaining, Duration::from_secs(52));
    }

    #[test]
    fn flag_fall_ends_the_game() {
        let mut live = live("60");
        live.check_flag(Duration::from_secs(59));
        assert_eq!(live.over(), None);
        live.check_flag(Duration::from_secs(60));
        assert_eq!(live.over(), Some(Outcome::Win { winner: Color::Black, by: WinReason::Timeout }));
        assert_eq!(live.time_left(Color::White, Duration::ZERO), Some(Duration::ZERO));
    }

    #[test]
    fn move_after_flag_fall_is_not_played() {
        let mut live = live("60");
        play(&mut live, "e4", 61);
        assert_eq!(live.moves_text(), "No moves yet.");
        assert_eq!(outcome_text(live.over().unwrap()), "0-1 Black wins by time.");
    }

    #[test]
    fn watched_games_claim_threefold_repetition() {
        let sides = Sides { names: ByColor { white: "A".to_owned(), black: "B".to_owned() }, you: None };
        let mut live = LiveGame::new(Chess::default(), sides, None);
        for san in ["Nf3", "Nf6", "Ng1", "Ng8", "Nf3", "Nf6", "Ng1", "Ng8"] {
            assert_eq!(live.over(), None);
            play(&mut live, san, 0);
        }
        assert_eq!(live.over(), Some(Outcome::Draw(DrawReason::ThreefoldRepetition)));
    }
}
