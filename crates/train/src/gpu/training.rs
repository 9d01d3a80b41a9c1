//! What training any network on a device needs: parameters and moments in the device's order, the memory batches arrive
//! in, the losses, and the optimiser's step.
//!
//! Master weights, moments and averaged weights are 32-bit floats; products read a rounded copy of the weights.

use super::batch::{Loaded, Places};
use super::layout::Layout;
use super::muon::{self, Muon};
use crate::LossFactors;
use crate::optimiser::Optimiser;
use Argument::{At, Int, Long};
use tabia_gpu::{Address, Argument, Device, DeviceError, Launch};

/// Heads that report a loss: policy, promotion, outcome, think, value.
pub(crate) const LOSSES: usize = 5;

pub(crate) const BF16: usize = 2;
pub(crate) const F32: usize = 4;

/// The kernels every network is trained with.
pub(crate) const KERNELS: [&str; 9] = [
    "round_to_bf16",
    "column_sums",
    "square_sums",
    "report_step",
    "begin_update",
    "adamw",
    muon::MOMENTUM,
    muon::NORMALISE,
    muon::APPLY,
];

/// Which weights a forward pass reads.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) full: Address,
    pub(crate) rounded: Address,
}

/// The arenas: 32-bit floats but for `rounded` and `rounded_averaged`.
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

/// What a batch left behind, example by example.
pub(crate) struct ByExample {
    /// Head after head.
    pub(crate) losses: [Vec<f32>; LOSSES],
    /// Legal moves above the one played.
    pub(crate) ranks: Vec<u16>,
    /// The values predicted.
    pub(crate) values: Vec<f32>,
}

/// The state of a training on a device, for batches of up to `capacity` positions.
pub(crate) struct Training<D: Device> {
    pub(crate) device: D,
    pub(crate) capacity: usize,
    pub(crate) layout: Layout,
    pub(crate) places: Places,
    /// What each head's loss counts.
    pub(crate) factors: [f32; LOSSES],
    arenas: Arenas,
    slots: [Address; 2],
    losses: Address,
    ranks: Address,
    values: Address,
    report: Address,
    factors_there: Address,
    counter: Address,
    squares: Address,
    /// Where it moves the matrices of the body.
    muon: Option<Muon>,
}

impl<D: Device> Training<D> {
    pub(crate) fn new(
        device: D,
        capacity: usize,
        layout: Layout,
        places: Places,
        factors: &LossFactors,
        optimiser: Optimiser,
    ) -> Result<Self, DeviceError> {
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
        let factors = [factors.policy, factors.promotion, factors.outcome, factors.think, factors.value];
        let factors_there = device.allocate(LOSSES * F32)?;
        device.write(factors_there, bytemuck::cast_slice(&factors))?;
        let muon = match optimiser {
            Optimiser::Adamw => None,
            Optimiser::Muon { momentum } => Some(Muon::new(&device, &layout, momentum)?),
        };
        Ok(Training {
            slots: [device.allocate(places.len)?, device.allocate(places.len)?],
            losses: device.allocate(LOSSES * capacity * F32)?,
            ranks: device.allocate(capacity * 2)?,
            values: device.allocate(capacity * F32)?,
            report: device.allocate(8 * F32)?,
            counter: device.allocate(4 * F32)?,
            squares: device.allocate((device.multiprocessors() * SQUARE_BLOCKS) as usize * F32)?,
            factors_there,
            muon,
            arenas,
            factors,
            device,
            capacity,
            layout,
            places,
        })
    }

    /// Where a slot's batch lies.
    pub(crate) fn slot(&self, slot: usize) -> Address {
        self.slots[slot]
    }

    /// A column of a batch.
    pub(crate) fn input(&self, batch: &Loaded, place: usize) -> Address {
        self.slots[batch.slot].after(place, 1)
    }

    /// The eight numbers of the last step's report: five losses, their sum by factors, the gradient's norm, the step.
    pub(crate) fn report(&self) -> Address {
        self.report
    }

    /// Where the losses of a head go, one an example.
    pub(crate) fn losses(&self, head: usize) -> Address {
        self.losses.after(head * self.capacity, F32)
    }

    /// Where ranks go, 16 bits an example.
    pub(crate) fn ranks(&self) -> Address {
        self.ranks
    }

