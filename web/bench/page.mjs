// The part of tools/bench.mjs that runs in the browser.
// @ts-nocheck: imports URLs of the bench's server

const RATING = 1500;
const INPUTS = 768;
/** Passes over the positions per round, since one is too short for the clock. */
const PASSES = 8;

const fetchBytes = async (url) => {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

/** Loads our module. Both builds share a script, which the query string instantiates twice. */
async function tabia(build, bytes) {
  const module = await import(`/wasm/tabia.js?${build}`);
  await module.default({ module_or_path: await WebAssembly.compile(bytes) });
  const engine = new module.Engine(1);
  return { kernels: engine.chooseKernels(), engine };
}

async function onnxruntime(bytes) {
  const ort = await import('/ort/ort.wasm.min.mjs');
  Object.assign(ort.env.wasm, { numThreads: 1, proxy: false, wasmPaths: '/ort/', wasmBinary: bytes });
  return ort;
}

const ORT_WASM = '/ort/ort-wasm-simd-threaded.wasm';
const OURS = { 'tabia int8, relaxed SIMD': 'tabia_small_threads', 'tabia int8, plain SIMD': 'tabia_small' };
const THEIRS = { 'onnxruntime-web int8': '/networks/human-int8.onnx', 'onnxruntime-web f32': '/networks/human.onnx' };

/** The FENs of the positions and their encoded inputs. */
async function positions(ort) {
  const { positions: fens, inputs } = await (await fetch('/networks/inputs.json')).json();
  const row = ({ shape, values }, at) => {
    const size = values.length / shape[0];
    return new ort.Tensor('float32', Float32Array.from(values.slice(at * size, (at + 1) * size)), [1, ...shape.slice(1)]);
  };
  const feeds = fens.map((_, at) => ({ squares: row(inputs.squares, at), game: row(inputs.game, at) }));
  return { fens, feeds };
}

/** Rotates a list. */
const next = (list) => {
  list.push(list.shift());
  return list.at(-1);
};

const game = (startFen) => ({ startFen, moves: [], white: {}, black: {} });

export function names() {
  return [...Object.keys(OURS), ...Object.keys(THEIRS)];
}

/** Computes the first output of a contender whose files are fetched. */
let computeFirst = async () => {};

/** Fetches the files of a contender. */
export async function fetchFor(name) {
  const build = OURS[name];
  const files = build ? [`/wasm/${build}_bg.wasm`, '/models/human.safetensors'] : [ORT_WASM, THEIRS[name]];
  const [wasm, network] = await Promise.all(files.map(fetchBytes));
  computeFirst = build
    ? async () => {
        const { engine } = await tabia(build, wasm);
        engine.addModel('human', network);
        engine.human('human', game('rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'), [RATING]);
      }
    : async () => {
        const ort = await onnxruntime(wasm);
        const session = await ort.InferenceSession.create(network);
        const zeros = (...shape) => new ort.Tensor('float32', new Float32Array(shape.reduce((a, b) => a * b)), shape);
        await session.run({ squares: zeros(1, 64, 32), game: zeros(1, 80) });
      };
}

/** Milliseconds to the first output, with the module and the network in memory. */
export async function firstOutput() {
  const started = performance.now();
  await computeFirst();
  return performance.now() - started;
}

/** The contenders by subject. */
let contenders = {};

/** Runs a contender once: milliseconds per unit, and the number of units. */
export async function measure(subject, at) {
  const started = performance.now();
  const units = await contenders[subject][at].run();
  return { ms: (performance.now() - started) / units, units };
}

/** Loads all contenders. */
export async function prepare() {
  const ort = await onnxruntime(await fetchBytes(ORT_WASM));
  const { fens, feeds } = await positions(ort);
  const network = await fetchBytes('/models/human.safetensors');
  const small = await fetchBytes('/mlp.onnx');
  const [humans, smalls] = [[], []];
  let kernels = '';

  for (const [name, build] of Object.entries(OURS)) {
    const made = await tabia(build, await fetchBytes(`/wasm/${build}_bg.wasm`));
    kernels ||= made.kernels;
    const { engine } = made;
    engine.addModel('human', network);
    engine.addModel('mlp', small);
    const own = [...fens];
    humans.push({
      name,
      run: () => {
        engine.human('human', game(next(own)), [RATING]);
        return 1;
      },
    });
    smalls.push({
      name: name.replace(' int8', ''),
      run: () => {
        let children = 0;
        for (let pass = 0; pass < PASSES; pass++) for (const fen of fens) children += engine.choose('net:mlp', game(fen), {}).nodes;
        return children;
      },
    });
  }

  for (const [name, address] of Object.entries(THEIRS)) {
    const session = await ort.InferenceSession.create(await fetchBytes(address));
    const own = [...feeds];
    humans.push({
      name,
      run: async () => {
        await session.run(next(own));
        return 1;
      },
    });
  }
  const session = await ort.InferenceSession.create(small);
  const boards = (rows) => {
    const board = new Float32Array(rows * INPUTS);
    for (let row = 0; row < rows; row++) for (let piece = 0; piece < 30; piece++) board[row * INPUTS + 24 * piece + (row % 24)] = 1;
    return { board: new ort.Tensor('float32', board, [rows, INPUTS]) };
  };
  for (const rows of [1, 30]) {
    const feed = boards(rows);
    smalls.push({
      name: `onnxruntime-web, batch size ${rows}`,
      run: async () => {
        for (let done = 0; done < 300; done += rows) await session.run(feed);
        return 300;
      },
    });
  }
  contenders = { human: humans, small: smalls };
  return { human: humans.map(({ name }) => name), small: smalls.map(({ name }) => name), kernels };
}

/** Workers by their names. */
const workers = new Map();

/** Sends a message to a worker and returns its answer. */
const ask = (worker, message) =>
  new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => (data.error ? reject(new Error(data.error)) : resolve(data));
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage(message);
  });

/** Starts a runtime with a number of threads, see worker.mjs; resolves to the name of its kernels. */
export async function startWorker(name, start) {
  const worker = new Worker('/bench/worker.mjs', { type: 'module' });
  workers.set(name, worker);
  return (await ask(worker, { start })).kernels;
}

/** Measures a subject once: milliseconds and units. */
export async function measureWorker(name, subject) {
  return ask(workers.get(name), { measure: subject });
}
