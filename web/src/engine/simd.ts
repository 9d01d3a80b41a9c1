// Whether the build with relaxed SIMD is worth its name in this browser: two tiny modules do the inner step of our kernels,
// sixteen products of bytes summed into four lanes, one with the relaxed instruction and one without.

const [LOCAL_GET, LOCAL_SET, SIMD, V128] = [0x20, 0x21, 0xfd, 0x7b];
const WEIGHTS = [SIMD, 0x0c, ...new Array<number>(16).fill(3)];
/** Sums kept apart, so that steps need not wait for each other, as in the kernels. */
const SUMS = [1, 2, 3, 4];
// Long enough for the coarse clocks browsers show to pages.
const STEPS = 300_000;
const ROUNDS = 5;

/** sum += dot(sum as bytes, weights), in one instruction. */
function relaxedStep(sum: number): number[] {
  return [LOCAL_GET, sum, ...WEIGHTS, LOCAL_GET, sum, SIMD, 0x93, 0x02, LOCAL_SET, sum];
}

/** The same by widening both halves to 16 bits. */
function plainStep(sum: number): number[] {
  const half = (widen: number) => [LOCAL_GET, sum, SIMD, widen, 0x01, ...WEIGHTS, SIMD, 0xba, 0x01];
  const add = [SIMD, 0xae, 0x01];
  return [...half(0x87), ...half(0x88), ...add, LOCAL_GET, sum, ...add, LOCAL_SET, sum];
}

/** A module whose function `f(steps)` does a step on every sum that often. */
function moduleOf(step: (sum: number) => number[]): Uint8Array<ArrayBuffer> {
  const body = [
    ...[1, SUMS.length, V128], // locals
    ...[0x03, 0x40], // loop
    ...SUMS.flatMap(step),
    ...[LOCAL_GET, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, 0x0b], // steps -= 1; again while there are any
    ...[LOCAL_GET, 1, SIMD, 0x1b, 0, 0x0b], // some of the result, so that it counts
  ];
  return new Uint8Array([
    ...[0, 97, 115, 109, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7f]), // one type: (i32) -> i32
    ...section(3, [1, 0]),
    ...section(7, [1, 1, 102, 0, 0]), // export "f"
    ...section(10, [1, ...sized(body)]),
  ]);
}

function section(id: number, content: number[]): number[] {
  return [id, ...sized(content)];
}

/** Content after its length in LEB128. */
function sized(content: number[]): number[] {
  const length = content.length;
  return length < 128 ? [length, ...content] : [(length & 127) | 128, length >> 7, ...content];
}

/** The shortest time a module's step takes, in milliseconds. */
function time(bytes: Uint8Array<ArrayBuffer>): number {
  const { f } = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as { f: (steps: number) => number };
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    f(STEPS);
    best = Math.min(best, performance.now() - began);
  }
  return best;
}

/** Whether this browser has relaxed SIMD and is faster with it. Takes some ten milliseconds. */
export function relaxedIsFaster(): boolean {
  const relaxed = moduleOf(relaxedStep);
  return WebAssembly.validate(relaxed) && time(relaxed) < time(moduleOf(plainStep));
}
