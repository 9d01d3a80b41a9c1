use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tabia_data::stats::Category as _;

use crate::{Choices, Examples, Facts, Scores};

/// Positions of a game before this ply are opening theory to many: groups other than `all` leave them out.
const FIRST_PLY: u16 = 10;

/// What the network made of held-out positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Steps made.
    pub step: u64,
    /// Positions trained on.
    pub positions: u64,
    /// Seconds of training.
    pub seconds: f64,
    /// By group: `all`, `ply>=10`, and of the latter by pool, rating band and phase; `depth>=50`, or another depth, of engine sessions.
    pub groups: BTreeMap<String, GroupScore>,
}

/// The means of one group; those that do not apply are absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupScore {
    /// Positions.
    pub count: u64,
    /// Cross entropy of the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<f64>,
    /// Share of positions whose move is the network's first choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top1: Option<f64>,
    /// Share of positions whose move is among its first five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top5: Option<f64>,
    /// Cross entropy of the promotion piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promotion: Option<f64>,
    /// Cross entropy of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<f64>,
    /// Cross entropy of the think-time bin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<f64>,
    /// The value loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Mean distance between the value and its target, in the target's units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_error: Option<f64>,
    /// Correlation of the value with its target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_correlation: Option<f64>,
    /// Share of positions, of those that are not even, whose better side the value names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_sign: Option<f64>,
    /// Positions in which the network chose among all moves, by their outcomes and without quiescence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<u64>,
    /// Share of those in which no move has a better score than the one chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best_move: Option<f64>,
    /// How many centipawns worse than the best the move chosen is, on average; scores beyond ten pawns count as ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_loss_cp: Option<f64>,
    /// Points per game, of games that the network played; the count is that of the games.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<f64>,
    /// The same as a difference in Elo, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elo: Option<f64>,
}

/// Collects scores by group.
pub(crate) struct Tallies {
    groups: BTreeMap<String, Tally>,
    /// The value of an even game.
    even: f32,
    /// The depth from which analysed positions are a group.
    deep: u8,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    count: u64,
    sum: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        if !value.is_nan() {
            self.count += 1;
            self.sum += value;
        }
    }

    fn get(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

#[derive(Clone, Copy, Default)]
struct Tally {
    count: u64,
    policy: Mean,
    top1: Mean,
    top5: Mean,
    promotion: Mean,
    outcome: Mean,
    think: Mean,
    value: Mean,
    value_error: Mean,
    value_sign: Mean,
    best_move: Mean,
    move_loss_cp: Mean,
    /// Of pairs of value and target: x, y, xx, yy, xy.
    moments: [Mean; 5],
}

impl Tallies {
    /// None yet, of values that are `even` where neither side is better. Positions analysed to `deep` are a group.
    pub(crate) fn new(even: f32, deep: u8) -> Self {
        Tallies { groups: BTreeMap::new(), even, deep }
    }

    /// Adds what the network says of a batch.
    pub(crate) fn add(&mut self, examples: &Examples, scores: &Scores) {
        for (row, facts) in examples.facts.iter().enumerate().filter(|(row, _)| examples.weights[*row] > 0.0)
        {
            for group in groups(facts, self.deep) {
                self.groups.entry(group).or_default().add(examples, scores, row, self.even);
            }
        }
    }

    /// Adds what the network, which gives `values`, would play.
    pub(crate) fn add_choices(&mut self, choices: &Choices, values: &[f32]) {
        for root in &choices.roots {
            let Some(chosen) = root.chosen(values, self.even) else { continue };
            for group in groups(&root.facts, self.deep) {
                let tally = self.groups.entry(group).or_default();
                tally.best_move.add(f64::from(u8::from(chosen.is_best)));
                tally.move_loss_cp.add(f64::from(chosen.loss_cp));
            }
        }
    }

    /// Positions seen.
    pub(crate) fn positions(&self) -> u64 {
        self.groups.get("all").map_or(0, |all| all.count)
    }

    /// The means.
    pub(crate) fn scores(&self) -> BTreeMap<String, GroupScore> {
        self.groups.iter().map(|(group, tally)| (group.clone(), tally.score())).collect()
    }
}

fn groups(facts: &Facts, deep: u8) -> Vec<String> {
    let mut groups = vec!["all".to_owned()];
    if facts.depth >= deep {
        groups.push(format!("depth>={deep}"));
    }
    let pool = Facts::POOLS[usize::from(facts.pool)];
    let from_game = facts.depth == 0 && pool != "puzzle";
    if from_game && facts.ply < FIRST_PLY {
        return groups;
    }
    if from_game {
        groups.push("ply>=10".to_owned());
    }
    if facts.depth == 0 {
        groups.push(format!("pool {pool}"));
        if facts.rating > 0 {
            let band = facts.rating / 200 * 200;
            groups.push(format!("pool {pool} {band:04}-{:04}", band + 199));
        }
    }
    groups.push(format!("phase {}", facts.phase.label()));
    groups
}

impl Tally {
    fn add(&mut self, examples: &Examples, scores: &Scores, row: usize, even: f32) {
        let at = |column: &[f32]| column.get(row).map_or(f64::NAN, |&value| f64::from(value));
        self.count += 1;
        self.policy.add(at(&scores.policy));
        if let Some(&rank) = scores.rank.get(row) {
            self.top1.add(f64::from(u8::from(rank < 1)));
            self.top5.add(f64::from(u8::from(rank < 5)));
        }
        self.promotion.add(at(&scores.promotion));
        self.outcome.add(at(&scores.outcome));
        self.think.add(at(&scores.think));
        self.value.add(at(&scores.value_loss));
        let (x, y) = (at(&scores.value), at(&examples.values));
        self.value_error.add((x - y).abs());
        let (ours, theirs) = (x - f64::from(even), y - f64::from(even));
        if theirs != 0.0 && !(ours * theirs).is_nan() {
            self.value_sign.add(f64::from(u8::from(ours * theirs > 0.0)));
        }
        if !(x * y).is_nan() {
            let moments = [x, y, x * x, y * y, x * y];
            self.moments.iter_mut().zip(moments).for_each(|(mean, value)| mean.add(value));
        }
    }

    fn score(&self) -> GroupScore {
        let correlation = || {
            let [x, y, xx, yy, xy] = self.moments.map(Mean::get);
            let (x, y) = (x?, y?);
            let spread = ((xx? - x * x) * (yy? - y * y)).sqrt();
            (spread > 0.0).then_some((xy? - x * y) / spread)
        };
        GroupScore {
            count: self.count,
            policy: self.policy.get(),
            top1: self.top1.get(),
            top5: self.top5.get(),
            promotion: self.promotion.get(),
            outcome: self.outcome.get(),
            think: self.think.get(),
            value: self.value.get(),
            value_error: self.value_error.get(),
            value_correlation: correlation(),
            value_sign: self.value_sign.get(),
            choices: (self.best_move.count > 0).then_some(self.best_move.count),
            best_move: self.best_move.get(),
            move_loss_cp: self.move_loss_cp.get(),
            points: None,
            elo: None,
        }
    }
}

impl GroupScore {
    /// Whether every mean is a finite number.
    pub(crate) fn is_finite(&self) -> bool {
        let means = [self.policy, self.promotion, self.outcome, self.think, self.value, self.value_error];
        means.into_iter().flatten().all(f64::is_finite)
    }
}
