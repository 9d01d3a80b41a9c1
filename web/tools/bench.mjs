// Compares our module with onnxruntime-web in a browser: node tools/bench.mjs FOLDER
//
// FOLDER contains human.onnx (f32) and human-int8.onnx, the same network as models/human.safetensors, inputs.json (the output of
// `tabia model tensors`), and onnxruntime-web in node_modules. First single-threaded on the page's thread with batch size 1, then in
// workers with several threads; contenders alternate, and the best time of each counts. Our times include the rules, the encoding and the decoding of the outputs; onnxruntime-web gets encoded
// inputs. CPU time is that of the page's thread, which is less affected by other programs; of workers there is none.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { brotliCompress, constants } from 'node:zlib';
import { mlp } from '../bench/onnx.mjs';
import { launchBrowser } from './browser.mjs';

const folder = process.argv[2];
if (!folder) throw new Error('usage: node tools/bench.mjs FOLDER');
const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const ort = path.join(folder, 'node_modules/onnxruntime-web');

/** The served folders by the first part of the URL. */
const FOLDERS = {
  bench: path.join(web, 'bench'),
  models: path.join(web, '../models'),
  networks: folder,
  ort: path.join(ort, 'dist'),
  wasm: path.join(web, 'src/wasm'),
};
const TYPES = { '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const WIDTHS = [768, 256, 32, 1];
const STARTS = 3;
const ROUNDS = 30;
const WARM_UP = 5;
const THREADS = [1, 2, 4].filter((threads) => threads === 1 || threads <= availableParallelism());
/** What is measured with threads: its title, how often, and its unit: milliseconds per unit or units per second. */
const THREADED = {
  human: { title: 'human network, one position', rounds: 120, unit: 'ms' },
  curve: { title: 'human network, a position of 16', rounds: 6, unit: 'ms' },
  engine: { title: 'analysis', rounds: 4, unit: 'knodes/s' },
  review: { title: 'review, a move at 0.1 s', rounds: 2, unit: 'ms' },
};

/** @returns {Promise<import('node:http').Server>} */
async function serve() {
  const network = mlp(WIDTHS);
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const [, root = '', ...rest] = path.posix.normalize(pathname).split('/');
    const file = path.join(/** @type {Record<string, string>} */ (FOLDERS)[root] ?? FOLDERS.bench, ...rest);
    const bytes = root === 'mlp.onnx' ? network : await readFile(root === '' ? path.join(FOLDERS.bench, 'index.html') : file).catch(() => undefined);
    response.writeHead(bytes ? 200 : 404, {
      'Content-Type': root === '' ? 'text/html' : (/** @type {Record<string, string>} */ (TYPES)[path.extname(file)] ?? 'application/octet-stream'),
      // Cross-origin isolated pages have a finer clock.
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
    });
    response.end(bytes);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return server;
}

/**
 * @typedef {{ name: string, ms: number, cpu?: number }} Line
 * @param {string} title
 * @param {Line[]} lines
 */
function table(title, lines) {
  const counts = (/** @type {Line} */ { ms, cpu }) => cpu ?? ms;
  const theirs = Math.min(...lines.filter(({ name }) => name.startsWith('onnxruntime')).map(counts));
  const shown = (/** @type {number | undefined} */ ms) => (ms?.toPrecision(3) ?? '').padStart(10);
  console.log(`\n${title}\n${''.padEnd(44)}${'ms'.padStart(10)}${'CPU ms'.padStart(10)}${'vs ort best'.padStart(14)}`);
  for (const line of lines)
    console.log(`${line.name.padEnd(44)}${shown(line.ms)}${shown(line.cpu)}${(counts(line) / theirs).toFixed(2).padStart(14)}`);
}

const { version } = JSON.parse(await readFile(path.join(ort, 'package.json'), 'utf8'));
const server = await serve();
const browser = await launchBrowser();
try {
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  /**
   * Runs `work` with a fresh page: `call` calls a function of bench/page.mjs, `worked` returns the CPU milliseconds of the
   * page's thread.
   *
   * @template T
   * @param {(call: (call: string) => Promise<any>, worked: () => Promise<number>) => Promise<T>} work
   * @returns {Promise<T>}
   */
  const onFreshPage = async (work) => {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      page.setDefaultTimeout(0);
      await page.goto(`http://127.0.0.1:${address.port}/`);
      const session = await context.newCDPSession(page);
      await session.send('Performance.enable', { timeDomain: 'threadTicks' });
      const worked = async () => {
        const { metrics } = await session.send('Performance.getMetrics');
        return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? NaN);
      };
      return await work((call) => page.evaluate(`import('/bench/page.mjs').then((bench) => bench.${call})`), worked);
    } finally {
      await context.close();
    }
  };

  console.log(`Chromium ${browser.version()}, onnxruntime-web ${version}, one thread`);
  /** @type {Map<string, Required<Line>>} */
  const first = new Map();
  for (let round = 0; round < STARTS; round++) {
    for (const name of await onFreshPage((call) => call('names()'))) {
      const { ms, cpu } = await onFreshPage(async (call, worked) => {
        await call(`fetchFor(${JSON.stringify(name)})`);
        const before = await worked();
        return { ms: await call('firstOutput()'), cpu: (await worked()) - before };
      });
      const best = first.get(name) ?? { name, ms: Infinity, cpu: Infinity };
      first.set(name, { name, ms: Math.min(ms, best.ms), cpu: Math.min(cpu, best.cpu) });
    }
  }
  const { human, small, kernels } = await onFreshPage(async (call, worked) => {
    const names = await call('prepare()');
    /** @param {'human' | 'small'} subject */
    const race = async (subject) => {
      /** @type {Required<Line>[]} */
      const lines = names[subject].map((/** @type {string} */ name) => ({ name, ms: Infinity, cpu: Infinity }));
      for (let round = -WARM_UP; round < ROUNDS; round++) {
        for (const [at, line] of lines.entries()) {
          const before = await worked();
          const { ms, units } = await call(`measure('${subject}', ${at})`);
          const cpu = ((await worked()) - before) / units;
          if (round >= 0) Object.assign(line, { ms: Math.min(line.ms, ms), cpu: Math.min(line.cpu, cpu) });
        }
      }
      return lines;
    };
    return { human: await race('human'), small: await race('small'), kernels: names.kernels };
  });
  console.log(`kernels chosen by the relaxed SIMD build: ${kernels}`);
  table('human network, batch size 1', human);
  table(`MLP (${WIDTHS.join('-')}), per child position`, small);
  table(`human network, time to first output, best of ${STARTS}`, [...first.values()]);

  await onFreshPage(async (call) => {
    const runtimes = [
      { runtime: 'tabia', name: 'tabia int8', network: '' },
      { runtime: 'onnxruntime', name: 'onnxruntime-web int8', network: '/networks/human-int8.onnx' },
      { runtime: 'onnxruntime', name: 'onnxruntime-web f32', network: '/networks/human.onnx' },
    ];
    const contenders = runtimes.flatMap((start) => THREADS.map((threads) => ({ ...start, threads, id: `${start.name} ${threads}` })));
    for (const { id, runtime, threads, network } of contenders)
      await call(`startWorker(${JSON.stringify(id)}, ${JSON.stringify({ runtime, threads, network })})`);
    console.log(`\n${'in workers, by threads'.padEnd(44)}${THREADS.map((threads) => String(threads).padStart(10)).join('')}`);
    for (const [subject, { title, rounds, unit }] of Object.entries(THREADED)) {
      /** The best of a contender. @type {Map<string, number>} */
      const best = new Map();
      const measured = contenders.filter(({ runtime }) => runtime === 'tabia' || ['human', 'curve'].includes(subject));
      for (let round = -1; round < rounds; round++) {
        for (const { id } of measured) {
          const { ms, units } = await call(`measureWorker(${JSON.stringify(id)}, '${subject}')`);
          const value = unit === 'ms' ? ms / units : units / ms;
          // The first round warms up.
          if (round < 0) continue;
          const before = best.get(id) ?? value;
          best.set(id, unit === 'ms' ? Math.min(before, value) : Math.max(before, value));
        }
      }
      console.log(`${title}, ${unit}`);
      for (const { name } of runtimes.filter(({ name }) => best.has(`${name} 1`)))
        console.log(`  ${name.padEnd(42)}${THREADS.map((threads) => (best.get(`${name} ${threads}`)?.toPrecision(3) ?? '').padStart(10)).join('')}`);
    }
  });
} finally {
  await browser.close();
  server.close();
}

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT, BROTLI_MAX_QUALITY, BROTLI_MAX_WINDOW_BITS } = constants;
/** @param {string} file */
async function sizes(file) {
  const bytes = await readFile(file);
  const params = { [BROTLI_PARAM_QUALITY]: BROTLI_MAX_QUALITY, [BROTLI_PARAM_LGWIN]: BROTLI_MAX_WINDOW_BITS, [BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return [bytes.length, (await promisify(brotliCompress)(bytes, { params })).length];
}

const runtime = ['ort/ort.wasm.min.mjs', 'ort/ort-wasm-simd-threaded.mjs', 'ort/ort-wasm-simd-threaded.wasm'];
/** Ours include the rules and the players. */
const DOWNLOADS = {
  'tabia, with rules, players and engine': ['wasm/tabia.js', 'wasm/tabia_small_threads_bg.wasm'],
  'onnxruntime-web': runtime,
  'human network, tabia int8': ['models/human.safetensors'],
  'human network, onnxruntime-web int8': ['networks/human-int8.onnx'],
};
console.log(`\ndownloads${''.padEnd(35)}${'raw MB'.padStart(10)}${'brotli MB'.padStart(14)}`);
for (const [name, files] of Object.entries(DOWNLOADS)) {
  let [raw, packed] = [0, 0];
  for (const file of files) {
    const [root = '', ...rest] = file.split('/');
    const [one = 0, small = 0] = await sizes(path.join(/** @type {Record<string, string>} */ (FOLDERS)[root] ?? '', ...rest));
    [raw, packed] = [raw + one, packed + small];
  }
  console.log(`${name.padEnd(44)}${(raw / 1e6).toFixed(2).padStart(10)}${(packed / 1e6).toFixed(2).padStart(14)}`);
}
