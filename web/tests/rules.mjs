import { readFile } from 'node:fs/promises';
import { initSync } from '../src/wasm/tabia.js';

export { GameTree, Engine, PracticeDeck } from '../src/wasm/tabia.js';

/** Initialises the wasm module in the test process, for the rules of chess. */
export async function useRules() {
  initSync({ module: await WebAssembly.compile(await readFile(new URL('../src/wasm/tabia_bg.wasm', import.meta.url))) });
}
