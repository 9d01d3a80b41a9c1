//! The ONNX fixtures give what onnxruntime gives, one position at a time and all at once.

use prost::Message;
use serde::Deserialize;
use tabia_model::onnx::build::{Attribute, GraphBuilder};
use tabia_model::onnx::check::ElementKind;
use tabia_model::onnx::proto::{ModelProto, TensorProto, data_type};
use tabia_model::onnx::read;
use tabia_model::runtime::{InputData, InputTensor, OutputTensor, RunError, Session};

const TOLERANCE: f32 = 1e-4;

#[derive(Deserialize)]
struct Fixture {
    inputs: Vec<Input>,
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    shape: Vec<usize>,
    #[serde(default)]
    ones: Vec<Vec<usize>>,
    #[serde(default)]
    ids: Vec<i32>,
}

#[derive(Deserialize)]
struct Output {
    name: String,
    shape: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f32>,
}

impl Input {
    fn features(&self) -> Vec<f32> {
        let width: usize = self.shape[1..].iter().product();
        let mut features = vec![0.0; self.ones.len() * width];
        for (row, ones) in self.ones.iter().enumerate() {
            for &one in ones {
                features[row * width + one] = 1.0;
            }
        }
        features
    }
}

fn session(bytes: &[u8]) -> Session {
    Session::new(read::parse(bytes).unwrap()).unwrap()
}

fn run(session: &Session, fixture: &Fixture) -> Vec<OutputTensor> {
    let [input] = fixture.inputs.as_slice() else { panic!("one input") };
    assert_eq!(session.info().inputs[0].name, input.name);
    let features = input.features();
    let data = if input.ids.is_empty() { InputData::Values(&features) } else { InputData::Ids(&input.ids) };
    session.run(&[InputTensor { shape: &input.shape, data }]).unwrap()
}

fn compare(name: &str, given: &[OutputTensor], fixture: &Fixture) {
    assert_eq!(given.len(), fixture.outputs.len(), "{name}");
    for (given, wanted) in given.iter().zip(&fixture.outputs) {
        assert_eq!((&given.name, &given.shape), (&wanted.name, &wanted.shape), "{name}");
        let width = *wanted.shape.last().unwrap();
        assert_eq!(wanted.values.len(), given.values.len() / width * wanted.columns.len(), "{name}");
        let rows = given.values.chunks(width).zip(wanted.values.chunks(wanted.columns.len()));
        for (row, (given, numbers)) in rows.enumerate() {
            for (&column, &number) in wanted.columns.iter().zip(numbers) {
                let difference = (given[column] - number).abs();
                assert!(
                    difference <= TOLERANCE,
                    "{name} row {row} column {column}: {} {number}",
                    given[column]
                );
            }
        }
    }
}

macro_rules! fixture {
    ($name:literal) => {
        (
            include_bytes!(concat!("../../../fixtures/models/", $name, ".onnx")).as_slice(),
            serde_json::from_str::<Fixture>(include_str!(concat!(
                "../../../fixtures/models/",
                $name,
                ".json"
            )))
            .unwrap(),
        )
    };
}

#[test]
fn a_net_declared_for_one_position_runs_on_many() {
    let (bytes, fixture) = fixture!("challenge-mlp");
    let session = session(bytes);
    let info = session.info();
    assert_eq!(info.inputs[0].shape, [Some(1), Some(768)]);
    assert_eq!(info.inputs[0].kind, ElementKind::Float);
    assert_eq!(info.outputs[0].shape, [Some(1), Some(1)]);
    assert_eq!(info.parameters, 768 * 16 + 16 + 16 * 8 + 8 + 8 + 1);
    assert_eq!(info.multiply_adds, 768 * 16 + 16 * 8 + 8);
    compare("challenge-mlp", &run(&session, &fixture), &fixture);
}

#[test]
fn a_net_of_matrix_products_agrees() {
    let (bytes, fixture) = fixture!("matmul-mlp");
    let session = session(bytes);
    assert_eq!(session.info().inputs[0].shape, [None, Some(774)]);
    assert_eq!(session.info().outputs[0].shape, [None, Some(1)]);
    // The constant 0.5 has rank 0 and does not count.
    assert_eq!(session.info().parameters, 774 * 24 + 24 + 24 + 1);
    compare("matmul-mlp", &run(&session, &fixture), &fixture);
}

#[test]
fn a_convolutional_net_agrees() {
    let (bytes, fixture) = fixture!("conv-net");
    let session = session(bytes);
    assert_eq!(session.info().outputs[1].shape, [None, Some(3)]);
    compare("conv-net", &run(&session, &fixture), &fixture);
}

#[test]
fn a_quantised_net_runs_each_position_alone() {
    let (bytes, fixture) = fixture!("quantised-mlp");
    compare("quantised-mlp", &run(&session(bytes), &fixture), &fixture);
}

#[test]
fn a_transformer_exported_by_torch_agrees() {
    let (bytes, fixture) = fixture!("humchess-transformer");
    let session = session(bytes);
    let info = session.info();
    assert_eq!((info.inputs[0].kind, &info.inputs[0].shape[..]), (ElementKind::Int, &[None, Some(68)][..]));
    assert_eq!(info.outputs[0].shape, [None, Some(4096)]);
    assert_eq!(info.outputs[1].shape, [None, Some(4)]);
    compare("humchess-transformer", &run(&session, &fixture), &fixture);
}

#[test]
fn a_quantised_transformer_agrees() {
    let (bytes, fixture) = fixture!("quantised-transformer");
    compare("quantised-transformer", &run(&session(bytes), &fixture), &fixture);
}
