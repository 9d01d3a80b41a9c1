//! Building ONNX graphs operator by operator.

use super::proto::{
    AttributeProto, DimensionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto,
    StringStringEntryProto, TensorProto, TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
    attribute_type, data_type,
};

/// The opset of our own graphs.
pub const OPSET: i64 = 17;

/// A value inside the graph being built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node(String);

/// An attribute of an operator.
#[derive(Clone, Debug)]
pub enum Attribute {
    /// An integer.
    Int(i64),
    /// A float.
    Float(f32),
    /// Integers.
    Ints(Vec<i64>),
    /// A string, such as a padding mode.
    Text(&'static str),
}

/// Builds a [`ModelProto`]. The first dimension of every input and output is the free batch dimension.
#[derive(Debug)]
pub struct GraphBuilder {
    graph: GraphProto,
    metadata: Vec<StringStringEntryProto>,
    next: usize,
}

impl GraphBuilder {
    /// An empty graph.
    pub fn new(name: &str) -> Self {
        let graph = GraphProto { name: name.to_owned(), ..GraphProto::default() };
        GraphBuilder { graph, metadata: Vec::new(), next: 0 }
    }

    /// Adds an input of 32-bit floats; `shape` leaves out the batch.
    pub fn input(&mut self, name: &str, shape: &[usize]) -> Node {
        self.graph.input.push(tensor_info(name, data_type::FLOAT, shape));
        Node(name.to_owned())
    }

    /// Adds an input of token ids; `shape` leaves out the batch.
    pub fn id_input(&mut self, name: &str, shape: &[usize]) -> Node {
        self.graph.input.push(tensor_info(name, data_type::INT64, shape));
        Node(name.to_owned())
    }

    /// Adds a weight tensor. Without data it is a placeholder: such a graph can be checked but not run.
    pub fn weight(&mut self, name: &str, shape: &[usize], data: &[f32]) -> Node {
        debug_assert!(data.is_empty() || shape.iter().product::<usize>() == data.len(), "{name}");
        let raw_data = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(name, data_type::FLOAT, shape, raw_data)
    }

    /// The same from data that is not needed elsewhere: a large tensor is not in memory twice.
    pub fn take_weight(&mut self, name: &str, shape: &[usize], data: Vec<f32>) -> Node {
        debug_assert!(data.is_empty() || shape.iter().product::<usize>() == data.len(), "{name}");
        self.initializer(name, data_type::FLOAT, shape, into_bytes(data))
    }

    /// The constant of this name, if there is one.
    pub fn constant(&self, name: &str) -> Option<Node> {
        self.graph.initializer.iter().any(|there| there.name == name).then(|| Node(name.to_owned()))
    }

    /// Adds an integer constant: a shape, axes, indices.
    pub fn ints(&mut self, name: &str, shape: &[usize], data: &[i64]) -> Node {
        debug_assert_eq!(shape.iter().product::<usize>(), data.len(), "{name}");
        let raw_data = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(name, data_type::INT64, shape, raw_data)
    }

    /// An existing name is the same constant: layers may share weights.
    fn initializer(&mut self, name: &str, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> Node {
        if let Some(there) = self.graph.initializer.iter().find(|there| there.name == name) {
            debug_assert!(
                there.raw_data == raw_data && there.data_type == data_type,
                "two constants named {name}"
            );
            return Node(name.to_owned());
        }
        self.graph.initializer.push(TensorProto {
            dims: shape.iter().map(|&d| d as i64).collect(),
            data_type,
            name: name.to_owned(),
            raw_data,
            ..TensorProto::default()
        });
        Node(name.to_owned())
    }

    /// Adds an operator with one output.
    pub fn op(&mut self, op_type: &str, inputs: &[&Node], attributes: &[(&str, Attribute)]) -> Node {
        let name = format!("{}_{}", op_type.to_lowercase(), self.next);
        self.next += 1;
        self.graph.node.push(NodeProto {
            input: inputs.iter().map(|n| n.0.clone()).collect(),
            output: vec![name.clone()],
            name: name.clone(),
            op_type: op_type.to_owned(),
            attribute: attributes.iter().map(|(name, value)| attribute(name, value)).collect(),
            ..NodeProto::default()
        });
        Node(name)
    }

    /// Names `value` as an output; `shape` leaves out the batch.
    pub fn output(&mut self, value: &Node, name: &str, shape: &[usize]) {
        self.graph.node.push(NodeProto {
            input: vec![value.0.clone()],
            output: vec![name.to_owned()],
            name: format!("output_{name}"),
            op_type: "Identity".to_owned(),
            ..NodeProto::default()
        });
        self.graph.output.push(tensor_info(name, data_type::FLOAT, shape));
    }

    /// Adds a metadata entry.
    pub fn metadata(&mut self, key: &str, value: &str) {
        self.metadata.push(StringStringEntryProto { key: key.to_owned(), value: value.to_owned() });
    }

    /// The finished model.
    pub fn finish(self) -> ModelProto {
        ModelProto {
            ir_version: 8,
            producer_name: "tabia".to_owned(),
            producer_version: env!("CARGO_PKG_VERSION").to_owned(),
            graph: Some(self.graph),
            opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
            metadata_props: self.metadata,
        }
    }
}

/// Floats that [`into_bytes`] moves at a time.
const MOVED_AT_ONCE: usize = 4 << 20;

/// The bytes of floats. The memory of what has been moved is given back piece by piece, from the end.
fn into_bytes(mut floats: Vec<f32>) -> Vec<u8> {
    // Zeros take no memory until they are written.
    let mut bytes = vec![0; 4 * floats.len()];
    while !floats.is_empty() {
        let from = floats.len().saturating_sub(MOVED_AT_ONCE);
        let (places, _) = bytes.as_chunks_mut::<4>();
        for (place, float) in places.iter_mut().zip(&floats).skip(from) {
            *place = float.to_le_bytes();
        }
        floats.truncate(from);
        floats.shrink_to_fit();
    }
    bytes
}

/// A named attribute of an operator.
pub fn attribute(name: &str, value: &Attribute) -> AttributeProto {
    let base = AttributeProto { name: name.to_owned(), ..AttributeProto::default() };
    match value {
        Attribute::Int(i) => AttributeProto { i: Some(*i), r#type: attribute_type::INT, ..base },
        Attribute::Float(f) => AttributeProto { f: Some(*f), r#type: attribute_type::FLOAT, ..base },
        Attribute::Ints(ints) => AttributeProto { ints: ints.clone(), r#type: attribute_type::INTS, ..base },
        Attribute::Text(s) => {
            AttributeProto { s: Some(s.as_bytes().to_vec()), r#type: attribute_type::STRING, ..base }
        }
    }
}

fn tensor_info(name: &str, elem_type: i32, shape: &[usize]) -> ValueInfoProto {
    let batch = DimensionProto { dim_value: None, dim_param: Some("batch".to_owned()) };
    let fixed = |&d: &usize| DimensionProto { dim_value: Some(d as i64), dim_param: None };
    let dim = std::iter::once(batch).chain(shape.iter().map(fixed)).collect();
    let tensor = TensorTypeProto { elem_type, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_their_bytes_in_order() {
        for len in [0, 1, MOVED_AT_ONCE, MOVED_AT_ONCE + 3] {
            let floats: Vec<f32> = (0..len).map(|i| i as f32 - 7.5).collect();
            let bytes: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
            assert!(into_bytes(floats) == bytes, "{len}");
        }
    }
}
