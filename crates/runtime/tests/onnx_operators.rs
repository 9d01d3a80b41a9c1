//! Inferred shapes match the shapes at run time.

use Attribute::{Float, Int, Ints, Text};
use tabia_onnx::build::{Attribute, GraphBuilder, Node};
use tabia_runtime::{InputData, InputTensor, Session};

/// Builds `x -> make -> y`, runs it on one position, and compares the shape with the inferred one.
#[track_caller]
fn agrees(shape: &[usize], make: impl Fn(&mut GraphBuilder, &Node) -> Node) {
    let mut builder = GraphBuilder::new("operator");
    let x = builder.input("x", shape);
    let y = make(&mut builder, &x);
    builder.output(&y, "y", &[]);
    let session = Session::new(builder.finish()).expect("the operator loads");
    let inferred: Vec<usize> = session.info().outputs[0].shape.iter().map(|d| d.unwrap_or(1)).collect();
    let full = [&[1], shape].concat();
    let data: Vec<f32> = (0..full.iter().product()).map(|i| (i % 7) as f32 * 0.1 - 0.2).collect();
    let outputs =
        session.run(&[InputTensor { shape: &full, data: InputData::Values(&data) }]).expect("it runs");
    // One position comes with a first dimension of 1, whether the operator makes one or not.
    let made = &outputs[0].shape;
    assert!(*made == inferred || made[1..] == inferred[..], "made {made:?}, inferred {inferred:?}");
    assert_eq!(outputs[0].values.len(), inferred.iter().product::<usize>());
}

fn weight(builder: &mut GraphBuilder, name: &str, shape: &[usize]) -> Node {
    let count = shape.iter().product::<usize>();
    builder.weight(name, shape, &(0..count).map(|i| (i % 5) as f32 * 0.1 - 0.2).collect::<Vec<_>>())
}

#[test]
fn shape_keeping_operators() {
    let names = "Abs Acosh Asin Atan Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish LeakyRelu Neg Relu Round \
                 Sigmoid Sign Sin Softplus Softsign Softmax Tanh LogSoftmax Trilu Identity Dropout";
    for name in names.split(' ') {
        let mut builder = GraphBuilder::new("operator");
        let x = builder.input("x", &[3, 4]);
        let y = builder.op(name, &[&x], &[]);
        builder.output(&y, "y", &[3, 4]);
        let session = Session::new(builder.finish()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let data = [1.5; 24];
        let inputs = [InputTensor { shape: &[2, 3, 4], data: InputData::Values(&data) }];
        match session.run(&inputs) {
            Ok(outputs) => assert_eq!(outputs[0].shape, [2, 3, 4], "{name}"),
            // The inverse sine of 1.5 is not a number, and says so.
            Err(e) => assert!(name == "Asin" && e.to_string().contains("not finite"), "{name}: {e}"),
        }
    }
}

#[test]
fn broadcasting() {
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow"] {
        agrees(&[3, 1], |b, x| {
            let w = weight(b, "w", &[1, 1, 5]);
            let w = b.op("Exp", &[&w], &[]);
            let x = b.op("Abs", &[x], &[]);
            b.op(op, &[&x, &w], &[])
        });
    }
    agrees(&[4], |b, x| {
        let w = weight(b, "w", &[3, 1]);
        let condition = b.op("Greater", &[x, &w], &[]);
        b.op("Where", &[&condition, x, &w], &[])
    });
}

#[test]
fn moving_and_picking() {
    agrees(&[3, 4], |b, x| b.op("Transpose", &[x], &[("perm", Ints(vec![2, 0, 1]))]));
    agrees(&[3, 4], |b, x| b.op("Flatten", &[x], &[("axis", Int(1))]));
    agrees(&[3, 4], |b, x| {
        let repeats = b.ints("repeats", &[3], &[1, 2, 3]);
        b.op("Tile", &[x, &repeats], &[])
    });
    agrees(&[3, 4], |b, x| {
        let pads = b.ints("pads", &[6], &[0, 1, 0, 0, 2, 3]);
        b.op("Pad", &[x, &pads], &[])
    });
    for (start, end, step) in [(0, i64::MAX, 1), (-1, i64::MIN, -2), (1, -1, 1), (5, 2, -1), (-3, 100, 2)] {
        agrees(&[8], |b, x| {
            let start = b.ints("start", &[1], &[start]);
            let end = b.ints("end", &[1], &[end]);
            let axis = b.ints("axis", &[1], &[1]);
            let step = b.ints("step", &[1], &[step]);
            b.op("Slice", &[x, &start, &end, &axis, &step], &[])
        });
    }
    agrees(&[3, 4], |b, x| {
        let ids = b.ints("ids", &[2, 2], &[0, 2, -1, 1]);
        b.op("Gather", &[x, &ids], &[("axis", Int(1))])
    });
    agrees(&[3, 4], |b, x| {
        let ids = b.ints("ids", &[1, 2, 4], &[0, 1, 2, 0, 1, 2, 0, 1]);
        b.op("GatherElements", &[x, &ids], &[("axis", Int(1))])
    });
    agrees(&[3, 4], |b, x| {
        let ids = b.ints("ids", &[5, 2], &[0, 1, 0, 2, 0, 0, 0, 1, 0, 2]);
        b.op("GatherND", &[x, &ids], &[])
    });
    agrees(&[3, 4], |b, x| {
        let ids = b.ints("ids", &[1, 2], &[0, 1]);
        let updates = weight(b, "updates", &[1, 4]);
        b.op("ScatterND", &[x, &ids, &updates], &[])
    });
    agrees(&[8, 2, 2], |b, x| b.op("DepthToSpace", &[x], &[("blocksize", Int(2))]));
    agrees(&[2, 4, 4], |b, x| {
        let none = b.ints("none", &[0], &[]);
        let none = b.op("Cast", &[&none], &[("to", Int(1))]);
        let scales = b.weight("scales", &[4], &[1.0, 1.0, 2.0, 1.5]);
        b.op("Resize", &[x, &none, &scales], &[("mode", Text("nearest"))])
    });
    agrees(&[6], |b, x| {
        let k = b.ints("k", &[1], &[2]);
        b.op("TopK", &[x, &k], &[])
    });
    agrees(&[3, 4], |b, x| b.op("ArgMax", &[x], &[("axis", Int(-1)), ("keepdims", Int(0))]));
    agrees(&[3, 4], |b, x| {
        let ids = b.op("ArgMax", &[x], &[("axis", Int(-1)), ("keepdims", Int(0))]);
        let depth = b.ints("depth", &[], &[5]);
        let values = b.weight("values", &[2], &[0.0, 1.0]);
        b.op("OneHot", &[&ids, &depth, &values], &[])
    });
}

