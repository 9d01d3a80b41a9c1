import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

// Compares what the page's worker answers on WebGPU with what it answers on the processor.

/** @typedef {{ one: { cpu: number, gpu: number }, batch?: { cpu: number, gpu: number } }} Race */
/**
 * @typedef {object} Comparison
 * @property {number} positions
 * @property {{ moves: string[], cpu: string, webgpu: string }[]} others The positions with another first choice.
 * @property {number} furthest The largest difference of a move's probability.
 * @property {Race} race
 * @property {number} submits Batches that the GPU was given.
 */

/**
 * The assets of a built page: its worker and the small module.
 *
 * @param {string} dist
 */
export async function assetsOf(dist) {
  const assets = path.join(dist, 'assets');
  const names = await readdir(assets);
  const find = (/** @type {string} */ what, /** @type {string[]} */ found) => {
    if (!found[0]) throw new Error(`${dist} has no ${what}: build the page first`);
    return `assets/${found[0]}`;
  };
  const workers = [];
  for (const name of names.filter((name) => /^worker-.*\.js$/.test(name)))
    if ((await readFile(path.join(assets, name), 'utf8')).includes('gpuNetwork-')) workers.push(name);
  // A quick build has one module for all.
  const modules = [/^tabia_small_bg.*\.wasm$/, /^tabia_bg.*\.wasm$/].flatMap((pattern) => names.filter((name) => pattern.test(name)));
  return { worker: find('worker', workers), module: find('module', modules) };
}

/**
 * Compares a network on both in the positions of random games, in which moves are drawn from the network itself. The page is any
 * of the site; the browser needs an adapter.
 *
 * @param {import('playwright-core').Page} page
 * @param {{ worker: string, module: string }} assets
 * @param {{ positions: number, network?: number[], progress?: (done: number) => void }} options `network` is another file.
 * @returns {Promise<Comparison>}
 */
export async function compare(page, assets, { positions, network, progress = () => {} }) {
  // Not a name that the page may have.
  const report = 'tabiaAgreementProgress';
  const counted = (async () => {
    const worker = await new Promise((/** @type {(worker: import('playwright-core').Worker) => void} */ resolve) => page.once('worker', resolve));
    await worker.evaluate(() => {
      const scope = /** @type {any} */ (self);
      scope.submits = 0;
      const submit = GPUQueue.prototype.submit;
      GPUQueue.prototype.submit = function (/** @type {Iterable<GPUCommandBuffer>} */ buffers) {
        scope.submits++;
        return submit.call(this, buffers);
      };
    });
    return worker;
  })();
  let submits = 0;
  await page.exposeFunction(report, async (/** @type {number} */ done) => {
    const worker = await counted;
    if (done === positions) submits = await worker.evaluate(() => /** @type {any} */ (self).submits);
    if (done > 0) progress(done);
  });
  const found = await page.evaluate(inPage, { ...assets, positions, network: network ?? null, report });
  return { ...found, submits };
}

/** @param {{ worker: string, module: string, positions: number, network: number[] | null, report: string }} options */
async function inPage({ worker: script, module, positions, network, report }) {
  const worker = new Worker(new URL(script, document.baseURI), { type: 'module' });
  /** @type {Map<number, { resolve: (result: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  /** @type {(state: any) => void} */
  let onState = () => {};
  worker.onmessage = ({ data }) => {
    if (data.kind === 'compute') onState(data.state);
    const call = waiting.get(data.id);
    if (data.kind === 'done') call?.resolve(data.result);
    if (data.kind === 'failed') call?.reject(new Error(data.error));
  };
  let last = 0;
  const ask = (/** @type {object} */ request) =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      worker.postMessage({ ...request, id });
    });
  const compiled = await WebAssembly.compile(await (await fetch(module)).arrayBuffer());
  worker.postMessage({ kind: 'start', module: compiled, seed: 1, timed: false, compute: 'cpu' });
  await (network
    ? ask({ kind: 'read', name: 'human', file: new Blob([new Uint8Array(network)]), vocabulary: undefined })
    : ask({ kind: 'fetch', name: 'human', url: new URL('models/human.safetensors', document.baseURI).href }));
  const human = async (/** @type {string[]} */ moves) => {
    const args = ['human', { moves, white: {}, black: {} }, [1500]];
    const [view] = /** @type {any[]} */ (await ask({ kind: 'call', method: 'human', args }));
    return /** @type {{ uci: string, probability: number }[]} */ (view.moves);
  };

  // Games of at most 100 plies by the network itself, with moves drawn at random.
  let state = 12345;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  /** @type {{ moves: string[], said: { uci: string, probability: number }[] }[]} */
  const asked = [];
  /** @type {string[]} */
  let game = [];
  while (asked.length < positions) {
    const said = await human(game);
    if (said.length === 0 || game.length >= 100) {
      game = [];
      continue;
    }
    asked.push({ moves: game, said });
    let left = random();
    const drawn = said.find(({ probability }) => (left -= probability) < 0) ?? said[0];
    game = [...game, drawn?.uci ?? ''];
  }

  // Until the batches are counted.
  await /** @type {any} */ (window)[report](0);
  /** @type {Promise<any>} */
  const settled = new Promise((resolve) => (onState = resolve));
  worker.postMessage({ kind: 'compute', compute: 'webgpu' });
  // The race begins after an answer.
  await human([]);
  const chosen = await settled;
  if (chosen.on !== 'webgpu') throw new Error(`WebGPU is not used: ${chosen.why}`);
  let lost = '';
  onState = ({ why }) => (lost = why);
  const others = [];
  let furthest = 0;
  for (const [at, { moves, said }] of asked.entries()) {
    const found = await human(moves);
    const [cpu, webgpu] = [said[0]?.uci ?? '', found[0]?.uci ?? ''];
    if (cpu !== webgpu) others.push({ moves, cpu, webgpu });
    const known = new Map(said.map(({ uci, probability }) => [uci, probability]));
    for (const { uci, probability } of found) furthest = Math.max(furthest, Math.abs(probability - (known.get(uci) ?? 0)));
    await /** @type {any} */ (window)[report](at + 1);
  }
  worker.terminate();
  if (lost) throw new Error(`WebGPU was given up: ${lost}`);
  return { positions, others, furthest, race: chosen.race };
}
