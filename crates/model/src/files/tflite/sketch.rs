//! TFLite files for tests, written with the `flatbuffers` crate.

use flatbuffers::{FlatBufferBuilder, TableFinishedWIPOffset, VOffsetT, WIPOffset};

type Offset = WIPOffset<TableFinishedWIPOffset>;

/// A file to write. Tensor `i` has its data in buffer `i + 1`; buffer 0 is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Sketch {
    pub(super) tensors: Vec<TensorSketch>,
    pub(super) operators: Vec<OperatorSketch>,
    pub(super) inputs: Vec<i32>,
    pub(super) outputs: Vec<i32>,
    /// Name and tensor of the signature's inputs, in the signature's order.
    pub(super) signature: Vec<(&'static str, u32)>,
    pub(super) description: &'static str,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TensorSketch {
    pub(super) name: String,
    pub(super) shape: Vec<i32>,
    /// 0 FLOAT32, 1 FLOAT16, 2 INT32, 9 INT8.
    pub(super) element: i8,
    pub(super) data: Vec<u8>,
    pub(super) scales: Vec<f32>,
    pub(super) zero_points: Vec<i64>,
    pub(super) quantised_dimension: i32,
    /// Uses another tensor's buffer.
    pub(super) shares: Option<u32>,
    /// Declares an offset outside the flatbuffer.
    pub(super) outside: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct OperatorSketch {
    pub(super) code: i32,
    pub(super) custom: Option<&'static str>,
    pub(super) inputs: Vec<i32>,
    pub(super) outputs: Vec<i32>,
    pub(super) options_type: u8,
    pub(super) options: Vec<(usize, OptionSketch)>,
}

#[derive(Clone, Debug)]
pub(super) enum OptionSketch {
    Byte(i8),
    Int(i32),
    Ints(Vec<i32>),
}

impl Sketch {
    /// Adds a tensor and gives its index.
    pub(super) fn tensor(&mut self, tensor: TensorSketch) -> i32 {
        self.tensors.push(tensor);
        self.tensors.len() as i32 - 1
    }

    /// Adds a value computed at run time.
    pub(super) fn value(&mut self, name: &str, shape: &[i32]) -> i32 {
        self.tensor(TensorSketch { name: name.to_owned(), shape: shape.to_vec(), ..Default::default() })
    }

    /// Adds an input.
    pub(super) fn input(&mut self, name: &str, shape: &[i32]) -> i32 {
        let index = self.value(name, shape);
        self.inputs.push(index);
        index
    }

    /// Adds a weight of floats.
    pub(super) fn weight(&mut self, name: &str, shape: &[i32], values: &[f32]) -> i32 {
        let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let (name, shape) = (name.to_owned(), shape.to_vec());
        self.tensor(TensorSketch { name, shape, data, ..Default::default() })
    }

    /// Adds an operator without options.
    pub(super) fn op(&mut self, code: i32, inputs: &[i32], output: i32) -> &mut OperatorSketch {
        self.operators.push(OperatorSketch {
            code,
            inputs: inputs.to_vec(),
            outputs: vec![output],
            ..Default::default()
        });
        self.operators.last_mut().expect("an operator was just added")
    }

    /// Adds a dense layer with a fused activation.
    pub(super) fn dense(&mut self, inputs: &[i32], output: i32, activation: i8) {
        let op = self.op(super::operator_names::FULLY_CONNECTED, inputs, output);
        op.options_type = 8;
        op.options = vec![(0, OptionSketch::Byte(activation))];
    }

    /// The file.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = FlatBufferBuilder::new();
        let mut buffers = vec![table(&mut out, |_| {})];
        let mut tensors = Vec::new();
        for (i, tensor) in self.tensors.iter().enumerate() {
            buffers.push(write_buffer(&mut out, tensor));
            tensors.push(write_tensor(&mut out, tensor, i as u32 + 1));
        }
        let mut codes = Vec::new();
        let mut operators = Vec::new();
        for (i, operator) in self.operators.iter().enumerate() {
            codes.push(write_code(&mut out, operator));
            operators.push(write_operator(&mut out, operator, i as u32));
        }
        let maps: Vec<Offset> = self
            .signature
            .iter()
            .map(|&(name, tensor)| {
                let name = out.create_string(name);
                table(&mut out, |t| {
                    t.push_slot_always(slot(0), name);
                    t.push_slot_always(slot(1), tensor);
                })
            })
            .collect();
        let maps = out.create_vector(&maps);
        let key = out.create_string("serving_default");
        let signature = table(&mut out, |t| {
            t.push_slot_always(slot(0), maps);
            t.push_slot_always(slot(2), key);
        });
        let signatures =
            out.create_vector(if self.signature.is_empty() { &[] } else { std::slice::from_ref(&signature) });

        let tensors = out.create_vector(&tensors);
        let inputs = out.create_vector(&self.inputs);
        let outputs = out.create_vector(&self.outputs);
        let operators = out.create_vector(&operators);
        let subgraph = table(&mut out, |t| {
            t.push_slot_always(slot(0), tensors);
            t.push_slot_always(slot(1), inputs);
            t.push_slot_always(slot(2), outputs);
            t.push_slot_always(slot(3), operators);
        });
        let subgraphs = out.create_vector(&[subgraph]);
        let codes = out.create_vector(&codes);
        let buffers = out.create_vector(&buffers);
        let description = out.create_string(self.description);
        let model = table(&mut out, |t| {
            t.push_slot_always(slot(0), 3u32);
            t.push_slot_always(slot(1), codes);
            t.push_slot_always(slot(2), subgraphs);
            t.push_slot_always(slot(3), description);
            t.push_slot_always(slot(4), buffers);
            t.push_slot_always(slot(7), signatures);
        });
        out.finish(model, Some("TFL3"));
        out.finished_data().to_vec()
    }
}

