//! Learning from the positions after every move of analysed ones.

use std::ops::ControlFlow;

use std::num::NonZeroI32;

use shakmaty::{Chess, Color, Position};
use tabia_data::stats::Phase;
use tabia_data::{Line, LineSample, RecordIndex, Sample, Target};
use tabia_encoding::{Batch, ForWhite, Score, Situation, encoding, parse_uci};
use tabia_train::{
    Backend, CpuBackend, ExampleBuilder, Examples, FeedSupply, MetricsLine, Positions, RatingBalance,
    StepHyper, Supply, SupplyOptions, TrainConfig, ValueCurve, ValueLoss, Weights,
};
use tempfile::{TempDir, tempdir};

use crate::configs::config;
use crate::learning::HYPER;
use crate::runs::{Clock, Setting};
use crate::sets;

fn position(fen: &str) -> Chess {
    fen.parse::<shakmaty::fen::Fen>().unwrap().into_position(shakmaty::CastlingMode::Standard).unwrap()
}

/// What is learned from one line of `position`.
fn learned(config: &TrainConfig, position: &Chess, uci: &str, score: ForWhite<Score>) -> Examples {
    let line = Line { first: parse_uci(position, uci).unwrap(), score };
    let sample = Sample {
        situation: Situation::of(position),
        target: Target::Line(LineSample { depth: 6, number: 0, line }),
        set: 0,
        record: RecordIndex(0),
        epoch: 0,
    };
    let mut builder = ExampleBuilder::new(config, RatingBalance::even()).unwrap();
    builder.push(&sample, 1);
    builder.take()
}

fn mate(moves: i32) -> ForWhite<Score> {
    ForWhite(Score::Mate(NonZeroI32::new(moves).unwrap()))
}

fn pawns(data: &str) -> TrainConfig {
    let net = "kind = 'challenge'\nbody = 'perspective'\nwidth = 8\nbuckets = 1";
    let text = format!("name = 'x'\n[net]\n{net}\n[loss]\nvalue_kind = 'l1'\n[data]\n{data}");
    TrainConfig::parse(&text).unwrap()
}

#[test]
fn line_sample_targets_the_position_after_its_move() {
    let config = pawns("positions = 'children'");
    let start = Chess::default();
    let examples = learned(&config, &start, "e2e4", ForWhite(Score::Centipawns(30)));
    assert_eq!(examples.values, [-0.3]);
    let mut after = start;
    after.play_unchecked(parse_uci(&after, "e2e4").unwrap());
    let mut wanted = Batch::new(encoding("challenge-768").unwrap());
    wanted.push(&Situation::of(&after));
    assert_eq!(examples.inputs.values(0), wanted.values(0));
    assert_eq!((examples.facts[0].phase, examples.facts[0].depth), (Phase::Opening, 6));
    // And for Black's moves.
    let examples = learned(&config, &after, "e7e5", ForWhite(Score::Centipawns(30)));
    assert_eq!(examples.values, [0.3]);
}

