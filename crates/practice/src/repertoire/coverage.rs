//! What people play against a repertoire.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use serde::Serialize;
use shakmaty::{Move, Position, san::SanPlus};
use tabia_game::{History, fen_of};

use super::{Repertoire, joined, sans};

/// How far to walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoverageLimits {
    /// Half-moves from the start.
    pub plies: usize,
    /// Lines rarer than this are not followed.
    pub min_probability: f64,
    /// Lines rarer than this are not [nodes](Coverage::nodes).
    pub min_node: f64,
}

impl Default for CoverageLimits {
    fn default() -> CoverageLimits {
        CoverageLimits { plies: 24, min_probability: 0.001, min_node: 0.004 }
    }
}

/// What share of games a repertoire answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The share of games in which every reply was prepared for, down to where the repertoire ends.
    pub covered: f64,
    /// The mean number of my prepared moves in a game.
    pub moves: f64,
    /// Unprepared replies, the likeliest first.
    pub holes: Vec<Hole>,
    /// The share of games in lines too rare to be followed, or not followed yet.
    pub unknown: f64,
    /// By my moves, the first first.
    pub by_move: Vec<MoveCoverage>,
    /// The lines that are common enough to be drawn; parents come before their children.
    pub nodes: Vec<CoverageNode>,
}

/// Where games stand at one of my moves. The shares sum to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct MoveCoverage {
    /// In the repertoire: a move is prepared.
    pub inside: f64,
    /// The prepared line ended before.
    pub ended: f64,
    /// The opponent played something that is not answered.
    pub holes: f64,
    /// In lines too rare to be followed, or not followed yet.
    pub unknown: f64,
}

/// A move in the tree of what people play.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct CoverageNode {
    /// The place of the move before in the list; `None` for first moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Half-moves from the start, this one included.
    pub ply: usize,
    /// The move in SAN.
    pub san: String,
    /// The share of games that come here.
    pub probability: f64,
    /// What is prepared.
    pub state: NodeState,
}

/// What is prepared after a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum NodeState {
    /// My move.
    Mine,
    /// The opponent's move, which is answered.
    Answered,
    /// The opponent's move, which is not.
    Hole,
}

/// A reply that the repertoire does not answer, in a position where it answers others.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Hole {
    /// The share of games that come here.
    pub probability: f64,
    /// The position, with me to move.
    pub fen: String,
    /// The moves that lead here, in SAN.
    pub line: Vec<String>,
    /// The same in UCI notation.
    pub uci: Vec<String>,
}

/// The walk through what people play against the main moves, the likeliest lines first, so that it can end at any time.
#[derive(Debug)]
pub struct CoverageWalk {
    repertoire: Repertoire,
    start: History,
    limits: CoverageLimits,
    /// Positions with the opponent to move.
    waiting: BinaryHeap<Open>,
    /// What [`positions`](Self::positions) returned last.
    asked: Vec<Open>,
    covered: f64,
    moves: f64,
    unknown: f64,
    holes: Vec<Hole>,
    nodes: Vec<CoverageNode>,
    steps: Vec<MoveCoverage>,
}

/// A line with the opponent to move.
#[derive(Debug)]
struct Open {
    probability: f64,
    history: History,
    line: Vec<Move>,
    /// The node of its last move, if it is drawn.
    node: Option<usize>,
    /// My moves so far.
    mine: usize,
}

impl PartialEq for Open {
    fn eq(&self, other: &Open) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Open {}

impl PartialOrd for Open {
    fn partial_cmp(&self, other: &Open) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Open {
    fn cmp(&self, other: &Open) -> Ordering {
        self.probability.total_cmp(&other.probability).then_with(|| other.line.len().cmp(&self.line.len()))
    }
}

/// How a line ends.
#[derive(Clone, Copy)]
enum End {
    Covered,
    Hole,
    Unknown,
}

impl CoverageWalk {
    /// A walk from a position, with the ratings of `start`.
    pub fn new(repertoire: Repertoire, start: History, limits: CoverageLimits) -> CoverageWalk {
        let mut walk = CoverageWalk {
            repertoire,
            start: start.clone(),
            limits,
            waiting: BinaryHeap::new(),
            asked: Vec::new(),
            covered: 0.0,
            moves: 0.0,
            unknown: 0.0,
            holes: Vec::new(),
            nodes: Vec::new(),
            steps: Vec::new(),
        };
        walk.go_on(Open { probability: 1.0, history: start, line: Vec::new(), node: None, mine: 0 });
        walk
    }

    /// The likeliest positions whose replies are needed next, at most so many; none at the end.
    pub fn positions(&mut self, most: usize) -> Vec<&History> {
        // Those that were asked for and not answered come again.
        self.waiting.extend(self.asked.drain(..));
        while self.asked.len() < most {
            let Some(next) = self.waiting.pop() else { break };
            self.asked.push(next);
        }
        self.asked.iter().map(|open| &open.history).collect()
    }

    /// Goes on with the replies to each of [`positions`](Self::positions), by probability.
    pub fn follow(&mut self, replies: impl IntoIterator<Item = Vec<(Move, f32)>>) {
        let asked = std::mem::take(&mut self.asked);
        for (open, replies) in asked.into_iter().zip(replies) {
            for (m, share) in replies {
                let probability = open.probability * f64::from(share);
                if probability > 0.0 {
                    let node = self.draw(&open, m, probability);
                    let next = Open {
                        probability,
                        history: after(&open.history, m),
                        line: joined(&open.line, m),
                        node,
                        mine: open.mine,
                    };
                    self.go_on(next);
                }
            }
        }
    }

