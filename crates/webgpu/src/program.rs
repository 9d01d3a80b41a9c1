//! A plan as shaders, bindings and workgroups.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;

use crate::plan::{Activation, Buffer, Id, Norm, Plan, Port, Rows, Scaling, Start, Step, spans};

/// Rows and outputs that a workgroup of a product has.
const TILE: [usize; 2] = [16, 32];
/// Up to so many rows, tiles of rows would be mostly empty.
const FEW_ROWS: usize = 8;
/// Invocations of a workgroup.
const GROUP: usize = 64;

/// Extensions of WGSL that a browser has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// `packed_4x8_integer_dot_product`.
    pub packed_dot: bool,
}

/// A plan that a page can run: all it has to do is make the buffers and dispatch the shaders.
#[derive(Clone, Debug)]
pub struct Program {
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// The shaders in WGSL, each with an entry point `main`.
    pub shaders: Vec<String>,
    /// What is dispatched, in order.
    pub dispatches: Vec<Dispatch>,
    /// The inputs in the order of the encoding.
    pub inputs: Vec<Port>,
    /// The outputs in the order of the network's graph.
    pub outputs: Vec<Port>,
}

/// One shader on some buffers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The place of the shader in the list.
    pub shader: usize,
    /// The buffers of bindings 0 and up of group 0.
    pub bindings: Vec<Id>,
    /// Workgroups in the first two dimensions; the third is the number of positions.
    pub groups: [usize; 2],
}

/// A shader in the making: its text, constants, buffers and workgroups.
struct Shader<'a> {
    buffers: &'a [Buffer],
    text: &'static [&'static str],
    constants: String,
    bindings: Vec<Id>,
    groups: [usize; 2],
}

impl Program {
    /// The shaders of a plan, in the WGSL that a browser has.
    pub fn new(plan: Plan, features: Features) -> Program {
        let Plan { mut buffers, steps, inputs, outputs } = plan;
        // What is bound where a step has nothing.
        let nothing = buffers.len();
        buffers.push(Buffer::Constant(vec![0; 4]));
        let mut shaders: Vec<String> = Vec::new();
        let mut dispatches = Vec::with_capacity(steps.len());
        for step in &steps {
            let shader = Shader::of(step, &buffers, nothing);
            let text = shader.source(features);
            let known = shaders.iter().position(|known| *known == text);
            let shader_at = known.unwrap_or_else(|| {
                shaders.push(text);
                shaders.len() - 1
            });
            let Shader { bindings, groups, .. } = shader;
            dispatches.push(Dispatch { shader: shader_at, bindings, groups });
        }
        Program { buffers, shaders, dispatches, inputs, outputs }
    }
}

