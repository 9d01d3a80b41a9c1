// What the bench runs in the browser (tools/bench.mjs).
// @ts-nocheck: it imports by addresses of the bench's server

const ROUNDS = 12;
const WARM_UP = 2;
const RATING = 1500;
const INPUTS = 768;
/** Passes over the positions in a round: one is too short for the clock. */
const PASSES = 4;

const fetched = async (address) => {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
};

/** Our module: one script for both builds, which an address of its own makes two. */
async function tabia(build, bytes) {
  const module = await import(`/wasm/tabia.js?${build}`);
  await module.default({ module_or_path: await WebAssembly.compile(bytes) });
  const kernels = module.chooseKernels();
  return { kernels, studio: new module.Studio(1) };
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

const game = (startFen) => ({ startFen, moves: [], white: {}, black: {} });

export function names() {
  return [...Object.keys(OURS), ...Object.keys(THEIRS)];
}

/** Milliseconds from the bytes of module and network, in memory, to the first answer. */
export async function firstAnswer(name) {
  const build = OURS[name];
  const start = game('rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1');
  if (build) {
    const [wasm, network] = await Promise.all([fetched(`/wasm/${build}_bg.wasm`), fetched('/models/human.safetensors')]);
    const began = performance.now();
    const { studio } = await tabia(build, wasm);
    studio.addModel('human', network);
    studio.human('human', start, [RATING]);
    return performance.now() - began;
  }
  const [wasm, network] = await Promise.all([fetched(ORT_WASM), fetched(THEIRS[name])]);
  const began = performance.now();
  const ort = await onnxruntime(wasm);
  const session = await ort.InferenceSession.create(network);
  const feed = { squares: new ort.Tensor('float32', new Float32Array(64 * 32), [1, 64, 32]), game: new ort.Tensor('float32', new Float32Array(80), [1, 80]) };
  await session.run(feed);
  return performance.now() - began;
}

/** The best time of each contender for one unit of its work; they take turns. */
async function race(contenders) {
  const best = contenders.map(() => Infinity);
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [at, { run }] of contenders.entries()) {
      const began = performance.now();
      const units = await run();
      const ms = (performance.now() - began) / units;
      if (round >= 0) best[at] = Math.min(best[at], ms);
    }
  }
  return contenders.map(({ name }, at) => ({ name, ms: best[at] }));
}

export async function compare() {
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
    humans.push({
      name,
      run: () => {
        for (const fen of fens) studio.human('human', game(fen), [RATING]);
        return fens.length;
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
    humans.push({
      name,
      run: async () => {
        for (const feed of feeds) await session.run(feed);
        return feeds.length;
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
        for (let done = 0; done < 150; done += rows) await session.run(feed);
        return 150;
      },
    });
  }
  return { human: await race(humans), small: await race(smalls), kernels };
}
