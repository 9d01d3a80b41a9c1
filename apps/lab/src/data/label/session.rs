//! An engine process and its evaluations.

use std::num::NonZeroI32;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, bail};
use shakmaty::{CastlingMode, Chess, Move, Position, uci::UciMove};
use tabia_encoding::{ForMover, ForWhite, Score};
use tabia_uci::client::{Client, EngineConfig, EngineError, SearchEnd};
use tabia_uci::message::{GameHistory, Go, Info, MoverScore, OptionKind, OptionSpec, ScoreInfo};

/// An engine that evaluates positions. Its process is restarted when it fails.
pub(super) struct Labeller {
    client: Client,
    go: Go,
    lines: usize,
    /// Its output for the current position.
    heard: Arc<Mutex<Heard>>,
}

/// The scored lines of one position. With a line for every move there can be hundreds, so only the needed fields are kept,
/// and the memory is reused.
#[derive(Default)]
struct Heard {
    lines: Vec<HeardLine>,
    /// The moves of all lines, one after the other.
    moves: Vec<UciMove>,
    /// Greatest node count.
    nodes: u64,
}

struct HeardLine {
    depth: Option<u32>,
    /// From 0.
    rank: usize,
    score: ScoreInfo,
    /// Where its moves are; at least one.
    moves: Range<usize>,
}

impl Heard {
    fn clear(&mut self) {
        self.lines.clear();
        self.moves.clear();
        self.nodes = 0;
    }

    fn hear(&mut self, info: &Info) {
        let (Some(score), false) = (info.score, info.pv.is_empty()) else { return };
        // There is no line 0.
        let Some(rank) = info.multipv.unwrap_or(1).checked_sub(1) else { return };
        let begin = self.moves.len();
        self.moves.extend_from_slice(&info.pv);
        self.nodes = self.nodes.max(info.nodes.unwrap_or(0));
        let moves = begin..self.moves.len();
        self.lines.push(HeardLine { depth: info.depth, rank: rank as usize, score, moves });
    }

    fn moves(&self, line: &HeardLine) -> &[UciMove] {
        &self.moves[line.moves.clone()]
    }
}

/// The evaluation of a position: lines of the same search.
#[derive(Debug, PartialEq)]
pub(super) struct Findings {
    pub(super) depth: u32,
    pub(super) nodes: u64,
    /// Best for the side to move first, each first move once.
    pub(super) lines: Vec<FoundLine>,
    /// Expected number of lines.
    pub(super) expected: usize,
}

#[derive(Debug, PartialEq)]
pub(super) struct FoundLine {
    /// A legal move.
    pub(super) first: Move,
    /// The engine's line.
    pub(super) pv: Vec<UciMove>,
    pub(super) score: ForWhite<Score>,
}

impl FoundLine {
    /// The moves as far as they are legal from `position`, in UCI notation, castling as the king taking its rook,
    /// separated by blanks; at least one.
    pub(super) fn moves(&self, position: &Chess) -> String {
        let mut position = position.clone();
        let mut line = String::new();
        for uci in &self.pv {
            let Ok(m) = uci.to_move(&position) else { break };
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&m.to_uci(CastlingMode::Chess960).to_string());
            position.play_unchecked(m);
        }
        line
    }
}

/// More than the legal moves of any position.
const MOST_LINES: usize = 256;

/// Why a position has no labels.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// The engine failed.
    #[error("{0}")]
    Engine(#[from] EngineError),
    /// It answered only after `stop`.
    #[error("the engine took too long")]
    Overdue,
    /// It gave a move without a score.
    #[error("the engine gave no line with a score")]
    NoScore,
}

impl Labeller {
    /// Starts the engine with `lines` lines and the limits of `go`.
    pub(super) fn start(launch: EngineConfig, go: Go, lines: usize) -> Result<Labeller> {
        let program = launch.program.display().to_string();
        let client = Client::start(launch).with_context(|| format!("cannot use the engine {program}"))?;
        Ok(Labeller { client, go, lines, heard: Arc::default() })
    }

    /// Requests a line for every legal move; returns the engine's maximum.
    pub(super) fn look_at_all_moves(&mut self) -> Result<usize> {
        let spec = OptionSpec::find(&self.client.info().options, "MultiPV")?;
        let OptionKind::Spin { max, .. } = spec.kind else {
            bail!("the engine has no numeric option MultiPV");
        };
        let lines = usize::try_from(max).unwrap_or(1).clamp(1, MOST_LINES);
        self.client.set_option("MultiPV", Some(&lines.to_string()))?;
        self.lines = lines;
        Ok(lines)
    }

    /// The engine's name.
    pub(super) fn name(&self) -> &str {
        &self.client.info().name
    }

    /// Number of restarts.
    pub(super) fn restarts(&self) -> u32 {
        self.client.restarts()
    }

    /// Clears the engine's state (`ucinewgame`).
    pub(super) fn forget(&self) {
        // A failure shows at the next position, too.
        let _counted_at_the_next_position = self.client.new_game();
    }

