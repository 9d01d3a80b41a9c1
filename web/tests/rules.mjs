import { readFile } from 'node:fs/promises';
import { initSync } from '../src/wasm/tabia.js';

export { GameTree, Studio } from '../src/wasm/tabia.js';

/** Makes the wasm module ready in this process, so that tests know which moves are legal without a look into the page. */
export async function useRules() {
  initSync({ module: await WebAssembly.compile(await readFile(new URL('../src/wasm/tabia_bg.wasm', import.meta.url))) });
}
