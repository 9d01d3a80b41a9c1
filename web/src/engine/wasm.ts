import init, * as tabia from '../wasm/tabia.js';
// Both builds share one script, see `cargo xtask wasm`.
import plain from '../wasm/tabia_bg.wasm?url';
import relaxed from '../wasm/tabia_relaxed_bg.wasm?url';
import { hasRelaxedSimd } from './simd';

/** All exports of the wasm module, initialised on this thread. */
export type Rules = typeof tabia;

let compiled: Promise<WebAssembly.Module> | undefined;
let rules: Promise<Rules> | undefined;

/** The compiled module, shared by the page and its workers. After a failure the next call tries again. */
export function compileModule(): Promise<WebAssembly.Module> {
  compiled ??= fetchModule().catch((error: unknown) => {
    compiled = undefined;
    throw error;
  });
  return compiled;
}

async function fetchModule(): Promise<WebAssembly.Module> {
  if (!hasRelaxedSimd()) return compileFrom(plain);
  // A browser may gain relaxed SIMD in an update while only the plain build is cached for offline use.
  return compileFrom(relaxed).catch(() => compileFrom(plain));
}

async function compileFrom(url: string): Promise<WebAssembly.Module> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`cannot download the engine: the server answered with status ${response.status}`);
  // Streaming compilation requires this type, which some static hosts do not send.
  return response.headers.get('Content-Type')?.startsWith('application/wasm')
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/** The wasm module on the page's own thread, for quick synchronous calls. Models are loaded in workers. */
export function loadRules(): Promise<Rules> {
  rules ??= compileModule()
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
