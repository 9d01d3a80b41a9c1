import init, * as tabia from '../wasm/tabia.js';
import { relaxedIsFaster } from './simd';

/** Everything the wasm module exports, ready to use on this thread. */
export type Rules = typeof tabia;

// Built by `cargo xtask wasm`; the relaxed one may be missing from a quick build.
const BUILDS: Record<string, string> = import.meta.glob('../wasm/*.wasm', { query: '?url', import: 'default', eager: true });

let compiled: Promise<WebAssembly.Module> | undefined;
let rules: Promise<Rules> | undefined;

/** The address of the build this browser runs best. */
function address(): string {
  const plain = BUILDS['../wasm/tabia_bg.wasm'];
  const relaxed = BUILDS['../wasm/tabia-relaxed_bg.wasm'];
  const chosen = relaxed && relaxedIsFaster() ? relaxed : plain;
  if (!chosen) throw new Error('this build of the page has no tabia_bg.wasm: run cargo xtask wasm, then build it again');
  return chosen;
}

/** The compiled module, once for the page and all its workers. A failure is not kept: the next call tries again. */
export function compile(): Promise<WebAssembly.Module> {
  compiled ??= fetchModule().catch((error: unknown) => {
    compiled = undefined;
    throw error;
  });
  return compiled;
}

async function fetchModule(): Promise<WebAssembly.Module> {
  const response = await fetch(address());
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
