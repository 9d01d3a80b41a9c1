// A module of one function whose body is a relaxed swizzle of zeros: it is valid only where relaxed SIMD is.
const PROBE = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, // magic, version
  1, 5, 1, 96, 0, 1, 123, // one type: () -> v128
  3, 2, 1, 0, // one function of it
  10, 15, 1, 13, 0, // its body
  65, 0, 253, 17, // i32.const 0, i32x4.splat
  65, 0, 253, 17, // i32.const 0, i32x4.splat
  253, 128, 2, // i8x16.relaxed_swizzle
  11,
]);

/** Whether this browser can run the build with relaxed SIMD. */
export function hasRelaxedSimd(): boolean {
  return WebAssembly.validate(PROBE);
}
