// A minimal module with a relaxed SIMD instruction: `() => i8x16.relaxed_swizzle(i8x16.splat(1), i8x16.splat(2))`.
const RELAXED = new Uint8Array([
  ...[0, 97, 115, 109, 1, 0, 0, 0],
  ...[1, 5, 1, 0x60, 0, 1, 0x7b],
  ...[3, 2, 1, 0],
  ...[10, 15, 1, 13, 0, 0x41, 1, 0xfd, 15, 0x41, 2, 0xfd, 15, 0xfd, 0x80, 2, 0x0b],
]);

/**
 * Whether this browser supports the build with relaxed SIMD. That build also contains the plain kernels and times both
 * (`chooseKernels`), so it is never the slower choice.
 */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(RELAXED);
}
