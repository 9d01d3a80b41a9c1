// Compares the engine's search in WebAssembly with the native program, on one thread: node tools/search.mjs PROGRAM
//
// Both search the same positions for as many nodes, each as a new game; the programs alternate, and the best round of each counts.
// The module runs on the page's thread of one Chromium.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { serve } from '../tests/site.mjs';
import { launchBrowser } from './browser.mjs';

const program = process.argv[2];
if (!program) throw new Error('usage: node tools/search.mjs PROGRAM');
const root = fileURLToPath(new URL('../..', import.meta.url));

const PLAYER = 'engine,hash=16';
const NODES = 50_000;
const ROUNDS = 5;
/** Of the positions of the fixture, each so manieth is searched. */
const EVERY = 10;
const BUILDS = { 'WASM, relaxed SIMD': 'tabia_small_threads', 'WASM, SIMD of every browser': 'tabia_small' };
const NATIVE = 'native';
/** Most of the native program's time a node. */
const GOAL = 1.6;

const fens = readFileSync(path.join(root, 'fixtures/positions.fen'), 'utf8')
  .trim()
  .split('\n')
  .filter((_, at) => at % EVERY === 0);

/** @typedef {{ nodes: number, ms: number }} Round */

/** The program as a UCI engine. */
function native() {
  const engine = spawn(/** @type {string} */ (program), ['uci', '--player', PLAYER], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: engine.stdout })[Symbol.asyncIterator]();
  const say = (/** @type {string} */ line) => engine.stdin.write(`${line}\n`);
  /** Reads up to the line that starts with `end`. @param {string} end */
  const until = async (end) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${program} has ended`);
      if (value.startsWith(end)) return;
    }
  };
  return {
    /** @returns {Promise<Round>} */
    async round() {
      let [nodes, ms] = [0, 0];
      for (const fen of fens) {
        say(`ucinewgame\nposition fen ${fen}\nisready`);
        await until('readyok');
        const started = performance.now();
        say(`go nodes ${NODES}`);
        await until('bestmove');
        ms += performance.now() - started;
        // Its lines count the nodes of finished iterations only.
        nodes += NODES;
      }
      return { nodes, ms };
    },
    close: () => say('quit'),
  };
}

const site = await serve(root.replace(/\/$/, ''), { isolated: true });
const browser = await launchBrowser();
const engine = native();
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(`${site.url}web/bench/index.html`);
  for (const build of Object.values(BUILDS)) {
    await page.evaluate(async (build) => {
      const bytes = async (/** @type {string} */ url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
      // The builds share a script, which the query string instantiates twice.
      const module = await import(`/web/src/wasm/tabia.js?${build}`);
      await module.default({ module_or_path: await WebAssembly.compile(await bytes(`/web/src/wasm/${build}_bg.wasm`)) });
      const engine = new module.Engine(1);
      engine.addModel('value', await bytes('/models/value.safetensors'));
      Object.assign(globalThis, { [build]: engine });
    }, build);
  }
  /** @param {string} build @returns {Promise<Round>} */
  const inBrowser = (build) =>
    page.evaluate(
      ({ build, fens, player, most }) => {
        const engine = /** @type {any} */ (globalThis)[build];
        let [nodes, ms] = [0, 0];
        for (const startFen of fens) {
          engine.newGame();
          const game = { startFen, moves: [], white: {}, black: {} };
          const started = performance.now();
          const thought = engine.choose(player, game, { nodes: most });
          ms += performance.now() - started;
          nodes += thought.nodes;
        }
        return { nodes, ms };
      },
      { build, fens, player: PLAYER, most: NODES },
    );

  /** @type {[name: string, round: () => Promise<Round>][]} */
  const contenders = [[NATIVE, engine.round]];
  for (const [name, build] of Object.entries(BUILDS)) contenders.push([name, () => inBrowser(build)]);
  /** The best round of each. @type {Map<string, Round>} */
  const best = new Map();
  // The first round warms up.
  for (let count = -1; count < ROUNDS; count++) {
    for (const [name, round] of contenders) {
      const found = await round();
      const before = best.get(name);
      if (count >= 0 && (!before || found.ms < before.ms)) best.set(name, found);
    }
  }

  const reference = /** @type {Round} */ (best.get(NATIVE));
  const perNode = (/** @type {Round} */ { nodes, ms }) => (1e6 * ms) / nodes;
  console.log(`Chromium ${browser.version()}, ${fens.length} positions, ${NODES} nodes each, one thread, best of ${ROUNDS} rounds`);
  console.log(`\n${''.padEnd(32)}${'ns / node'.padStart(12)}${'nodes'.padStart(12)}${'of native'.padStart(12)}`);
  for (const [name, round] of best) {
    const ratio = perNode(round) / perNode(reference);
    console.log(`${name.padEnd(32)}${perNode(round).toFixed(0).padStart(12)}${String(round.nodes).padStart(12)}${ratio.toFixed(2).padStart(11)}x`);
  }
  console.log(`\ngoal: at most ${GOAL}x`);
} finally {
  engine.close();
  await browser.close();
  await site.close();
}
