//! Weights of model files whose tensors lie as an exported graph has them: ONNX files that we wrote, and NumPy archives with
//! their names.
//!
//! A graph has some matrices transposed. Which ones, and how, is found by lowering the network with the places of its
//! elements in place of their values.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::{Cursor, Read};

use tabia_encoding::NpyHeader;
use tabia_onnx::lower::to_onnx;
use tabia_onnx::proto::{ModelProto, TensorProto, data_type};
use tabia_onnx::read;

use crate::{NetConfig, ParameterTable};

/// The shape and elements of a tensor.
pub(crate) type Found = (Vec<usize>, Vec<f32>);

/// Places up to here are whole numbers of 32 bits.
const LARGEST: usize = 1 << 24;
/// No network here has a tensor of more elements: a larger one is damaged.
const MOST_ELEMENTS: usize = 1 << 28;

/// Whether these are the bytes of a NumPy archive (a PyTorch file is a zip archive, too).
pub(crate) fn is_npz(bytes: &[u8]) -> bool {
    zip::ZipArchive::new(Cursor::new(bytes))
        .is_ok_and(|archive| archive.file_names().any(|name| name.is_ok_and(|name| name.ends_with(".npy"))))
}

/// The parameters of `net` in an ONNX file.
pub(crate) fn of_onnx(bytes: &[u8], net: &NetConfig) -> Result<BTreeMap<String, Found>, String> {
    let model = read::parse(bytes).map_err(|error| error.to_string())?;
    let layout = GraphLayout::of(net)?;
    let tensors = Initializers::of(&model);
    let mut found = BTreeMap::new();
    for entry in layout.table.entries() {
        let Some(((shape, data), transposed)) = tensors.floats(&entry.name)? else { continue };
        let placed = match (transposed, entry.shape.as_slice()) {
            (true, &[outputs, inputs]) if shape == [inputs, outputs] => transpose(&data, inputs, outputs),
            _ => layout.place(&entry.name, &shape, &data)?,
        };
        found.insert(entry.name.clone(), (entry.shape.clone(), placed));
    }
    Ok(found)
}

/// The parameters of `net` in a NumPy archive, laid out as in a state dict or as in a graph.
pub(crate) fn of_npz(bytes: &[u8], net: &NetConfig) -> Result<BTreeMap<String, Found>, String> {
    let arrays = arrays(bytes)?;
    let layout = GraphLayout::of(net)?;
    let entries =
        || layout.table.entries().iter().filter_map(|entry| Some((entry, arrays.get(&entry.name)?)));
    let as_dict = entries().all(|(entry, (shape, _))| *shape == entry.shape);
    let as_graph = entries().all(|(entry, (shape, _))| layout.shape(&entry.name) == Some(shape.as_slice()));
    if !as_graph {
        // What does not fit is reported by its name.
        return Ok(arrays);
    }
    let placed: Result<BTreeMap<String, Found>, String> = entries()
        .map(|(entry, (shape, data))| {
            let placed = layout.place(&entry.name, shape, data)?;
            Ok((entry.name.clone(), (entry.shape.clone(), placed)))
        })
        .collect();
    let placed = placed?;
    let same = || {
        entries().all(|(entry, (_, data))| placed.get(&entry.name).is_some_and(|(_, other)| other == data))
    };
    if as_dict && !same() {
        return Err("all its matrices are square: whether they are transposed cannot be told".to_owned());
    }
    Ok(placed)
}

/// How a graph lays out the parameters of a network.
struct GraphLayout {
    table: ParameterTable,
    /// By name: the shape in the graph, and for each element its place in the parameter.
    places: BTreeMap<String, Found>,
}

