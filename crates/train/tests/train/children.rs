//! Learning from the positions after every move of analysed ones.

use std::ops::ControlFlow;

use std::num::NonZeroI32;

use shakmaty::{Chess, Color, Position};
use tabia_data::stats::Phase;
use tabia_data::{Line, LineSample, RecordIndex, Sample, Target};
use tabia_encoding::{Batch, ForWhite, Score, Situation, encoding, parse_uci};
use tabia_train::{
    Backend, CpuBackend, ExampleBuilder, Examples, FeedSupply, MetricsLine, Positions, RatingBalance,
    StepHyper, Supply, SupplyOptions, TrainConfig, TrainerState, ValueCurve, ValueLoss, Weights,
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

fn ranked(data: &str) -> TrainConfig {
    let net = "kind = 'challenge'\nbody = 'dense'\nhidden = [16]";
    let text = format!(
        "name = 'x'\n[net]\n{net}\n[loss]\nvalue = 0.1\nvalue_kind = 'cross-entropy'\nranking = 2.0\n\
         [data]\nbatch = 16\nlanes = 2\ncursors = 8\npositions = 'children'\nsiblings = 4\n{data}"
    );
    TrainConfig::parse(&text).unwrap()
}

#[test]
fn siblings_stand_together_and_are_ranked() {
    let folder = tempdir().unwrap();
    let set = folder.path().join("set");
    sets::evaluations(&set);
    let options =
        SupplyOptions { sets: vec![set], mix: Vec::new(), seed: 1, threads: 1, teachers: Vec::new() };
    let config = ranked("");
    let mut supply = FeedSupply::open(&config, options, None).unwrap();
    let batches: Vec<Examples> = (0..4).map(|_| supply.next().unwrap()).collect();
    for examples in &batches {
        assert_eq!((examples.rows(), examples.siblings.len()), (16, 16));
        for group in 0..4 {
            let rows = group * 4..group * 4 + 4;
            let known = |row: &usize| examples.siblings[*row] != 0.0;
            let count = rows.clone().filter(known).count();
            assert!(count > 0, "no empty groups");
            assert!(rows.clone().all(|row| known(&row) == (examples.weights[row] > 0.0)));
            assert!(rows.clone().take(count).all(|row| known(&row)), "padding comes last");
        }
    }
    // What is learned is an order: of two siblings, the one with the better target gets the better number.
    let order = |backend: &mut CpuBackend| {
        let (mut right, mut all) = (0, 0);
        for examples in &batches {
            let scores = backend.evaluate(examples, Weights::Live).unwrap();
            for (one, other) in
                (0..16).flat_map(|row| (row + 1..row / 4 * 4 + 4).map(move |other| (row, other)))
            {
                let differ = examples.values[one] - examples.values[other];
                if differ.abs() > 0.05 {
                    all += 1;
                    right += usize::from(differ * (scores.value[one] - scores.value[other]) > 0.0);
                }
            }
        }
        (right, all)
    };
    let mut backend = CpuBackend::new(&config, 5);
    let before = order(&mut backend);
    for _ in 0..60 {
        for examples in &batches {
            backend.step(examples, &StepHyper { lr: 0.01, ..HYPER }).unwrap();
        }
    }
    let after = order(&mut backend);
    assert!(after.1 > 10 && after.0 > before.0 && after.0 * 10 > after.1 * 9, "{before:?} {after:?}");
    // Micro-batches keep groups whole.
    let whole = CpuBackend::new(&config, 5).gradients(&batches[0]).unwrap().0.total;
    let parts = CpuBackend::new(&config, 5).with_micro_batch(5).gradients(&batches[0]).unwrap().0.total;
    assert!((whole - parts).abs() < 1e-4 * whole.abs(), "{whole} {parts}");
}

#[test]
fn the_ranking_loss_has_the_gradient_of_its_slope() {
    let folder = tempdir().unwrap();
    let set = folder.path().join("set");
    sets::evaluations(&set);
    let options =
        SupplyOptions { sets: vec![set], mix: Vec::new(), seed: 1, threads: 1, teachers: Vec::new() };
    let config = ranked("");
    let examples = FeedSupply::open(&config, options, None).unwrap().next().unwrap();
    let mut backend = CpuBackend::plain(&config, 5);
    let weights = backend.state().unwrap().weights;
    let gradient = backend.gradients(&examples).unwrap().1;
    let steepness = gradient.iter().map(|&g| f64::from(g) * f64::from(g)).sum::<f64>().sqrt();
    let mut loss = |by: f64| {
        let moved = weights.iter().zip(&gradient).map(|(w, g)| w + (by / steepness) as f32 * g).collect();
        backend.load(&TrainerState::fresh(moved)).unwrap();
        f64::from(backend.gradients(&examples).unwrap().0.total)
    };
    let slope = (loss(1e-3) - loss(-1e-3)) / 2e-3;
    assert!((slope - steepness).abs() < 0.02 * steepness, "{slope} {steepness}");
}

#[test]
fn impossible_groups_are_refused() {
    for (data, wanted) in [
        (
            "data.batch must be a multiple of data.siblings",
            "batch = 10\npositions = 'children'\nsiblings = 4",
        ),
        ("data.siblings needs data.positions", "siblings = 4"),
        ("data.siblings must be 0 or 2 to 64", "siblings = 1"),
    ]
    .map(|(wanted, data)| (data, wanted))
    {
        let text =
            format!("name = 'x'\n[net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [8]\n[data]\n{data}");
        let error = TrainConfig::parse(&text).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let text = "name = 'x'\n[net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [8]\n[loss]\nranking = 0.1";
    assert!(TrainConfig::parse(text).unwrap_err().to_string().contains("loss.ranking needs data.siblings"));
    let folder = tempdir().unwrap();
    let set = folder.path().join("games");
    sets::games(&set);
    let options =
        SupplyOptions { sets: vec![set], mix: Vec::new(), seed: 1, threads: 1, teachers: Vec::new() };
    let error = FeedSupply::open(&ranked(""), options, None).err().unwrap().to_string();
    assert!(error.contains("data.siblings needs evaluations"), "{error}");
}
