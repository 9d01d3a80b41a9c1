//! Integer products are exact with every kernel.

use tabia_onnx::ErrorKind;
use tabia_onnx::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto, attribute_type, data_type,
};
use tabia_runtime::{InputData, InputTensor, Int8Kernel, Int8Weights, Session};

/// Bytes with their type and shape.
#[derive(Clone, Debug)]
struct Bytes {
    data_type: i32,
    shape: Vec<usize>,
    numbers: Vec<i32>,
}

impl Bytes {
    fn least(data_type: i32) -> i32 {
        if data_type == data_type::INT8 { -128 } else { 0 }
    }

    fn new(data_type: i32, shape: &[usize], number: impl FnMut(usize) -> i32) -> Bytes {
        let numbers: Vec<i32> = (0..shape.iter().product()).map(number).collect();
        let range = Bytes::least(data_type)..=Bytes::least(data_type) + 255;
        assert!(numbers.iter().all(|number| range.contains(number)));
        Bytes { data_type, shape: shape.to_vec(), numbers }
    }

    /// Numbers of the whole range; every third is an end of it, so that kernels that saturate do.
    fn mixed(data_type: i32, shape: &[usize], seed: u32) -> Bytes {
        let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        Bytes::new(data_type, shape, |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let random = (state >> 16) as i32;
            Bytes::least(data_type) + if random % 3 == 0 { 255 * (random / 3 % 2) } else { random / 3 % 256 }
        })
    }

    /// The end of the range that is furthest from zero, everywhere.
    fn extreme(data_type: i32, shape: &[usize]) -> Bytes {
        Bytes::new(data_type, shape, |_| if data_type == data_type::INT8 { -128 } else { 255 })
    }

    fn zero_point(&self, shape: &[usize]) -> Bytes {
        let count = shape.iter().product::<usize>();
        let spread = |i: usize| Bytes::least(self.data_type) + ((i * 97 + 3 * count) % 256) as i32;
        Bytes::new(self.data_type, shape, spread)
    }

    fn initializer(&self, name: &str) -> TensorProto {
        TensorProto {
            name: name.to_owned(),
            dims: self.shape.iter().map(|&dim| dim as i64).collect(),
            data_type: self.data_type,
            raw_data: self.numbers.iter().map(|&number| number as u8).collect(),
            ..TensorProto::default()
        }
    }

    fn input(&self, name: &str) -> ValueInfoProto {
        info(name, self.data_type, &self.shape)
    }

    fn given(&self) -> InputTensor<'_> {
        InputTensor { shape: &self.shape, data: InputData::Ids(&self.numbers) }
    }

    fn at(&self, index: &[usize]) -> i32 {
        let flat = self.shape.iter().zip(index).fold(0, |flat, (&dim, &i)| flat * dim + i);
        self.numbers[flat]
    }
}

fn info(name: &str, elem_type: i32, shape: &[usize]) -> ValueInfoProto {
    let dim = |&dim: &usize| DimensionProto { dim_value: Some(dim as i64), dim_param: None };
    let shape = Some(TensorShapeProto { dim: shape.iter().map(dim).collect() });
    let tensor_type = Some(TensorTypeProto { elem_type, shape });
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type }) }
}

/// One product of `left` and `right` with their zero points. `right` is a weight, or an input too.
#[derive(Clone)]
struct Case {
    op: &'static str,
    left: Bytes,
    right: Bytes,
    zeros: [Option<Bytes>; 2],
    right_is_weight: bool,
    attributes: Vec<AttributeProto>,
    output: Vec<usize>,
}