fn slot(field: usize) -> VOffsetT {
    4 + 2 * field as VOffsetT
}

fn table(out: &mut FlatBufferBuilder<'_>, fields: impl FnOnce(&mut FlatBufferBuilder<'_>)) -> Offset {
    let start = out.start_table();
    fields(out);
    let end = out.end_table(start);
    WIPOffset::new(end.value())
}

fn write_buffer(out: &mut FlatBufferBuilder<'_>, tensor: &TensorSketch) -> Offset {
    let data = out.create_vector(&tensor.data);
    table(out, |t| {
        t.push_slot_always(slot(0), data);
        t.push_slot(slot(1), tensor.outside, 0u64);
    })
}

fn write_tensor(out: &mut FlatBufferBuilder<'_>, tensor: &TensorSketch, buffer: u32) -> Offset {
    let scales = out.create_vector(&tensor.scales);
    let zero_points = out.create_vector(&tensor.zero_points);
    let quantization = table(out, |t| {
        t.push_slot_always(slot(2), scales);
        t.push_slot_always(slot(3), zero_points);
        t.push_slot_always(slot(6), tensor.quantised_dimension);
    });
    let shape = out.create_vector(&tensor.shape);
    let name = out.create_string(&tensor.name);
    table(out, |t| {
        t.push_slot_always(slot(0), shape);
        t.push_slot_always(slot(1), tensor.element);
        t.push_slot_always(slot(2), tensor.shares.map_or(buffer, |other| other + 1));
        t.push_slot_always(slot(3), name);
        t.push_slot_always(slot(4), quantization);
    })
}

fn write_code(out: &mut FlatBufferBuilder<'_>, operator: &OperatorSketch) -> Offset {
    let custom = operator.custom.map(|name| out.create_string(name));
    table(out, |t| {
        t.push_slot_always(slot(0), operator.code.min(127) as i8);
        t.push_slot_always(slot(3), operator.code);
        if let Some(custom) = custom {
            t.push_slot_always(slot(1), custom);
        }
    })
}

fn write_operator(out: &mut FlatBufferBuilder<'_>, operator: &OperatorSketch, code: u32) -> Offset {
    let inputs = out.create_vector(&operator.inputs);
    let outputs = out.create_vector(&operator.outputs);
    let vectors: Vec<_> = operator
        .options
        .iter()
        .map(|(_, option)| match option {
            OptionSketch::Ints(ints) => Some(out.create_vector(ints)),
            OptionSketch::Byte(_) | OptionSketch::Int(_) => None,
        })
        .collect();
    let options = table(out, |t| {
        for ((field, option), vector) in operator.options.iter().zip(vectors) {
            match (option, vector) {
                (OptionSketch::Byte(byte), _) => t.push_slot_always(slot(*field), *byte),
                (OptionSketch::Int(int), _) => t.push_slot_always(slot(*field), *int),
                (OptionSketch::Ints(_), vector) => {
                    t.push_slot_always(slot(*field), vector.expect("written above"));
                }
            }
        }
    });
    table(out, |t| {
        t.push_slot_always(slot(0), code);
        t.push_slot_always(slot(1), inputs);
        t.push_slot_always(slot(2), outputs);
        t.push_slot_always(slot(3), operator.options_type);
        t.push_slot_always(slot(4), options);
    })
}
