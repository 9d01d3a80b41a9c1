use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use shakmaty::{ByColor, Chess, Color, Move, Position as _};
use tabia_encoding::{ForMover, RatingPool, Score, Seat};
use tabia_game::{Clock, DrawReason, History, Outcome, Press, Repetitions, TimeControl, WinReason, status};
use tabia_search::{Choice, Limits, Line, Player, TimeLeft, Watch};

use crate::{
    Opening, Rules, Stop, Timer, Wish,
    adjudicate::{Adjudicator, Judged},
    uci_of,
};

/// A finished game, with all that the players said.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedGame {
    /// Where it began.
    pub opening: Opening,
    /// The moves after the opening.
    pub moves: Vec<PlayedMove>,
    /// How it ended.
    pub outcome: Outcome,
    /// What a player did wrong, if that ended the game.
    pub fault: Option<Fault>,
}

/// One move of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedMove {
    /// The move.
    pub mv: Move,
    /// How long the player thought.
    pub elapsed: Duration,
    /// What the player's clock showed afterwards, if there are clocks.
    pub clock: Option<Duration>,
    /// Positions the player visited.
    pub nodes: u64,
    /// What the player thought of its candidates, best first.
    pub lines: Vec<Line>,
}

impl PlayedMove {
    /// The player's opinion of the position, from its own side.
    pub fn score(&self) -> Option<ForMover<Score>> {
        self.lines.first().and_then(|line| line.score)
    }
}

/// What a player did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who.
    pub by: Color,
    /// What.
    pub kind: FaultKind,
}

/// The ways to lose without being mated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A move that the rules do not allow, in UCI notation.
    IllegalMove(String),
    /// No move, but an error: what it says.
    Failed(String),
    /// The player panicked: what it said.
    Panicked(String),
    /// The move took longer than the clock or the time for a move allows.
    OutOfTime,
}

impl FaultKind {
    /// Whether the player can no longer be trusted and is built anew for the next game.
    pub(crate) fn spoils_player(&self) -> bool {
        matches!(self, FaultKind::Failed(_) | FaultKind::Panicked(_))
    }
}

impl PlayedGame {
    /// Why the game ended, in a few words.
    pub fn reason(&self) -> String {
        if let Some(Fault { by, kind }) = &self.fault {
            let who = by.fold_wb("White", "Black");
            return match kind {
                FaultKind::IllegalMove(m) => format!("{who} made an illegal move: {m}"),
                FaultKind::Failed(what) => format!("{who} failed: {what}"),
                FaultKind::Panicked(what) => format!("{who} crashed: {what}"),
                FaultKind::OutOfTime => match self.outcome {
                    Outcome::Draw(_) => format!("{who} ran out of time against insufficient material"),
                    _ => format!("{who} ran out of time"),
                },
            };
        }
        self.outcome.reason().to_owned()
    }

    /// The moves after the opening in UCI notation.
    pub fn uci_moves(&self) -> Vec<String> {
        self.moves.iter().map(|played| uci_of(played.mv, self.opening.start())).collect()
    }
}

