//! Malformed, oversized and hostile files are rejected with an error that names the place.

use prost::Message;
use tabia_onnx::build::{Attribute, GraphBuilder};
use tabia_onnx::check::{MAX_DEPTH, MAX_OPERATORS, check};
use tabia_onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    data_type,
};
use tabia_onnx::read::parse;
use tabia_onnx::{ErrorKind, GraphError, Place};
use tabia_runtime::{InputData, InputTensor, Session};

fn value(name: &str, element_type: i32, dims: &[i64]) -> ValueInfoProto {
    let dim = dims.iter().map(|&d| DimensionProto { dim_value: Some(d), dim_param: None }).collect();
    let tensor = TensorTypeProto { elem_type: element_type, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: dims.to_vec(),
        data_type: data_type::FLOAT,
        raw_data: data.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ..TensorProto::default()
    }
}

fn ints(name: &str, data: &[i64]) -> TensorProto {
    TensorProto {
        name: name.to_owned(),
        dims: vec![data.len() as i64],
        data_type: data_type::INT64,
        int64_data: data.to_vec(),
        ..TensorProto::default()
    }
}

fn scalar(name: &str, data: i64) -> TensorProto {
    TensorProto { dims: Vec::new(), ..ints(name, &[data]) }
}

fn node(op_type: &str, inputs: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: op_type.to_owned(),
        name: format!("the_{}", op_type.to_lowercase()),
        input: inputs.iter().map(|&s| s.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

fn with_int(mut node: NodeProto, name: &str, i: i64) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: name.to_owned(),
        i: Some(i),
        r#type: 2,
        ..AttributeProto::default()
    });
    node
}

