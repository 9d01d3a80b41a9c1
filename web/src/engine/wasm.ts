import init, * as tabia from '../wasm/tabia.js';
// All builds share one script, see `cargo xtask wasm`.
import any from '../wasm/tabia_bg.wasm?url';
import plain from '../wasm/tabia_small_bg.wasm?url';
import threaded from '../wasm/tabia_small_threads_bg.wasm?url';
import { canUseThreads } from './threads';

/** All exports of the wasm module, initialised on this thread. */
export type Rules = typeof tabia;

/** The module for any network. It is cached in the background, so that files can be opened offline. */
export const ANY_NETWORK_MODULE = new URL(any, document.baseURI).href;

/** `bundled` runs the bundled networks; `any` is larger and runs every network. */
export type ModuleBuild = 'bundled' | 'any';

const compiled = new Map<ModuleBuild, Promise<WebAssembly.Module>>();
let rules: Promise<Rules> | undefined;

/** A compiled module, shared by the page and its workers. After a failure the next call tries again. */
export function compileModule(build: ModuleBuild): Promise<WebAssembly.Module> {
  const known = compiled.get(build);
  if (known) return known;
  const module = fetchModule(build).catch((error: unknown) => {
    compiled.delete(build);
    throw error;
  });
  compiled.set(build, module);
  return module;
}

async function fetchModule(build: ModuleBuild): Promise<WebAssembly.Module> {
  if (build === 'any') return compileFrom(any);
  if (!canUseThreads()) return compileFrom(plain);
  // A browser may gain threads in an update while only the plain build is cached for offline use.
  return compileFrom(threaded).catch(() => compileFrom(plain));
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
  rules ??= compileModule('bundled')
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
