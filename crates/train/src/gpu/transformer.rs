//! The transformer over squares on a device: its buffers, its forward and backward pass, its update.
//!
//! Brain floats in every product, full floats in every sum; master weights, moments and averaged weights in full floats.
//! All buffers are made once. The plain version in `nets` says what is computed; this one says in which order.

use super::device::{Address, Argument, Device, DeviceError, Launch, Operand, Order, Product};
use super::layout::{Group, Layout};
use crate::nets::HumanConfig;
use crate::{LossFactors, NetConfig, ParameterTable};
use Argument::{At, Float, Int, Long};

pub(crate) const TOKENS: usize = 64;
pub(crate) const SQUARE_INPUTS: usize = 32;
pub(crate) const GAME_INPUTS: usize = 80;
pub(crate) const MOVES: usize = TOKENS * TOKENS;
const OUTCOMES: usize = 3;
const THINK_BINS: usize = tabia_encoding::TIME_BINS;
/// Rows of the merged outcome and think-time head: theirs, and zeros up to a full warp.
const OUTPUTS: usize = 32;
/// Soft targets a batch has room for, by position.
pub(crate) const SOFT_TARGETS: usize = 32;
/// Heads that report a loss: policy, promotion, outcome, think.
pub(crate) const LOSSES: usize = 4;

const BF16: usize = 2;
const F32: usize = 4;

/// The kernels, in the order they build on each other.
pub(crate) const SOURCES: [&str; 5] = [
    include_str!("prelude.cu"),
    include_str!("rows.cu"),
    include_str!("attention.cu"),
    include_str!("heads.cu"),
    include_str!("optimiser.cu"),
];

/// The kernels of [`SOURCES`] and the most dynamic shared memory a block of each asks for.
pub(crate) fn kernels(config: &HumanConfig) -> Vec<(&'static str, u32)> {
    let plain = [
        "round_to_bf16",
        "embed",
        "norm_forward",
        "norm_backward",
        "gated_forward",
        "gated_backward",
        "embed_backward",
        "column_sums",
        "attention_forward",
        "move_loss",
        "promotion_loss",
        "promotion_backward",
        "pool",
        "hidden_forward",
        "hidden_backward",
        "outcome_loss",
        "square_sums",
        "report_step",
        "begin_update",
        "adamw",
    ];
    let mut all: Vec<(&'static str, u32)> = plain.into_iter().map(|name| (name, 0)).collect();
    all.push(("attention_backward", attention_memory(config)));
    all
}

/// The macros the kernels are compiled with.
pub(crate) fn defines(config: &HumanConfig) -> Vec<(&'static str, usize)> {
    vec![
        ("TOKENS", TOKENS),
        ("WIDTH", config.width),
        ("HEADS", config.heads),
        ("HEAD", config.head_width()),
        ("FFN", config.inner),
        ("HIDDEN", config.hidden),
        ("TIME_BINS", THINK_BINS),
        ("OUTPUTS", OUTPUTS),
    ]
}

/// What the kernels cannot do, if it is asked of them.
pub(crate) fn check(config: &HumanConfig) -> Result<(), String> {
    let HumanConfig { width, heads, inner, pair, hidden, .. } = *config;
    if !width.is_multiple_of(64) {
        return Err(format!("the GPU trainer needs a width that is a multiple of 64, not {width}"));
    }
    if ![32, 64].contains(&(width / heads)) {
        return Err(format!("the GPU trainer needs heads of 32 or 64 numbers, not {}", width / heads));
    }
    for (what, size) in [("inner", inner), ("pair", pair), ("hidden", hidden)] {
        if !size.is_multiple_of(16) {
            return Err(format!("the GPU trainer needs {what} to be a multiple of 16, not {size}"));
        }
    }
    Ok(())
}

const fn padded() -> usize {
    TOKENS.next_multiple_of(16)
}

pub(crate) fn attention_threads() -> u32 {
    (padded() * 2) as u32
}

/// Bytes of dynamic shared memory of a block of `attention_backward`.
pub(crate) fn attention_memory(config: &HumanConfig) -> u32 {
    let (rows, head) = (padded(), config.head_width());
    let halves = 4 * rows * (head + 8) + 2 * rows * (rows + 8);
    let floats = 2 * rows + (rows / 16) * 2 * head + (rows / 8) * 4 * attention_threads() as usize;
    (halves * BF16 + floats * F32) as u32
}

/// Where one batch lies within the memory of a slot, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputPlaces {
    pub(crate) squares: usize,
    pub(crate) game: usize,
    pub(crate) legal: usize,
    pub(crate) share: usize,
    pub(crate) starts: usize,
    pub(crate) probabilities: usize,
    pub(crate) indices: usize,
    pub(crate) played: usize,
    pub(crate) promotions: usize,
    pub(crate) outcomes: usize,
    pub(crate) think: usize,
    pub(crate) hyper: usize,
    pub(crate) len: usize,
}