impl Case {
    fn model(&self) -> ModelProto {
        let mut initializer = Vec::new();
        let mut input = vec![self.left.input("left")];
        if self.right_is_weight {
            initializer.push(self.right.initializer("right"));
        } else {
            input.push(self.right.input("right"));
        }
        let mut names = vec!["left".to_owned(), "right".to_owned()];
        for (zero, name) in self.zeros.iter().zip(["left_zero", "right_zero"]) {
            initializer.extend(zero.iter().map(|zero| zero.initializer(name)));
            names.push(zero.as_ref().map_or_else(String::new, |_| name.to_owned()));
        }
        let product = NodeProto {
            op_type: self.op.to_owned(),
            input: names,
            output: vec!["y".to_owned()],
            attribute: self.attributes.clone(),
            ..NodeProto::default()
        };
        let graph = GraphProto {
            node: vec![product],
            initializer,
            input,
            output: vec![info("y", data_type::INT32, &self.output)],
            ..GraphProto::default()
        };
        ModelProto {
            ir_version: 8,
            graph: Some(graph),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 17 }],
            ..ModelProto::default()
        }
    }

    fn run(&self, session: &Session) -> Vec<i32> {
        let mut inputs = vec![self.left.given()];
        if !self.right_is_weight {
            inputs.push(self.right.given());
        }
        let outputs = session.run(&inputs).expect("the product runs");
        assert_eq!(outputs[0].shape, self.output);
        // Outputs are floats; sums here are below 2^24.
        outputs[0].values.iter().map(|&value| value as i32).collect()
    }

    /// The numbers found in every way that is exact here.
    fn check(&self, exact: &[i32], what: &str) {
        let kernel = Int8Kernel::detect();
        let chosen = Session::new(self.model()).expect("the product loads");
        assert_eq!(chosen.int8(), Some(kernel));
        assert_eq!(self.run(&chosen), exact, "{what} by {kernel}");
        let split = Session::with_int8_weights(self.model(), Int8Weights::Split).expect("the product loads");
        assert_eq!(split.int8(), Some(Int8Kernel { weights: Int8Weights::Split, ..kernel }));
        assert_eq!(self.run(&split), exact, "{what} by {} with split weights", kernel.name);
    }
}

const TYPES: [i32; 2] = [data_type::UINT8, data_type::INT8];

/// `left` (rows, inner) times `right` (inner, columns).
fn matmul(left: Bytes, right: Bytes, zeros: [Option<Bytes>; 2], right_is_weight: bool) -> (Case, Vec<i32>) {
    let (&[rows, inner], &[_, columns]) = (&left.shape[..], &right.shape[..]) else { panic!("matrices") };
    let zero = |zero: &Option<Bytes>, index: usize| {
        zero.as_ref().map_or(0, |zero| zero.numbers[if zero.numbers.len() == 1 { 0 } else { index }])
    };
    let mut exact = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let product = |k: usize| {
                (left.at(&[row, k]) - zero(&zeros[0], row))
                    * (right.at(&[k, column]) - zero(&zeros[1], column))
            };
            exact.push((0..inner).map(product).sum());
        }
    }
    let (op, output) = ("MatMulInteger", vec![rows, columns]);
    (Case { op, left, right, zeros, right_is_weight, attributes: Vec::new(), output }, exact)
}

#[test]
fn matrix_products_are_exact() {
    for (seed, [rows, inner, columns]) in
        [[1, 64, 40], [1, 3, 5], [7, 257, 33], [2, 1, 1], [19, 30, 100]].into_iter().enumerate()
    {
        for left_type in TYPES {
            for right_type in TYPES {
                let seed = seed as u32;
                let left = Bytes::mixed(left_type, &[rows, inner], seed);
                let right = Bytes::mixed(right_type, &[inner, columns], seed + 9);
                let zeros = [
                    [None, None],
                    [Some(left.zero_point(&[])), Some(right.zero_point(&[]))],
                    [Some(left.zero_point(&[rows])), Some(right.zero_point(&[columns]))],
                ];
                for (zeros, right_is_weight) in
                    zeros.into_iter().flat_map(|z| [(z.clone(), true), (z, false)])
                {
                    let what = format!(
                        "{rows}x{inner}x{columns}, types {left_type} {right_type}, zeros {zeros:?}, weight {right_is_weight}"
                    );
                    let (case, exact) = matmul(left.clone(), right.clone(), zeros, right_is_weight);
                    case.check(&exact, &what);
                }
            }
        }
    }
}

