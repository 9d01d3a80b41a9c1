//! Exported graphs in onnxruntime: the same numbers as here, for every kind of network and in 8 bits too.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use shakmaty::{Chess, Position};
use tabia_encoding::{Batch, Column, Situation, encoding};
use tabia_model::Source;
use tabia_runtime::{InputData, InputTensor, OutputTensor, Session};
use tabia_train::export::{ExportFormat, Precision, Provenance, export};
use tabia_train::{NetConfig, TrainConfig};
use tempfile::tempdir;

use crate::configs::{KINDS, config};

/// The networks that are compared: one of each kind, and one whose convolutions are wide enough for 8 bits.
fn nets() -> Vec<(String, NetConfig)> {
    let wide = "name = 'wide'\n[net]\nkind = 'value-cnn'\nencoding = 'rusty-planes-15'\nchannels = 16\nblocks = 1\nsqueeze = 4\nhidden = 8";
    let wide = TrainConfig::parse(wide).unwrap().net;
    let kinds = KINDS.iter().map(|(name, ..)| ((*name).to_owned(), config(name).0.net));
    kinds.chain([("wide convolutions".to_owned(), wide)]).collect()
}

const POSITIONS: usize = 4;

fn positions() -> Vec<Chess> {
    let mut random = fastrand::Rng::with_seed(4);
    let mut position = Chess::default();
    (0..POSITIONS)
        .map(|_| {
            let here = position.clone();
            for _ in 0..7 {
                let legal = position.legal_moves();
                position.play_unchecked(legal[random.usize(..legal.len())]);
            }
            here
        })
        .collect()
}

/// What the graph says here, and what onnxruntime is to be asked.
fn case(path: &str, bytes: &[u8], encoding_id: &str, positions: &[Chess]) -> (Vec<OutputTensor>, Value) {
    let mut batch = Batch::new(encoding(encoding_id).unwrap());
    positions.iter().for_each(|position| batch.push(&Situation::of(position)));
    let mut tensors = Vec::new();
    let mut asked = serde_json::Map::new();
    for (column, spec) in batch.columns().iter().zip(batch.encoding().inputs()) {
        let shape: Vec<usize> = std::iter::once(batch.rows()).chain(spec.shape.iter().copied()).collect();
        let (data, value) = match column {
            Column::Ids(ids) => (InputData::Ids(ids), json!({ "shape": shape, "ids": ids })),
            Column::Values(values) => {
                (InputData::Values(values), json!({ "shape": shape, "values": values }))
            }
        };
        asked.insert(spec.name.to_owned(), value);
        tensors.push((shape, data));
    }
    let inputs: Vec<_> = tensors.iter().map(|(shape, data)| InputTensor { shape, data: *data }).collect();
    let session = Session::new(Source::read(bytes).unwrap().into_graph().unwrap()).unwrap();
    (session.run(&inputs).unwrap(), json!({ "model": path, "inputs": asked }))
}

#[test]
fn onnxruntime_agrees() {
    let Some(python) = tabia_requires::python(&["numpy", "onnx", "onnxruntime"]) else { return };
    let folder = tempdir().unwrap();
    let positions = positions();
    let mut cases = Vec::new();
    for (name, net) in nets() {
        for precision in [Precision::F32, Precision::Int8, Precision::Int8Weights] {
            let arena = net.table().initial(9);
            let exported = export(&net, &arena, ExportFormat::Onnx, precision, &Provenance::default());
            let bytes = exported.unwrap_or_else(|error| panic!("{name}: {error}")).bytes;
            let path = folder.path().join(format!("{name}-{precision:?}.onnx"));
            std::fs::write(&path, &bytes).unwrap();
            // Activations are rounded by what the largest of a batch is, so here positions come one by one.
            let together = if precision == Precision::F32 { positions.len() } else { 1 };
            for positions in positions.chunks(together) {
                let case = case(path.to_str().unwrap(), &bytes, net.encoding(), positions);
                cases.push((name.clone(), precision, case));
            }
        }
    }
    let requests: Vec<&Value> = cases.iter().map(|(_, _, (_, request))| request).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_export.py");
    let mut child =
        Command::new(python).arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = serde_json::to_vec(&requests).unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for ((name, precision, (ours, _)), theirs) in cases.iter().zip(&answers) {
        for OutputTensor { name: output, values, .. } in ours {
            let theirs: Vec<f32> = serde_json::from_value(theirs[output].clone()).unwrap();
            assert_eq!(values.len(), theirs.len(), "{name} {output}");
            let scale = theirs.iter().fold(1.0_f32, |most, value| most.max(value.abs()));
            let worst = values.iter().zip(&theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            // An 8-bit activation may fall to either side of a boundary.
            let allowed = if *precision == Precision::F32 { 1e-4 } else { 3e-2 };
            assert!(worst <= allowed * scale, "{name} {precision:?} {output}: {worst} of {scale}");
        }
    }
}
