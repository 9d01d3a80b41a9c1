// The part of tools/bench.mjs that runs in workers: a runtime with a number of threads, which is measured on request.
// @ts-nocheck: imports URLs of the bench's server

const RATINGS = Array.from({ length: 16 }, (_, at) => 800 + 100 * at);
const ANALYSIS_SECONDS = 0.5;
const REVIEW_SECONDS = 0.1;
const REVIEWED = 'e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8'.split(' ');

const fetchBytes = async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

const person = { rating: 1500 };
const game = (startFen) => ({ startFen, moves: [], white: person, black: person });

/** What is measured, by subject: a function that returns a number of units, such as positions or nodes. */
let subjects = {};

async function tabia(threads) {
  const { default: _, ...module } = await import('/wasm/tabia.js');
  const compiled = await WebAssembly.compile(await fetchBytes('/wasm/tabia_small_threads_bg.wasm'));
  const { memory } = module.initSync({ module: compiled });
  const engine = new module.Engine(1);
  const kernels = engine.chooseKernels();
  for (let helper = 1; helper < threads; helper++) new Worker(import.meta.url, { type: 'module' }).postMessage({ help: { module: compiled, memory } });
  while (engine.threads() < threads) await new Promise((resolve) => setTimeout(resolve, 5));
  engine.addModel('human', await fetchBytes('/models/human.safetensors'));
  engine.addModel('value', await fetchBytes('/models/value.safetensors'));
  const { positions: fens } = await (await fetch('/networks/inputs.json')).json();
  let at = 0;
  let analysed = 0;
  subjects = {
    human: () => engine.human('human', game(fens[at++ % fens.length]), [1500]).length,
    curve: () => engine.human('human', game(fens[at++ % fens.length]), RATINGS).length,
    engine: () => {
      const before = analysed;
      analysed = engine.analyse(game(fens[0]), 1, ANALYSIS_SECONDS).nodes;
      return analysed - before;
    },
    review: () => {
      const review = new module.Review(engine, { moves: REVIEWED, white: person, black: person }, 'human', 1500, REVIEW_SECONDS);
      let moves = 0;
      for (let done = review.step(); done.length > 0; done = review.step()) moves += done.length;
      review.free();
      return moves;
    },
  };
  return kernels;
}

async function onnxruntime(threads, network) {
  const ort = await import('/ort/ort.wasm.min.mjs');
  const wasmBinary = await fetchBytes('/ort/ort-wasm-simd-threaded.wasm');
  Object.assign(ort.env.wasm, { numThreads: threads, proxy: false, wasmPaths: new URL('/ort/', location.href).href, wasmBinary });
  const session = await ort.InferenceSession.create(await fetchBytes(network), { intraOpNumThreads: threads });
  const { positions: fens, inputs } = await (await fetch('/networks/inputs.json')).json();
  const rows = ({ shape, values }, from, count) => {
    const size = values.length / shape[0];
    const taken = Array.from({ length: count }, (_, row) => values.slice(((from + row) % shape[0]) * size, (((from + row) % shape[0]) + 1) * size));
    return new ort.Tensor('float32', Float32Array.from(taken.flat()), [count, ...shape.slice(1)]);
  };
  const feed = (from, count) => ({ squares: rows(inputs.squares, from, count), game: rows(inputs.game, from, count) });
  const alone = fens.map((_, from) => feed(from, 1));
  const together = feed(0, RATINGS.length);
  let at = 0;
  subjects = {
    human: async () => {
      await session.run(alone[at++ % alone.length]);
      return 1;
    },
    curve: async () => {
      await session.run(together);
      return RATINGS.length;
    },
  };
  return '';
}

self.onmessage = async ({ data }) => {
  try {
    if (data.help) {
      const { initSync, help } = await import('/wasm/tabia.js');
      initSync(data.help);
      help();
    } else if (data.start) {
      const { runtime, threads, network } = data.start;
      self.postMessage({ kernels: runtime === 'tabia' ? await tabia(threads) : await onnxruntime(threads, network) });
    } else {
      const started = performance.now();
      const units = await subjects[data.measure]();
      self.postMessage({ ms: performance.now() - started, units });
    }
  } catch (error) {
    self.postMessage({ error: String(error?.stack ?? error) });
  }
};
