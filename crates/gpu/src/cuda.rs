//! An NVIDIA GPU through its driver, with kernels compiled when it is opened.
//!
//! Nothing of CUDA is needed to build or to start the program: the driver, NVRTC and cuBLASLt are looked for when a GPU is
//! asked for.
#![expect(unsafe_code, reason = "the driver is a C library; every call below passes memory this module owns")]

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};
use cudarc::nvrtc;

use crate::device::{Address, Argument, Device, DeviceError, Launch, Product, Wait};
use crate::products::{Products, Tuning};

/// Reports that may be under way at once.
const REPORTS: usize = 16;
const REPORT_BYTES: usize = 32;
/// The libraries needed beside the driver.
const LIBRARIES: [&str; 4] = ["libnvrtc-builtins", "libnvrtc", "libcublasLt", "libcublas"];

/// Transfer memory of one slot and the events that say when it, and the device's side of it, are free.
struct Slot {
    host: Cell<*mut u8>,
    bytes: Cell<usize>,
    sent: sys::CUevent,
    released: sys::CUevent,
}

/// One thing that was timed.
struct Timed {
    name: String,
    begin: sys::CUevent,
    end: sys::CUevent,
}

/// What a kind of work cost while a profile was taken.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileLine {
    /// The kernel, or the shape of the product.
    pub name: String,
    /// How often it ran.
    pub calls: u32,
    /// All its runs together.
    pub milliseconds: f64,
}

/// One GPU with its kernels.
pub struct Cuda {
    context: Arc<CudaContext>,
    name: String,
    processors: u32,
    functions: HashMap<&'static str, sys::CUfunction>,
    module: sys::CUmodule,
    work: sys::CUstream,
    copies: sys::CUstream,
    slots: [Slot; 2],
    reports: *mut u8,
    report_events: Vec<sys::CUevent>,
    requested: RefCell<VecDeque<usize>>,
    next_report: Cell<usize>,
    allocations: RefCell<Vec<sys::CUdeviceptr>>,
    products: Products,
    profile: RefCell<Option<Vec<Timed>>>,
}

fn failed(doing: impl Into<String>) -> impl FnOnce(result::DriverError) -> DeviceError {
    let doing = doing.into();
    move |error| DeviceError::new(doing, format!("{error:?}"))
}

/// Opens the libraries from the places CUDA is usually installed in, where the loader does not look by itself. One that
/// is loaded is found again by its name.
fn preload() {
    let mut folders: Vec<PathBuf> = ["CUDA_HOME", "CUDA_PATH"]
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from)
        .chain([PathBuf::from("/usr/local/cuda")])
        .flat_map(|root| [root.join("lib64"), root.join("targets/x86_64-linux/lib")])
        .collect();
    folders.retain(|folder| folder.is_dir());
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        for library in LIBRARIES {
            let prefix = format!("{library}.so.");
            let of_library = files.iter().filter(|file| {
                file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))
            });
            for file in of_library {
                // SAFETY: loading CUDA's own libraries runs their initialisers, as linking them would.
                if let Ok(loaded) = unsafe { libloading::Library::new(file) } {
                    std::mem::forget(loaded);
                    break;
                }
            }
        }
    }
}

/// Opens a library under one of the names cudarc looks for and leaves it open: NVRTC does not survive being unloaded.
fn open_library(name: &str) -> bool {
    cudarc::get_lib_name_candidates(name).into_iter().any(|file| {
        // SAFETY: loading CUDA's own libraries runs their initialisers, as linking them would.
        unsafe { libloading::Library::new(file) }.map(std::mem::forget).is_ok()
    })
}

fn open_libraries() -> Result<(), DeviceError> {
    if !open_library("cuda") {
        return Err(DeviceError::new("opening a GPU", "no NVIDIA driver (libcuda.so.1) on this machine"));
    }
    let missing =
        || [("nvrtc", "NVRTC"), ("cublasLt", "cuBLASLt")].into_iter().find(|(name, _)| !open_library(name));
    if missing().is_some() {
        preload();
    }
    match missing() {
        None => Ok(()),
        Some((_, name)) => Err(DeviceError::new(
            "opening a GPU",
            format!(
                "{name} was not found: install the CUDA toolkit (12.8 or later), or put the folder of its libraries \
                 into LD_LIBRARY_PATH or its root into CUDA_HOME"
            ),
        )),
    }
}

