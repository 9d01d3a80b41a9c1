use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use shakmaty::{ByColor, Chess, Color, Position as _};
use tabia_encoding::{PlayerInfo, RatingPool};
use tabia_game::{Clock, DrawReason, History, Outcome, Press, Repetitions, TimeControl, WinReason, status};
use tabia_players::{Choice, Limits, Player, SearchControl, TimeLeft};

use crate::{
    Fault, FaultKind, Opening, PlayedGame, PlayedMove, Rules, Stop, StopRequest, Timer,
    adjudicate::{Adjudicator, Judged},
    uci_of,
};

/// A game under way, played a move at a time.
pub struct GameInProgress {
    opening: Opening,
    rules: Rules,
    history: History,
    repetitions: Repetitions,
    clock: Option<Clock>,
    adjudicator: Adjudicator,
    adjudged: Option<Outcome>,
    moves: Vec<PlayedMove>,
}

/// What came of a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A move was made.
    Moved,
    /// No move was made: the game is over.
    Over(Box<PlayedGame>),
    /// No move was made, because of [`StopRequest::Now`].
    GivenUp,
}

impl GameInProgress {
    /// A game about to begin. The players have been told of it ([`Player::new_game`]).
    pub fn new(opening: &Opening, rules: &Rules) -> GameInProgress {
        let clock = rules.budget.control.as_ref().and_then(Clock::new);
        let time_left = clock.as_ref().map(|clock| clock.remaining(Color::White));
        let seat = PlayerInfo { rating: None, time_left };
        let pace = rules.budget.control.as_ref().and_then(TimeControl::pace);
        let seats = ByColor { white: seat, black: seat };
        let mut history = History::new(opening.start().clone(), seats).under(RatingPool::Unknown, pace);
        let mut repetitions = Repetitions::from_start(opening.start());
        for m in opening.moves() {
            history.push(*m, time_left);
            repetitions.push(history.current());
        }
        GameInProgress {
            opening: opening.clone(),
            rules: rules.clone(),
            history,
            repetitions,
            clock,
            adjudicator: Adjudicator::new(rules.adjudication),
            adjudged: None,
            moves: Vec::new(),
        }
    }

    /// The position now.
    pub fn position(&self) -> &Chess {
        self.history.current()
    }

    /// The moves after the opening.
    pub fn moves(&self) -> &[PlayedMove] {
        &self.moves
    }

    /// Lets the player whose turn it is move, unless the game has ended by then. No step follows [`Step::Over`].
    pub fn step(&mut self, player: &mut dyn Player, timer: &dyn Timer, stop: &Stop) -> Step {
        if let Some(outcome) = self.end() {
            return self.over(outcome, None);
        }
        let turn = self.position().turn();
        let limits = self.limits();
        let watch = MoveWatch { timer, began: timer.now(), patience: self.patience(turn), stop };
        let choice = catch_unwind(AssertUnwindSafe(|| player.choose(&self.history, &limits, &watch)));
        let elapsed = watch.elapsed();
        if stop.requested() == StopRequest::Now {
            return Step::GivenUp;
        }
        let made = match choice {
            Ok(Ok(choice)) => self.make(choice, elapsed),
            Ok(Err(error)) => Err(FaultKind::Failed(error.to_string())),
            Err(panic) => Err(FaultKind::Panicked(panic_message(panic.as_ref()))),
        };
        match made {
            Ok(()) => Step::Moved,
            Err(kind) => self.forfeit(Fault { by: turn, kind }),
        }
    }

    /// How the game has ended, if it has.
    fn end(&self) -> Option<Outcome> {
        let by_rule = status(self.history.current(), &self.repetitions).outcome_with_claims();
        let long = || {
            let plies = u32::try_from(self.moves.len()).unwrap_or(u32::MAX);
            self.rules.max_plies.filter(|most| plies >= *most).map(|_| Outcome::Draw(DrawReason::PlyLimit))
        };
        by_rule.or(self.adjudged).or_else(long)
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

    /// After how long a move comes too late.
    fn patience(&self, turn: Color) -> Option<Duration> {
        let on_clock = self.clock.as_ref().map(|clock| clock.remaining(turn));
        let least = [on_clock, self.rules.budget.limits.movetime].into_iter().flatten().min();
        least.map(|least| least.saturating_add(self.rules.budget.margin))
    }

    fn make(&mut self, choice: Choice, elapsed: Duration) -> Result<(), FaultKind> {
        let before = self.history.current();
        let turn = before.turn();
        let budget = &self.rules.budget;
        if budget.limits.movetime.is_some_and(|time| elapsed > time.saturating_add(budget.margin)) {
            return Err(FaultKind::OutOfTime);
        }
        if let Some(clock) = &mut self.clock {
            // Time within the margin counts as the last moment before the flag falls.
            let forgiven = if elapsed < clock.remaining(turn).saturating_add(budget.margin) {
                elapsed.min(clock.remaining(turn).saturating_sub(Duration::from_nanos(1)))
            } else {
                elapsed
            };
            if clock.press(turn, forgiven) == Press::FlagFell {
                return Err(FaultKind::OutOfTime);
            }
        }
        if !before.is_legal(choice.mv) {
            return Err(FaultKind::IllegalMove(uci_of(choice.mv, before)));
        }
        let played = PlayedMove {
            mv: choice.mv,
            elapsed,
            clock: self.clock.as_ref().map(|clock| clock.remaining(turn)),
            nodes: choice.nodes,
            lines: choice.lines,
        };
        self.adjudged = self.adjudicator.judge(Judged {
            mover: turn,
            score: played.score(),
            number: before.fullmoves().get(),
            irreversible: choice.mv.is_zeroing(),
        });
        self.history.push(choice.mv, played.clock);
        self.repetitions.push(self.history.current());
        self.moves.push(played);
        Ok(())
    }

    fn forfeit(&self, fault: Fault) -> Step {
        let outcome = match fault.kind {
            FaultKind::OutOfTime => Outcome::on_time(self.position(), fault.by),
            _ => Outcome::Win { winner: !fault.by, by: WinReason::RulesInfraction },
        };
        self.over(outcome, Some(fault))
    }

    fn over(&self, outcome: Outcome, fault: Option<Fault>) -> Step {
        let (opening, moves) = (self.opening.clone(), self.moves.clone());
        Step::Over(Box::new(PlayedGame { opening, moves, outcome, fault }))
    }
}

/// What a thinking player sees of the world.
struct MoveWatch<'a> {
    timer: &'a dyn Timer,
    began: Duration,
    patience: Option<Duration>,
    stop: &'a Stop,
}

impl SearchControl for MoveWatch<'_> {
    fn elapsed(&self) -> Duration {
        self.timer.now().saturating_sub(self.began)
    }

    /// Also once the game is lost on time: there is nothing left to think about.
    fn stopped(&self) -> bool {
        self.stop.requested() == StopRequest::Now || self.patience.is_some_and(|most| self.elapsed() > most)
    }

    fn wait_until(&self, moment: Duration) {
        let mut now = self.elapsed();
        while now < moment && !self.stopped() {
            self.timer.pass(GLANCE.min(moment - now));
            let later = self.elapsed();
            if later == now {
                return;
            }
            now = later;
        }
    }
}

/// How often somebody who waits looks whether the run is to stop.
const GLANCE: Duration = Duration::from_millis(20);

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