/// A model from `x`, one row of four floats, to `y`.
fn model(nodes: Vec<NodeProto>, initializers: Vec<TensorProto>) -> ModelProto {
    ModelProto {
        ir_version: 8,
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
        graph: Some(GraphProto {
            node: nodes,
            initializer: initializers,
            input: vec![value("x", data_type::FLOAT, &[1, 4])],
            output: vec![value("y", data_type::FLOAT, &[1, 4])],
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    }
}

/// The error a model meets on its way through file, check and session; the bytes go through the reader.
#[track_caller]
fn refused(model: ModelProto) -> GraphError {
    let bytes = model.encode_to_vec();
    drop(model);
    match parse(&bytes).and_then(Session::new) {
        Ok(_) => panic!("the model was accepted"),
        Err(e) => e,
    }
}

#[track_caller]
fn assert_refused(model: ModelProto, kind: ErrorKind, place: &str) {
    let error = refused(model);
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    let named = match error.place() {
        Place::Tensor(name) | Place::Operator(name) => name.clone(),
        Place::Byte(at) => format!("byte {at}"),
        Place::File => String::new(),
    };
    assert_eq!(named, place, "{message}");
}

fn good() -> ModelProto {
    model(vec![node("Add", &["x", "w"], "y")], vec![floats("w", &[4], &[1.0, 2.0, 3.0, 4.0])])
}

#[test]
fn base_model_is_valid() {
    let session = Session::new(parse(&good().encode_to_vec()).unwrap()).unwrap();
    assert_eq!(session.info().parameters, 4);
}

#[test]
fn truncated_and_flipped_bytes_never_panic() {
    let bytes = good().encode_to_vec();
    for len in 0..bytes.len() {
        // A cut between fields leaves a valid shorter message; any other must name its byte.
        if let Err(e) = parse(&bytes[..len]).and_then(Session::new) {
            assert!(!e.to_string().is_empty());
        }
    }
    for at in 0..bytes.len() {
        for bit in [1, 0x10, 0x80] {
            let mut bad = bytes.clone();
            bad[at] ^= bit;
            if let Ok(model) = parse(&bad) {
                let _either = check(&model);
            }
        }
    }
}

#[test]
fn truncation_names_the_byte() {
    let bytes = good().encode_to_vec();
    let error = parse(&bytes[..bytes.len() - 3]).unwrap_err();
    assert!(matches!(error.place(), Place::Byte(_)), "{error}");
    assert_eq!(error.kind(), ErrorKind::Malformed);
    let error = parse(b"this is not a model").unwrap_err();
    assert!(matches!(error.place(), Place::Byte(_)), "{error}");
}

#[test]
fn empty_file_is_malformed() {
    assert_eq!(parse(&[]).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn decoded_size_is_bounded() {
    // Each `0a 00` inside the graph decodes to an empty operator of more than a hundred bytes.
    let nodes = [0x0a, 0x00].repeat(4 << 20);
    let mut bytes = vec![0x3a];
    prost::encoding::encode_varint(nodes.len() as u64, &mut bytes);
    bytes.extend(nodes);
    let error = parse(&bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn nesting_is_bounded() {
    // An attribute that holds a graph that holds an operator that holds an attribute, two thousand times.
    let mut bytes = Vec::new();
    for _ in 0..2_000 {
        for tag in [0x32, 0x2a, 0x0a] {
            let mut outer = vec![tag];
            prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
            outer.extend(&bytes);
            bytes = outer;
        }
    }
    let mut file = vec![0x3a];
    prost::encoding::encode_varint(bytes.len() as u64, &mut file);
    file.extend(bytes);
    assert_eq!(parse(&file).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
fn non_finite_weights_are_rejected() {
    let add = || vec![node("Add", &["x", "w"], "y")];
    let nan = model(add(), vec![floats("w", &[4], &[0.0, f32::NAN, 0.0, 0.0])]);
    assert_refused(nan, ErrorKind::NotFinite, "w");
    let infinite = model(add(), vec![floats("w", &[4], &[0.0, 0.0, f32::INFINITY, 0.0])]);
    assert_refused(infinite, ErrorKind::NotFinite, "w");
    let half = TensorProto {
        data_type: data_type::FLOAT16,
        raw_data: vec![0, 0, 0, 0x7e, 0, 0, 0, 0],
        ..floats("w", &[4], &[])
    };
    assert_refused(model(add(), vec![half]), ErrorKind::NotFinite, "w");
}

#[test]
fn tensor_data_must_match_the_shape() {
    let add = || vec![node("Add", &["x", "w"], "y")];
    let with = |tensor| model(add(), vec![tensor]);
    assert_refused(with(floats("w", &[4], &[1.0; 3])), ErrorKind::Shape, "w");
    assert_refused(with(floats("w", &[-4], &[1.0; 4])), ErrorKind::Shape, "w");
    assert_refused(with(floats("w", &[i64::MAX, 2], &[1.0; 4])), ErrorKind::TooLarge, "w");
    assert_refused(with(floats("w", &[1 << 20, 1 << 20], &[1.0; 4])), ErrorKind::TooLarge, "w");
    assert_refused(with(floats("w", &[0, i64::MAX], &[])), ErrorKind::TooLarge, "w");
    assert_refused(with(floats("w", &[1; 9], &[1.0])), ErrorKind::Shape, "w");
    let typed = TensorProto { raw_data: Vec::new(), float_data: vec![1.0; 5], ..floats("w", &[4], &[]) };
    assert_refused(with(typed), ErrorKind::Shape, "w");
    let text = TensorProto { data_type: 8, ..floats("w", &[4], &[1.0; 4]) };
    assert_refused(with(text), ErrorKind::Unsupported, "w");
    assert_refused(with(floats("w", &[3], &[1.0; 3])), ErrorKind::Shape, "Add the_add");
}

#[test]
fn external_data_is_rejected() {
    let entry = StringStringEntryProto { key: "location".to_owned(), value: "/etc/passwd".to_owned() };
    let tensor = TensorProto { data_location: 1, external_data: vec![entry], ..floats("w", &[4], &[]) };
    let model = model(vec![node("Add", &["x", "w"], "y")], vec![tensor]);
    assert_refused(model, ErrorKind::Unsupported, "w");
}

#[test]
fn names_must_be_unique_and_defined() {
    let weight = || floats("w", &[4], &[1.0; 4]);
    let twice = model(vec![node("Add", &["x", "w"], "y")], vec![weight(), weight()]);
    assert_refused(twice, ErrorKind::Malformed, "w");
    let both = model(vec![node("Add", &["x", "w"], "y"), node("Relu", &["x"], "y")], vec![weight()]);
    assert_refused(both, ErrorKind::Malformed, "y");
    let missing = model(vec![node("Add", &["x", "nowhere"], "y")], vec![]);
    assert_refused(missing, ErrorKind::Malformed, "Add the_add");
    let no_output = model(vec![node("Relu", &["x"], "z")], vec![]);
    assert_refused(no_output, ErrorKind::Malformed, "y");
    let few = model(vec![node("Add", &["x"], "y")], vec![]);
    assert_refused(few, ErrorKind::Malformed, "Add the_add");
}

#[test]
fn cycles_are_rejected() {
    let nodes = vec![node("Add", &["x", "b"], "a"), node("Relu", &["a"], "b"), node("Neg", &["a"], "y")];
    assert_refused(model(nodes, vec![]), ErrorKind::Malformed, "Add the_add");
    let own = model(vec![node("Add", &["x", "y"], "y")], vec![]);
    assert_refused(own, ErrorKind::Malformed, "Add the_add");
}

#[test]
fn operators_may_come_in_any_order() {
    let nodes = vec![node("Neg", &["a"], "y"), node("Relu", &["x"], "a")];
    Session::new(model(nodes, vec![])).unwrap();
}

fn chain(length: usize) -> Vec<NodeProto> {
    let name = |i: usize| {
        if i == 0 {
            "x".to_owned()
        } else if i == length {
            "y".to_owned()
        } else {
            format!("v{i}")
        }
    };
    (0..length).map(|i| node("Relu", &[&name(i)], &name(i + 1))).collect()
}

#[test]
fn graph_depth_is_bounded() {
    Session::new(model(chain(MAX_DEPTH), vec![])).unwrap();
    assert_refused(model(chain(MAX_DEPTH + 1), vec![]), ErrorKind::TooLarge, "Relu the_relu");
    assert_refused(model(chain(MAX_OPERATORS + 1), vec![]), ErrorKind::TooLarge, "");
}

#[test]
fn unsupported_operators_are_named() {
    for op in ["Loop", "If", "Scan"] {
        let model = model(vec![node(op, &["x"], "y")], vec![]);
        assert_refused(model, ErrorKind::Unsupported, &format!("{op} the_{}", op.to_lowercase()));
    }
    let error = refused(model(vec![node("Frobnicate", &["x"], "y")], vec![])).to_string();
    assert!(error.contains("Frobnicate") && error.contains("MatMulInteger"), "{error}");
    let mut foreign = node("MatMul", &["x", "x"], "y");
    foreign.domain = "org.example".to_owned();
    let error = refused(model(vec![foreign], vec![])).to_string();
    assert!(error.contains("org.example/MatMul"), "{error}");
    let mut holder = node("Relu", &["x"], "y");
    holder.attribute.push(AttributeProto { g: Some(GraphProto::default()), ..AttributeProto::default() });
    assert_refused(model(vec![holder], vec![]), ErrorKind::Unsupported, "Relu the_relu");
}

/// Each makes gigabytes, or hours, from a few bytes.
#[test]
fn amplification_is_rejected_at_the_operator() {
    let big = 50_000_000;
    let huge = |nodes: Vec<NodeProto>, tensors: Vec<TensorProto>, place: &str| {
        assert_refused(model(nodes, tensors), ErrorKind::TooLarge, place);
    };
    let shape = || ints("shape", &[20_000, 20_000, 1]);
    huge(
        vec![node("Expand", &["x", "shape"], "y")],
        vec![ints("shape", &[20_000, 20_000, 4])],
        "Expand the_expand",
    );
    huge(vec![node("Tile", &["x", "shape"], "y")], vec![ints("shape", &[20_000, 20_000])], "Tile the_tile");
    huge(
        vec![node("ConstantOfShape", &["shape"], "y")],
        vec![shape()],
        "ConstantOfShape the_constantofshape",
    );
    huge(
        vec![node("Range", &["zero", "limit", "one"], "y")],
        vec![scalar("zero", 0), scalar("limit", 2_000_000_000), scalar("one", 1)],
        "Range the_range",
    );
    huge(
        vec![node("Pad", &["x", "shape"], "y")],
        vec![ints("shape", &[0, 0, big, 1_000_000_000])],
        "Pad the_pad",
    );
    huge(
        vec![node("Resize", &["x", "", "", "shape"], "y")],
        vec![ints("shape", &[100_000, 100_000])],
        "Resize the_resize",
    );
    huge(
        vec![node("OneHot", &["ids", "depth", "values"], "y")],
        vec![ints("ids", &[1, 2]), scalar("depth", 1_000_000_000), floats("values", &[2], &[0.0, 1.0])],
        "OneHot the_onehot",
    );
}

#[test]
fn outer_product_of_long_vectors_is_rejected() {
    let mut builder = GraphBuilder::new("outer");
    let x = builder.input("x", &[1]);
    let column = builder.ints("column", &[2], &[5_000_000, 1]);
    let row = builder.ints("row", &[2], &[1, 5_000_000]);
    let a = builder.op("Expand", &[&x, &column], &[]);
    let b = builder.op("Expand", &[&x, &row], &[]);
    let y = builder.op("MatMul", &[&a, &b], &[]);
    builder.output(&y, "y", &[1]);
    let error = refused(builder.finish());
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(matches!(error.place(), Place::Operator(name) if name.starts_with("MatMul")), "{error}");
}

/// The board of an integer convolution is padded before it is convolved, which takes memory.
#[test]
fn padding_of_an_integer_convolution_is_bounded() {
    let filter = TensorProto {
        name: "w".to_owned(),
        dims: vec![1, 1, 3, 3],
        data_type: data_type::INT8,
        raw_data: vec![1; 9],
        ..TensorProto::default()
    };
    let ints_attribute = |name: &str, ints: &[i64]| AttributeProto {
        name: name.to_owned(),
        ints: ints.to_vec(),
        r#type: 7,
        ..AttributeProto::default()
    };
    let with_pad = |pad: i64| {
        let mut quantise = node("DynamicQuantizeLinear", &["board"], "q");
        quantise.output.extend(["scale".to_owned(), "zero".to_owned()]);
        let mut conv = node("ConvInteger", &["q", "w", "zero"], "sums");
        conv.attribute.push(ints_attribute("pads", &[pad; 4]));
        conv.attribute.push(ints_attribute("strides", &[4096, 4096]));
        let nodes = vec![
            node("Reshape", &["x", "squares"], "board"),
            quantise,
            conv,
            with_int(node("Cast", &["sums"], "floats"), "to", i64::from(data_type::FLOAT)),
            node("Reshape", &["floats", "row"], "y"),
        ];
        model(nodes, vec![ints("squares", &[1, 1, 2, 2]), ints("row", &[1, -1]), filter.clone()])
    };
    Session::new(with_pad(1)).expect("a little padding is fine");
    assert_refused(with_pad(4096), ErrorKind::TooLarge, "ConvInteger the_convinteger");
}

#[test]
fn repeated_doubling_is_rejected() {
    let mut builder = GraphBuilder::new("doubling");
    let mut x = builder.input("x", &[4]);
    for _ in 0..40 {
        x = builder.op("Concat", &[&x, &x], &[("axis", Attribute::Int(1))]);
    }
    builder.output(&x, "y", &[4]);
    let error = refused(builder.finish());
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn multiply_adds_are_bounded() {
    let mut builder = GraphBuilder::new("work");
    let x = builder.input("x", &[4]);
    let shape = builder.ints("shape", &[2], &[2000, 2000]);
    let one = builder.ints("one", &[2], &[1, 1]);
    let sum = builder.op("ReduceSum", &[&x], &[]);
    let sum = builder.op("Reshape", &[&sum, &one], &[]);
    let mut square = builder.op("Expand", &[&sum, &shape], &[]);
    for _ in 0..5 {
        square = builder.op("MatMul", &[&square, &square], &[]);
    }
    builder.output(&square, "y", &[4]);
    let error = refused(builder.finish());
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn growth_with_the_batch_is_bounded() {
    // Allowed for one position; for many, the batch times the batch times the batch.
    let mut builder = GraphBuilder::new("cube");
    let x = builder.input("x", &[1]);
    let shape = builder.op("Shape", &[&x], &[]);
    let zero = builder.ints("zero", &[1], &[0]);
    let batch = builder.op("Gather", &[&shape, &zero], &[]);
    let square = builder.op("Mul", &[&batch, &batch], &[]);
    let cube = builder.op("Mul", &[&square, &batch], &[]);
    let twice = builder.op("Concat", &[&cube, &batch], &[("axis", Attribute::Int(0))]);
    let wide = builder.op("ConstantOfShape", &[&twice], &[]);
    let sum = builder.op("ReduceSum", &[&wide], &[]);
    let y = builder.op("Add", &[&x, &sum], &[]);
    builder.output(&y, "y", &[1]);
    let session = Session::new(builder.finish()).unwrap();
    let data = vec![0.5; 2000];
    let inputs = [InputTensor { shape: &[2000, 1], data: InputData::Values(&data) }];
    // The whole batch would make 16e12 numbers; halves are run instead until they fit.
    let outputs = session.run(&inputs).unwrap();
    assert_eq!(outputs[0].shape, [2000, 1]);
}

#[test]
fn data_dependent_shapes_are_rejected() {
    let mut builder = GraphBuilder::new("data-dependent");
    let ids = builder.id_input("ids", &[1]);
    let flat = builder.ints("flat", &[1], &[-1]);
    let ids = builder.op("Reshape", &[&ids, &flat], &[]);
    let y = builder.op("ConstantOfShape", &[&ids], &[]);
    builder.output(&y, "y", &[1]);
    let error = refused(builder.finish());
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn invalid_input_shapes_are_rejected() {
    for dim in [-1, 0, i64::MAX] {
        let mut bad = good();
        let graph = bad.graph.as_mut().unwrap();
        graph.input = vec![value("x", data_type::FLOAT, &[1, dim])];
        assert_refused(bad, ErrorKind::Shape, "x");
    }
    let mut text = good();
    text.graph.as_mut().unwrap().input = vec![value("x", 8, &[1, 4])];
    assert_refused(text, ErrorKind::Unsupported, "x");
}

#[test]
fn conflicting_attribute_and_input_are_rejected() {
    let mut pad = node("Pad", &["x", "pads"], "y");
    pad.attribute.push(AttributeProto {
        name: "pads".to_owned(),
        ints: vec![0, 0, 0, 1_000_000_000],
        r#type: 7,
        ..AttributeProto::default()
    });
    let model = model(vec![pad], vec![ints("pads", &[0, 0, 0, 0])]);
    assert_refused(model, ErrorKind::Malformed, "Pad the_pad");
}

#[test]
fn shape_errors_name_the_operator() {
    let weight = || floats("w", &[3, 2], &[1.0; 6]);
    let product = model(vec![node("MatMul", &["x", "w"], "y")], vec![weight()]);
    assert_refused(product, ErrorKind::Shape, "MatMul the_matmul");
    let gemm = model(vec![node("Gemm", &["x", "w"], "y")], vec![weight()]);
    assert_refused(gemm, ErrorKind::Shape, "Gemm the_gemm");
    let conv = model(vec![node("Conv", &["x", "w"], "y")], vec![weight()]);
    assert_refused(conv, ErrorKind::Shape, "Conv the_conv");
    let axis = model(vec![with_int(node("Softmax", &["x"], "y"), "axis", 7)], vec![]);
    assert_refused(axis, ErrorKind::Shape, "Softmax the_softmax");
    let gather = model(vec![node("Gather", &["w", "ids"], "y")], vec![weight(), ints("ids", &[3])]);
    assert_refused(gather, ErrorKind::Shape, "Gather the_gather");
    let reshape = model(vec![node("Reshape", &["x", "shape"], "y")], vec![ints("shape", &[5, -1])]);
    assert_refused(reshape, ErrorKind::Shape, "Reshape the_reshape");
}

#[test]
fn old_opsets_are_rejected() {
    let mut old = good();
    old.opset_import[0].version = 6;
    assert_refused(old, ErrorKind::Unsupported, "");
    let mut none = good();
    none.opset_import.clear();
    assert_refused(none, ErrorKind::Malformed, "");
}
