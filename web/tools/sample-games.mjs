// Writes tools/games.pgn.gz, the games of a screenshot: the human network against itself, as two people of about 1500.
// node tools/sample-games.mjs, after `cargo xtask web`
import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { Engine, GameTree, initSync } from '../src/wasm/tabia.js';

const GAMES = 16;
const MAX_PLIES = 110;
const CONTROLS = ['180+2', '300+0', '600+0'];
const FIRST_DAY = Date.UTC(2026, 3, 3);
const DAYS_BETWEEN = 13;

const at = (/** @type {string} */ name) => new URL(name, import.meta.url);
initSync({ module: await WebAssembly.compile(await readFile(at('../src/wasm/tabia_bg.wasm'))) });
const engine = new Engine(7);
engine.chooseKernels();
engine.addModel('human', new Uint8Array(await readFile(at('../../models/human.safetensors'))));

/** Numbers from 0 to 1 that are the same every time. */
let state = 7;
function random() {
  state = (state * 48_271) % 2_147_483_647;
  return state / 2_147_483_647;
}

/**
 * Draws one of several values by their probabilities.
 *
 * @template T
 * @param {T[]} values
 * @param {(value: T) => number} chance
 * @returns {T}
 */
function drawn(values, chance) {
  let left = random();
  const found = values.find((value) => (left -= chance(value)) < 0) ?? values[0];
  if (found === undefined) throw new Error('nothing to draw from');
  return found;
}

/** @param {number} number */
function game(number) {
  const control = CONTROLS[number % CONTROLS.length] ?? '';
  const [base = 0, increment = 0] = control.split('+').map(Number);
  const own = 1440 + 3 * number;
  const other = 1400 + ((number * 67) % 220);
  const isWhite = number % 2 === 0;
  const ratings = isWhite ? [own, other] : [other, own];
  const clocks = [base, base];
  const tree = new GameTree();
  /** @type {string[]} */
  const text = [];
  /** @type {number[]} */
  const after = [];
  while (!tree.view().status.over && text.length < MAX_PLIES) {
    const turn = text.length % 2;
    const player = (/** @type {number} */ side) => ({ rating: ratings[side] ?? 0, remaining: clocks[side] ?? 0 });
    const input = { moves: tree.moves(), clocks: after, white: player(0), black: player(1), timeControl: control, pool: /** @type {const} */ ('lichess') };
    const [view] = engine.human('human', input, [ratings[turn] ?? null]);
    if (!view) throw new Error('no answer for the rating');
    const { uci, san } = drawn(view.moves, (move) => move.probability);
    const { seconds: pause } = drawn(view.pause ?? [], ({ chance }) => chance);
    clocks[turn] = Math.max(1, Math.round((clocks[turn] ?? 0) - pause) + increment);
    after.push(clocks[turn] ?? 0);
    tree.play(uci);
    const seconds = String((clocks[turn] ?? 0) % 60).padStart(2, '0');
    text.push(`${turn === 0 ? `${text.length / 2 + 1}. ` : ''}${san} {[%clk 0:${String(Math.floor((clocks[turn] ?? 0) / 60)).padStart(2, '0')}:${seconds}]}`);
  }
  const { result } = tree.view().status;
  tree.free();
  const rival = `Rival ${1 + (number % 9)}`;
  const tags = {
    Event: 'Rated game',
    Site: `https://lichess.org/example${number}`,
    White: isWhite ? 'You' : rival,
    Black: isWhite ? rival : 'You',
    Result: result === '*' ? '1/2-1/2' : result,
    UTCDate: new Date(FIRST_DAY + number * DAYS_BETWEEN * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '.'),
    WhiteElo: ratings[0],
    BlackElo: ratings[1],
    TimeControl: control,
  };
  return `${Object.entries(tags).map(([name, value]) => `[${name} "${value}"]\n`).join('')}\n${text.join(' ')} ${tags.Result}\n`;
}

const games = Array.from({ length: GAMES }, (_, number) => game(number));
await writeFile(at('games.pgn.gz'), gzipSync(games.join('\n'), { level: 9 }));
console.log(`${games.length} games`);
