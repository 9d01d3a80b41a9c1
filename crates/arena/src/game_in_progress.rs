use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use shakmaty::{ByColor, Chess, Color, EnPassantMode, Position as _};
use tabia_encoding::{PlayerInfo, RatingPool};
use tabia_game::{Clock, DrawReason, History, Outcome, Press, Repetitions, TimeControl, WinReason, status};
use tabia_players::{Choice, Limits, Player, SearchControl, TimeLeft};

use crate::{
    DrawRules, Forfeit, ForfeitReason, Opening, PlayedGame, PlayedMove, Rules, Stop, StopRequest, Timer,
    adjudicate::{Adjudicator, ScoredMove},
    uci_of,
};

/// A game played move by move.
pub struct GameInProgress {
    opening: Opening,
    rules: Rules,
    history: History,
    repetitions: Repetitions,
    clock: Option<Clock>,
    adjudicator: Adjudicator,
    adjudicated: Option<Outcome>,
    moves: Vec<PlayedMove>,
}

/// Result of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A move was played.
    Moved,
    /// The game has ended.
    Ended(Box<PlayedGame>),
    /// Aborted by [`StopRequest::Now`].
    Aborted,
}

impl GameInProgress {
    /// A new game. [`Player::new_game`] has been called for both players.
    pub fn new(opening: &Opening, rules: &Rules) -> GameInProgress {
        let clock = rules.budget.controls().and_then(Clock::at_odds);
        let time_left = |color| clock.as_ref().map(|clock| clock.remaining(color));
        let infos = ByColor::new_with(|color| PlayerInfo { rating: None, time_left: time_left(color) });
        let pace = rules.budget.control.as_ref().and_then(TimeControl::pace);
        let mut history = History::new(opening.start().clone(), infos).under(RatingPool::Unknown, pace);
        let mut repetitions = Repetitions::default();
        count(&mut repetitions, opening.start(), rules.draws);
        for m in opening.moves() {
            history.push(*m, time_left(history.current().turn()));
            count(&mut repetitions, history.current(), rules.draws);
        }
        GameInProgress {
            opening: opening.clone(),
            rules: rules.clone(),
            history,
            repetitions,
            clock,
            adjudicator: Adjudicator::new(rules.adjudication),
            adjudicated: None,
            moves: Vec::new(),
        }
    }

    /// Current position.
    pub fn position(&self) -> &Chess {
        self.history.current()
    }

    /// Moves after the opening.
    pub fn moves(&self) -> &[PlayedMove] {
        &self.moves
    }

    /// Lets the player to move play a move, unless the game has ended. Must not be called after [`Step::Ended`].
    pub fn step(&mut self, player: &mut dyn Player, timer: &dyn Timer, stop: &Stop) -> Step {
        if let Some(outcome) = self.outcome() {
            return self.end(outcome, None);
        }
        let turn = self.position().turn();
        if let Some(controls) = self.rules.budget.controls() {
            // At time odds each side has its own.
            self.history.set_pace(controls[turn].pace());
        }
        let limits = self.limits();
        let watch = MoveControl { timer, start: timer.now(), limit: self.time_limit(turn), stop };
        let choice = catch_unwind(AssertUnwindSafe(|| player.choose(&self.history, &limits, &watch)));
        let elapsed = watch.elapsed();
        if stop.requested() == StopRequest::Now {
            return Step::Aborted;
        }
        let made = match choice {
            Ok(Ok(choice)) => self.make(choice, elapsed),
            Ok(Err(error)) => Err(ForfeitReason::Failed(error.to_string())),
            Err(panic) => Err(ForfeitReason::Panicked(panic_message(panic.as_ref()))),
        };
        match made {
            Ok(()) => Step::Moved,
            Err(reason) => self.forfeit(Forfeit { by: turn, reason }),
        }
    }

    /// The outcome, if the game has ended.
    fn outcome(&self) -> Option<Outcome> {
        let by_rule = match self.rules.draws {
            DrawRules::Standard => status(self.position(), &self.repetitions).outcome_with_claims(),
            DrawRules::Challenge => challenge_outcome(self.position(), &self.repetitions),
        };
        let by_length = || {
            let plies = u32::try_from(self.moves.len()).unwrap_or(u32::MAX);
            self.rules.max_plies.filter(|max| plies >= *max).map(|_| Outcome::Draw(DrawReason::PlyLimit))
        };
        let outcome = by_rule.or(self.adjudicated);
        #[cfg(feature = "syzygy")]
        let outcome = outcome.or_else(|| self.by_tables());
        outcome.or_else(by_length)
    }

    /// The outcome by endgame tables, once a move has been played.
    #[cfg(feature = "syzygy")]
    fn by_tables(&self) -> Option<Outcome> {
        use tabia_syzygy::Verdict;
        let tables = self.rules.tables.as_ref().filter(|_| !self.moves.is_empty())?;
        let turn = self.position().turn();
        let win = |winner| Outcome::Win { winner, by: WinReason::Adjudication };
        Some(match tables.verdict(self.position(), true)? {
            Verdict::Win => win(turn),
            Verdict::Draw => Outcome::Draw(DrawReason::Adjudication),
            Verdict::Loss => win(!turn),
        })
    }