impl Cuda {
    /// Opens the first GPU and compiles `sources`, one after the other, with `defines`.
    ///
    /// `kernels` names the functions and the dynamic shared memory each may ask for.
    pub fn open(
        sources: &[&str],
        defines: &[(&'static str, usize)],
        kernels: &[(&'static str, u32)],
        tuning: Tuning,
    ) -> Result<Self, DeviceError> {
        open_libraries()?;
        let context = CudaContext::new(0).map_err(failed("opening GPU 0"))?;
        let name = context.name().map_err(failed("asking for the GPU's name"))?;
        let (major, minor) = context.compute_capability().map_err(failed("asking what the GPU can do"))?;
        if major < 8 {
            return Err(DeviceError::new(
                "opening a GPU",
                format!("{name} has compute capability {major}.{minor}; bfloat16 need 8.0 or later"),
            ));
        }
        let processors = context
            .attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(failed("counting multiprocessors"))?;
        let image = compile(sources, defines, major * 10 + minor)?;
        // SAFETY: the image is a complete binary from the compiler, and stays alive during the call.
        let module = unsafe { result::module::load_data(image.as_ptr().cast()) }
            .map_err(failed("loading the compiled kernels"))?;
        let mut functions = HashMap::new();
        for &(kernel, shared) in kernels {
            let symbol = CString::new(kernel).map_err(|error| DeviceError::new(kernel, error))?;
            // SAFETY: the module was just loaded.
            let function = unsafe { result::module::get_function(module, symbol) }
                .map_err(failed(format!("finding kernel {kernel}")))?;
            if shared > 0 {
                let attribute =
                    sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                // SAFETY: the function belongs to the loaded module.
                unsafe { result::function::set_function_attribute(function, attribute, shared as i32) }
                    .map_err(failed(format!("giving kernel {kernel} {shared} bytes of shared memory")))?;
            }
            functions.insert(kernel, function);
        }
        let stream = || result::stream::create(result::stream::StreamKind::NonBlocking);
        let (work, copies) =
            (stream().map_err(failed("making a stream"))?, stream().map_err(failed("making a stream"))?);
        let slot = || {
            Ok::<_, DeviceError>(Slot {
                host: Cell::new(std::ptr::null_mut()),
                bytes: Cell::new(0),
                sent: quiet_event()?,
                released: quiet_event()?,
            })
        };
        // SAFETY: plain host memory, freed when the device is dropped.
        let reports = unsafe { result::malloc_host(REPORTS * REPORT_BYTES, 0) }
            .map_err(failed("allocating host memory"))?
            .cast();
        Ok(Cuda {
            name: format!("{name} (compute capability {major}.{minor}, {processors} multiprocessors)"),
            processors: processors as u32,
            functions,
            module,
            work,
            copies,
            slots: [slot()?, slot()?],
            reports,
            report_events: (0..REPORTS).map(|_| quiet_event()).collect::<Result<_, _>>()?,
            requested: RefCell::default(),
            next_report: Cell::new(0),
            allocations: RefCell::default(),
            products: Products::new(work, tuning)?,
            profile: RefCell::default(),
            context,
        })
    }

    /// Times everything from now on until [`profile`](Cuda::profile).
    pub fn start_profile(&self) {
        *self.profile.borrow_mut() = Some(Vec::new());
    }

    /// What was timed, the most expensive first.
    pub fn profile(&self) -> Result<Vec<ProfileLine>, DeviceError> {
        self.wait()?;
        let timed = self.profile.borrow_mut().take().unwrap_or_default();
        let mut lines: Vec<ProfileLine> = Vec::new();
        for Timed { name, begin, end } in timed {
            // SAFETY: both events were recorded in the work stream, which is idle; each is destroyed once.
            let milliseconds = unsafe {
                let elapsed = result::event::elapsed(begin, end).map_err(failed("reading a profile"))?;
                result::event::destroy(begin).map_err(failed("ending a profile"))?;
                result::event::destroy(end).map_err(failed("ending a profile"))?;
                f64::from(elapsed)
            };
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => {
                    (line.calls, line.milliseconds) = (line.calls + 1, line.milliseconds + milliseconds);
                }
                None => lines.push(ProfileLine { name, calls: 1, milliseconds }),
            }
        }
        lines.sort_by(|a, b| b.milliseconds.total_cmp(&a.milliseconds));
        Ok(lines)
    }

    /// Registers and bytes of spilled memory of every kernel.
    pub fn kernel_facts(&self) -> Vec<(&'static str, i32, i32)> {
        let attribute = |function, attribute| {
            // SAFETY: the function belongs to the loaded module.
            unsafe { result::function::get_function_attribute(function, attribute) }.unwrap_or(-1)
        };
        let mut facts: Vec<_> = self
            .functions
            .iter()
            .map(|(&name, &function)| {
                let registers = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NUM_REGS;
                let local = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
                (name, attribute(function, registers), attribute(function, local))
            })
            .collect();
        facts.sort_unstable();
        facts
    }

    /// Which way of multiplying was chosen for each shape.
    pub fn tuned(&self) -> Vec<String> {
        self.products.tuned()
    }

    fn wait(&self) -> Result<(), DeviceError> {
        // SAFETY: the stream lives as long as self.
        unsafe { result::stream::synchronize(self.work) }.map_err(failed("waiting for the GPU"))
    }

    fn bind(&self) -> Result<(), DeviceError> {
        self.context.bind_to_thread().map_err(failed("using the GPU in this thread"))
    }

    fn timed(
        &self,
        name: impl FnOnce() -> String,
        work: impl FnOnce() -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        if self.profile.borrow().is_none() {
            return work();
        }
        let event =
            || result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(failed("profiling"));
        let (begin, end) = (event()?, event()?);
        // SAFETY: events and stream are live.
        unsafe { result::event::record(begin, self.work) }.map_err(failed("profiling"))?;
        work()?;
        // SAFETY: as above.
        unsafe { result::event::record(end, self.work) }.map_err(failed("profiling"))?;
        if let Some(timed) = self.profile.borrow_mut().as_mut() {
            timed.push(Timed { name: name(), begin, end });
        }
        Ok(())
    }
}

fn quiet_event() -> Result<sys::CUevent, DeviceError> {
    result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(failed("making an event"))
}

/// Compiles for one architecture, to machine code: the driver may be older than the compiler.
fn compile(
    sources: &[&str],
    defines: &[(&'static str, usize)],
    architecture: i32,
) -> Result<Vec<u8>, DeviceError> {
    let doing = "compiling the kernels";
    let source = CString::new(sources.concat()).map_err(|error| DeviceError::new(doing, error))?;
    let program = nvrtc::result::create_program(&source, Some(c"kernels.cu"))
        .map_err(|error| DeviceError::new(doing, error))?;
    let mut options = vec![format!("--gpu-architecture=sm_{architecture}"), "--std=c++17".to_owned()];
    options.extend(defines.iter().map(|(name, value)| format!("-D{name}={value}")));
    // SAFETY: the program was just made; it is destroyed once, at the end.
    let compiled = unsafe { nvrtc::result::compile_program(program, &options) };
    // SAFETY: as above.
    let log = unsafe { nvrtc::result::get_program_log(program) }
        .map(|log| log.iter().map(|&c| c as u8 as char).collect::<String>())
        .unwrap_or_default();
    let image = compiled.and_then(|()| {
        let mut size = 0;
        // SAFETY: the buffer has the size the compiler asks for.
        unsafe {
            nvrtc::sys::nvrtcGetCUBINSize(program, &raw mut size).result()?;
            let mut image = vec![0_u8; size];
            nvrtc::sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result()?;
            Ok(image)
        }
    });
    // SAFETY: as above.
    let destroyed = unsafe { nvrtc::result::destroy_program(program) };
    let image = image.map_err(|error| DeviceError::new(doing, format!("{error} with {options:?}\n{log}")))?;
    destroyed.map_err(|error| DeviceError::new(doing, error))?;
    Ok(image)
}

impl Device for Cuda {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn multiprocessors(&self) -> u32 {
        self.processors
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        self.bind()?;
        let bytes = bytes.max(256);
        let doing = || format!("allocating {bytes} bytes on the GPU");
        // SAFETY: the memory is freed when self is dropped, and cleared before anything else can be asked.
        let at = unsafe {
            let at = result::malloc_sync(bytes).map_err(failed(doing()))?;
            result::memset_d8_async(at, 0, bytes, self.work).map_err(failed(doing()))?;
            at
        };
        self.allocations.borrow_mut().push(at);
        self.wait()?;
        Ok(Address(at))
    }

    fn write(&self, to: Address, bytes: &[u8]) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: callers write within what they allocated; the bytes are there until the wait is over.
        unsafe { result::memcpy_htod_async(to.0, bytes, self.work) }.map_err(failed("copying to the GPU"))?;
        self.wait()
    }

    fn read(&self, from: Address, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.bind()?;
        // SAFETY: callers read within what they allocated; the bytes are there until the wait is over.
        unsafe { result::memcpy_dtoh_async(bytes, from.0, self.work) }
            .map_err(failed("copying from the GPU"))?;
        self.wait()
    }

    fn launch(&self, launch: Launch, arguments: &[Argument]) -> Result<(), DeviceError> {
        self.bind()?;
        let function = *self
            .functions
            .get(launch.kernel)
            .ok_or_else(|| DeviceError::new(launch.kernel, "no such kernel was compiled"))?;
        let mut pointers: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::At(address) => (&raw const address.0).cast_mut().cast(),
                Argument::Int(value) => std::ptr::from_ref(value).cast_mut().cast(),
                Argument::Long(value) => std::ptr::from_ref(value).cast_mut().cast(),
                Argument::Float(value) => std::ptr::from_ref(value).cast_mut().cast(),
            })
            .collect();
        self.timed(
            || launch.kernel.to_owned(),
            || {
                // SAFETY: the arguments are those of the kernel, checked by the tests that run it in emulation, and
                // point into buffers that live as long as the device.
                unsafe {
                    result::launch_kernel(
                        function,
                        (launch.blocks, 1, 1),
                        (launch.threads, 1, 1),
                        launch.shared,
                        self.work,
                        &mut pointers,
                    )
                }
                .map_err(failed(format!(
                    "kernel {} of {} blocks of {} threads",
                    launch.kernel, launch.blocks, launch.threads
                )))
            },
        )
    }

    fn multiply(&self, product: &Product) -> Result<(), DeviceError> {
        self.bind()?;
        self.products.prepare(product)?;
        self.timed(|| product.name(), || self.products.run(product))
    }

    fn send(
        &self,
        slot: usize,
        to: Address,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<(), DeviceError> {
        self.bind()?;
        let doing = "sending a batch to the GPU";
        let slot = &self.slots[slot];
        // SAFETY: the slot's host memory belongs to self and is as long as said; waiting for `sent` means that the last
        // copy from it is over; the copy's target is free once `released` has happened.
        unsafe {
            result::event::synchronize(slot.sent).map_err(failed(doing))?;
            let host = self.host_memory(slot, bytes)?;
            let memory = std::slice::from_raw_parts_mut(host, bytes);
            let filled = fill(memory);
            let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
            result::stream::wait_event(self.copies, slot.released, flags).map_err(failed(doing))?;
            result::memcpy_htod_async(to.0, &memory[..filled], self.copies).map_err(failed(doing))?;
            result::event::record(slot.sent, self.copies).map_err(failed(doing))?;
            result::stream::wait_event(self.work, slot.sent, flags).map_err(failed(doing))
        }
    }

    fn release(&self, slot: usize) -> Result<(), DeviceError> {
        // SAFETY: event and stream are live.
        unsafe { result::event::record(self.slots[slot].released, self.work) }
            .map_err(failed("ending a batch"))
    }

    fn request(&self, from: Address) -> Result<(), DeviceError> {
        self.bind()?;
        let doing = "asking for a report";
        let at = self.next_report.get();
        if self.requested.borrow().len() == REPORTS {
            return Err(DeviceError::new(doing, "too many reports are under way"));
        }
        self.next_report.set((at + 1) % REPORTS);
        // SAFETY: place `at` of the host memory is free, since its last report was received; nobody reads it before the
        // event.
        unsafe {
            let host = std::slice::from_raw_parts_mut(self.reports.add(at * REPORT_BYTES), REPORT_BYTES);
            result::memcpy_dtoh_async(host, from.0, self.work).map_err(failed(doing))?;
            result::event::record(self.report_events[at], self.work).map_err(failed(doing))?;
        }
        self.requested.borrow_mut().push_back(at);
        Ok(())
    }

    fn receive(&self, wait: Wait) -> Result<Option<[f32; 8]>, DeviceError> {
        self.bind()?;
        let Some(&at) = self.requested.borrow().front() else { return Ok(None) };
        let event = self.report_events[at];
        // SAFETY: the event was recorded when the report was requested.
        let arrived = unsafe {
            match wait {
                Wait::Yes => result::event::synchronize(event),
                Wait::No => result::event::query(event),
            }
        };
        match arrived {
            Ok(()) => {}
            Err(error) if error.0 == sys::CUresult::CUDA_ERROR_NOT_READY => return Ok(None),
            Err(error) => return Err(failed("waiting for a report")(error)),
        }
        self.requested.borrow_mut().pop_front();
        let mut report = [0_f32; 8];
        // SAFETY: the copy into this place is over; it holds eight floats.
        unsafe {
            let host = self.reports.add(at * REPORT_BYTES);
            std::ptr::copy_nonoverlapping(host, report.as_mut_ptr().cast(), REPORT_BYTES);
        }
        Ok(Some(report))
    }
}

impl Cuda {
    /// The slot's transfer memory, made on first use: all batches of a network have one size.
    fn host_memory(&self, slot: &Slot, bytes: usize) -> Result<*mut u8, DeviceError> {
        let doing = || format!("making {bytes} bytes of transfer memory");
        if slot.bytes.get() == 0 {
            // SAFETY: freed when self is dropped; zeroed, so that it may be seen as bytes.
            let host = unsafe {
                let host = result::malloc_host(bytes, 0).map_err(failed(doing()))?;
                std::ptr::write_bytes(host.cast::<u8>(), 0, bytes);
                host.cast()
            };
            slot.host.set(host);
            slot.bytes.set(bytes);
        }
        if slot.bytes.get() < bytes {
            return Err(DeviceError::new(doing(), format!("there is room for {}", slot.bytes.get())));
        }
        Ok(slot.host.get())
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What fails while giving back cannot be helped: the process gives the rest back.
        if self.bind().is_err() || self.wait().is_err() {
            return;
        }
        // SAFETY: everything is given back once, and nothing is running.
        unsafe {
            let _ = result::stream::synchronize(self.copies);
            for at in self.allocations.borrow_mut().drain(..) {
                let _ = result::free_sync(at);
            }
            for slot in &self.slots {
                if !slot.host.get().is_null() {
                    let _ = result::free_host(slot.host.get().cast());
                }
                let _ = result::event::destroy(slot.sent);
                let _ = result::event::destroy(slot.released);
            }
            let _ = result::free_host(self.reports.cast());
            for &event in &self.report_events {
                let _ = result::event::destroy(event);
            }
            let _ = result::module::unload(self.module);
            let _ = result::stream::destroy(self.copies);
            let _ = result::stream::destroy(self.work);
        }
    }
}

/// Compiles kernels for a compute capability without a GPU: 90 is 9.0. `None` where NVRTC is not installed.
///
/// # Errors
/// What the compiler says.
pub fn compile_only(
    sources: &[&str],
    defines: &[(&'static str, usize)],
    architecture: i32,
) -> Option<Result<Vec<u8>, DeviceError>> {
    if !open_library("nvrtc") {
        preload();
    }
    open_library("nvrtc").then(|| compile(sources, defines, architecture))
}
