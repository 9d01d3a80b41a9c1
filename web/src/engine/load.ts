import init, * as tabia from '../wasm/tabia.js';
// One script serves both builds: `cargo xtask wasm` sees to it.
import plain from '../wasm/tabia_bg.wasm?url';
import relaxed from '../wasm/tabia_relaxed_bg.wasm?url';
import { hasRelaxedSimd } from './simd';

/** Everything the wasm module exports, ready to use on this thread. */
export type Rules = typeof tabia;

let compiled: Promise<WebAssembly.Module> | undefined;
let rules: Promise<Rules> | undefined;

/** The compiled module, once for the page and all its workers. A failure is not kept: the next call tries again. */
export function compile(): Promise<WebAssembly.Module> {
  compiled ??= fetchModule().catch((error: unknown) => {
    compiled = undefined;
    throw error;
  });
  return compiled;
}

async function fetchModule(): Promise<WebAssembly.Module> {
  if (!hasRelaxedSimd()) return compileFrom(plain);
  // Whoever kept the plain build for use without a network still plays after the browser has learnt more.
  return compileFrom(relaxed).catch(() => compileFrom(plain));
}

async function compileFrom(address: string): Promise<WebAssembly.Module> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the rules of chess could not be fetched: the server answered ${response.status}`);
  // Not every static host knows the type of wasm files, and without it streams are refused.
  return response.headers.get('Content-Type')?.startsWith('application/wasm')
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/** The rules of chess on the page's own thread: quick, synchronous calls only. Models live in workers. */
export function loadRules(): Promise<Rules> {
  rules ??= compile()
    .then((module) => init({ module_or_path: module }))
    .then(
      () => tabia,
      (error: unknown) => {
        rules = undefined;
        throw error;
      },
    );
  return rules;
}
