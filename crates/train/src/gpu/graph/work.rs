//! What a step consists of: launches and products whose sizes grow with the batch.

use super::super::batch::{Loaded, Sent, Targets};
use super::super::training::{BF16, F32, Source, Training};
use tabia_gpu::{Address, Argument, Device, DeviceError, Launch, Product};

/// An argument of a kernel, as far as it is known before a batch is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given {
    Known(Argument),
    /// Positions of the batch times this.
    Examples(usize),
    /// A parameter in 32-bit floats, by its place in the arena.
    Full(usize),
    /// A column of the batch, by its place in the slot.
    Column(usize),
    /// The starts of the soft targets, or nowhere.
    SoftStarts,
}

/// How many blocks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Grid {
    Blocks(u32),
    /// One an example.
    Examples,
    /// So many threads an example, in blocks of 256, as far as the device has room for them.
    Threads(usize),
}

/// The size of a product that counts examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grows {
    /// Rows of the result.
    M,
    /// What is summed over.
    K,
    /// Products.
    Count,
}

/// One thing the device does.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Launch {
        kernel: &'static str,
        grid: Grid,
        threads: u32,
        shared: u32,
        arguments: Vec<Given>,
    },
    /// A product with the sizes of one example. Its right side is the parameter at `weight`, where there is one.
    Multiply {
        product: Product,
        grows: Grows,
        weight: Option<usize>,
    },
    /// An input of numbers in rows of `width`, as bfloat16 in rows of `padded`.
    Numbers {
        input: usize,
        to: Address,
        rows: usize,
        width: usize,
        padded: usize,
    },
}

/// Blocks a multiprocessor of kernels that walk over their elements.
const RESIDENT: u32 = 16;

impl Work {
    /// Does it for a batch.
    pub(super) fn run<D: Device>(
        &self,
        training: &Training<D>,
        batch: &Loaded,
        source: Source,
    ) -> Result<(), DeviceError> {
        match self {
            Work::Launch { kernel, grid, threads, shared, arguments } => {
                let arguments: Vec<Argument> =
                    arguments.iter().map(|given| given.argument(training, batch, source)).collect();
                let blocks = match *grid {
                    Grid::Blocks(blocks) => blocks,
                    Grid::Examples => batch.rows as u32,
                    Grid::Threads(each) => training.blocks((batch.rows * each).div_ceil(256), RESIDENT),
                };
                let launch = Launch { kernel, blocks, threads: *threads, shared: *shared };
                training.device.launch(launch, &arguments)
            }
            Work::Multiply { product, grows, weight } => {
                let mut product = *product;
                match grows {
                    Grows::M => product.m *= batch.rows,
                    Grows::K => product.k *= batch.rows,
                    Grows::Count => product.count *= batch.rows,
                }
                if let Some(offset) = *weight {
                    product.b.at = source.rounded.after(offset, BF16);
                }
                training.device.multiply(&product)
            }
            &Work::Numbers { input, to, rows, width, padded } => {
                let place = &training.places.inputs[input];
                let (kernel, at) = match batch.numbers {
                    Sent::Bytes => ("bytes_to_rows", place.at),
                    Sent::Floats => ("floats_to_rows", place.floats),
                };
                let rows = rows * batch.rows;
                let blocks = training.blocks((rows * padded / 8).div_ceil(256), RESIDENT);
                let arguments = [
                    Argument::At(training.input(batch, at)),
                    Argument::At(to),
                    Argument::Int(rows as i32),
                    Argument::Int(width as i32),
                    Argument::Int(padded as i32),
                ];
                training.run(kernel, blocks, 256, &arguments)
            }
        }
    }
}

impl Given {
    fn argument<D: Device>(self, training: &Training<D>, batch: &Loaded, source: Source) -> Argument {
        match self {
            Given::Known(argument) => argument,
            Given::Examples(each) => Argument::Int((batch.rows * each) as i32),
            Given::Full(offset) => Argument::At(source.full.after(offset, F32)),
            Given::Column(place) => Argument::At(training.input(batch, place)),
            Given::SoftStarts => match batch.targets {
                Targets::Soft => Argument::At(training.input(batch, training.places.starts)),
                Targets::Hard => Argument::At(Address::NULL),
            },
        }
    }
}

/// Addresses and numbers as arguments.
pub(super) fn at(address: Address) -> Given {
    Given::Known(Argument::At(address))
}

pub(super) fn int(number: usize) -> Given {
    Given::Known(Argument::Int(number as i32))
}

pub(super) fn float(number: f32) -> Given {
    Given::Known(Argument::Float(number))
}