/// Plays one game; `None` if it was given up because of [`Wish::Now`].
///
/// Draws that can be claimed are: threefold repetition and fifty moves end the game. A player that errs, crashes, moves
/// illegally or runs out of time loses.
pub fn play_game(
    players: ByColor<&mut (dyn Player + '_)>,
    opening: &Opening,
    rules: &Rules,
    timer: &dyn Timer,
    stop: &Stop,
) -> Option<PlayedGame> {
    let mut table = Table::set_up(opening, rules);
    let mut players = players;
    for player in &mut players {
        // A player that crashes here does so again when asked to move, and loses then.
        let _ = catch_unwind(AssertUnwindSafe(|| player.new_game()));
    }
    loop {
        if let Some(end) = table.end() {
            return Some(table.clear(end));
        }
        let turn = table.history.current().turn();
        let player = match turn {
            Color::White => &mut players.white,
            Color::Black => &mut players.black,
        };
        let limits = table.limits();
        let watch = MoveWatch { timer, began: timer.now(), patience: table.patience(turn), stop };
        let choice = catch_unwind(AssertUnwindSafe(|| player.choose(&table.history, &limits, &watch)));
        let elapsed = watch.elapsed();
        if stop.wished() == Wish::Now {
            return None;
        }
        let step = match choice {
            Ok(Ok(choice)) => table.make(choice, elapsed),
            Ok(Err(error)) => Err(FaultKind::Failed(error.to_string())),
            Err(panic) => Err(FaultKind::Panicked(panic_message(panic.as_ref()))),
        };
        if let Err(kind) = step {
            return Some(table.forfeit(Fault { by: turn, kind }));
        }
    }
}

/// A game under way.
struct Table<'a> {
    opening: &'a Opening,
    rules: &'a Rules,
    history: History,
    repetitions: Repetitions,
    clock: Option<Clock>,
    adjudicator: Adjudicator,
    adjudged: Option<Outcome>,
    moves: Vec<PlayedMove>,
}

impl<'a> Table<'a> {
    fn set_up(opening: &'a Opening, rules: &'a Rules) -> Table<'a> {
        let clock = rules.budget.control.as_ref().and_then(Clock::new);
        let time_left = clock.as_ref().map(|clock| clock.remaining(Color::White));
        let seat = Seat { rating: None, time_left };
        let pace = rules.budget.control.as_ref().and_then(TimeControl::pace);
        let seats = ByColor { white: seat, black: seat };
        let mut history = History::new(opening.start().clone(), seats).under(RatingPool::Unknown, pace);
        let mut repetitions = Repetitions::from_start(opening.start());
        for m in opening.moves() {
            history.push(*m, time_left);
            repetitions.push(history.current());
        }
        Table {
            opening,
            rules,
            history,
            repetitions,
            clock,
            adjudicator: Adjudicator::new(rules.adjudication),
            adjudged: None,
            moves: Vec::new(),
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
            depth: budget.depth,
            nodes: budget.nodes,
            movetime: budget.movetime,
            clocks,
            moves_to_go: self.clock.as_ref().and_then(|clock| clock.moves_to_go(turn)),
            lines: self.rules.lines,
            ..Limits::default()
        }
    }

    /// After how long a move comes too late.
    fn patience(&self, turn: Color) -> Option<Duration> {
        let on_clock = self.clock.as_ref().map(|clock| clock.remaining(turn));
        let least = [on_clock, self.rules.budget.movetime].into_iter().flatten().min();
        least.map(|least| least.saturating_add(self.rules.budget.margin))
    }

    fn make(&mut self, choice: Choice, elapsed: Duration) -> Result<(), FaultKind> {
        let before = self.history.current();
        let turn = before.turn();
        let budget = &self.rules.budget;
        if budget.movetime.is_some_and(|time| elapsed > time.saturating_add(budget.margin)) {
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

    fn forfeit(self, fault: Fault) -> PlayedGame {
        let position: &Chess = self.history.current();
        let outcome = match fault.kind {
            FaultKind::OutOfTime => Outcome::on_time(position, fault.by),
            _ => Outcome::Win { winner: !fault.by, by: WinReason::RulesInfraction },
        };
        PlayedGame { opening: self.opening.clone(), moves: self.moves, outcome, fault: Some(fault) }
    }

    fn clear(self, outcome: Outcome) -> PlayedGame {
        PlayedGame { opening: self.opening.clone(), moves: self.moves, outcome, fault: None }
    }
}

/// What a thinking player sees of the world.
struct MoveWatch<'a> {
    timer: &'a dyn Timer,
    began: Duration,
    patience: Option<Duration>,
    stop: &'a Stop,
}

impl Watch for MoveWatch<'_> {
    fn elapsed(&self) -> Duration {
        self.timer.now().saturating_sub(self.began)
    }

    /// Also once the game is lost on time: there is nothing left to think about.
    fn stopped(&self) -> bool {
        self.stop.wished() == Wish::Now || self.patience.is_some_and(|most| self.elapsed() > most)
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