    /// Plays my move if it is mine, and waits for the opponent or ends the line.
    fn go_on(&mut self, mut open: Open) {
        loop {
            let position = open.history.current().clone();
            if open.line.len() >= self.limits.plies || position.is_game_over() {
                return self.end(&open, End::Covered);
            }
            if position.turn() != self.repertoire.color() {
                if self.repertoire.first_answered(&position).is_none() {
                    // The repertoire ends here on purpose.
                    return self.end(&open, End::Covered);
                }
                if open.probability < self.limits.min_probability {
                    return self.end(&open, End::Unknown);
                }
                return self.waiting.push(open);
            }
            let Some(m) = self.repertoire.prepared(&position).next() else {
                let end = if open.line.is_empty() { End::Unknown } else { End::Hole };
                return self.end(&open, end);
            };
            self.moves += open.probability;
            self.step(open.mine).inside += open.probability;
            open.node = self.draw(&open, m, open.probability);
            open.mine += 1;
            open.history.push(m, None);
            open.line.push(m);
        }
    }

    fn end(&mut self, open: &Open, end: End) {
        let probability = open.probability;
        let step = self.step(open.mine);
        match end {
            End::Covered => step.ended += probability,
            End::Hole => step.holes += probability,
            End::Unknown => step.unknown += probability,
        }
        match end {
            End::Covered => self.covered += probability,
            End::Unknown => self.unknown += probability,
            End::Hole => {
                if let Some(node) = open.node.and_then(|node| self.nodes.get_mut(node)) {
                    node.state = NodeState::Hole;
                }
                let start = self.start.current();
                let mode = start.castles().mode();
                self.holes.push(Hole {
                    probability,
                    fen: fen_of(open.history.current()),
                    line: sans(start, &open.line),
                    uci: open.line.iter().map(|m| m.to_uci(mode).to_string()).collect(),
                });
            }
        }
    }

    fn step(&mut self, mine: usize) -> &mut MoveCoverage {
        if self.steps.len() <= mine {
            self.steps.resize(mine + 1, MoveCoverage::default());
        }
        &mut self.steps[mine]
    }

    /// Adds a node if it is common enough and its parent is one.
    fn draw(&mut self, open: &Open, m: Move, probability: f64) -> Option<usize> {
        if probability < self.limits.min_node || (open.node.is_none() && !open.line.is_empty()) {
            return None;
        }
        let position = open.history.current();
        let mine = position.turn() == self.repertoire.color();
        self.nodes.push(CoverageNode {
            parent: open.node,
            ply: open.line.len() + 1,
            san: SanPlus::from_move(position.clone(), m).to_string(),
            probability,
            state: if mine { NodeState::Mine } else { NodeState::Answered },
        });
        Some(self.nodes.len() - 1)
    }

    /// Whether nothing is left to be asked.
    pub fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.asked.is_empty()
    }

    /// The share of games that has been followed to its end.
    pub fn progress(&self) -> f64 {
        let open = |opens: &mut dyn Iterator<Item = &Open>| opens.map(|open| open.probability).sum::<f64>();
        1.0 - open(&mut self.waiting.iter().chain(&self.asked))
    }

    /// What is known so far; lines that were not followed yet count as unknown.
    pub fn coverage(&self) -> Coverage {
        let mut holes = self.holes.clone();
        holes.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        let mut steps = self.steps.clone();
        let mut unknown = self.unknown;
        for open in self.waiting.iter().chain(&self.asked) {
            unknown += open.probability;
            if steps.len() <= open.mine {
                steps.resize(open.mine + 1, MoveCoverage::default());
            }
            steps[open.mine].unknown += open.probability;
        }
        // What ended before a move has ended at it.
        let mut sums = MoveCoverage::default();
        for step in &mut steps {
            sums.ended += step.ended;
            sums.holes += step.holes;
            sums.unknown += step.unknown;
            *step = MoveCoverage { inside: step.inside, ..sums };
        }
        // In the last, no move is prepared any more.
        if steps.last().is_some_and(|last| last.inside == 0.0) && steps.len() > 1 {
            steps.pop();
        }
        Coverage {
            covered: self.covered,
            moves: self.moves,
            holes,
            unknown,
            by_move: steps,
            nodes: self.nodes.clone(),
        }
    }
}

impl Repertoire {
    /// Walks what people play against the main moves to the end. `replies` is the probability of each move of the opponent.
    ///
    /// # Errors
    /// Those of `replies`.
    pub fn coverage<E>(
        &self,
        start: &History,
        limits: CoverageLimits,
        mut replies: impl FnMut(&History) -> Result<Vec<(Move, f32)>, E>,
    ) -> Result<Coverage, E> {
        let mut walk = CoverageWalk::new(self.clone(), start.clone(), limits);
        while let Some(&history) = walk.positions(1).first() {
            let answer = replies(history)?;
            walk.follow([answer]);
        }
        Ok(walk.coverage())
    }
}

fn after(history: &History, m: Move) -> History {
    let mut history = history.clone();
    history.push(m, None);
    history
}