#[test]
fn extreme_products_are_exact() {
    for left_type in TYPES {
        for right_type in TYPES {
            for rows in [1, 9] {
                let left = Bytes::extreme(left_type, &[rows, 96]);
                let right = Bytes::extreme(right_type, &[96, 35]);
                let (case, exact) = matmul(left, right, [None, None], true);
                case.check(&exact, &format!("extremes of types {left_type} and {right_type}, {rows} rows"));
            }
        }
    }
}

/// An activation after a ReLU: nothing is below the zero point, which is the least number there is.
#[test]
fn minimum_zero_point_is_exact() {
    let left = Bytes::new(data_type::INT8, &[3, 32], |i| (i % 100) as i32);
    let right = Bytes::mixed(data_type::INT8, &[32, 18], 5);
    let zero = Bytes::new(data_type::INT8, &[], |_| -128);
    let (case, exact) = matmul(left, right, [Some(zero), None], true);
    case.check(&exact, "zero point -128");
}

/// Should this fail, rten's kernels have become exact and the split is no longer needed.
#[test]
fn whole_weights_are_wrong_where_the_kernel_saturates() {
    let left = Bytes::extreme(data_type::UINT8, &[2, 4]);
    let right = Bytes::new(data_type::INT8, &[4, 2], |_| 127);
    let (case, exact) = matmul(left, right, [None, None], true);
    assert_eq!(exact, [4 * 255 * 127; 4]);
    let found = case.run(&Session::with_int8_weights(case.model(), Int8Weights::Whole).unwrap());
    match Int8Kernel::detect().weights {
        Int8Weights::Whole => assert_eq!(found, exact),
        Int8Weights::Split => assert_eq!(found, [2 * 32767; 4]),
    }
}

/// A convolution's window.
#[derive(Clone, Copy, Debug)]
struct Window {
    groups: usize,
    stride: usize,
    dilation: usize,
    /// Top, left, bottom, right; found by the runtime where there is none.
    pads: Option<[usize; 4]>,
}

/// `image` (1, channels, rows, columns) convolved with `filters`.
fn convolution(image: Bytes, filters: Bytes, zeros: [Option<Bytes>; 2], window: Window) -> (Case, Vec<i32>) {
    let (&[1, channels, height, width], &[outer, inner, kernel, _]) = (&image.shape[..], &filters.shape[..])
    else {
        panic!("one image and square filters")
    };
    let Window { groups, stride, dilation, pads } = window;
    assert_eq!(inner * groups, channels);
    let reach = (kernel - 1) * dilation + 1;
    let same = |dim: usize| ((dim.div_ceil(stride) - 1) * stride + reach).saturating_sub(dim);
    let (tall, wide) = (same(height), same(width));
    let [top, left, bottom, right] = pads.unwrap_or([tall / 2, wide / 2, tall - tall / 2, wide - wide / 2]);
    let zero = |index: usize| zeros[index].as_ref().map_or(0, |zero| zero.numbers[0]);
    let rows = (height + top + bottom - reach) / stride + 1;
    let columns = (width + left + right - reach) / stride + 1;
    let mut exact = Vec::new();
    for filter in 0..outer {
        let first_channel = filter / (outer / groups) * inner;
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let mut sum = 0;
            for (channel, i, j) in
                (0..inner).flat_map(|c| (0..kernel).flat_map(move |i| (0..kernel).map(move |j| (c, i, j))))
            {
                let at = (row * stride + i * dilation).checked_sub(top).filter(|&y| y < height);
                let at = at.zip((column * stride + j * dilation).checked_sub(left).filter(|&x| x < width));
                // What is around the image stands for zero.
                let pixel = at.map_or(0, |(y, x)| image.at(&[0, first_channel + channel, y, x]) - zero(0));
                sum += pixel * (filters.at(&[filter, channel, i, j]) - zero(1));
            }
            exact.push(sum);
        }
    }
    let ints = |name: &str, ints: &[usize]| AttributeProto {
        name: name.to_owned(),
        ints: ints.iter().map(|&i| i as i64).collect(),
        r#type: attribute_type::INTS,
        ..AttributeProto::default()
    };
    let mut attributes = vec![ints("strides", &[stride; 2]), ints("dilations", &[dilation; 2])];
    attributes.push(AttributeProto {
        name: "group".to_owned(),
        i: Some(groups as i64),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    });
    attributes.push(pads.map_or_else(
        || AttributeProto {
            name: "auto_pad".to_owned(),
            s: Some(b"SAME_UPPER".to_vec()),
            r#type: attribute_type::STRING,
            ..AttributeProto::default()
        },
        |pads| ints("pads", &pads),
    ));
    let output = vec![1, outer, rows, columns];
    let (op, left, right) = ("ConvInteger", image, filters);
    (Case { op, left, right, zeros, right_is_weight: true, attributes, output }, exact)
}