    /// Where predicted values go, a float an example.
    pub(crate) fn values(&self) -> Address {
        self.values
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

    /// An arena as the device holds it.
    pub(crate) fn read_held(&self, arena: Arena) -> Result<Vec<f32>, DeviceError> {
        let mut values = vec![0_f32; self.layout.len()];
        self.device.read(self.arena(arena), bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// An arena in the order of the parameter table.
    pub(crate) fn read_arena(&self, arena: Arena) -> Result<Vec<f32>, DeviceError> {
        Ok(self.layout.to_table(&self.read_held(arena)?))
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
        self.device.read(self.counter, bytemuck::cast_slice_mut(&mut steps))?;
        Ok(steps[0] as u64)
    }

    pub(crate) fn write_steps(&self, steps: u64) -> Result<(), DeviceError> {
        self.device.write(self.counter, bytemuck::cast_slice(&[steps as f32]))
    }

    /// What the last forward pass said of each example.
    pub(crate) fn read_examples(&self, rows: usize) -> Result<ByExample, DeviceError> {
        let mut ranks = vec![0_u16; rows];
        self.device.read(self.ranks, bytemuck::cast_slice_mut(&mut ranks))?;
        let mut values = vec![0_f32; rows];
        self.device.read(self.values, bytemuck::cast_slice_mut(&mut values))?;
        let mut losses: [Vec<f32>; LOSSES] = std::array::from_fn(|_| vec![0.0; rows]);
        for (head, losses) in losses.iter_mut().enumerate() {
            self.device.read(self.losses(head), bytemuck::cast_slice_mut(losses))?;
        }
        Ok(ByExample { losses, ranks, values })
    }

    /// As many blocks as there is work for, up to so many a multiprocessor.
    pub(crate) fn blocks(&self, wanted: usize, per_multiprocessor: u32) -> u32 {
        (wanted.max(1) as u32).min(self.device.multiprocessors() * per_multiprocessor)
    }

    /// Starts a kernel without dynamic shared memory.
    pub(crate) fn run(
        &self,
        kernel: &'static str,
        blocks: u32,
        threads: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.device.launch(Launch { kernel, blocks, threads, shared: 0 }, arguments)
    }

    /// 32-bit floats as bfloat16; `count` a multiple of 8.
    pub(crate) fn round(&self, from: Address, to: Address, count: usize) -> Result<(), DeviceError> {
        let blocks = self.blocks(count.div_ceil(256 * 8), 16);
        self.run("round_to_bf16", blocks, 256, &[At(from), At(to), Long(count as i64)])
    }

    /// Where the gradient of a group goes.
    pub(crate) fn gradient_of(&self, group: &str) -> Address {
        self.arenas.gradient.after(self.layout.offset(group), F32)
    }

    /// The weights the optimiser moves.
    pub(crate) fn live(&self) -> Source {
        Source { full: self.arenas.weights, rounded: self.arenas.rounded }
    }

    /// Their running average, rounded anew.
    pub(crate) fn averaged(&self) -> Result<Source, DeviceError> {
        self.round(self.arenas.averaged, self.arenas.rounded_averaged, self.layout.len())?;
        Ok(Source { full: self.arenas.averaged, rounded: self.arenas.rounded_averaged })
    }

    /// The report of a batch, from the losses of its examples and the gradient.
    pub(crate) fn summarise(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let count = self.layout.len();
        let blocks = self.blocks(count.div_ceil(1024), SQUARE_BLOCKS);
        let arguments = [At(self.arenas.gradient), At(self.squares), Long(count as i64)];
        self.run("square_sums", blocks, 256, &arguments)?;
        let arguments = [
            At(self.losses),
            At(self.input(batch, self.places.share)),
            At(self.factors_there),
            At(self.squares),
            Int(blocks as i32),
            At(self.report),
            Int(batch.rows as i32),
            Int(self.capacity as i32),
        ];
        self.run("report_step", 1, 256, &arguments)
    }

    /// The optimiser's step with the gradient and report at hand, by the batch's settings.
    pub(crate) fn update(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let a = &self.arenas;
        let hyper = At(self.input(batch, self.places.hyper));
        self.run("begin_update", 1, 32, &[hyper, At(self.report), At(self.counter)])?;
        let (first, count) = (self.muon.as_ref().map_or(0, |_| self.layout.body()), self.layout.len());
        let arguments = [
            At(a.weights),
            At(a.first),
            At(a.second),
            At(a.averaged),
            At(a.gradient),
            At(a.rounded),
            Long(first as i64),
            Long(count as i64),
            Long(self.layout.decayed() as i64),
            hyper,
            At(self.report),
            At(self.counter),
        ];
        self.run("adamw", self.blocks((count - first).div_ceil(1024), 8), 256, &arguments)?;
        let Some(muon) = &self.muon else { return Ok(()) };
        let arenas = muon::Arenas {
            weights: a.weights,
            momentum: a.first,
            averaged: a.averaged,
            gradient: a.gradient,
            rounded: a.rounded,
        };
        muon.step(&self.device, &arenas, self.input(batch, self.places.hyper), self.report)
    }
}

/// Blocks a multiprocessor that sum the gradient's squares.
const SQUARE_BLOCKS: u32 = 4;