    fn limits(&self) -> Limits {
        let turn = self.history.current().turn();
        let budget = &self.rules.budget;
        let clocks = self.clock.as_ref().map(|clock| {
            ByColor::new_with(|color| TimeLeft {
                remaining: clock.remaining(color),
                increment: clock.increment(color),
            })
        });
        Limits {
            clocks,
            moves_to_go: self.clock.as_ref().and_then(|clock| clock.moves_to_go(turn)),
            lines: self.rules.lines,
            ..budget.limits.clone()
        }
    }

    /// Time after which a move is too late.
    fn time_limit(&self, turn: Color) -> Option<Duration> {
        let on_clock = self.clock.as_ref().map(|clock| clock.remaining(turn));
        let least = [on_clock, self.rules.budget.limits.movetime].into_iter().flatten().min();
        least.map(|least| least.saturating_add(self.rules.budget.margin))
    }

    fn make(&mut self, choice: Choice, elapsed: Duration) -> Result<(), ForfeitReason> {
        let before = self.history.current();
        let turn = before.turn();
        let budget = &self.rules.budget;
        if budget.limits.movetime.is_some_and(|time| elapsed > time.saturating_add(budget.margin)) {
            return Err(ForfeitReason::Timeout);
        }
        if let Some(clock) = &mut self.clock {
            // Time within the margin counts as the last instant before the flag falls.
            let counted = if elapsed < clock.remaining(turn).saturating_add(budget.margin) {
                elapsed.min(clock.remaining(turn).saturating_sub(Duration::from_nanos(1)))
            } else {
                elapsed
            };
            if clock.press(turn, counted) == Press::FlagFell {
                return Err(ForfeitReason::Timeout);
            }
        }
        if !before.is_legal(choice.mv) {
            return Err(ForfeitReason::IllegalMove(uci_of(choice.mv, before)));
        }
        let played = PlayedMove {
            mv: choice.mv,
            elapsed,
            clock: self.clock.as_ref().map(|clock| clock.remaining(turn)),
            nodes: choice.nodes,
            lines: choice.lines,
        };
        self.adjudicated = self.adjudicator.add(ScoredMove {
            mover: turn,
            score: played.score(),
            number: before.fullmoves().get(),
            zeroing: choice.mv.is_zeroing(),
        });
        self.history.push(choice.mv, played.clock);
        count(&mut self.repetitions, self.history.current(), self.rules.draws);
        self.moves.push(played);
        Ok(())
    }

    fn forfeit(&self, forfeit: Forfeit) -> Step {
        let outcome = match forfeit.reason {
            ForfeitReason::Timeout => Outcome::on_time(self.position(), forfeit.by),
            _ => Outcome::Win { winner: !forfeit.by, by: WinReason::RulesInfraction },
        };
        self.end(outcome, Some(forfeit))
    }

    fn end(&self, outcome: Outcome, forfeit: Option<Forfeit>) -> Step {
        let (opening, moves) = (self.opening.clone(), self.moves.clone());
        Step::Ended(Box::new(PlayedGame { opening, moves, outcome, forfeit }))
    }
}

/// Adds a position to those that may be repeated.
fn count(repetitions: &mut Repetitions, position: &Chess, draws: DrawRules) {
    let mode = match draws {
        DrawRules::Standard => EnPassantMode::Legal,
        DrawRules::Challenge => EnPassantMode::Always,
    };
    repetitions.push_hashed(position.zobrist_hash(mode), position.halfmoves());
}

/// The outcome by [`DrawRules::Challenge`].
fn challenge_outcome(position: &Chess, repetitions: &Repetitions) -> Option<Outcome> {
    if position.legal_moves().is_empty() {
        return Some(if position.is_check() {
            Outcome::Win { winner: !position.turn(), by: WinReason::Checkmate }
        } else {
            Outcome::Draw(DrawReason::Stalemate)
        });
    }
    if repetitions.count() >= 3 {
        return Some(Outcome::Draw(DrawReason::ThreefoldRepetition));
    }
    (position.halfmoves() >= 100).then_some(Outcome::Draw(DrawReason::FiftyMoves))
}

/// Search control of one move.
struct MoveControl<'a> {
    timer: &'a dyn Timer,
    start: Duration,
    limit: Option<Duration>,
    stop: &'a Stop,
}

impl SearchControl for MoveControl<'_> {
    fn elapsed(&self) -> Duration {
        self.timer.now().saturating_sub(self.start)
    }

    /// Also true once the game is lost on time.
    fn stopped(&self) -> bool {
        self.stop.requested() == StopRequest::Now || self.limit.is_some_and(|limit| self.elapsed() > limit)
    }

    fn wait_until(&self, moment: Duration) {
        let mut now = self.elapsed();
        while now < moment && !self.stopped() {
            self.timer.sleep(POLL_INTERVAL.min(moment - now));
            let later = self.elapsed();
            if later == now {
                return;
            }
            now = later;
        }
    }
}

/// Polling interval of stop requests while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