impl GraphLayout {
    fn of(net: &NetConfig) -> Result<GraphLayout, String> {
        let table = net.table();
        let mut arena = vec![0.0; table.arena_len()];
        for entry in table.entries() {
            if entry.len() > LARGEST {
                return Err(format!("{} is too large to be read from a graph", entry.name));
            }
            entry.of_mut(&mut arena).iter_mut().enumerate().for_each(|(place, x)| *x = place as f32);
        }
        let graph = to_onnx(net, &table, &net.inputs(), |entry| entry.of(&arena));
        let graph = graph.map_err(|error| error.to_string())?;
        let initializers = graph.graph.into_iter().flat_map(|graph| graph.initializer);
        let mut places = BTreeMap::new();
        for tensor in initializers.filter(|tensor| tensor.data_type == data_type::FLOAT) {
            let data = read::floats(&tensor).map_err(|error| error.to_string())?;
            places.insert(tensor.name.clone(), (shape_of(&tensor), data));
        }
        Ok(GraphLayout { table, places })
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.places.get(name).map(|(shape, _)| shape.as_slice())
    }

    /// The elements of a tensor of the graph in the order of the parameter.
    fn place(&self, name: &str, shape: &[usize], data: &[f32]) -> Result<Vec<f32>, String> {
        let (expected, places) = self.places.get(name).ok_or_else(|| format!("a graph has no {name}"))?;
        if shape != expected.as_slice() || data.len() != places.len() {
            return Err(format!("{name} has shape {shape:?}, a graph of this network {expected:?}"));
        }
        let mut placed = vec![0.0; data.len()];
        for (&place, &value) in places.iter().zip(data) {
            if let Some(to) = placed.get_mut(place as usize) {
                *to = value;
            }
        }
        Ok(placed)
    }
}

fn shape_of(tensor: &TensorProto) -> Vec<usize> {
    tensor.dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect()
}

fn transpose(data: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let column = |column: usize| data.iter().skip(column).step_by(columns).copied();
    debug_assert_eq!(data.len(), rows * columns);
    (0..columns).flat_map(column).collect()
}

/// The constants of a graph by name.
struct Initializers<'a> {
    model: &'a ModelProto,
    by_name: BTreeMap<&'a str, &'a TensorProto>,
}

