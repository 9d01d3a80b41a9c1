/** The largest model file the wasm module reads, in bytes. */
export const LARGEST_MODEL = 256 * 2 ** 20;
