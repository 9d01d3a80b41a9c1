// A minimal module with a relaxed SIMD instruction: `() => i8x16.relaxed_swizzle(i8x16.splat(1), i8x16.splat(2))`.
const RELAXED = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0],
  ...[1, 5, 1, 0x60, 0, 1, 0x7b],
  ...[3, 2, 1, 0],
  ...[10, 15, 1, 13, 0, 0x41, 1, 0xfd, 15, 0x41, 2, 0xfd, 15, 0xfd, 0x80, 2, 0x0b],
]);

/** The most memory of the build with threads, in pages of 64 KiB, see `cargo xtask wasm`. */
const SHARED_PAGES = 16_384;

/** One evaluation gains little from more. */
const MAX_THREADS = 4;

/**
 * Whether this browser can use the build with threads and relaxed SIMD; on a page that is not cross-origin isolated it runs on one
 * thread. That build also contains the plain kernels and times both (`chooseKernels`), so it is never the slower choice.
 */
export function canUseThreads(): boolean {
  if (!WebAssembly.validate(RELAXED)) return false;
  try {
    new WebAssembly.Memory({ initial: 1, maximum: SHARED_PAGES, shared: true });
    return true;
  } catch {
    // Shared memory is turned off, or there are not enough addresses.
    return false;
  }
}

/** The workers that a worker with this module may have as helpers. None on a page that is not isolated, whose workers cannot share memory. */
export function helpersFor(module: WebAssembly.Module): number {
  const shares = WebAssembly.Module.imports(module).some(({ kind }) => kind === 'memory');
  return crossOriginIsolated && shares ? Math.min(MAX_THREADS, navigator.hardwareConcurrency || 1) - 1 : 0;
}