impl InputPlaces {
    fn new(rows: usize) -> Self {
        let mut len = 0;
        let mut place = |bytes: usize| {
            let at = len;
            len = (len + bytes).next_multiple_of(256);
            at
        };
        InputPlaces {
            squares: place(rows * TOKENS * SQUARE_INPUTS * F32),
            game: place(rows * GAME_INPUTS * F32),
            legal: place(rows * MOVES / 8),
            share: place(rows * F32),
            starts: place((rows + 1) * 4),
            probabilities: place(rows * SOFT_TARGETS * F32),
            indices: place(rows * SOFT_TARGETS * 2),
            played: place(rows * 2),
            promotions: place(rows),
            outcomes: place(rows),
            think: place(rows),
            hyper: place(16 * F32),
            len,
        }
    }
}

/// Whether a batch has lists of soft targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Targets {
    Hard,
    Soft,
}

/// One batch on the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    pub(crate) slot: usize,
    pub(crate) rows: usize,
    pub(crate) targets: Targets,
}

/// Which weights a forward pass reads.
#[derive(Clone, Copy)]
struct Source {
    full: Address,
    rounded: Address,
}

struct LayerMemory {
    x: Address,
    normed1: Address,
    qkv: Address,
    context: Address,
    middle: Address,
    normed2: Address,
    both: Address,
    product: Address,
}

/// Every buffer of a step besides the arenas.
struct Memory {
    slots: [Address; 2],
    squares: Address,
    game: Address,
    embedded: Address,
    game_vector: Address,
    layers: Vec<LayerMemory>,
    last: Address,
    y: Address,
    pairs: Address,
    logits: Address,
    d_logits: Address,
    promotion_d: Address,
    pooled: Address,
    before: Address,
    hidden: Address,
    outputs: Address,
    d_outputs: Address,
    d_outputs_rounded: Address,
    d_hidden: Address,
    d_before: Address,
    d_pooled: Address,
    losses: Address,
    ranks: Address,
    report: Address,
    factors: Address,
    counter: Address,
    d_pairs: Address,
    d_normed: Address,
    dx: Address,
    d_context: Address,
    d_qkv: Address,
    d_product: Address,
    d_both: Address,
    d_game: Address,
    partial: Address,
    partial_bias: Address,
}

/// The arenas: full floats but for `rounded` and `rounded_averaged`.
struct Arenas {
    weights: Address,
    first: Address,
    second: Address,
    averaged: Address,
    gradient: Address,
    rounded: Address,
    rounded_averaged: Address,
}

/// Which arena of the optimiser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arena {
    Weights,
    First,
    Second,
    Averaged,
    Gradient,
}

/// The network on a device, for batches of up to `capacity` positions.
pub(crate) struct Transformer<D: Device> {
    device: D,
    config: HumanConfig,
    capacity: usize,
    layout: Layout,
    places: InputPlaces,
    memory: Memory,
    arenas: Arenas,
    factors: [f32; LOSSES],
}

fn groups(config: &HumanConfig) -> Vec<Group> {
    let HumanConfig { width: d, heads, layers, inner, pair, hidden } = *config;
    let two = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
    let mut groups = vec![
        Group::single("squares.weight", d * SQUARE_INPUTS),
        Group::single("position.weight", TOKENS * d),
        Group::single("game.weight", d * GAME_INPUTS),
    ];
    for i in 0..layers {
        let name = |part: &str| format!("blocks.{i}.{part}");
        groups.extend([
            Group::single(name("norm1.weight"), d),
            Group::single(name("attn.qkv.weight"), 3 * d * d),
            Group::merged(
                name("attn.gains"),
                &[name("attn.q_norm.weight"), name("attn.k_norm.weight")],
                2 * d / heads,
            ),
            Group::single(name("attn.bias"), heads * MOVES),
            Group::single(name("attn.out.weight"), d * d),
            Group::single(name("norm2.weight"), d),
            Group::merged(name("ffn.both"), &[name("ffn.w1.weight"), name("ffn.w3.weight")], 2 * inner * d),
            Group::single(name("ffn.w2.weight"), d * inner),
        ]);
    }
    groups.extend([
        Group::single("norm_final.weight", d),
        Group::merged("pairs", &two("from_head.weight", "to_head.weight"), 2 * pair * d),
        Group::single("promotion_head.weight", 4 * d),
        Group::single("value_hidden.weight", hidden * d),
        Group::single("value_hidden.bias", hidden),
        Group::merged("outputs.weight", &two("wdl_head.weight", "time_head.weight"), OUTPUTS * hidden),
        Group::merged("outputs.bias", &two("wdl_head.bias", "time_head.bias"), OUTPUTS),
    ]);
    groups
}

