//! A network as a WebGPU program, for TypeScript: a module of its own, which a page fetches only where there is a GPU.
#![forbid(unsafe_code)]

use js_sys::{Error, Uint32Array};
use serde::Serialize;
use tabia_model::Source;
use tabia_webgpu::{Buffer, Features, Plan, Port, Program};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

/// The program of a network.
#[wasm_bindgen]
pub struct GpuProgram {
    program: Program,
}

/// What a page makes of a program.
#[derive(Clone, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct GpuOutline {
    /// The shaders in WGSL, each with an entry point `main`.
    pub shaders: Vec<String>,
    /// What is dispatched, in order.
    pub dispatches: Vec<GpuDispatch>,
    /// All buffers.
    pub buffers: Vec<GpuBufferSize>,
    /// The inputs in order.
    pub inputs: Vec<GpuPort>,
    /// The outputs in order.
    pub outputs: Vec<GpuPort>,
}

/// One shader on some buffers.
#[derive(Clone, Debug, Serialize, Tsify)]
pub struct GpuDispatch {
    /// The place of the shader in the list.
    pub shader: usize,
    /// The buffers of bindings 0 and up of group 0.
    pub bindings: Vec<usize>,
    /// Workgroups in the first two dimensions; the third is the number of positions.
    pub groups: (usize, usize),
}

/// The size of a buffer.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct GpuBufferSize {
    /// Its bytes, those of one position if each has its own.
    pub bytes: usize,
    /// Whether each position has its own.
    pub per_position: bool,
}

/// A buffer that is an input or an output.
#[derive(Clone, Copy, Debug, Serialize, Tsify)]
pub struct GpuPort {
    /// The place of the buffer in the list.
    pub buffer: usize,
    /// Numbers per position.
    pub width: usize,
}

#[wasm_bindgen]
impl GpuProgram {
    /// The program of the network in a model file; `undefined` if there is none for it. `packed_dot` says whether WGSL has
    /// `packed_4x8_integer_dot_product`.
    pub fn open(bytes: &[u8], packed_dot: bool) -> Result<Option<GpuProgram>, Error> {
        let program = program_of(bytes, Features { packed_dot }).map_err(|message| Error::new(&message))?;
        Ok(program.map(|program| GpuProgram { program }))
    }

    /// All but the weights.
    pub fn outline(&self) -> Result<Ts<GpuOutline>, Error> {
        let Program { buffers, shaders, dispatches, inputs, outputs } = &self.program;
        let port = |port: &Port| GpuPort { buffer: port.buffer, width: port.width };
        let outline = GpuOutline {
            shaders: shaders.clone(),
            dispatches: dispatches
                .iter()
                .map(|dispatch| GpuDispatch {
                    shader: dispatch.shader,
                    bindings: dispatch.bindings.clone(),
                    groups: dispatch.groups.into(),
                })
                .collect(),
            buffers: buffers
                .iter()
                .map(|buffer| GpuBufferSize {
                    bytes: 4 * buffer.len(),
                    per_position: matches!(buffer, Buffer::PerPosition(_)),
                })
                .collect(),
            inputs: inputs.iter().map(port).collect(),
            outputs: outputs.iter().map(port).collect(),
        };
        outline.into_ts().map_err(|error| Error::new(&error.to_string()))
    }

    /// The words of a buffer of weights; empty if it is none.
    pub fn weights(&self, buffer: usize) -> Uint32Array {
        match self.program.buffers.get(buffer) {
            Some(Buffer::Constant(words)) => Uint32Array::from(words.as_slice()),
            _ => Uint32Array::new_with_length(0),
        }
    }
}

fn program_of(bytes: &[u8], features: Features) -> Result<Option<Program>, String> {
    let card = Source::assumed_card(bytes);
    let source = Source::read_with(bytes, card.as_deref()).map_err(|error| error.to_string())?;
    let Some((net, mut tensors)) = source.into_transformer() else { return Ok(None) };
    let plan = Plan::new(&net, &mut tensors).map_err(|error| error.to_string())?;
    Ok(plan.map(|plan| Program::new(plan, features)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundled_human_network_has_a_program_that_fits_a_browser() {
        let bytes = include_bytes!("../../../models/human.safetensors");
        for packed_dot in [true, false] {
            let program = program_of(bytes, Features { packed_dot }).unwrap().unwrap();
            assert_eq!(program.shaders.iter().any(|shader| shader.contains("dot4I8Packed")), packed_dot);
            assert!(program.buffers.iter().all(|buffer| !buffer.is_empty()));
            let of_position = |buffer: &Buffer| match buffer {
                Buffer::PerPosition(len) => *len,
                Buffer::Constant(_) => 0,
            };
            let words: usize = program.buffers.iter().map(of_position).sum();
            assert!(4 * words < 4 << 20, "{words} words for a position");
            assert_eq!(program.inputs.iter().map(|port| port.width).collect::<Vec<_>>(), [64 * 32, 82]);
            assert_eq!(program.outputs[0].width, 64 * 64);
        }
    }

    #[test]
    fn other_networks_have_none_and_damaged_files_say_why() {
        let mlp = include_bytes!("../../../fixtures/models/challenge-mlp.onnx");
        assert!(program_of(mlp, Features::default()).unwrap().is_none());
        assert!(program_of(b"nonsense", Features::default()).unwrap_err().contains("model"));
    }
}