#[test]
fn reducing() {
    for op in ["ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSumSquare"] {
        agrees(&[3, 4], |b, x| b.op(op, &[x], &[("axes", Ints(vec![-1])), ("keepdims", Int(0))]));
        agrees(&[3, 4], |b, x| b.op(op, &[x], &[]));
    }
}

#[test]
fn windows() {
    agrees(&[3, 8, 8], |b, x| {
        let w = weight(b, "w", &[4, 3, 3, 3]);
        let attributes = [
            ("strides", Ints(vec![2, 1])),
            ("pads", Ints(vec![0, 1, 2, 1])),
            ("dilations", Ints(vec![1, 2])),
        ];
        b.op("Conv", &[x, &w], &attributes)
    });
    agrees(&[4, 8, 8], |b, x| {
        let w = weight(b, "w", &[4, 1, 3, 3]);
        b.op("Conv", &[x, &w], &[("group", Int(4)), ("auto_pad", Text("SAME_LOWER"))])
    });
    agrees(&[4, 9], |b, x| {
        let w = weight(b, "w", &[2, 4, 3]);
        b.op("Conv", &[x, &w], &[])
    });
    agrees(&[4, 5, 5], |b, x| {
        let w = weight(b, "w", &[4, 2, 3, 3]);
        b.op("ConvTranspose", &[x, &w], &[("strides", Ints(vec![2, 2])), ("pads", Ints(vec![1, 1, 1, 1]))])
    });
    for op in ["MaxPool", "AveragePool"] {
        for ceil in [0, 1] {
            agrees(&[2, 7, 8], |b, x| {
                let attributes = [
                    ("kernel_shape", Ints(vec![3, 2])),
                    ("strides", Ints(vec![2, 3])),
                    ("ceil_mode", Int(ceil)),
                ];
                b.op(op, &[x], &attributes)
            });
        }
        agrees(&[2, 7, 8], |b, x| b.op(op, &[x], &[("kernel_shape", Ints(vec![2, 2]))]));
    }
    agrees(&[2, 7, 8], |b, x| b.op("GlobalMaxPool", &[x], &[]));
}

#[test]
fn products() {
    agrees(&[2, 3], |b, x| {
        let w = weight(b, "w", &[4, 1, 3, 5]);
        b.op("MatMul", &[x, &w], &[])
    });
    agrees(&[3], |b, x| {
        let w = weight(b, "w", &[3]);
        b.op("MatMul", &[x, &w], &[])
    });
    agrees(&[2, 3], |b, x| {
        let w = weight(b, "w", &[4, 3]);
        b.op("Einsum", &[x, &w], &[("equation", Text("bij,kj->bik"))])
    });
}

#[test]
fn norms_and_recurrent_cells() {
    agrees(&[3, 4], |b, x| {
        let w = weight(b, "w", &[4]);
        b.op("LayerNormalization", &[x, &w], &[("epsilon", Float(1e-5))])
    });
    agrees(&[4, 3, 3], |b, x| {
        let w = weight(b, "w", &[4]);
        b.op("InstanceNormalization", &[x, &w, &w], &[])
    });
    let gru = ("linear_before_reset", Int(1));
    for (op, gates, more) in [("LSTM", 4, &[][..]), ("GRU", 3, &[gru][..])] {
        agrees(&[2, 6], |b, x| {
            let w = weight(b, "w", &[1, gates * 5, 6]);
            let r = weight(b, "r", &[1, gates * 5, 5]);
            let bias = weight(b, "bias", &[1, 2 * gates * 5]);
            let attributes = [&[("hidden_size", Int(5))], more].concat();
            b.op(op, &[x, &w, &r, &bias], &attributes)
        });
    }
}
