//! Matrix products through cuBLASLt: for each shape the library's suggestions are timed once and the fastest kept.
#![expect(unsafe_code, reason = "cuBLASLt is a C library; descriptors are made and given back here")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::c_void;

use cudarc::cublaslt::{result as lt, sys};
use cudarc::driver::{result, sys as driver};

use crate::device::{DeviceError, Element, Order, Product};

/// How the algorithm for a product's shape is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// The library's first suggestion: the same in every run.
    Suggested,
    /// The fastest of its first suggestions, measured on the first use of the shape. Equal runs may then differ in
    /// rounding.
    Measured,
}

const WORKSPACE: usize = 64 << 20;
const SUGGESTIONS: usize = 12;
const REPETITIONS: usize = 4;
/// Every operand starts at a multiple of this many bytes.
const OPERAND_ALIGNMENT: u32 = 16;

/// Everything about a product but its places and its factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shape {
    sizes: [usize; 3],
    strides: [usize; 3],
    orders: [Order; 2],
    out: Element,
    adds: bool,
    count: usize,
    steps: [usize; 3],
}

impl Shape {
    fn of(product: &Product) -> Self {
        Shape {
            sizes: [product.m, product.n, product.k],
            strides: [product.a.stride, product.b.stride, product.out_stride],
            orders: [product.a.order, product.b.order],
            out: product.out_element,
            adds: product.add.0 != 0,
            count: product.count,
            steps: product.steps,
        }
    }
}

/// The library's view of a shape. It counts columns first: our row-major product is its product of the transposes, with
/// the operands exchanged.
struct Plan {
    descriptor: sys::cublasLtMatmulDesc_t,
    first: sys::cublasLtMatrixLayout_t,
    second: sys::cublasLtMatrixLayout_t,
    out: sys::cublasLtMatrixLayout_t,
    algorithm: sys::cublasLtMatmulAlgo_t,
    note: String,
}

/// The products of one stream.
pub(crate) struct Products {
    handle: sys::cublasLtHandle_t,
    stream: driver::CUstream,
    workspace: driver::CUdeviceptr,
    tuning: Tuning,
    plans: RefCell<BTreeMap<Shape, Plan>>,
}

fn failed(product: &Product, doing: &'static str) -> impl FnOnce(lt::CublasError) -> DeviceError {
    let name = product.name();
    move |error| DeviceError::new(format!("{name}: {doing}"), format!("{:?}", error.0))
}

impl Products {
    pub(crate) fn new(stream: driver::CUstream, tuning: Tuning) -> Result<Self, DeviceError> {
        let handle = lt::create_handle()
            .map_err(|error| DeviceError::new("opening cuBLASLt", format!("{:?}", error.0)))?;
        // SAFETY: freed when self is dropped.
        let workspace = unsafe { result::malloc_sync(WORKSPACE) }
            .map_err(|error| DeviceError::new("allocating cuBLASLt's workspace", format!("{error:?}")))?;
        Ok(Products { handle, stream, workspace, tuning, plans: RefCell::default() })
    }

    /// Chooses how to multiply this shape, if that was not done before.
    pub(crate) fn prepare(&self, product: &Product) -> Result<(), DeviceError> {
        let shape = Shape::of(product);
        if !self.plans.borrow().contains_key(&shape) {
            let plan = self.plan(product)?;
            self.plans.borrow_mut().insert(shape, plan);
        }
        Ok(())
    }

    /// Multiplies; the shape was prepared.
    pub(crate) fn run(&self, product: &Product) -> Result<(), DeviceError> {
        let plans = self.plans.borrow();
        let plan = plans.get(&Shape::of(product)).expect("a product is prepared before it runs");
        self.multiply(plan, &plan.algorithm, product).map_err(failed(product, "multiplying"))
    }

    pub(crate) fn tuned(&self) -> Vec<String> {
        self.plans.borrow().values().map(|plan| plan.note.clone()).collect()
    }

