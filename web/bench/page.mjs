// What the bench runs in the browser (tools/bench.mjs).
// @ts-nocheck: it imports by addresses of the bench's server

const RATING = 1500;
const INPUTS = 768;
/** Passes over the positions in a round: one is too short for the clock. */
const PASSES = 8;

const fetched = async (address) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

/** Our module: one script for both builds, which an address of its own makes two. */
async function tabia(build, bytes) {
  const module = await import(`/wasm/tabia.js?${build}`);
  await module.default({ module_or_path: await WebAssembly.compile(bytes) });
  const studio = new module.Studio(1);
  return { kernels: studio.chooseKernels(), studio };
}

async function onnxruntime(bytes) {
  const ort = await import('/ort/ort.wasm.min.mjs');
  Object.assign(ort.env.wasm, { numThreads: 1, proxy: false, wasmPaths: '/ort/', wasmBinary: bytes });
  return ort;
}

const ORT_WASM = '/ort/ort-wasm-simd-threaded.wasm';
const OURS = { 'tabia 8 bits, relaxed SIMD': 'tabia_relaxed', 'tabia 8 bits, plain SIMD': 'tabia' };
const THEIRS = { 'onnxruntime-web int8': '/networks/human-int8.onnx', 'onnxruntime-web floats': '/networks/human.onnx' };

/** The inputs of the positions, as tensors, by their names, and the FENs. */
async function positions(ort) {
  const { positions: fens, inputs } = await (await fetch('/networks/inputs.json')).json();
  const row = ({ shape, values }, at) => {
    const size = values.length / shape[0];
    return new ort.Tensor('float32', Float32Array.from(values.slice(at * size, (at + 1) * size)), [1, ...shape.slice(1)]);
  };
  const feeds = fens.map((_, at) => ({ squares: row(inputs.squares, at), game: row(inputs.game, at) }));
  return { fens, feeds };
}

/** One after another, over and over. */
const next = (list) => {
  list.push(list.shift());
  return list.at(-1);
};

const game = (startFen) => ({ startFen, moves: [], white: {}, black: {} });

export function names() {
  return [...Object.keys(OURS), ...Object.keys(THEIRS)];
}

/** What the first answer waits for, once its files are there. */
let begin = async () => {};

/** Fetches what a contender needs for its first answer. */
export async function fetchFor(name) {
  const build = OURS[name];
  const files = build ? [`/wasm/${build}_bg.wasm`, '/models/human.safetensors'] : [ORT_WASM, THEIRS[name]];
  const [wasm, network] = await Promise.all(files.map(fetched));
  begin = build
    ? async () => {
        const { studio } = await tabia(build, wasm);
        studio.addModel('human', network);
        studio.human('human', game('rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'), [RATING]);
      }
    : async () => {
        const ort = await onnxruntime(wasm);
        const session = await ort.InferenceSession.create(network);
        const zeros = (...shape) => new ort.Tensor('float32', new Float32Array(shape.reduce((a, b) => a * b)), shape);
        await session.run({ squares: zeros(1, 64, 32), game: zeros(1, 80) });
      };
}

/** Milliseconds from the bytes of module and network, in memory, to the first answer. */
export async function firstAnswer() {
  const began = performance.now();
  await begin();
  return performance.now() - began;
}

/** The contenders by their subject, once they are ready. */
let contenders = {};

/** Lets a contender do its work once: milliseconds for each unit of it, and how many units it did. */
export async function turn(subject, at) {
  const began = performance.now();
  const units = await contenders[subject][at].run();
  return { ms: (performance.now() - began) / units, units };
}

/** Loads every network everywhere. */
export async function prepare() {
  const ort = await onnxruntime(await fetched(ORT_WASM));
  const { fens, feeds } = await positions(ort);
  const network = await fetched('/models/human.safetensors');
  const small = await fetched('/mlp.onnx');
  const [humans, smalls] = [[], []];
  let kernels = '';

  for (const [name, build] of Object.entries(OURS)) {
    const made = await tabia(build, await fetched(`/wasm/${build}_bg.wasm`));
    kernels ||= made.kernels;
    const { studio } = made;
    studio.addModel('human', network);
    studio.addModel('mlp', small);
    const own = [...fens];
    humans.push({
      name,
      run: () => {
        studio.human('human', game(next(own)), [RATING]);
        return 1;
      },
    });
    smalls.push({
      name: name.replace(' 8 bits', ''),
      run: () => {
        let children = 0;
        for (let pass = 0; pass < PASSES; pass++) for (const fen of fens) children += studio.choose('net:mlp', game(fen), {}).nodes;
        return children;
      },
    });
  }

  for (const [name, address] of Object.entries(THEIRS)) {
    const session = await ort.InferenceSession.create(await fetched(address));
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
      name: rows === 1 ? 'onnxruntime-web, one a call' : `onnxruntime-web, ${rows} a call`,
      run: async () => {
        for (let done = 0; done < 300; done += rows) await session.run(feed);
        return 300;
      },
    });
  }
  contenders = { human: humans, small: smalls };
  return { human: humans.map(({ name }) => name), small: smalls.map(({ name }) => name), kernels };
}
