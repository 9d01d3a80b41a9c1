//! The kernels on the CPU: compiled by the system's C++ compiler over `emulation.h`, so that tests need no GPU.
#![expect(unsafe_code, reason = "calls a library built for the test, on memory this module owns")]
#![expect(clippy::unwrap_used, reason = "used by tests only")]

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use half::bf16;

use crate::device::{Address, Argument, Device, DeviceError, Element, Launch, Operand, Order, Product, Wait};

type Emulate = unsafe extern "C" fn(*const c_char, c_uint, c_uint, c_uint, *mut *mut c_void) -> c_int;

/// A device made of this process: addresses are pointers.
pub struct Emulated {
    library: libloading::Library,
    memory: RefCell<Vec<Box<[u128]>>>,
    reports: RefCell<VecDeque<[f32; 8]>>,
}

/// Libraries built so far, by their sources and macros: compiling is what takes long.
static BUILT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());

impl Emulated {
    /// Compiles the kernels; `None` where there is no C++ compiler.
    ///
    /// # Panics
    /// If the kernels do not compile.
    pub fn open(sources: &[&str], defines: &[(&'static str, usize)]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        tabia_requires::program(COMPILER)?;
        let folder = std::env::temp_dir().join(format!(
            "tabia-kernels-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir_all(&folder).unwrap();
        // A file of its own makes it a library of its own, with threads and memory that no other test shares.
        let file = folder.join("kernels.so");
        {
            let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
            let key = format!("{defines:?} {}", sources.concat());
            let library = built.entry(key).or_insert_with(|| compile(&folder, sources, defines));
            std::fs::write(&file, library).unwrap();
        }
        // SAFETY: the library was built from our own sources.
        let library = unsafe { libloading::Library::new(&file) }.unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        Some(Emulated { library, memory: RefCell::default(), reports: RefCell::default() })
    }
}

const COMPILER: &str = "c++";

fn compile(folder: &Path, sources: &[&str], defines: &[(&'static str, usize)]) -> Vec<u8> {
    std::fs::write(folder.join("emulation.h"), include_str!("emulation.h")).unwrap();
    std::fs::write(folder.join("kernels.cpp"), sources.concat()).unwrap();
    let built = Command::new(COMPILER)
        .current_dir(folder)
        .args(["-std=c++20", "-O1", "-w", "-U_FORTIFY_SOURCE", "-shared", "-fPIC", "-include", "emulation.h"])
        .args(defines.iter().map(|(name, value)| format!("-D{name}={value}")))
        .args(["kernels.cpp", "-o", "built.so"])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    std::fs::read(folder.join("built.so")).unwrap()
}

/// The matrix `[rows, columns]` of an operand as 32-bit floats.
fn widened(operand: &Operand, step: usize, rows: usize, columns: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows * columns);
    for r in 0..rows {
        for c in 0..columns {
            let at = match operand.order {
                Order::Stored => r * operand.stride + c,
                Order::Transposed => c * operand.stride + r,
            };
            // SAFETY: the caller's product describes memory it allocated.
            out.push(unsafe { (operand.at.0 as *const bf16).add(step + at).read() }.to_f32());
        }
    }
    out
}

impl Device for Emulated {
    fn describe(&self) -> String {
        "emulation".to_owned()
    }

    fn multiprocessors(&self) -> u32 {
        2
    }

    fn allocate(&self, bytes: usize) -> Result<Address, DeviceError> {
        // A page's alignment is not needed: sixteen bytes are the most a kernel reads at once.
        let mut block = vec![0_u128; bytes.div_ceil(16) + 1].into_boxed_slice();
        let at = Address(block.as_mut_ptr() as u64);
        self.memory.borrow_mut().push(block);
        Ok(at)
    }

    fn write(&self, to: Address, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: callers write within what they allocated.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.0 as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&self, from: Address, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: callers read within what they allocated.
        unsafe { std::ptr::copy_nonoverlapping(from.0 as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    fn launch(&self, launch: Launch, arguments: &[Argument]) -> Result<(), DeviceError> {
        let mut pointers: Vec<*mut c_void> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::At(address) => (&raw const address.0).cast_mut().cast(),
                Argument::Int(value) => std::ptr::from_ref(value).cast_mut().cast(),
                Argument::Long(value) => std::ptr::from_ref(value).cast_mut().cast(),
                Argument::Float(value) => std::ptr::from_ref(value).cast_mut().cast(),
            })
            .collect();
        let name = CString::new(launch.kernel).unwrap();
        // SAFETY: the library's only function, with its own signature.
        let code = unsafe {
            let emulate: libloading::Symbol<'_, Emulate> = self.library.get(b"emulate").unwrap();
            emulate(name.as_ptr(), launch.blocks, launch.threads, launch.shared, pointers.as_mut_ptr())
        };
        match code {
            0 => Ok(()),
            code => Err(DeviceError::new(launch.kernel, format!("the emulation refused it ({code})"))),
        }
    }

    fn multiply(&self, product: &Product) -> Result<(), DeviceError> {
        let Product { m, n, k, .. } = *product;
        for i in 0..product.count {
            let a = widened(&product.a, i * product.steps[0], m, k);
            let transposed = match product.b.order {
                Order::Stored => Order::Transposed,
                Order::Transposed => Order::Stored,
            };
            let b = widened(&Operand { order: transposed, ..product.b }, i * product.steps[1], n, k);
            for r in 0..m {
                for c in 0..n {
                    let dot: f32 = a[r * k..][..k].iter().zip(&b[c * k..][..k]).map(|(x, y)| x * y).sum();
                    let at = i * product.steps[2] + r * product.out_stride + c;
                    // SAFETY: the caller's product describes memory it allocated.
                    unsafe {
                        match product.out_element {
                            Element::F32 => {
                                let add = product.add.0 as *const f32;
                                let add = if add.is_null() { 0.0 } else { add.add(at).read() };
                                (product.out.0 as *mut f32).add(at).write(dot * product.scale + add);
                            }
                            Element::Bf16 => {
                                let add = product.add.0 as *const bf16;
                                let add = if add.is_null() { 0.0 } else { add.add(at).read().to_f32() };
                                let value = bf16::from_f32(dot * product.scale + add);
                                (product.out.0 as *mut bf16).add(at).write(value);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn send(
        &self,
        _slot: usize,
        to: Address,
        bytes: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> usize,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller allocated that many bytes there.
        fill(unsafe { std::slice::from_raw_parts_mut(to.0 as *mut u8, bytes) });
        Ok(())
    }

    fn release(&self, _slot: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    fn request(&self, from: Address) -> Result<(), DeviceError> {
        let mut report = [0_f32; 8];
        self.read(from, bytemuck::cast_slice_mut(&mut report))?;
        self.reports.borrow_mut().push_back(report);
        Ok(())
    }

    fn receive(&self, _wait: Wait) -> Result<Option<[f32; 8]>, DeviceError> {
        Ok(self.reports.borrow_mut().pop_front())
    }
}
