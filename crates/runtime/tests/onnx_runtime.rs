//! The ONNX fixtures give what onnxruntime gives, quantised ones what exact arithmetic gives.

use serde::Deserialize;
use tabia_onnx::build::{Attribute, GraphBuilder};
use tabia_onnx::check::ElementKind;
use tabia_onnx::proto::{ModelProto, TensorProto, data_type};
use tabia_onnx::read;
use tabia_runtime::{InputData, InputTensor, Int8Weights, OutputTensor, RunError, Session};

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
    let model = read::parse(bytes).expect("the fixture parses");
    Session::new(model).expect("the fixture loads")
}

fn run(session: &Session, fixture: &Fixture) -> Vec<OutputTensor> {
    let [input] = fixture.inputs.as_slice() else { panic!("one input") };
    assert_eq!(session.info().inputs[0].name, input.name);
    let features = input.features();
    let data = if input.ids.is_empty() { InputData::Values(&features) } else { InputData::Ids(&input.ids) };
    session.run(&[InputTensor { shape: &input.shape, data }]).expect("the fixture runs")
}

fn compare(name: &str, given: &[OutputTensor], fixture: &Fixture) {
    assert_eq!(given.len(), fixture.outputs.len(), "{name}");
    for (given, wanted) in given.iter().zip(&fixture.outputs) {
        assert_eq!((&given.name, &given.shape), (&wanted.name, &wanted.shape), "{name}");
        let width = *wanted.shape.last().expect("outputs have dimensions");
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
fn batch_size_one_network_runs_batches() {
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
fn matmul_network_matches_onnxruntime() {
    let (bytes, fixture) = fixture!("matmul-mlp");
    let session = session(bytes);
    assert_eq!(session.info().inputs[0].shape, [None, Some(774)]);
    assert_eq!(session.info().outputs[0].shape, [None, Some(1)]);
    // The constant 0.5 has rank 0 and does not count.
    assert_eq!(session.info().parameters, 774 * 24 + 24 + 24 + 1);
    compare("matmul-mlp", &run(&session, &fixture), &fixture);
}

#[test]
fn convolutional_network_matches_onnxruntime() {
    let (bytes, fixture) = fixture!("conv-net");
    let session = session(bytes);
    assert_eq!(session.info().outputs[1].shape, [None, Some(3)]);
    compare("conv-net", &run(&session, &fixture), &fixture);
}

/// Compares a quantised network as it runs here and with split weights, which are exact everywhere.
fn compare_quantised(name: &str, (bytes, fixture): (&[u8], Fixture)) {
    let chosen = session(bytes);
    assert!(chosen.int8().is_some(), "{name}");
    compare(name, &run(&chosen, &fixture), &fixture);
    let model = read::parse(bytes).expect("the fixture parses");
    let split = Session::with_int8_weights(model, Int8Weights::Split).expect("the fixture loads");
    compare(name, &run(&split, &fixture), &fixture);
}

#[test]
fn dynamically_quantised_network_runs_position_by_position() {
    compare_quantised("quantised-mlp", fixture!("quantised-mlp"));
}

#[test]
fn quantised_convolutional_network_matches() {
    compare_quantised("quantised-conv", fixture!("quantised-conv"));
}

#[test]
fn torch_transformer_matches_onnxruntime() {
    let (bytes, fixture) = fixture!("humchess-transformer");
    let session = session(bytes);
    let info = session.info();
    assert_eq!((info.inputs[0].kind, &info.inputs[0].shape[..]), (ElementKind::Int, &[None, Some(68)][..]));
    assert_eq!(info.outputs[0].shape, [None, Some(4096)]);
    assert_eq!(info.outputs[1].shape, [None, Some(4)]);
    compare("humchess-transformer", &run(&session, &fixture), &fixture);
}

#[test]
fn quantised_transformer_matches() {
    compare_quantised("quantised-transformer", fixture!("quantised-transformer"));
}

/// `y = x + w` over four numbers, with `w` as the given tensor.
fn adder(weight: TensorProto) -> ModelProto {
    let mut builder = GraphBuilder::new("adder");
    let x = builder.input("x", &[4]);
    let w = builder.weight("w", &[4], &[1.0, 2.0, 3.0, -4.5]);
    let y = builder.op("Add", &[&x, &w], &[]);
    builder.output(&y, "y", &[4]);
    let mut model = builder.finish();
    model.graph.as_mut().expect("a graph was built").initializer =
        vec![TensorProto { name: "w".to_owned(), dims: vec![4], ..weight }];
    model
}

fn values(data: &[f32]) -> InputData<'_> {
    InputData::Values(data)
}

#[test]
fn float_storages_decode_to_the_same_numbers() {
    let numbers = [1.0f32, 2.0, 3.0, -4.5];
    let bits16 = |f: fn(f32) -> u16| numbers.map(f);
    let (halves, brains) =
        (bits16(|v| half::f16::from_f32(v).to_bits()), bits16(|v| half::bf16::from_f32(v).to_bits()));
    let raw = |bits: [u16; 4]| bits.iter().flat_map(|b| b.to_le_bytes()).collect::<Vec<u8>>();
    let typed = |bits: [u16; 4]| bits.iter().map(|&b| i32::from(b)).collect::<Vec<i32>>();
    let of = |data_type| TensorProto { data_type, ..TensorProto::default() };
    let stored = [
        TensorProto { float_data: numbers.to_vec(), ..of(data_type::FLOAT) },
        TensorProto { raw_data: raw(halves), ..of(data_type::FLOAT16) },
        TensorProto { int32_data: typed(halves), ..of(data_type::FLOAT16) },
        TensorProto { raw_data: raw(brains), ..of(data_type::BFLOAT16) },
        TensorProto { int32_data: typed(brains), ..of(data_type::BFLOAT16) },
        TensorProto { double_data: numbers.map(f64::from).to_vec(), ..of(data_type::DOUBLE) },
    ];
    for tensor in stored {
        let model = adder(tensor);
        let weight = &model.graph.as_ref().unwrap().initializer[0];
        assert_eq!(read::floats(weight).unwrap(), numbers);
        let session = Session::new(model).unwrap();
        let outputs = session.run(&[InputTensor { shape: &[1, 4], data: values(&[1.0; 4]) }]).unwrap();
        assert_eq!(outputs[0].values, [2.0, 3.0, 4.0, -3.5]);
    }
}

fn plain_adder() -> Session {
    let numbers = vec![1.0, 2.0, 3.0, -4.5];
    let tensor = TensorProto { float_data: numbers, data_type: data_type::FLOAT, ..TensorProto::default() };
    Session::new(adder(tensor)).expect("the adder loads")
}

#[test]
fn mismatched_inputs_are_rejected() {
    let session = plain_adder();
    let run = |shape: &[usize], data: &[f32]| {
        session.run(&[InputTensor { shape, data: values(data) }]).unwrap_err()
    };
    assert_eq!(session.run(&[]).unwrap_err(), RunError::InputCount { expected: 1, given: 0 });
    let shapes: [&[usize]; 3] = [&[1, 5], &[4], &[0, 4]];
    for shape in shapes {
        let data = vec![0.0; shape.iter().product()];
        assert!(matches!(run(shape, &data), RunError::Shape { input, .. } if input == "x"));
    }
    for shape in [[1, 4], [usize::MAX, 4]] {
        let error = run(&shape, &[0.0; 3]);
        assert_eq!(error, RunError::Length { input: "x".to_owned(), shape: shape.to_vec(), len: 3 });
    }
}

#[test]
fn ids_are_converted_to_float_inputs() {
    let outputs =
        plain_adder().run(&[InputTensor { shape: &[1, 4], data: InputData::Ids(&[1, 2, 3, 4]) }]).unwrap();
    assert_eq!(outputs[0].values, [2.0, 4.0, 6.0, -0.5]);
}

#[test]
fn features_are_rejected_for_id_inputs() {
    let (bytes, _) = fixture!("humchess-transformer");
    let error = session(bytes).run(&[InputTensor { shape: &[1, 68], data: values(&[0.0; 68]) }]).unwrap_err();
    assert!(matches!(error, RunError::Kind { input, .. } if input == "tokens"));
}

#[test]
fn out_of_range_ids_are_an_error() {
    let (bytes, _) = fixture!("humchess-transformer");
    let error =
        session(bytes).run(&[InputTensor { shape: &[1, 68], data: InputData::Ids(&[66; 68]) }]).unwrap_err();
    assert!(matches!(error, RunError::Runtime(_)), "{error}");
}

#[test]
fn non_finite_output_is_an_error() {
    let session = plain_adder();
    let error = session.run(&[InputTensor { shape: &[1, 4], data: values(&[f32::NAN; 4]) }]).unwrap_err();
    assert_eq!(error, RunError::NotFinite { output: "y".to_owned() });
}

#[test]
fn single_position_graph_runs_batches() {
    // The batch is declared free, but a reshape inside insists on one.
    let mut builder = GraphBuilder::new("insists");
    let x = builder.input("x", &[4]);
    let shape = builder.ints("shape", &[2], &[2, 2]);
    let square = builder.op("Reshape", &[&x, &shape], &[]);
    let y = builder.op("ReduceSum", &[&square], &[("keepdims", Attribute::Int(0))]);
    builder.output(&y, "y", &[]);
    let session = Session::new(builder.finish()).unwrap();
    let data: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let outputs = session.run(&[InputTensor { shape: &[3, 4], data: values(&data) }]).unwrap();
    assert_eq!((&outputs[0].shape[..], &outputs[0].values[..]), (&[3][..], &[6.0, 22.0, 38.0][..]));
}