impl<'a> Initializers<'a> {
    fn of(model: &'a ModelProto) -> Initializers<'a> {
        let all = model.graph.iter().flat_map(|graph| &graph.initializer);
        Initializers { model, by_name: all.map(|tensor| (tensor.name.as_str(), tensor)).collect() }
    }

    /// A parameter as floats, whatever its precision, and whether it is transposed whatever a graph of floats does.
    fn floats(&self, name: &str) -> Result<Option<(Found, bool)>, String> {
        let of = |tensor: &TensorProto| read::floats(tensor).map_err(|error| error.to_string());
        if let Some(tensor) = self.by_name.get(name) {
            return Ok(Some(((shape_of(tensor), of(tensor)?), false)));
        }
        if let Some(tensor) = self.by_name.get(format!("{name}_half").as_str()) {
            return Ok(Some(((shape_of(tensor), of(tensor)?), false)));
        }
        let numbers = format!("{name}_int8");
        let scales = self.by_name.get(format!("{name}_scales").as_str());
        let (Some(tensor), Some(scales)) = (self.by_name.get(numbers.as_str()), scales) else {
            return Ok(None);
        };
        let (shape, scales) = (shape_of(tensor), of(scales)?);
        let integers = read::ints(tensor).map_err(|error| error.to_string())?;
        // The axis of the outputs.
        let read_back = self.read_back_axis(&numbers);
        let axis = read_back.unwrap_or(if shape.len() == 2 { 1 } else { 0 });
        let step: usize = shape.iter().skip(axis + 1).product::<usize>().max(1);
        let count = scales.len().max(1);
        let scale = |place: usize| scales.get(place / step % count).copied().unwrap_or(1.0);
        let data = integers.iter().enumerate().map(|(place, &n)| n as f32 * scale(place)).collect();
        // Integer products take `[inputs, outputs]`.
        let transposed = read_back.is_none() && shape.len() == 2;
        Ok(Some(((shape, data), transposed)))
    }

    /// The axis of the scales, where weights are read back as floats.
    fn read_back_axis(&self, numbers: &str) -> Option<usize> {
        let mut nodes = self.model.graph.iter().flat_map(|graph| &graph.node);
        let node = nodes.find(|node| {
            node.op_type == "DequantizeLinear" && node.input.first().is_some_and(|name| name == numbers)
        })?;
        let axis = node.attribute.iter().find(|attribute| attribute.name == "axis").and_then(|axis| axis.i);
        Some(axis.and_then(|axis| usize::try_from(axis).ok()).unwrap_or(1))
    }
}

/// The arrays of a NumPy archive: 32-bit floats in C order.
fn arrays(bytes: &[u8]) -> Result<BTreeMap<String, Found>, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|error| error.to_string())?;
    let mut arrays = BTreeMap::new();
    for place in 0..archive.len() {
        let mut file = archive.by_index(place).map_err(|error| error.to_string())?;
        let name = file.name().map_err(|error| error.to_string())?.into_owned();
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        let header = NpyHeader::read(&mut file).map_err(|error| format!("{name}: {error}"))?;
        if header.descr != "<f4" || header.fortran_order {
            return Err(format!("{name} is {} (expected 32-bit floats in C order, <f4)", header.descr));
        }
        let shape: Option<Vec<usize>> = header.shape.iter().map(|&dim| usize::try_from(dim).ok()).collect();
        let shape = shape.ok_or_else(|| format!("{name} is too large"))?;
        let elements = shape.iter().try_fold(1_usize, |product, &dim| product.checked_mul(dim));
        let elements =
            elements.filter(|&count| count <= MOST_ELEMENTS).ok_or_else(|| format!("{name} is too large"))?;
        let mut raw = Vec::new();
        let limit = 4 * elements as u64;
        file.take(limit).read_to_end(&mut raw).map_err(|error| format!("{name}: {error}"))?;
        if raw.len() as u64 != limit {
            return Err(format!("{name} is truncated"));
        }
        let data = raw.as_chunks::<4>().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect();
        arrays.insert(name, (shape, data));
    }
    Ok(arrays)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::TrainConfig;

    fn net() -> NetConfig {
        let text = "name = 'x'\n[net]\nkind = 'challenge'\nbody = 'attention'\nwidth = 16\nheads = 2\nlayers = 1\ninner = 16\nhidden = 8";
        TrainConfig::parse(text).unwrap().net
    }

    fn npz(arrays: &[(String, Vec<usize>, Vec<f32>)]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, shape, data) in arrays {
            archive.start_file(format!("{name}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            let shape = shape.iter().map(|&dim| dim as u64).collect();
            let header = NpyHeader { descr: "<f4".to_owned(), fortran_order: false, shape };
            archive.write_all(&header.to_bytes()).unwrap();
            for number in data {
                archive.write_all(&number.to_le_bytes()).unwrap();
            }
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn arrays_are_read_in_either_layout() {
        let net = net();
        let table = net.table();
        let arena = table.initial(3);
        let as_dict: Vec<_> = table
            .entries()
            .iter()
            .map(|entry| (entry.name.clone(), entry.shape.clone(), entry.of(&arena).to_vec()))
            .collect();
        let graph = to_onnx(&net, &table, &net.inputs(), |entry| entry.of(&arena)).unwrap();
        let as_graph: Vec<_> = graph
            .graph
            .unwrap()
            .initializer
            .iter()
            .filter(|tensor| tensor.data_type == data_type::FLOAT && table.get(&tensor.name).is_some())
            .map(|tensor| (tensor.name.clone(), shape_of(tensor), read::floats(tensor).unwrap()))
            .collect();
        assert!(as_dict.iter().any(|array| !as_graph.contains(array)), "some are transposed");
        for arrays in [as_dict, as_graph] {
            let bytes = npz(&arrays);
            assert!(is_npz(&bytes));
            let found = of_npz(&bytes, &net).unwrap();
            for entry in table.entries() {
                let (shape, data) = &found[&entry.name];
                assert_eq!((shape, data.as_slice()), (&entry.shape, entry.of(&arena)), "{}", entry.name);
            }
        }
    }

    #[test]
    fn damaged_archives_are_refused() {
        let short = npz(&[("a".to_owned(), vec![2, 3], vec![1.0; 5])]);
        assert_eq!(of_npz(&short, &net()).unwrap_err(), "a is truncated");
        assert!(!is_npz(b"PK\x03\x04"));
    }
}