impl<'a> Shader<'a> {
    fn of(step: &Step, buffers: &'a [Buffer], nothing: Id) -> Shader<'a> {
        let mut shader =
            Shader { buffers, text: &[], constants: String::new(), bindings: Vec::new(), groups: [1, 1] };
        shader.write(step, nothing);
        shader
    }

    /// The whole text.
    fn source(&self, features: Features) -> String {
        let mut text = self.constants.clone();
        for part in self.text {
            text.push_str(part);
            if part.contains("dot4(") {
                text.push_str(match features.packed_dot {
                    true => include_str!("wgsl/dot_packed.wgsl"),
                    false => include_str!("wgsl/dot_plain.wgsl"),
                });
            }
        }
        text
    }

    fn write(&mut self, step: &Step, nothing: Id) {
        match *step {
            Step::AddRow { first, second, to } => {
                self.text = &[include_str!("wgsl/add_row.wgsl")];
                self.bind(&[("", first), ("SECOND", second), ("TO", to.buffer)]);
                self.counts(&[("ROWS", to.count), ("WIDTH", to.width)]);
                self.groups = [to.count * to.width, 1].map(over);
            }
            Step::Ratings { ratings: [own, other], slope, base, share, to } => {
                self.text = &[include_str!("wgsl/ratings.wgsl")];
                self.bind(&[("", own), ("", other), ("", slope), ("", base), ("TO", to.buffer)]);
                self.counts(&[("WIDTH", to.width / 2)]);
                self.number("SHARE", share);
                self.groups = [over(to.width), 1];
            }
            Step::Quantise { from, words, params } => {
                self.text = &[include_str!("wgsl/quantise.wgsl")];
                self.bind(&[("", from.buffer), ("WORDS", words), ("PARAMS", params)]);
                self.rows(from);
                self.counts(&[("SPANS", spans(from.width))]);
                self.groups = [over(from.count * spans(from.width)), 1];
            }
            Step::Product8 { words, params, inputs, weights, sums, scales, start, to } => {
                self.text = &[include_str!("wgsl/product8.wgsl"), include_str!("wgsl/put.wgsl")];
                let (started, start_rows) = start_of(start, to, nothing);
                let bindings =
                    [("WORDS", words), ("PARAMS", params), ("", weights), ("", sums), ("", scales)];
                self.bind(&bindings);
                self.bind(&[("START", started), ("TO", to.buffer)]);
                self.counts(&[("ROWS", to.count), ("SPANS", spans(inputs)), ("OUTPUTS", to.width)]);
                self.counts(&[("START_ROWS", start_rows)]);
                self.groups = tiles(to);
            }
            Step::Product { from, weights, start, to } => {
                let few = to.count <= FEW_ROWS;
                self.text = match few {
                    true => &[include_str!("wgsl/product_few_rows.wgsl"), include_str!("wgsl/put.wgsl")],
                    false => &[include_str!("wgsl/product.wgsl"), include_str!("wgsl/put.wgsl")],
                };
                let (started, start_rows) = start_of(start, to, nothing);
                self.bind(&[("", from.buffer), ("", weights), ("START", started), ("TO", to.buffer)]);
                self.rows(from);
                self.counts(&[("OUTPUTS", to.width), ("START_ROWS", start_rows)]);
                self.groups = if few { [over(to.width), to.count] } else { tiles(to) };
            }
            Step::Normalise { from, shift, norm, to } => {
                self.text = &[include_str!("wgsl/normalise.wgsl")];
                let (weight, bias, eps) = match norm {
                    Norm::Rms { weight, eps } => (weight, None, eps),
                    Norm::Layer { weight, bias, eps } => (weight, Some(bias), eps),
                };
                let (shifted, layer) = (usize::from(shift.is_some()), usize::from(bias.is_some()));
                self.bind(&[("", from.buffer), ("", shift.unwrap_or(nothing)), ("", weight)]);
                self.bind(&[("", bias.unwrap_or(nothing)), ("TO", to)]);
                self.rows(from);
                self.counts(&[("SHIFTED", shifted), ("LAYER", layer)]);
                self.number("EPS", eps);
                self.groups = [from.count.div_ceil(4), 1];
            }
            Step::Attend { qkv, heads, scaling, bias, to } => {
                self.text = &[include_str!("wgsl/attend.wgsl"), include_str!("wgsl/exponential.wgsl")];
                let (queries, keys, norms, eps, factor) = match scaling {
                    Scaling::Norms { queries, keys, eps } => (queries, keys, 1, eps, 1.0),
                    Scaling::Factor(factor) => (nothing, nothing, 0, 0.0, factor),
                };
                self.bind(&[("QKV", qkv.buffer), ("", queries), ("", keys), ("BIAS", bias), ("TO", to)]);
                let head = qkv.width / 3 / heads.max(1);
                self.counts(&[("TOKENS", qkv.count), ("HEADS", heads), ("HEAD", head), ("NORMS", norms)]);
                self.number("EPS", eps);
                self.number("FACTOR", factor);
                self.groups = [heads, 1];
            }
            Step::Activate { from, shift, activation, to } => {
                self.text = &[include_str!("wgsl/activate.wgsl"), include_str!("wgsl/exponential.wgsl")];
                self.bind(&[("", from.buffer), ("", shift.unwrap_or(nothing)), ("TO", to)]);
                let (number, outputs) = match activation {
                    Activation::Relu => (0, from.width),
                    Activation::Silu => (1, from.width),
                    Activation::Gelu => (2, from.width),
                    Activation::SwiGlu => (3, from.width / 2),
                };
                self.rows(from);
                self.counts(&[("SHIFTED", usize::from(shift.is_some()))]);
                self.counts(&[("OUTPUTS", outputs), ("ACTIVATION", number)]);
                self.groups = [over(from.count * outputs), 1];
            }
            Step::Mean { from, to } => {
                self.text = &[include_str!("wgsl/mean.wgsl")];
                self.bind(&[("", from.buffer), ("TO", to)]);
                self.rows(from);
                self.number("SHARE", from.width as f32 / (from.count * from.width) as f32);
                self.groups = [over(from.width), 1];
            }
            Step::Softmax { from, to } => {
                self.text = &[include_str!("wgsl/softmax.wgsl"), include_str!("wgsl/exponential.wgsl")];
                self.bind(&[("", from.buffer), ("TO", to)]);
                self.rows(from);
            }
            Step::Pairs { from, scale, to } => {
                self.text = &[include_str!("wgsl/pairs.wgsl")];
                self.bind(&[("", from.buffer), ("TO", to)]);
                self.rows(from);
                self.counts(&[("DEPTH", from.width / 2)]);
                self.number("SCALE", scale);
                self.groups = [over(from.count), from.count];
            }
            Step::Promotions { pieces, factor, to } => {
                self.text = &[include_str!("wgsl/promotions.wgsl")];
                self.bind(&[("PIECES", pieces), ("TO", to)]);
                self.number("FACTOR", factor);
                self.groups = [over(256), 1];
            }
        }
    }

    /// Binds buffers next. Those with a name get a constant `{name}_STEP`: how far the numbers of one position are from those
    /// of the next.
    fn bind(&mut self, buffers: &[(&str, Id)]) {
        for (name, id) in buffers {
            if !name.is_empty() {
                let step = self.step_of(*id);
                self.counts(&[(&format!("{name}_STEP"), step)]);
            }
            self.bindings.push(*id);
        }
    }

    /// The rows of `x`, the first binding.
    fn rows(&mut self, from: Rows) {
        let step = self.step_of(from.buffer);
        self.counts(&[("X_STEP", step), ("X_FIRST", from.first), ("X_STRIDE", from.stride)]);
        self.counts(&[("ROWS", from.count), ("WIDTH", from.width)]);
    }

    fn step_of(&self, id: Id) -> usize {
        match self.buffers.get(id) {
            Some(Buffer::PerPosition(len)) => *len,
            _ => 0,
        }
    }

    fn counts(&mut self, counts: &[(&str, usize)]) {
        for (name, count) in counts {
            // Writing to a string cannot fail.
            _ = writeln!(self.constants, "const {name}: u32 = {count}u;");
        }
    }

    fn number(&mut self, name: &str, number: f32) {
        _ = writeln!(self.constants, "const {name}: f32 = {number:?}f;");
    }
}

/// What a product is added to, and how many rows of it there are.
fn start_of(start: Start, to: Rows, nothing: Id) -> (Id, usize) {
    match start {
        Start::Nothing => (nothing, 0),
        Start::Row(row) => (row, 1),
        // One row is one row either way.
        Start::Rows(rows) => (rows, to.count),
    }
}

/// Workgroups with one invocation for each of `count`.
fn over(count: usize) -> usize {
    count.div_ceil(GROUP)
}

fn tiles(to: Rows) -> [usize; 2] {
    let [rows, outputs] = TILE;
    [to.width.div_ceil(outputs), to.count.div_ceil(rows)]
}