    /// Evaluates a position with legal moves; a failed engine is restarted once.
    pub(super) fn ask(&self, position: &Chess) -> Result<Findings, NoAnswer> {
        self.ask_once(position).or_else(|_| self.ask_once(position))
    }

    fn ask_once(&self, position: &Chess) -> Result<Findings, NoAnswer> {
        self.heard().clear();
        let ear = Arc::clone(&self.heard);
        let hear = move |info: &Info| ear.lock().unwrap_or_else(PoisonError::into_inner).hear(info);
        let thought = self.client.start_search(&GameHistory::new(position.clone()), &self.go, hear).wait()?;
        if thought.ended_by != SearchEnd::Engine {
            return Err(NoAnswer::Overdue);
        }
        let expected = self.lines.min(position.legal_moves().len());
        findings(&self.heard(), expected, position).ok_or(NoAnswer::NoScore)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The last iteration in which every expected line has an exact score, as only such lines are comparable. Without one, the
/// last output of each line, at the smallest of their depths.
fn findings(heard: &Heard, expected: usize, position: &Chess) -> Option<Findings> {
    let mut last: Vec<Option<&HeardLine>> = vec![None; expected];
    let mut complete = None;
    for line in heard.lines.iter().filter(|line| line.score.bound.is_none()) {
        let Some(slot) = last.get_mut(line.rank) else { continue };
        *slot = Some(line);
        if last.iter().all(|known| known.is_some_and(|known| known.depth == line.depth)) {
            complete = Some(last.clone());
        }
    }
    let mut chosen: Vec<&HeardLine> = complete.unwrap_or(last).into_iter().flatten().collect();
    if chosen.is_empty() {
        // No exact score: take a bound.
        chosen.extend(heard.lines.iter().rev().find(|line| line.rank == 0));
    }
    let depth = chosen.iter().filter_map(|line| line.depth).min().unwrap_or(0);
    let mut lines: Vec<FoundLine> = Vec::with_capacity(chosen.len());
    for line in chosen.into_iter().filter_map(|line| found_line(heard.moves(line), line.score, position)) {
        if lines.iter().all(|known| known.first != line.first) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then_some(Findings { depth, nodes: heard.nodes, lines, expected })
}

fn found_line(pv: &[UciMove], score: ScoreInfo, position: &Chess) -> Option<FoundLine> {
    let score = match score.score {
        MoverScore::Centipawns(cp) => Score::Centipawns(cp),
        MoverScore::Mate(moves) => Score::Mate(NonZeroI32::new(moves)?),
    };
    let first = pv.first()?.to_move(position).ok()?;
    let score = ForMover(score).for_white(position.turn());
    Some(FoundLine { first, pv: pv.to_vec(), score })
}

#[cfg(test)]
mod tests {
    use tabia_uci::message::Reply;

    use super::*;

    fn heard(lines: &[&str]) -> Heard {
        let mut heard = Heard::default();
        for line in lines {
            match format!("info {line}").parse() {
                Ok(Reply::Info(info)) => heard.hear(&info),
                other => panic!("{other:?}"),
            }
        }
        heard
    }

    fn of(lines: &[&str], expected: usize, fen: &str) -> Option<Findings> {
        findings(&heard(lines), expected, &tabia_game::position_from_fen(fen).unwrap())
    }

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

    #[test]
    fn lines_come_from_the_last_complete_iteration() {
        let position = tabia_game::position_from_fen(START).unwrap();
        let found = of(
            &[
                "depth 7 multipv 1 score cp 30 nodes 900 pv e2e4",
                "depth 7 multipv 2 score cp 20 nodes 900 pv d2d4",
                "depth 8 multipv 1 score cp 44 nodes 2400 pv g1f3",
                "depth 7 multipv 2 score cp 20 nodes 2400 pv d2d4",
            ],
            2,
            START,
        )
        .unwrap();
        assert_eq!((found.depth, found.nodes), (7, 2400));
        assert_eq!(
            found.lines.iter().map(|line| line.moves(&position)).collect::<Vec<_>>(),
            ["e2e4", "d2d4"]
        );
    }

    #[test]
    fn bounds_count_only_without_exact_scores() {
        let lines =
            ["depth 5 score cp 10 nodes 10 pv e2e4", "depth 6 score cp 99 lowerbound nodes 20 pv d2d4"];
        assert_eq!(of(&lines, 1, START).unwrap().lines[0].score, ForWhite(Score::Centipawns(10)));
        assert_eq!(of(&lines[1..], 1, START).unwrap().lines[0].score, ForWhite(Score::Centipawns(99)));
        assert_eq!(of(&["depth 3 string hello"], 1, START), None);
    }

    #[test]
    fn scores_are_for_white_and_castling_is_king_takes_rook() {
        let fen = "r3k2r/8/8/8/8/8/8/R3K2R b KQkq -";
        let lines = of(&["depth 9 score mate 3 nodes 10 pv e8g8 e1c1 zzzz"], 1, fen).unwrap().lines;
        assert_eq!(lines[0].moves(&tabia_game::position_from_fen(fen).unwrap()), "e8h8 e1a1");
        assert_eq!(lines[0].score, ForWhite(Score::Mate(NonZeroI32::new(-3).unwrap())));
    }
}
