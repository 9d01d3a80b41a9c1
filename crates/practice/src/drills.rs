//! Won positions to win, and drawn ones to hold.

use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, KnownOutcome};

use crate::deck::{Grade, Schedule, UnixMillis};

const LIST: &str = include_str!("../data/drills.tsv");

/// What is to be reached from a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum DrillTask {
    /// A win.
    Win,
    /// At least a draw.
    Draw,
}

/// A position to practise against an opponent, by the side to move, and how often it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Drill {
    /// What it belongs to, such as `Rook endgames`.
    pub group: String,
    /// Its name.
    pub name: String,
    /// What is to be reached.
    pub task: DrillTask,
    /// A win must come within so many moves; a draw is held if the game is not lost after so many.
    pub moves: u32,
    /// The position; the side to move is mine.
    pub fen: String,
    /// All attempts, oldest first.
    pub attempts: Vec<DrillAttempt>,
    /// When it is repeated.
    pub schedule: Schedule,
}

/// A game that was played from the position of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct DrillAttempt {
    /// When it ended.
    pub at: UnixMillis,
    /// Whether the task was done.
    pub achieved: bool,
    /// My moves.
    pub moves: u32,
    /// The rating of the opponent, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<u32>,
}

impl DrillTask {
    /// Whether the task is done after so many moves of `side`: `None` while it is open.
    pub fn achieved(
        self,
        side: Color,
        outcome: Option<KnownOutcome>,
        moves: u32,
        limit: u32,
    ) -> Option<bool> {
        match (self, outcome) {
            (_, Some(KnownOutcome::Decisive { winner })) => Some(winner == side),
            (DrillTask::Win, Some(KnownOutcome::Draw)) => Some(false),
            (DrillTask::Draw, Some(KnownOutcome::Draw)) => Some(true),
            (DrillTask::Win, None) if moves >= limit => Some(false),
            (DrillTask::Draw, None) if moves >= limit => Some(true),
            (_, None) => None,
        }
    }
}

impl fmt::Display for DrillTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DrillTask::Win => "win",
            DrillTask::Draw => "draw",
        })
    }
}

impl Drill {
    /// Notes an attempt and schedules the next.
    pub fn record(&mut self, attempt: DrillAttempt) {
        let grade = if attempt.achieved { Grade::Good } else { Grade::Again };
        self.schedule.repeat(grade, attempt.at);
        self.attempts.push(attempt);
    }
}

/// Well-known endgames and a few middlegames, without attempts.
pub fn drills() -> Vec<Drill> {
    LIST.lines().filter_map(drill).collect()
}

/// A line of the list; `None` for comments.
fn drill(line: &str) -> Option<Drill> {
    let mut fields = line.split('\t');
    let (group, name) = (fields.next()?.to_owned(), fields.next()?.to_owned());
    let task = match fields.next()? {
        "win" => DrillTask::Win,
        "draw" => DrillTask::Draw,
        _ => return None,
    };
    let moves = fields.next()?.parse().ok()?;
    let fen = fields.next()?.to_owned();
    Some(Drill { group, name, task, moves, fen, attempts: Vec::new(), schedule: Schedule::default() })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use shakmaty::{ByColor, Position as _};
    use tabia_encoding::{PlayerInfo, Score};
    use tabia_game::{History, fen_of, position_from_fen};
    use tabia_players::{EnginePlayer, Limits, NoControl, Player as _};
    use tabia_search::{BaselineEvaluator, EngineOptions};

    use super::*;

    /// Results that a short search does not see, because it counts material. Stockfish agrees with all of them.
    const BEYOND_THE_ENGINE: [&str; 7] = [
        "Opposition",
        "Philidor’s position",
        "Vancura’s position",
        "Rook’s pawn on the seventh",
        "Wrong bishop",
        "Rook against bishop in the safe corner",
        "Sacrifice on h7",
    ];

    #[test]
    fn every_drill_is_a_legal_position_with_its_own_name() {
        let lines = LIST.lines().filter(|line| !line.starts_with('#')).count();
        let drills = drills();
        assert!(drills.len() == lines && lines >= 20);
        for drill in &drills {
            let position = position_from_fen(&drill.fen).unwrap();
            assert_eq!(fen_of(&position), drill.fen, "{}", drill.name);
            assert!(!position.is_game_over() && drill.moves >= 10, "{}", drill.name);
        }
        let names: HashSet<_> = drills.iter().map(|drill| &drill.name).collect();
        assert_eq!(names.len(), drills.len());
    }

    #[test]
    fn the_engine_agrees_with_the_tasks() {
        let mut engine =
            EnginePlayer::new("engine".to_owned(), EngineOptions::default(), Box::new(BaselineEvaluator));
        let mut wrong = Vec::new();
        for drill in drills() {
            let unknown = PlayerInfo { rating: None, time_left: None };
            let start = position_from_fen(&drill.fen).unwrap();
            let history = History::new(start, ByColor { white: unknown, black: unknown });
            engine.new_game();
            let limits = Limits { nodes: Some(30_000), ..Limits::default() };
            let decision = engine.decide(&history, &limits, &NoControl).unwrap();
            // An only move is played without a search.
            let Some(score) = decision.choice.lines.first().and_then(|line| line.score) else { continue };
            let cp = match score.0 {
                Score::Centipawns(cp) => cp,
                Score::Mate(moves) => 10_000 * moves.get().signum(),
            };
            let right = match drill.task {
                // Nothing is mated by force.
                _ if BEYOND_THE_ENGINE.contains(&drill.name.as_str()) => cp.abs() < 10_000,
                DrillTask::Win => cp >= 150,
                DrillTask::Draw => cp.abs() <= 150,
            };
            if !right {
                wrong.push(format!("{} ({}): {score:?}", drill.name, drill.task));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_task_is_judged_by_the_result_and_the_number_of_moves() {
        let (white, draw) = (KnownOutcome::Decisive { winner: Color::White }, KnownOutcome::Draw);
        let judge = |task: DrillTask, outcome, moves| task.achieved(Color::White, outcome, moves, 20);
        assert_eq!(judge(DrillTask::Win, Some(white), 5), Some(true));
        assert_eq!(judge(DrillTask::Win, Some(draw), 5), Some(false));
        assert_eq!(judge(DrillTask::Win, None, 19), None);
        assert_eq!(judge(DrillTask::Win, None, 20), Some(false));
        assert_eq!(judge(DrillTask::Draw, None, 20), Some(true));
        assert_eq!(judge(DrillTask::Draw, Some(draw), 3), Some(true));
        assert_eq!(DrillTask::Draw.achieved(Color::Black, Some(white), 3, 20), Some(false));
    }

    #[test]
    fn attempts_are_repeated_at_growing_intervals() {
        const DAY: UnixMillis = 24 * 60 * 60 * 1000;
        let mut drill = drills().remove(0);
        let attempt = |at, achieved| DrillAttempt { at, achieved, moves: 12, rating: Some(1500) };
        drill.record(attempt(DAY, false));
        assert!(drill.schedule.due() < 2 * DAY, "soon after a failure");
        drill.record(attempt(2 * DAY, true));
        let first = drill.schedule.due() - 2 * DAY;
        drill.record(attempt(drill.schedule.due(), true));
        let last = drill.attempts.last().unwrap().at;
        assert!(first >= DAY && drill.schedule.due() - last > first);
        let text = serde_json::to_string(&drill).unwrap();
        assert_eq!(serde_json::from_str::<Drill>(&text).unwrap(), drill);
    }
}
