use serde::Serialize;
use shakmaty::{Color, Position};
use tabia_encoding::Score;

use super::{Category, Histogram, Phase, Tally};
use crate::EvaluationRecord;

/// Statistics of analysed positions and their labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EvaluationStats {
    /// How many positions there are.
    pub positions: u64,
    /// Number of engine sessions.
    pub sessions: u64,
    /// Number of lines.
    pub lines: u64,
    /// Lines that end in a forced mate.
    pub mates: u64,
    /// Positions by the depth of their deepest session.
    pub depths: Histogram,
    /// Positions by the number of sessions.
    pub sessions_a_position: Histogram,
    /// Positions by phase.
    pub phases: Tally<Phase>,
    /// Positions by the side to move.
    pub turns: Tally<Turn>,
    /// Positions by the number of moves that have a label.
    pub labelled_moves: Histogram,
    /// Positions by the entropy of their label, in hundredths of a bit.
    pub entropies: Histogram,
    /// Positions whose label gives the best move a probability below 0.999; the others are hard.
    pub soft: u64,
    /// Positions with two or more moves at their greatest depth: what Learning a Chess Policy counts as soft labels.
    pub several_deepest: u64,
}

/// The side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn(pub Color);

impl Category for Turn {
    const ALL: &'static [Turn] = &[Turn(Color::White), Turn(Color::Black)];

    fn label(self) -> &'static str {
        self.0.fold_wb("white", "black")
    }
}

impl Default for EvaluationStats {
    fn default() -> EvaluationStats {
        EvaluationStats {
            positions: 0,
            sessions: 0,
            lines: 0,
            mates: 0,
            depths: Histogram::new(1, 256),
            sessions_a_position: Histogram::new(1, 17),
            phases: Tally::default(),
            turns: Tally::default(),
            labelled_moves: Histogram::new(1, 17),
            entropies: Histogram::new(25, 17),
            soft: 0,
            several_deepest: 0,
        }
    }
}

impl EvaluationStats {
    /// Counts a position whose label gives its moves these probabilities.
    pub fn add(&mut self, record: &EvaluationRecord, label: impl IntoIterator<Item = f32>) {
        self.positions += 1;
        self.sessions += record.sessions.len() as u64;
        let lines = || record.sessions.iter().flat_map(|session| &session.lines);
        self.lines += lines().count() as u64;
        self.mates += lines().filter(|line| matches!(line.score.0, Score::Mate(_))).count() as u64;
        let deepest = record.sessions.iter().map(|session| session.depth).max().unwrap_or(0);
        self.depths.add(u64::from(deepest));
        let mut first: Option<shakmaty::Move> = None;
        let of_deepest = record.sessions.iter().filter(|session| session.depth == deepest);
        let several = of_deepest
            .flat_map(|session| &session.lines)
            .any(|line| *first.get_or_insert(line.first) != line.first);
        self.several_deepest += u64::from(several);
        self.sessions_a_position.add(record.sessions.len() as u64);
        self.phases.add(Phase::of(record.position.board()));
        self.turns.add(Turn(record.position.turn()));
        let (mut moves, mut most, mut entropy) = (0, 0_f64, 0_f64);
        for probability in label.into_iter().map(f64::from).filter(|&probability| probability > 0.0) {
            moves += 1;
            most = most.max(probability);
            entropy -= probability * probability.log2();
        }
        self.labelled_moves.add(moves);
        self.entropies.add((entropy * 100.0).max(0.0) as u64);
        self.soft += u64::from(moves > 1 && most < 0.999);
    }

    /// Adds the counts of another part of the set.
    pub fn merge(&mut self, other: &EvaluationStats) {
        self.positions += other.positions;
        self.sessions += other.sessions;
        self.lines += other.lines;
        self.mates += other.mates;
        self.depths.merge(&other.depths);
        self.sessions_a_position.merge(&other.sessions_a_position);
        self.phases.merge(&other.phases);
        self.turns.merge(&other.turns);
        self.labelled_moves.merge(&other.labelled_moves);
        self.entropies.merge(&other.entropies);
        self.soft += other.soft;
        self.several_deepest += other.several_deepest;
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;
    use tabia_encoding::{ForWhite, parse_uci};

    use super::*;
    use crate::{Line, Session};

    fn record(depths: &[u8]) -> EvaluationRecord {
        let position = Chess::default();
        let line = |text| Line {
            first: parse_uci(&position, text).unwrap(),
            score: ForWhite(Score::Centipawns(20)),
        };
        let lines = vec![line("e2e4"), line("d2d4")];
        let session = |&depth: &u8| Session { depth, knodes: 9, lines: lines.clone() };
        let sessions = depths.iter().map(session).collect();
        EvaluationRecord { position, sessions }
    }

    #[test]
    fn labels_are_soft_or_hard_and_have_an_entropy() {
        let mut stats = EvaluationStats::default();
        stats.add(&record(&[30, 20]), [0.5, 0.5]);
        stats.add(&record(&[12]), [1.0]);
        stats.add(&record(&[12]), [0.9995, 0.0005]);
        assert_eq!((stats.positions, stats.sessions, stats.lines, stats.mates, stats.soft), (3, 4, 8, 0, 1));
        let filled = |histogram: &Histogram| histogram.iter().filter(|(_, n)| *n > 0).collect::<Vec<_>>();
        assert_eq!(filled(&stats.depths), [(12, 2), (30, 1)]);
        assert_eq!(filled(&stats.labelled_moves), [(1, 1), (2, 2)]);
        assert_eq!(filled(&stats.entropies), [(0, 2), (100, 1)]);
        assert_eq!(stats.turns.count(Turn(Color::White)), 3);
        assert_eq!(stats.several_deepest, 3);
        let mut alone = record(&[30, 20]);
        alone.sessions[0].lines.truncate(1);
        stats.add(&alone, [0.5, 0.5]);
        assert_eq!((stats.soft, stats.several_deepest), (2, 3));
        let mut twice = stats.clone();
        twice.merge(&stats);
        assert_eq!((twice.positions, twice.soft, twice.depths.total()), (8, 4, 8));
        assert_eq!(twice.several_deepest, 6);
    }
}
