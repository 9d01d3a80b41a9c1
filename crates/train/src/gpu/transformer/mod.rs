//! The transformer over squares on a device: its buffers, its forward and backward pass, its update.
//!
//! bfloat16 in every product, 32-bit floats in every sum; master weights, moments and averaged weights in 32-bit floats.
//! All buffers are made once. The plain version in `nets` says what is computed; this one says in which order.

mod backward;
mod forward;
mod heads;
mod memory;

use super::attention;
use super::backend::HeadsKnown;
use super::batch::{Form, Loaded, Places};
use super::layout::{Group, Layout};
use super::training::{KERNELS, Network, Source, Training};
use crate::nets::HumanConfig;
use crate::optimiser::Optimiser;
use crate::{NetConfig, ParameterTable, TrainConfig};
use memory::Memory;
use tabia_gpu::{Device, DeviceError};
use tabia_nets::human::OUTCOMES;
pub(crate) use tabia_nets::human::{GAME_INPUTS, SQUARE_INPUTS, SQUARES as TOKENS};

pub(crate) const MOVES: usize = TOKENS * TOKENS;
const THINK_BINS: usize = tabia_encoding::TIME_BINS;
/// Rows of the merged outcome and think-time head: theirs, and zeros up to a full warp.
const OUTPUTS: usize = 32;
/// Where the inputs are among a batch's.
const SQUARES: usize = 0;
const GAME: usize = 1;

/// The heads of every such network.
pub(crate) const HEADS: HeadsKnown =
    HeadsKnown { policy: true, promotion: true, outcome: true, think: true, value: false };

/// The kernels, in the order they build on each other.
pub(crate) const SOURCES: [&str; 8] = [
    include_str!("../prelude.cu"),
    include_str!("../sums.cu"),
    include_str!("../rows.cu"),
    include_str!("../attention.cu"),
    include_str!("../targets.cu"),
    include_str!("../heads.cu"),
    include_str!("../optimiser.cu"),
    include_str!("../muon.cu"),
];

/// The kernels of [`SOURCES`] and the most dynamic shared memory a block of each asks for.
pub(crate) fn kernels(config: &HumanConfig) -> Vec<(&'static str, u32)> {
    let plain = [
        "embed",
        "norm_forward",
        "norm_backward",
        "gated_forward",
        "gated_backward",
        "embed_backward",
        "attention_forward",
        "move_loss",
        "promotion_loss",
        "promotion_backward",
        "pool",
        "hidden_forward",
        "hidden_backward",
        "outcome_loss",
    ];
    let mut all: Vec<(&'static str, u32)> = plain.into_iter().chain(KERNELS).map(|name| (name, 0)).collect();
    all.push(("attention_backward", attention::memory(TOKENS, config.head_width())));
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

/// The network on a device.
pub(crate) struct Transformer<D: Device> {
    training: Training<D>,
    config: HumanConfig,
    memory: Memory,
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
        run: &TrainConfig,
    ) -> Result<Self, DeviceError> {
        let shape = |problem: String| DeviceError::new("the network's shape", problem);
        check(&config).map_err(shape)?;
        let table: ParameterTable = NetConfig::Human(config).table();
        let layout = Layout::new(&table, &groups(&config)).map_err(shape)?;
        let inputs = [(Form::Floats, TOKENS * SQUARE_INPUTS), (Form::Floats, GAME_INPUTS)];
        let places = Places::new(capacity, &inputs, Some(MOVES));
        let optimiser = Optimiser::of(&run.optimiser);
        let memory = Memory::new(&device, &config, capacity)?;
        Ok(Transformer {
            training: Training::new(device, capacity, layout, places, &run.loss, optimiser)?,
            config,
            memory,
        })
    }

    /// The walk of the attention kernels: their blocks, and steps among the boards.
    fn attention_blocks(&self, boards: usize, per_multiprocessor: u32) -> (u32, usize) {
        attention::walk(&self.training.device, self.config.heads, boards, per_multiprocessor)
    }
}

impl<D: Device> Network for Transformer<D> {
    type Device = D;

    fn training(&self) -> &Training<D> {
        &self.training
    }

    fn forward(&self, batch: &Loaded, source: Source) -> Result<(), DeviceError> {
        self.trunk(batch, source)?;
        self.heads(batch, source)
    }

    fn backward(&self, batch: &Loaded) -> Result<(), DeviceError> {
        self.heads_backward(batch)?;
        self.trunk_backward(batch)
    }
}

const _: () = assert!(OUTCOMES + THINK_BINS <= OUTPUTS);
