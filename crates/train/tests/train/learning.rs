//! Every kind of network learns, and its file plays legal chess.

use shakmaty::{Chess, Position};
use tabia_encoding::Situation;
use tabia_model::Model;
use tabia_train::export::{ExportFormat, Precision, Provenance, export};
use tabia_train::{Backend, CpuBackend, FeedSupply, NetConfig, StepHyper, Supply, SupplyOptions, Weights};
use tempfile::tempdir;

use crate::configs::{From, KINDS, config};
use crate::sets;

const STEPS: usize = 10;
const MOST_ROUNDS: usize = 30;
pub(crate) const HYPER: StepHyper =
    StepHyper { lr: 0.005, beta1: 0.9, beta2: 0.98, eps: 1e-8, weight_decay: 0.0, clip: 1.0, ema_decay: 0.8 };

#[test]
fn every_network_kind_trains_and_plays() {
    let folder = tempdir().unwrap();
    let (games, evaluations) = (folder.path().join("games"), folder.path().join("evaluations"));
    sets::games(&games);
    sets::evaluations(&evaluations);
    for (name, ..) in KINDS {
        let (config, from) = config(name);
        let dir = if from == From::Games { &games } else { &evaluations };
        let options = SupplyOptions {
            sets: vec![dir.clone()],
            mix: Vec::new(),
            seed: 1,
            threads: 1,
            teachers: Vec::new(),
        };
        let mut supply = FeedSupply::open(&config, options, None).unwrap();
        let mut backend = CpuBackend::new(&config, 1);
        let examples = supply.next().unwrap();
        let before = backend.gradients(&examples).unwrap().0.total;
        let learned = (0..MOST_ROUNDS).any(|_| {
            for _ in 0..STEPS {
                backend.step(&supply.next().unwrap(), &HYPER).unwrap();
            }
            backend.gradients(&examples).unwrap().0.total < 0.9 * before
        });
        assert!(learned, "{name}: the loss was {before} and did not fall by a tenth");

        let scores = backend.evaluate(&examples, Weights::Averaged).unwrap();
        assert_eq!(scores.policy.len() + scores.value.len(), examples.rows(), "{name}");
        plays(name, &config.net, &backend.state().unwrap().ema);
    }
}

/// Exports in every way there is and asks the files for moves.
fn plays(name: &str, net: &NetConfig, arena: &[f32]) {
    let provenance = Provenance { name: name.to_owned(), ..Provenance::default() };
    let write = |format, precision| export(net, arena, format, precision, &provenance);
    let onnx = write(ExportFormat::Onnx, Precision::F32).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut files = vec![onnx.bytes];
    for (format, precision) in [
        (ExportFormat::Safetensors, Precision::F32),
        (ExportFormat::Safetensors, Precision::F16),
        (ExportFormat::Safetensors, Precision::Int8),
        (ExportFormat::Onnx, Precision::Int8),
        (ExportFormat::Onnx, Precision::Int8Weights),
    ] {
        match write(format, precision) {
            Ok(exported) => files.push(exported.bytes),
            Err(error) => assert!(error.to_string().contains("export an .onnx file"), "{name}: {error}"),
        }
    }
    assert!(files.len() >= 2, "{name}");
    for bytes in files {
        let model = Model::from_bytes(&bytes).unwrap();
        assert_eq!(model.card().name.as_deref(), Some(name));
        let mut position = Chess::default();
        for _ in 0..6 {
            let evaluation = model.evaluate(&[Situation::of(&position)]).unwrap().remove(0);
            let best = match evaluation.policy {
                Some(policy) => policy.best().unwrap().mv,
                None => one_ply(&model, &position),
            };
            assert!(position.is_legal(best), "{name}: {best}");
            position.play_unchecked(best);
        }
    }
}

/// The move after which the opponent stands worst.
fn one_ply(model: &Model, position: &Chess) -> shakmaty::Move {
    let legal = position.legal_moves();
    let after: Vec<Chess> = legal
        .iter()
        .map(|&m| {
            let mut after = position.clone();
            after.play_unchecked(m);
            after
        })
        .collect();
    let situations: Vec<_> = after.iter().map(Situation::of).collect();
    let scores = model.evaluate(&situations).unwrap();
    let score = |at: &usize| scores[*at].score.unwrap().0;
    let best = (0..legal.len()).min_by(|a, b| score(a).total_cmp(&score(b))).unwrap();
    legal[best]
}
