//! What a device does: memory, kernels by name, matrix products, and copies that overlap the work.

/// Why the device could not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {reason}")]
pub struct DeviceError {
    /// What was being done: a kernel's or product's name, a copy.
    pub doing: String,
    /// What the driver, the compiler or the library said.
    pub reason: String,
}

impl DeviceError {
    /// An error while `doing` something.
    pub fn new(doing: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        DeviceError { doing: doing.into(), reason: reason.to_string() }
    }
}

/// A device address; zero is null.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(pub u64);

impl Address {
    /// The null address, for optional operands that are absent.
    pub const NULL: Address = Address(0);

    /// The address `count` elements of `size` bytes further on.
    pub fn after(self, count: usize, size: usize) -> Address {
        Address(self.0 + (count * size) as u64)
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Argument {
    /// A pointer.
    At(Address),
    /// An `int`.
    Int(i32),
    /// A `long long`.
    Long(i64),
    /// A `float`.
    Float(f32),
}

/// A kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}

/// The element type of a product's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Element {
    /// bfloat16.
    Bf16,
    /// 32-bit floats.
    F32,
}

/// Whether an operand is read as it is stored or transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Order {
    /// As stored.
    Stored,
    /// Transposed.
    Transposed,
}

/// A row-major matrix of bfloat16.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its first element.
    pub at: Address,
    /// Elements from one stored row to the next.
    pub stride: usize,
    /// How it is read.
    pub order: Order,
}

/// `out[m, n] = scale * a[m, k] b[k, n] + add[m, n]`, all row-major, `count` times with the operands `steps` elements on.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Rows of `a` and `out`.
    pub m: usize,
    /// Columns of `b` and `out`.
    pub n: usize,
    /// Columns of `a`, rows of `b`.
    pub k: usize,
    /// The left operand.
    pub a: Operand,
    /// The right operand.
    pub b: Operand,
    /// The result.
    pub out: Address,
    /// Elements from one row of `out` to the next.
    pub out_stride: usize,
    /// The element type of `out`.
    pub out_element: Element,
    /// Of the same type and stride as `out`, or null.
    pub add: Address,
    /// Factor of the product.
    pub scale: f32,
    /// Repetitions.
    pub count: usize,
    /// Elements from one repetition to the next, of a, b and out.
    pub steps: [usize; 3],
}

impl Product {
    /// A layer: `out[rows, outputs] = x[rows, inputs] weight[outputs, inputs]^T`.
    pub fn layer(
        rows: usize,
        inputs: usize,
        outputs: usize,
        x: Address,
        weight: Address,
        out: Address,
    ) -> Self {
        Product {
            m: rows,
            n: outputs,
            k: inputs,
            a: Operand { at: x, stride: inputs, order: Order::Stored },
            b: Operand { at: weight, stride: inputs, order: Order::Transposed },
            out,
            out_stride: outputs,
            out_element: Element::Bf16,
            add: Address::NULL,
            scale: 1.0,
            count: 1,
            steps: [0; 3],
        }
    }

    /// A layer's input gradient: `out[rows, inputs] = dy[rows, outputs] weight[outputs, inputs]`.
    pub fn input_gradient(
        rows: usize,
        inputs: usize,
        outputs: usize,
        dy: Address,
        weight: Address,
        out: Address,
    ) -> Self {
        Product {
            m: rows,
            n: inputs,
            k: outputs,
            a: Operand { at: dy, stride: outputs, order: Order::Stored },
            b: Operand { at: weight, stride: inputs, order: Order::Stored },
            out_stride: inputs,
            ..Product::layer(rows, inputs, outputs, dy, weight, out)
        }
    }

    /// A layer's weight gradient, in 32-bit floats: `out[outputs, inputs] = dy[rows, outputs]^T x[rows, inputs]`.
    pub fn weight_gradient(
        rows: usize,
        inputs: usize,
        outputs: usize,
        x: Address,
        dy: Address,
        out: Address,
    ) -> Self {
        Product {
            m: outputs,
            n: inputs,
            k: rows,
            a: Operand { at: dy, stride: outputs, order: Order::Transposed },
            b: Operand { at: x, stride: inputs, order: Order::Stored },
            out_stride: inputs,
            out_element: Element::F32,
            ..Product::layer(rows, inputs, outputs, x, dy, out)
        }
    }

    /// The same plus `add`.
    pub fn plus(self, add: Address) -> Self {
        Product { add, ..self }
    }

    /// The same with 32-bit floats as output.
    pub fn in_f32(self) -> Self {
        Product { out_element: Element::F32, ..self }
    }

    /// Its shape, for messages and profiles.
    pub fn name(&self) -> String {
        let order = |o: Order| if o == Order::Stored { 'n' } else { 't' };
        format!(
            "product {}{} m{} n{} k{}{}{}",
            order(self.a.order),
            order(self.b.order),
            self.m,
            self.n,
            self.k,
            if self.count > 1 { format!(" x{}", self.count) } else { String::new() },
            if self.out_element == Element::F32 { " f32" } else { "" },
        )
    }
}

/// Whether to wait for something that has not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Return at once.
    No,
    /// Block.
    Yes,
}

/// A device that runs kernels. Launches and products run in the order of the calls.
pub trait Device {
    /// Its name, for display.
    fn describe(&self) -> String;

    /// How many multiprocessors it has.
    fn multiprocessors(&self) -> u32;

    /// Memory, zeroed, that lives as long as the device; 256-byte aligned.
    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError>;

    /// Copies to the device, after everything asked before; returns when the bytes were read.
    fn write(&self, to: Address, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Waits for everything asked before, then copies from the device.
    fn read(&self, from: Address, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Starts a kernel.
    fn launch(&self, launch: Launch, arguments: &[Argument]) -> Result<(), DeviceError>;

    /// Multiplies matrices.
    fn multiply(&self, product: &Product) -> Result<(), DeviceError>;

    /// Fills up to `bytes` bytes of transfer memory and sends as many as `fill` says to `to`, beside the work under way;
    /// what is asked after sees them. `slot` (0 or 1) names the transfer memory, and `to` belongs to the slot.
    fn send(
        &self,
        slot: usize,
        to: Address,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<(), DeviceError>;

    /// Says that everything asked so far is the last that reads what was sent through `slot`.
    fn release(&self, slot: usize) -> Result<(), DeviceError>;

    /// Asks for eight floats as they are after everything asked so far.
    fn request(&self, from: Address) -> Result<(), DeviceError>;

    /// The oldest floats requested and not yet received, if there are any and they have arrived or may be waited for.
    fn receive(&self, wait: Wait) -> Result<Option<[f32; 8]>, DeviceError>;
}
