//! What the fused trainer asks of a device: memory, kernels by name, matrix products, and copies that overlap the work.

/// Why the device could not do its work.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {reason}")]
pub(crate) struct DeviceError {
    /// What was being done: a kernel's or product's name, a copy.
    pub(crate) doing: String,
    /// What the driver, the compiler or the library said.
    pub(crate) reason: String,
}

impl DeviceError {
    pub(crate) fn new(doing: impl Into<String>, reason: impl std::fmt::Display) -> Self {
        DeviceError { doing: doing.into(), reason: reason.to_string() }
    }
}

/// A place in the device's memory. Zero is nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) u64);

impl Address {
    /// What an absent optional operand is passed as.
    pub(crate) const NULL: Address = Address(0);

    /// The place `count` elements of `size` bytes further on.
    pub(crate) fn after(self, count: usize, size: usize) -> Address {
        Address(self.0 + (count * size) as u64)
    }
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Argument {
    At(Address),
    Int(i32),
    Long(i64),
    Float(f32),
}

/// How a kernel is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: &'static str,
    pub(crate) blocks: u32,
    pub(crate) threads: u32,
    /// Bytes of dynamic shared memory.
    pub(crate) shared: u32,
}

/// What a product writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Element {
    Bf16,
    F32,
}

/// Whether an operand is read as it is stored or transposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Order {
    Stored,
    Transposed,
}

/// A row-major matrix of brain floats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) at: Address,
    /// Elements from one stored row to the next.
    pub(crate) stride: usize,
    pub(crate) order: Order,
}

/// `out[m, n] = scale * a[m, k] b[k, n] + add[m, n]`, all row-major, `count` times with the operands `steps` elements on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) out: Address,
    pub(crate) out_stride: usize,
    pub(crate) out_element: Element,
    /// Of the same kind and stride as `out`, or nowhere.
    pub(crate) add: Address,
    pub(crate) scale: f32,
    pub(crate) count: usize,
    /// Elements from one repetition to the next, of a, b and out.
    pub(crate) steps: [usize; 3],
}

impl Product {
    /// A layer: `out[rows, outputs] = x[rows, inputs] weight[outputs, inputs]^T`.
    pub(crate) fn layer(
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
    pub(crate) fn input_gradient(
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

    /// A layer's weight gradient, in full floats: `out[outputs, inputs] = dy[rows, outputs]^T x[rows, inputs]`.
    pub(crate) fn weight_gradient(
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

    /// The same with something added.
    pub(crate) fn plus(self, add: Address) -> Self {
        Product { add, ..self }
    }

    /// The same with full floats written.
    pub(crate) fn in_f32(self) -> Self {
        Product { out_element: Element::F32, ..self }
    }

    /// Its shape, for messages and profiles.
    pub(crate) fn name(&self) -> String {
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

/// Whether to wait for something that is still under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    No,
    Yes,
}

/// A machine that runs the kernels. Launches, products and clears run in the order they were asked for.
pub(crate) trait Device {
    /// Its name, for people.
    fn describe(&self) -> String;

    /// How many multiprocessors share the work.
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