#[test]
fn convolutions_are_exact() {
    let plain = Window { groups: 1, stride: 1, dilation: 1, pads: Some([0; 4]) };
    let windows = [
        plain,
        Window { pads: Some([1; 4]), ..plain },
        Window { pads: Some([2, 0, 1, 3]), stride: 2, ..plain },
        Window { pads: None, ..plain },
        Window { pads: None, stride: 2, ..plain },
        Window { pads: Some([2; 4]), dilation: 2, groups: 2, ..plain },
        // One filter a channel has a path of its own in the runtime.
        Window { pads: Some([1; 4]), groups: 8, ..plain },
    ];
    for (seed, window) in windows.into_iter().enumerate() {
        for (image_type, filter_type) in TYPES.into_iter().flat_map(|a| TYPES.map(|b| (a, b))) {
            for kernel in [1, 3] {
                let image = Bytes::mixed(image_type, &[1, 8, 8, 7], seed as u32);
                let filters =
                    Bytes::mixed(filter_type, &[8, 8 / window.groups, kernel, kernel], seed as u32 + 5);
                let zeros = [[None, None], [Some(image.zero_point(&[])), Some(filters.zero_point(&[]))]];
                for zeros in zeros {
                    let what =
                        format!("{window:?}, {kernel}, types {image_type} {filter_type}, zeros {zeros:?}");
                    let (case, exact) = convolution(image.clone(), filters.clone(), zeros, window);
                    case.check(&exact, &what);
                }
            }
        }
    }
}

#[test]
fn extreme_convolutions_are_exact() {
    for (image_type, filter_type) in TYPES.into_iter().flat_map(|a| TYPES.map(|b| (a, b))) {
        let image = Bytes::extreme(image_type, &[1, 16, 8, 8]);
        let filters = Bytes::extreme(filter_type, &[5, 16, 3, 3]);
        let window = Window { groups: 1, stride: 1, dilation: 1, pads: Some([1; 4]) };
        let (case, exact) = convolution(image, filters, [None, None], window);
        case.check(&exact, &format!("extremes of types {image_type} and {filter_type}"));
    }
}

/// The size of the padding follows from the size of the board, which is not known when the graph is loaded.
#[test]
fn auto_pad_of_unknown_size_is_rejected() {
    let window = Window { groups: 1, stride: 2, dilation: 1, pads: None };
    let image = Bytes::mixed(data_type::UINT8, &[1, 2, 5, 5], 1);
    let filters = Bytes::mixed(data_type::INT8, &[3, 2, 3, 3], 2);
    let (case, _) = convolution(image, filters, [None, None], window);
    let mut model = case.model();
    let graph = model.graph.as_mut().unwrap();
    let shape = graph.input[0].r#type.as_mut().unwrap().tensor_type.as_mut().unwrap().shape.as_mut().unwrap();
    shape.dim[2] = DimensionProto { dim_value: None, dim_param: Some("height".to_owned()) };
    let error = Session::new(model).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

#[test]
fn float_network_has_no_integer_kernel() {
    let bytes = include_bytes!("../../../fixtures/models/matmul-mlp.onnx");
    let model = tabia_onnx::read::parse(bytes).unwrap();
    assert_eq!(Session::new(model).unwrap().int8(), None);
}