impl<D: Device> Transformer<D> {
    pub(crate) fn new(
        device: D,
        config: HumanConfig,
        capacity: usize,
        factors: &LossFactors,
    ) -> Result<Self, DeviceError> {
        let shape = |problem: String| DeviceError::new("the network's shape", problem);
        check(&config).map_err(shape)?;
        let table: ParameterTable = NetConfig::Human(config).table();
        let layout = Layout::new(&table, &groups(&config)).map_err(shape)?;
        let places = InputPlaces::new(capacity);
        let memory = allocate_memory(&device, &config, capacity, &places)?;
        let full = || device.allocate(layout.len() * F32);
        let arenas = Arenas {
            weights: full()?,
            first: full()?,
            second: full()?,
            averaged: full()?,
            gradient: full()?,
            rounded: device.allocate(layout.len() * BF16)?,
            rounded_averaged: device.allocate(layout.len() * BF16)?,
        };
        let factors = [factors.policy, factors.promotion, factors.outcome, factors.think];
        device.write(memory.factors, bytemuck::cast_slice(&factors))?;
        Ok(Transformer { device, config, capacity, layout, places, memory, arenas, factors })
    }

    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    pub(crate) fn config(&self) -> &HumanConfig {
        &self.config
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn places(&self) -> &InputPlaces {
        &self.places
    }

    /// Where a slot's batch lies.
    pub(crate) fn slot(&self, slot: usize) -> Address {
        self.memory.slots[slot]
    }

    /// The eight numbers of the last step's report: four losses, their sum, the gradient's norm, the step.
    pub(crate) fn report(&self) -> Address {
        self.memory.report
    }

    fn arena(&self, arena: Arena) -> Address {
        match arena {
            Arena::Weights => self.arenas.weights,
            Arena::First => self.arenas.first,
            Arena::Second => self.arenas.second,
            Arena::Averaged => self.arenas.averaged,
            Arena::Gradient => self.arenas.gradient,
        }
    }

    /// An arena in the order of the parameter table.
    pub(crate) fn read_arena(&self, arena: Arena) -> Result<Vec<f32>, DeviceError> {
        let mut values = vec![0_f32; self.layout.len()];
        self.device.read(self.arena(arena), bytemuck::cast_slice_mut(&mut values))?;
        Ok(self.layout.to_table(&values))
    }

    /// Sets an arena given in the order of the parameter table.
    pub(crate) fn write_arena(&self, arena: Arena, values: &[f32]) -> Result<(), DeviceError> {
        self.device.write(self.arena(arena), bytemuck::cast_slice(&self.layout.to_device(values)))?;
        if arena == Arena::Weights {
            self.round(self.arenas.weights, self.arenas.rounded, self.layout.len())?;
        }
        Ok(())
    }

    /// Steps made so far.
    pub(crate) fn read_steps(&self) -> Result<u64, DeviceError> {
        let mut steps = [0_f32];
        self.device.read(self.memory.counter, bytemuck::cast_slice_mut(&mut steps))?;
        Ok(steps[0] as u64)
    }

    pub(crate) fn write_steps(&self, steps: u64) -> Result<(), DeviceError> {
        self.device.write(self.memory.counter, bytemuck::cast_slice(&[steps as f32]))
    }

    /// The losses of each example, head after head, and the rank of the move played.
    pub(crate) fn read_losses(&self, rows: usize) -> Result<([Vec<f32>; LOSSES], Vec<u16>), DeviceError> {
        let mut ranks = vec![0_u16; rows];
        self.device.read(self.memory.ranks, bytemuck::cast_slice_mut(&mut ranks))?;
        let mut losses: [Vec<f32>; LOSSES] = std::array::from_fn(|_| vec![0.0; rows]);
        for (head, losses) in losses.iter_mut().enumerate() {
            let at = self.memory.losses.after(head * self.capacity, F32);
            self.device.read(at, bytemuck::cast_slice_mut(losses))?;
        }
        Ok((losses, ranks))
    }

    fn blocks(&self, wanted: usize, per_multiprocessor: u32) -> u32 {
        (wanted.max(1) as u32).min(self.device.multiprocessors() * per_multiprocessor)
    }

    fn run(
        &self,
        kernel: &'static str,
        blocks: u32,
        threads: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.device.launch(Launch { kernel, blocks, threads, shared: 0 }, arguments)
    }

    fn round(&self, from: Address, to: Address, count: usize) -> Result<(), DeviceError> {
        let blocks = self.blocks(count.div_ceil(256 * 8), 16);
        self.run("round_to_bf16", blocks, 256, &[At(from), At(to), Long(count as i64)])
    }

    fn column_sums(
        &self,
        from: Address,
        to: Address,
        rows: usize,
        columns: usize,
    ) -> Result<(), DeviceError> {
        let arguments = [At(from), At(to), Int(rows as i32), Int(columns as i32)];
        self.run("column_sums", columns.div_ceil(32) as u32, 1024, &arguments)
    }

    fn gradient_of(&self, group: &str) -> Address {
        self.arenas.gradient.after(self.layout.offset(group), F32)
    }

    /// The walk of the attention kernels: their blocks, and steps among the boards.
    fn attention_blocks(&self, boards: usize, per_multiprocessor: u32) -> (u32, usize) {
        attention_walk(&self.device, &self.config, boards, per_multiprocessor)
    }

    fn input(&self, batch: &Loaded, place: usize) -> Address {
        self.memory.slots[batch.slot].after(place, 1)
    }

    fn live(&self) -> Source {
        Source { full: self.arenas.weights, rounded: self.arenas.rounded }
    }

    fn full(&self, source: Source, group: &str) -> Address {
        source.full.after(self.layout.offset(group), F32)
    }

    fn rounded(&self, source: Source, group: &str) -> Address {
        source.rounded.after(self.layout.offset(group), BF16)
    }

    /// The trunk: from the batch to `y`, keeping what the backward pass reads.
    fn forward(&self, batch: &Loaded, source: Source) -> Result<(), DeviceError> {
        let (m, d) = (&self.memory, self.config.width);
        let (boards, rows) = (batch.rows, batch.rows * TOKENS);
        let row_blocks = self.blocks(rows.div_ceil(8), 64);
        let full = |group: &str| At(self.full(source, group));
        let rounded = |group: &str| self.rounded(source, group);

        self.round(self.input(batch, self.places.squares), m.squares, rows * SQUARE_INPUTS)?;
        self.round(self.input(batch, self.places.game), m.game, boards * GAME_INPUTS)?;
        self.device.multiply(&Product::layer(
            rows,
            SQUARE_INPUTS,
            d,
            m.squares,
            rounded("squares.weight"),
            m.embedded,
        ))?;
        self.device.multiply(
            &Product::layer(boards, GAME_INPUTS, d, m.game, rounded("game.weight"), m.game_vector).in_f32(),
        )?;
        for (i, layer) in m.layers.iter().enumerate() {
            let name = |part: &str| format!("blocks.{i}.{part}");
            let gain = full(&name("norm1.weight"));
            if i == 0 {
                let arguments = [
                    At(m.embedded),
                    full("position.weight"),
                    At(m.game_vector),
                    gain,
                    At(layer.x),
                    At(layer.normed1),
                    Int(rows as i32),
                ];
                self.run("embed", row_blocks, 256, &arguments)?;
            } else {
                self.norm(layer.x, gain, layer.normed1, rows)?;
            }
            let weight = rounded(&name("attn.qkv.weight"));
            self.device.multiply(&Product::layer(rows, d, 3 * d, layer.normed1, weight, layer.qkv))?;
            let (blocks, _) = self.attention_blocks(boards, 5);
            let gains = self.full(source, &name("attn.gains"));
            let arguments = [
                At(layer.qkv),
                At(gains),
                At(gains.after(self.config.head_width(), F32)),
                full(&name("attn.bias")),
                At(layer.context),
                Int(boards as i32),
            ];
            self.run("attention_forward", blocks, attention_threads(), &arguments)?;
            let weight = rounded(&name("attn.out.weight"));
            self.device
                .multiply(&Product::layer(rows, d, d, layer.context, weight, layer.middle).plus(layer.x))?;
            self.norm(layer.middle, full(&name("norm2.weight")), layer.normed2, rows)?;
            let inner = self.config.inner;
            let weight = rounded(&name("ffn.both"));
            self.device.multiply(&Product::layer(rows, d, 2 * inner, layer.normed2, weight, layer.both))?;
            let gated = self.blocks((rows * inner / 8).div_ceil(256), 16);
            self.run("gated_forward", gated, 256, &[At(layer.both), At(layer.product), Int(rows as i32)])?;
            let next = m.layers.get(i + 1).map_or(m.last, |next| next.x);
            let weight = rounded(&name("ffn.w2.weight"));
            self.device
                .multiply(&Product::layer(rows, inner, d, layer.product, weight, next).plus(layer.middle))?;
        }
        self.norm(m.last, full("norm_final.weight"), m.y, rows)
    }

    fn norm(&self, x: Address, gain: Argument, h: Address, rows: usize) -> Result<(), DeviceError> {
        let blocks = self.blocks(rows.div_ceil(8), 64);
        self.run("norm_forward", blocks, 256, &[At(x), gain, At(h), Int(rows as i32)])
    }

    /// `pairs` of a product between one half of each board's pair vectors and the other.
    fn pair_product(&self, boards: usize) -> Product {
        let pair = self.config.pair;
        let m = &self.memory;
        let half = |at: Address, order| Operand { at, stride: 2 * pair, order };
        Product {
            b: half(m.pairs.after(pair, BF16), Order::Transposed),
            a: half(m.pairs, Order::Stored),
            scale: 1.0 / (pair as f32).sqrt(),
            count: boards,
            steps: [TOKENS * 2 * pair, TOKENS * 2 * pair, MOVES],
            ..Product::layer(TOKENS, pair, TOKENS, Address::NULL, Address::NULL, m.logits).in_f32()
        }
    }

    /// The heads, the losses of every example and the gradients of all logits.
    fn heads(&self, batch: &Loaded, source: Source) -> Result<(), DeviceError> {
        let (m, boards) = (&self.memory, batch.rows);
        let HumanConfig { width: d, pair, hidden, .. } = self.config;
        let rows = boards * TOKENS;
        let input = |place: usize| At(self.input(batch, place));
        let share = input(self.places.share);
        let loss = |head: usize| At(m.losses.after(head * self.capacity, F32));
        let warps = self.blocks(boards.div_ceil(8), 16);

        self.device.multiply(&Product::layer(
            rows,
            d,
            2 * pair,
            m.y,
            self.rounded(source, "pairs"),
            m.pairs,
        ))?;
        self.device.multiply(&self.pair_product(boards))?;
        let starts =
            if batch.targets == Targets::Soft { input(self.places.starts) } else { At(Address::NULL) };
        let arguments = [
            At(m.logits),
            input(self.places.legal),
            input(self.places.played),
            starts,
            input(self.places.indices),
            input(self.places.probabilities),
            share,
            Float(self.factors[0]),
            loss(0),
            At(m.ranks),
            At(m.d_logits),
        ];
        self.run("move_loss", boards as u32, 256, &arguments)?;
        let arguments = [
            At(m.y),
            At(self.rounded(source, "promotion_head.weight")),
            input(self.places.promotions),
            input(self.places.played),
            share,
            Float(self.factors[1]),
            loss(1),
            At(m.promotion_d),
            Int(boards as i32),
        ];
        self.run("promotion_loss", warps, 256, &arguments)?;

        self.run("pool", warps, 256, &[At(m.y), At(m.pooled), Int(boards as i32)])?;
        let weight = self.rounded(source, "value_hidden.weight");
        self.device.multiply(&Product::layer(boards, d, hidden, m.pooled, weight, m.before).in_f32())?;
        let bias = At(self.full(source, "value_hidden.bias"));
        let blocks = self.blocks((boards * hidden).div_ceil(256), 16);
        self.run("hidden_forward", blocks, 256, &[At(m.before), bias, At(m.hidden), Int(boards as i32)])?;
        let weight = self.rounded(source, "outputs.weight");
        self.device
            .multiply(&Product::layer(boards, hidden, OUTPUTS, m.hidden, weight, m.outputs).in_f32())?;
        let arguments = [
            At(m.outputs),
            At(self.full(source, "outputs.bias")),
            input(self.places.outcomes),
            input(self.places.think),
            share,
            Float(self.factors[2]),
            Float(self.factors[3]),
            loss(2),
            loss(3),
            At(m.d_outputs),
            At(m.d_outputs_rounded),
            Int(boards as i32),
        ];
        self.run("outcome_loss", warps, 256, &arguments)
    }

    /// From the gradients of the logits to that of `y`, in `d_normed`, less what every square shares, in `d_pooled`.
    fn heads_backward(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let (m, boards, source) = (&self.memory, batch.rows, self.live());
        let HumanConfig { width: d, pair, hidden, .. } = self.config;
        let rows = boards * TOKENS;
        let input = |place: usize| At(self.input(batch, place));

        let steps = [MOVES, TOKENS * 2 * pair, TOKENS * 2 * pair];
        let scores = |order| Operand { at: m.d_logits, stride: TOKENS, order };
        let half = |at: Address| Operand { at, stride: 2 * pair, order: Order::Stored };
        let of_from = Product {
            m: TOKENS,
            n: pair,
            k: TOKENS,
            a: scores(Order::Stored),
            b: half(m.pairs.after(pair, BF16)),
            out: m.d_pairs,
            out_stride: 2 * pair,
            out_element: super::device::Element::Bf16,
            steps,
            ..self.pair_product(boards)
        };
        let of_to = Product {
            a: scores(Order::Transposed),
            b: half(m.pairs),
            out: m.d_pairs.after(pair, BF16),
            ..of_from
        };
        self.device.multiply(&of_from)?;
        self.device.multiply(&of_to)?;
        self.device.multiply(&Product::weight_gradient(
            rows,
            d,
            2 * pair,
            m.y,
            m.d_pairs,
            self.gradient_of("pairs"),
        ))?;
        let weight = self.rounded(source, "pairs");
        self.device.multiply(&Product::input_gradient(rows, d, 2 * pair, m.d_pairs, weight, m.d_normed))?;

        let blocks = self.blocks(boards, 2);
        let arguments = [
            At(m.y),
            At(self.rounded(source, "promotion_head.weight")),
            input(self.places.promotions),
            input(self.places.played),
            At(m.promotion_d),
            At(m.d_normed),
            At(m.partial),
            Int(boards as i32),
        ];
        self.run("promotion_backward", blocks, 256, &arguments)?;
        self.column_sums(m.partial, self.gradient_of("promotion_head.weight"), blocks as usize, 4 * d)?;

        self.device.multiply(&Product::weight_gradient(
            boards,
            hidden,
            OUTPUTS,
            m.hidden,
            m.d_outputs_rounded,
            self.gradient_of("outputs.weight"),
        ))?;
        self.column_sums(m.d_outputs, self.gradient_of("outputs.bias"), boards, OUTPUTS)?;
        let weight = self.rounded(source, "outputs.weight");
        let back = Product::input_gradient(boards, hidden, OUTPUTS, m.d_outputs_rounded, weight, m.d_hidden);
        self.device.multiply(&back.in_f32())?;
        let arguments = [
            At(m.before),
            At(self.full(source, "value_hidden.bias")),
            At(m.d_hidden),
            At(m.d_before),
            Int(boards as i32),
        ];
        self.run("hidden_backward", self.blocks((boards * hidden).div_ceil(256), 16), 256, &arguments)?;
        self.column_sums(m.d_hidden, self.gradient_of("value_hidden.bias"), boards, hidden)?;
        self.device.multiply(&Product::weight_gradient(
            boards,
            d,
            hidden,
            m.pooled,
            m.d_before,
            self.gradient_of("value_hidden.weight"),
        ))?;
        let weight = self.rounded(source, "value_hidden.weight");
        let back = Product::input_gradient(boards, d, hidden, m.d_before, weight, m.d_pooled);
        self.device.multiply(&back.in_f32())
    }

    /// The gradient `d_normed` of `norm(x) * gain`, added to `dx`; `shared` as in the kernel.
    fn norm_backward(
        &self,
        x: Address,
        gain: &str,
        shared: Address,
        before: Address,
        rows: usize,
    ) -> Result<(), DeviceError> {
        let m = &self.memory;
        let blocks = self.blocks(rows.div_ceil(8), NORM_BLOCKS);
        let arguments = [
            At(x),
            At(self.full(self.live(), gain)),
            At(m.d_normed),
            At(shared),
            At(before),
            At(m.dx),
            At(m.partial),
            Int(rows as i32),
        ];
        self.run("norm_backward", blocks, 256, &arguments)?;
        self.column_sums(m.partial, self.gradient_of(gain), blocks as usize, self.config.width)
    }

    /// The trunk, from `d_normed` back to the inputs.
    fn backward(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let (m, source) = (&self.memory, self.live());
        let HumanConfig { width: d, heads, inner, .. } = self.config;
        let (boards, rows) = (batch.rows, batch.rows * TOKENS);
        let head = self.config.head_width();
        let multiply = |product: Product| self.device.multiply(&product);

        self.norm_backward(m.last, "norm_final.weight", m.d_pooled, Address::NULL, rows)?;
        for (i, layer) in m.layers.iter().enumerate().rev() {
            let name = |part: &str| format!("blocks.{i}.{part}");
            let weight = |part: &str| self.rounded(source, &name(part));
            let gradient = |part: &str| self.gradient_of(&name(part));

            multiply(Product::weight_gradient(
                rows,
                inner,
                d,
                layer.product,
                m.dx,
                gradient("ffn.w2.weight"),
            ))?;
            multiply(Product::input_gradient(rows, inner, d, m.dx, weight("ffn.w2.weight"), m.d_product))?;
            let gated = self.blocks((rows * inner / 8).div_ceil(256), 16);
            let arguments = [At(layer.both), At(m.d_product), At(m.d_both), Int(rows as i32)];
            self.run("gated_backward", gated, 256, &arguments)?;
            multiply(Product::weight_gradient(
                rows,
                d,
                2 * inner,
                layer.normed2,
                m.d_both,
                gradient("ffn.both"),
            ))?;
            multiply(Product::input_gradient(rows, d, 2 * inner, m.d_both, weight("ffn.both"), m.d_normed))?;
            self.norm_backward(layer.middle, &name("norm2.weight"), Address::NULL, m.dx, rows)?;

            multiply(Product::weight_gradient(rows, d, d, layer.context, m.dx, gradient("attn.out.weight")))?;
            multiply(Product::input_gradient(rows, d, d, m.dx, weight("attn.out.weight"), m.d_context))?;
            let (blocks, steps) = self.attention_blocks(boards, ATTENTION_BLOCKS);
            let gains = self.full(source, &name("attn.gains"));
            let arguments = [
                At(layer.qkv),
                At(gains),
                At(gains.after(head, F32)),
                At(self.full(source, &name("attn.bias"))),
                At(m.d_context),
                At(m.d_qkv),
                At(m.partial),
                At(m.partial_bias),
                Int(boards as i32),
            ];
            let shared = attention_memory(&self.config);
            let launch =
                Launch { kernel: "attention_backward", blocks, threads: attention_threads(), shared };
            self.device.launch(launch, &arguments)?;
            self.column_sums(m.partial, gradient("attn.gains"), blocks as usize, 2 * head)?;
            self.column_sums(m.partial_bias, gradient("attn.bias"), steps, heads * MOVES)?;
            multiply(Product::weight_gradient(
                rows,
                d,
                3 * d,
                layer.normed1,
                m.d_qkv,
                gradient("attn.qkv.weight"),
            ))?;
            multiply(Product::input_gradient(
                rows,
                d,
                3 * d,
                m.d_qkv,
                weight("attn.qkv.weight"),
                m.d_normed,
            ))?;
            self.norm_backward(layer.x, &name("norm1.weight"), Address::NULL, m.dx, rows)?;
        }
        let blocks = self.blocks(boards, EMBED_BLOCKS);
        self.run(
            "embed_backward",
            blocks,
            256,
            &[At(m.dx), At(m.d_game), At(m.partial), Int(boards as i32)],
        )?;
        self.column_sums(m.partial, self.gradient_of("position.weight"), blocks as usize, TOKENS * d)?;
        let squares = self.gradient_of("squares.weight");
        multiply(Product::weight_gradient(rows, SQUARE_INPUTS, d, m.squares, m.dx, squares))?;
        let game = self.gradient_of("game.weight");
        multiply(Product::weight_gradient(boards, GAME_INPUTS, d, m.game, m.d_game, game))
    }

    fn summarise(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let m = &self.memory;
        let count = self.layout.len();
        let blocks = self.blocks(count.div_ceil(1024), 4);
        let arguments = [At(self.arenas.gradient), At(m.partial), Long(count as i64)];
        self.run("square_sums", blocks, 256, &arguments)?;
        let arguments = [
            At(m.losses),
            At(self.input(batch, self.places.share)),
            At(m.factors),
            At(m.partial),
            Int(blocks as i32),
            At(m.report),
            Int(batch.rows as i32),
            Int(self.capacity as i32),
        ];
        self.run("report_step", 1, 256, &arguments)
    }

    /// The gradient of a batch into the arena, and its report.
    pub(crate) fn gradients(&self, batch: &Loaded) -> Result<(), DeviceError> {
        self.forward(batch, self.live())?;
        self.heads(batch, self.live())?;
        self.heads_backward(batch)?;
        self.backward(batch)?;
        self.summarise(batch)
    }

    /// The optimiser's step with the gradient and report at hand, by the batch's settings.
    pub(crate) fn update(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let (m, a) = (&self.memory, &self.arenas);
        let hyper = At(self.input(batch, self.places.hyper));
        self.run("begin_update", 1, 32, &[hyper, At(m.report), At(m.counter)])?;
        let count = self.layout.len();
        let arguments = [
            At(a.weights),
            At(a.first),
            At(a.second),
            At(a.averaged),
            At(a.gradient),
            At(a.rounded),
            Long(count as i64),
            Long(self.layout.decayed() as i64),
            hyper,
            At(m.report),
            At(m.counter),
        ];
        self.run("adamw", self.blocks(count.div_ceil(1024), 8), 256, &arguments)
    }

    /// The losses of every example, with the live weights or the averaged ones.
    pub(crate) fn evaluate(&self, batch: &Loaded, weights: crate::Weights) -> Result<(), DeviceError> {
        let source = match weights {
            crate::Weights::Live => self.live(),
            crate::Weights::Averaged => {
                self.round(self.arenas.averaged, self.arenas.rounded_averaged, self.layout.len())?;
                Source { full: self.arenas.averaged, rounded: self.arenas.rounded_averaged }
            }
        };
        self.forward(batch, source)?;
        self.heads(batch, source)
    }
}

/// Blocks a multiprocessor of the kernels that leave partial sums: also how much room those need.
const NORM_BLOCKS: u32 = 4;
const EMBED_BLOCKS: u32 = 2;
const ATTENTION_BLOCKS: u32 = 3;

fn attention_walk<D: Device>(device: &D, config: &HumanConfig, boards: usize, per: u32) -> (u32, usize) {
    let heads = config.heads as u32;
    let steps = (device.multiprocessors() * per / heads).clamp(1, boards.max(1) as u32);
    (steps * heads, steps as usize)
}

fn allocate_memory<D: Device>(
    device: &D,
    config: &HumanConfig,
    boards: usize,
    places: &InputPlaces,
) -> Result<Memory, DeviceError> {
    let HumanConfig { width: d, heads, layers, inner, pair, hidden } = *config;
    let rows = boards * TOKENS;
    let halves = |count: usize| device.allocate(count * BF16);
    let floats = |count: usize| device.allocate(count * F32);
    let layer = |_| {
        Ok(LayerMemory {
            x: halves(rows * d)?,
            normed1: halves(rows * d)?,
            qkv: halves(rows * 3 * d)?,
            context: halves(rows * d)?,
            middle: halves(rows * d)?,
            normed2: halves(rows * d)?,
            both: halves(rows * 2 * inner)?,
            product: halves(rows * inner)?,
        })
    };
    let processors = device.multiprocessors() as usize;
    let (attention_blocks, steps) = attention_walk(device, config, boards, ATTENTION_BLOCKS);
    let partial = [
        processors * NORM_BLOCKS as usize * d,
        processors * EMBED_BLOCKS as usize * TOKENS * d,
        processors * 2 * 4 * d,
        attention_blocks as usize * 2 * config.head_width(),
        processors * 4,
    ];
    Ok(Memory {
        slots: [device.allocate(places.len)?, device.allocate(places.len)?],
        squares: halves(rows * SQUARE_INPUTS)?,
        game: halves(boards * GAME_INPUTS)?,
        embedded: halves(rows * d)?,
        game_vector: floats(boards * d)?,
        layers: (0..layers).map(layer).collect::<Result<_, DeviceError>>()?,
        last: halves(rows * d)?,
        y: halves(rows * d)?,
        pairs: halves(rows * 2 * pair)?,
        logits: floats(boards * MOVES)?,
        d_logits: halves(boards * MOVES)?,
        promotion_d: floats(boards * 4)?,
        pooled: halves(boards * d)?,
        before: floats(boards * hidden)?,
        hidden: halves(boards * hidden)?,
        outputs: floats(boards * OUTPUTS)?,
        d_outputs: floats(boards * OUTPUTS)?,
        d_outputs_rounded: halves(boards * OUTPUTS)?,
        d_hidden: floats(boards * hidden)?,
        d_before: halves(boards * hidden)?,
        d_pooled: floats(boards * d)?,
        losses: floats(LOSSES * boards)?,
        ranks: halves(boards)?,
        report: floats(8)?,
        factors: floats(LOSSES)?,
        counter: floats(4)?,
        d_pairs: halves(rows * 2 * pair)?,
        d_normed: halves(rows * d)?,
        dx: halves(rows * d)?,
        d_context: halves(rows * d)?,
        d_qkv: halves(rows * 3 * d)?,
        d_product: halves(rows * inner)?,
        d_both: halves(rows * 2 * inner)?,
        d_game: halves(boards * d)?,
        partial: floats(partial.into_iter().max().unwrap_or(0))?,
        partial_bias: floats(steps * heads * MOVES)?,
    })
}
const _: () = assert!(OUTCOMES + THINK_BINS <= OUTPUTS);