    fn multiply(
        &self,
        plan: &Plan,
        algorithm: &sys::cublasLtMatmulAlgo_t,
        product: &Product,
    ) -> Result<(), lt::CublasError> {
        let beta = if product.add.0 == 0 { 0_f32 } else { 1.0 };
        let add = if product.add.0 == 0 { product.out } else { product.add };
        // SAFETY: the layouts describe buffers that live as long as the device, and the workspace is as long as said.
        unsafe {
            lt::matmul(
                self.handle,
                plan.descriptor,
                (&raw const product.scale).cast(),
                (&raw const beta).cast(),
                product.b.at.0 as *const c_void,
                plan.first,
                product.a.at.0 as *const c_void,
                plan.second,
                add.0 as *const c_void,
                plan.out,
                product.out.0 as *mut c_void,
                plan.out,
                algorithm,
                self.workspace as *mut c_void,
                WORKSPACE,
                self.stream.cast(),
            )
        }
    }

    fn plan(&self, product: &Product) -> Result<Plan, DeviceError> {
        let fail = |doing| failed(product, doing);
        let full = sys::cudaDataType::CUDA_R_32F;
        let half = sys::cudaDataType::CUDA_R_16BF;
        let out = if product.out_element == Element::F32 { full } else { half };
        let descriptor = lt::create_matmul_desc(sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, full)
            .map_err(fail("describing"))?;
        use sys::cublasLtMatmulDescAttributes_t::{CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB};
        for (attribute, order) in
            [(CUBLASLT_MATMUL_DESC_TRANSA, product.b.order), (CUBLASLT_MATMUL_DESC_TRANSB, product.a.order)]
        {
            let value: i32 = if order == Order::Transposed { 1 } else { 0 };
            // SAFETY: the attribute is four bytes long.
            unsafe { lt::set_matmul_desc_attribute(descriptor, attribute, (&raw const value).cast(), 4) }
                .map_err(fail("describing"))?;
        }
        let layout = |kind, (rows, columns): (usize, usize), stride: usize, step: usize| {
            let layout = lt::create_matrix_layout(kind, rows as u64, columns as u64, stride as i64)?;
            if product.count > 1 {
                use sys::cublasLtMatrixLayoutAttribute_t::{
                    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                };
                let (count, step) = (product.count as i32, step as i64);
                // SAFETY: the attributes are four and eight bytes long.
                unsafe {
                    let attribute = CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT;
                    lt::set_matrix_layout_attribute(layout, attribute, (&raw const count).cast(), 4)?;
                    let attribute = CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET;
                    lt::set_matrix_layout_attribute(layout, attribute, (&raw const step).cast(), 8)?;
                }
            }
            Ok(layout)
        };
        // A row-major [r, c] is a column-major [c, r].
        let stored = |order, rows: usize, columns: usize| match order {
            Order::Stored => (columns, rows),
            Order::Transposed => (rows, columns),
        };
        let Product { m, n, k, a, b, .. } = *product;
        let first =
            layout(half, stored(b.order, k, n), b.stride, product.steps[1]).map_err(fail("laying out"))?;
        let second =
            layout(half, stored(a.order, m, k), a.stride, product.steps[0]).map_err(fail("laying out"))?;
        let result_layout =
            layout(out, (n, m), product.out_stride, product.steps[2]).map_err(fail("laying out"))?;
        let suggestions = self
            .suggestions(descriptor, first, second, result_layout)
            .map_err(fail("asking for ways to multiply"))?;
        let Some(suggested) = suggestions.first() else {
            return Err(DeviceError::new(product.name(), "cuBLASLt knows no way to multiply this"));
        };
        let mut plan = Plan {
            descriptor,
            first,
            second,
            out: result_layout,
            algorithm: suggested.algo,
            note: product.name(),
        };
        if self.tuning == Tuning::Measured {
            self.choose(&mut plan, &suggestions, product)?;
        }
        Ok(plan)
    }