#[test]
fn finished_positions_are_skipped() {
    let config = pawns("positions = 'children'");
    let ladder = position("6k1/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    assert_eq!(learned(&config, &ladder, "b2b7", mate(2)).rows(), 1);
    let mating = position("6k1/1R6/8/8/8/8/8/R5K1 w - - 0 1");
    assert_eq!(learned(&config, &mating, "a1a8", mate(1)).rows(), 0);
}

#[test]
fn nearer_mate_is_worse_for_the_losing_side() {
    let config = pawns("positions = 'children'\nvalue_curve = { knee_cp = 500, mate_cp = 4000 }");
    let ladder = position("6k1/8/8/8/8/8/1R6/R5K1 w - - 0 1");
    let value = |uci: &str, score| learned(&config, &ladder, uci, score).values[0];
    let (near, far) = (value("b2b7", mate(2)), value("b2b6", mate(3)));
    let won = value("b2b5", ForWhite(Score::Centipawns(3900)));
    assert!(near < far && far < won && won < -5.0, "{near} {far} {won}");
    // A mate in two before the move is one in one after it, like an analysis of the position itself would say.
    let curve = config.data.value_curve.unwrap();
    let wanted = mate(1).for_mover(Color::Black);
    assert_eq!(near, curve.centipawns(wanted) / 100.0);
}

#[test]
fn quiet_only_skips_tactical_positions() {
    let score = ForWhite(Score::Centipawns(100));
    // Black's knight on e5 has the rook's attention; a king on d6 would protect it.
    let hanging = position("8/3k4/8/4n3/8/8/6P1/4R1K1 b - - 0 1");
    for (quiet_only, uci, rows) in [
        ("no", "d7c7", 1),
        ("yes", "d7c7", 1),
        ("exchanges", "d7c7", 0),
        ("exchanges", "d7d6", 1),
        ("yes", "e5f3", 0),
        ("exchanges", "e5f3", 0),
    ] {
        let config = pawns(&format!("positions = 'children'\nquiet_only = '{quiet_only}'"));
        assert_eq!(learned(&config, &hanging, uci, score).rows(), rows, "{quiet_only} {uci}");
    }
}

#[test]
fn mirror_flips_files_only_without_castling_rights() {
    let score = ForWhite(Score::Centipawns(100));
    let config = pawns("positions = 'children'\nmirror = 1.0");
    let inputs = |fen: &str| {
        let mut inputs = Batch::new(encoding("challenge-768").unwrap());
        inputs.push(&Situation::of(&position(fen)));
        inputs.values(0).to_vec()
    };
    let seen = learned(&config, &position("8/3k4/8/4n3/8/8/6P1/4R1K1 b - - 0 1"), "d7c7", score);
    assert_eq!(seen.inputs.values(0), inputs("8/5k2/8/3n4/8/8/1P6/1K1R4 w - - 0 1"));
    assert_eq!(seen.values, [1.0]);
    let seen = learned(&config, &position("4k3/8/8/8/8/8/P7/4K2R w K - 0 1"), "a2a3", score);
    assert_eq!(seen.inputs.values(0), inputs("4k3/8/8/8/8/P7/8/4K2R b K - 0 1"));
}

fn setting(folder: &TempDir, run: &str) -> Setting {
    let set = folder.path().join("moves");
    if !set.exists() {
        sets::every_move(&set);
    }
    let run = folder.path().join(run);
    std::fs::create_dir_all(&run).unwrap();
    let mut config = config("challenge-perspective").0;
    config.loss.value_kind = ValueLoss::CrossEntropy;
    config.data.positions = Positions::Children;
    config.data.children_per_record = 3;
    config.data.value_curve = Some(ValueCurve::default());
    Setting { set, run, config, threads: 1, micro_batch: 16 }
}

#[test]
fn resumed_run_over_children_matches_uninterrupted_run() {
    let folder = tempdir().unwrap();
    let whole = setting(&folder, "whole");
    assert!(whole.begin(Clock::endless()).unwrap().complete);
    let parts = Setting { threads: 2, ..setting(&folder, "parts") };
    assert!(!parts.begin(Clock::stopping_after(8)).unwrap().complete);
    assert!(parts.go_on(Clock::endless()).unwrap().complete);
    assert_eq!(whole.metrics(), parts.metrics());
    assert_eq!(whole.last_state(), parts.last_state());
}

#[test]
fn evaluation_reports_one_ply_move_choice() {
    let folder = tempdir().unwrap();
    let run = setting(&folder, "run");
    run.begin(Clock::endless()).unwrap();
    let last = run.metrics().into_iter().rev().find_map(|line| match line {
        MetricsLine::Evaluation(evaluation) => Some(evaluation),
        MetricsLine::Step(_) => None,
    });
    let groups = last.unwrap().groups;
    let all = groups["all"];
    assert!(all.choices.unwrap() > 0 && all.value_correlation.is_some());
    for share in [all.best_move, all.value_sign] {
        assert!((0.0..=1.0).contains(&share.unwrap()), "{all:?}");
    }
    let by_phase = groups.iter().filter(|(name, _)| name.starts_with("phase"));
    assert_eq!(by_phase.filter_map(|(_, score)| score.choices).sum::<u64>(), all.choices.unwrap());

    // Positions that have only their best moves are nothing to choose in.
    let few = folder.path().join("few");
    sets::evaluations(&few);
    let options =
        SupplyOptions { sets: vec![few], mix: Vec::new(), seed: 1, threads: 1, teachers: Vec::new() };
    let mut supply = FeedSupply::open(&run.config, options, None).unwrap();
    let mut roots = 0;
    supply
        .choices(20, &mut || ControlFlow::Continue(()), &mut |choices| {
            roots += choices.roots.iter().filter(|root| root.moves.len() > 4).count();
            Ok(())
        })
        .unwrap();
    assert_eq!(roots, 0);
}

/// The mean centipawns that a network's choices on held-out positions give away, and how many there were.
fn given_away(backend: &mut CpuBackend, supply: &mut FeedSupply) -> (f32, usize) {
    let (mut sum, mut count) = (0.0, 0);
    supply
        .choices(40, &mut || ControlFlow::Continue(()), &mut |choices| {
            let values = backend.evaluate(&choices.examples, Weights::Averaged).unwrap().value;
            for root in &choices.roots {
                sum += root.chosen(&values, 0.5).unwrap().loss_cp;
                count += 1;
            }
            Ok(())
        })
        .unwrap();
    (sum / count as f32, count)
}

#[test]
fn training_on_children_improves_move_choice() {
    let folder = tempdir().unwrap();
    let set = folder.path().join("moves");
    sets::every_move(&set);
    let text = "name = 'x'\n[net]\nkind = 'challenge'\nbody = 'perspective'\nwidth = 8\nbuckets = 1\n\
        [loss]\nvalue_kind = 'cross-entropy'\n[data]\nbatch = 64\nlanes = 2\nseats = 64\nheld_out_ppm = 200000\n\
        positions = 'children'\nvalue_curve = {}";
    let config = TrainConfig::parse(text).unwrap();
    let options =
        SupplyOptions { sets: vec![set], mix: Vec::new(), seed: 1, threads: 1, teachers: Vec::new() };
    let mut supply = FeedSupply::open(&config, options, None).unwrap();
    let mut backend = CpuBackend::new(&config, 1);
    let (before, roots) = given_away(&mut backend, &mut supply);
    assert!(roots >= 30, "{roots}");
    let hyper = StepHyper { lr: 0.01, ema_decay: 0.9, ..HYPER };
    for _ in 0..150 {
        backend.step(&supply.next().unwrap(), &hyper).unwrap();
    }
    let (after, _) = given_away(&mut backend, &mut supply);
    assert!(after < 0.7 * before, "{before} {after}");
}
