//! Muon on a device: the momentum of every matrix of the body, made orthogonal by batched products, one batch a shape.
//!
//! With the polynomial `a x + b x^3 + c x^5`, a round is three products that only scale and add: `A = s^2 X X^T`,
//! `B = A + (c / b) A A`, `X' = X + (b / a) B X`. The true matrix is `s X`, and `s` grows by `a` a round, which bfloat16
//! have room for; the last `s` is in the factor of the step. A matrix and its transpose have the same shape here: the
//! shorter side comes first. Sides are filled up with zeros, which stay zeros.

use std::collections::BTreeMap;

use super::layout::{BodyMatrix, Layout};
use super::training::{BF16, F32};
use crate::optimiser::muon::{COEFFICIENTS, EPS, ROUNDS, factor};
use Argument::{At, Float};
use tabia_gpu::{Address, Argument, Device, DeviceError, Element, Launch, Operand, Order, Product};

pub(crate) const MOMENTUM: &str = "muon_momentum";
pub(crate) const NORMALISE: &str = "muon_normalise";
pub(crate) const APPLY: &str = "muon_apply";

/// Sides of matrices are multiples of this, for the library of products.
const UNIT: usize = 8;
/// The side of a block's tile.
const SIDE: usize = 32;
const THREADS: u32 = 256;
/// Numbers that say where a matrix is, to the kernels.
const FIELDS: usize = 9;

/// What a step reads and moves.
pub(crate) struct Arenas {
    pub(crate) weights: Address,
    pub(crate) momentum: Address,
    pub(crate) averaged: Address,
    pub(crate) gradient: Address,
    pub(crate) rounded: Address,
}

/// Matrices of one shape, one after the other.
struct Class {
    small: usize,
    large: usize,
    count: usize,
    /// The element of the workspace they start at.
    at: usize,
}

/// Where the matrices are, and room to make them orthogonal.
pub(crate) struct Muon {
    momentum: f32,
    classes: Vec<Class>,
    blocks: u32,
    /// What the kernels know of the matrices, and the matrix of every block.
    bodies: Address,
    owners: Address,
    partial: Address,
    /// Each round reads one and writes the other.
    work: [Address; 2],
    /// `A` and `B` of the class at hand.
    square: Address,
    inner: Address,
}

/// The shape in which a matrix is made orthogonal.
fn sides(matrix: &BodyMatrix) -> (usize, usize) {
    let (rows, columns) = (matrix.rows.next_multiple_of(UNIT), matrix.stride.next_multiple_of(UNIT));
    (rows.min(columns), rows.max(columns))
}

impl Muon {
    pub(crate) fn new<D: Device>(device: &D, layout: &Layout, momentum: f32) -> Result<Self, DeviceError> {
        let mut by_shape: BTreeMap<(usize, usize), Vec<&BodyMatrix>> = BTreeMap::new();
        for matrix in layout.matrices() {
            by_shape.entry(sides(matrix)).or_default().push(matrix);
        }
        let grown = COEFFICIENTS[0].powi(ROUNDS as i32);
        let (mut classes, mut bodies, mut owners) = (Vec::new(), Vec::new(), Vec::<i32>::new());
        let mut len = 0;
        for (&(small, large), matrices) in &by_shape {
            classes.push(Class { small, large, count: matrices.len(), at: len });
            for matrix in matrices {
                let &BodyMatrix { at, rows, columns, stride } = *matrix;
                let tiles = rows.div_ceil(SIDE) * stride.div_ceil(SIDE);
                let turned = rows.next_multiple_of(UNIT) > stride.next_multiple_of(UNIT);
                let numbers = [at, rows, stride, len, large, usize::from(turned), owners.len(), tiles];
                let mut fields = [0; FIELDS];
                for (field, number) in fields.iter_mut().zip(numbers) {
                    *field = i32::try_from(number)
                        .map_err(|error| DeviceError::new("laying out matrices for Muon", error))?;
                }
                fields[FIELDS - 1] = (grown * factor(rows, columns)).to_bits().cast_signed();
                owners.extend(std::iter::repeat_n(bodies.len() as i32, tiles));
                bodies.push(fields);
                len += small * large;
            }
        }
        let squares = classes.iter().map(|class| class.count * class.small * class.small).max().unwrap_or(0);
        let placed = |numbers: &[i32]| {
            let at = device.allocate(size_of_val(numbers))?;
            device.write(at, bytemuck::cast_slice(numbers)).map(|()| at)
        };
        Ok(Muon {
            momentum,
            classes,
            blocks: owners.len() as u32,
            bodies: placed(bodies.as_flattened())?,
            owners: placed(&owners)?,
            partial: device.allocate(owners.len() * F32)?,
            work: [device.allocate(len * BF16)?, device.allocate(len * BF16)?],
            square: device.allocate(squares * BF16)?,
            inner: device.allocate(squares * BF16)?,
        })
    }

    /// Moves the matrices by the gradient at hand. Like the rest of a step, nothing moves where the report is not finite.
    pub(crate) fn step<D: Device>(
        &self,
        device: &D,
        arenas: &Arenas,
        hyper: Address,
        report: Address,
    ) -> Result<(), DeviceError> {
        let run = |kernel, arguments: &[Argument]| {
            let all: Vec<Argument> =
                [At(self.bodies), At(self.owners)].into_iter().chain(arguments.iter().copied()).collect();
            device.launch(Launch { kernel, blocks: self.blocks, threads: THREADS, shared: 0 }, &all)
        };
        let (m, g, beta) = (At(arenas.momentum), At(arenas.gradient), Float(self.momentum));
        let (partial, hyper, report) = (At(self.partial), At(hyper), At(report));
        run(MOMENTUM, &[m, g, partial, beta, hyper, report])?;
        run(NORMALISE, &[m, g, partial, At(self.work[0]), beta, Float(EPS), hyper, report])?;
        for class in &self.classes {
            self.rounds(device, class)?;
        }
        let done = At(self.work[ROUNDS % 2]);
        let moved = [At(arenas.weights), At(arenas.averaged), At(arenas.rounded)];
        run(APPLY, &[done, moved[0], moved[1], moved[2], hyper, report])
    }

    /// Makes the matrices of a class orthogonal.
    fn rounds<D: Device>(&self, device: &D, class: &Class) -> Result<(), DeviceError> {
        let &Class { small, large, count, at } = class;
        let [a, b, c] = COEFFICIENTS;
        let stored = |at: Address, stride: usize| Operand { at, stride, order: Order::Stored };
        let mut scale = 1.0;
        for round in 0..ROUNDS {
            let [x, next] = [round % 2, (round + 1) % 2].map(|side| self.work[side].after(at, BF16));
            let square = Product {
                m: small,
                n: small,
                k: large,
                a: stored(x, large),
                b: Operand { order: Order::Transposed, ..stored(x, large) },
                out: self.square,
                out_stride: small,
                out_element: Element::Bf16,
                add: Address::NULL,
                scale: scale * scale,
                count,
                steps: [small * large, small * large, small * small],
            };
            device.multiply(&square)?;
            let inner = Product {
                k: small,
                a: stored(self.square, small),
                b: stored(self.square, small),
                out: self.inner,
                add: self.square,
                scale: c / b,
                steps: [small * small; 3],
                ..square
            };
            device.multiply(&inner)?;
            device.multiply(&Product {
                n: large,
                a: stored(self.inner, small),
                b: stored(x, large),
                out: next,
                out_stride: large,
                add: x,
                scale: b / a,
                steps: [small * small, small * large, small * large],
                ..inner
            })?;
            scale *= a;
        }
        Ok(())
    }
}