    fn suggestions(
        &self,
        descriptor: sys::cublasLtMatmulDesc_t,
        first: sys::cublasLtMatrixLayout_t,
        second: sys::cublasLtMatrixLayout_t,
        out: sys::cublasLtMatrixLayout_t,
    ) -> Result<Vec<sys::cublasLtMatmulHeuristicResult_t>, lt::CublasError> {
        use sys::cublasLtMatmulPreferenceAttributes_t as Attribute;
        let preference = lt::create_matmul_pref()?;
        let (limit, alignment) = (WORKSPACE, OPERAND_ALIGNMENT);
        let alignments = [
            Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            Attribute::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ];
        let mut found: Vec<sys::cublasLtMatmulHeuristicResult_t> = Vec::with_capacity(SUGGESTIONS);
        let mut count = 0;
        // SAFETY: attributes have the sizes given; the library fills at most `SUGGESTIONS` entries and says how many.
        unsafe {
            let attribute = Attribute::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
            lt::set_matmul_pref_attribute(
                preference,
                attribute,
                (&raw const limit).cast(),
                size_of::<usize>(),
            )?;
            for attribute in alignments {
                lt::set_matmul_pref_attribute(preference, attribute, (&raw const alignment).cast(), 4)?;
            }
            sys::cublasLtMatmulAlgoGetHeuristic(
                self.handle,
                descriptor,
                first,
                second,
                out,
                out,
                preference,
                SUGGESTIONS as i32,
                found.as_mut_ptr(),
                &raw mut count,
            )
            .result()?;
            found.set_len(count as usize);
            lt::destroy_matmul_pref(preference)?;
        }
        found.retain(|one| one.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        Ok(found)
    }

    /// Times the suggestions on the operands at hand. A product reads nothing it writes, so repeating it is harmless.
    fn choose(
        &self,
        plan: &mut Plan,
        suggestions: &[sys::cublasLtMatmulHeuristicResult_t],
        product: &Product,
    ) -> Result<(), DeviceError> {
        let driver_failed = |error: result::DriverError| {
            DeviceError::new(format!("timing {}", product.name()), format!("{error:?}"))
        };
        let event = || result::event::create(driver::CUevent_flags::CU_EVENT_DEFAULT).map_err(driver_failed);
        let (begin, end) = (event()?, event()?);
        let (mut best, mut first) = ((f32::INFINITY, 0), f32::NAN);
        for (at, one) in suggestions.iter().enumerate() {
            if self.multiply(plan, &one.algo, product).is_err() {
                continue;
            }
            // SAFETY: events and stream are live.
            let elapsed = unsafe {
                result::event::record(begin, self.stream).map_err(driver_failed)?;
                for _ in 0..REPETITIONS {
                    self.multiply(plan, &one.algo, product).map_err(failed(product, "timing"))?;
                }
                result::event::record(end, self.stream).map_err(driver_failed)?;
                result::event::synchronize(end).map_err(driver_failed)?;
                result::event::elapsed(begin, end).map_err(driver_failed)? / REPETITIONS as f32
            };
            if at == 0 {
                first = elapsed;
            }
            if elapsed < best.0 {
                best = (elapsed, at);
            }
        }
        // SAFETY: both were made above and are idle.
        unsafe {
            result::event::destroy(begin).map_err(driver_failed)?;
            result::event::destroy(end).map_err(driver_failed)?;
        }
        if best.0.is_infinite() {
            return Err(DeviceError::new(product.name(), "none of cuBLASLt's suggestions ran"));
        }
        plan.algorithm = suggestions[best.1].algo;
        let flops = 2.0 * (product.m * product.n * product.k * product.count) as f32;
        plan.note = format!(
            "{}: suggestion {} of {}, {:.1} us (the first {:.1} us), {:.0} TFLOP/s",
            product.name(),
            best.1,
            suggestions.len(),
            best.0 * 1e3,
            first * 1e3,
            flops / best.0 / 1e9,
        );
        Ok(())
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        // What fails while giving back cannot be helped: the process gives the rest back.
        // SAFETY: everything is given back once; the device waits for its stream before this runs.
        unsafe {
            for plan in self.plans.borrow().values() {
                let _ = lt::destroy_matmul_desc(plan.descriptor);
                for layout in [plan.first, plan.second, plan.out] {
                    let _ = lt::destroy_matrix_layout(layout);
                }
            }
            let _ = lt::destroy_handle(self.handle);
            let _ = result::free_sync(self.workspace);
        }
    }
}
