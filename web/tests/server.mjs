// A mock of the API of `tabia serve --data --runs --ledgers`. program.test.mjs tests the page with the real server.
import { address } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

const FEN = 'r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3';

const SETS = [
  { name: 'analysed', kind: 'evaluations', records: 40, positions: 40, sources: ['evals.jsonl'] },
  { name: 'games', kind: 'games', records: 3, positions: 120, sources: ['games.pgn'] },
];

/**
 * @param {string} set
 * @param {number} index
 * @param {string} labels
 */
function position(set, index, labels) {
  const common = { set, index, record: Math.floor(index / 40), ply: index % 40, fen: FEN, turn: 'white' };
  if (set === 'games') {
    const game = {
      white_elo: 1500 + index, black_elo: null, pool: 'online', base_s: 300, increment_s: 3, result: '1-0', plies: 40,
      white_clock_s: 290.5, black_clock_s: 281, cp: 35,
    };
    return {
      ...common, phase: index % 40 < 20 ? 'opening' : 'endgame', last_move: 'b8c6', entropy: 0,
      labels: [{ uci: 'f1b5', san: 'Bb5', probability: 1 }], game,
    };
  }
  const weights = labels === 'best' ? [1] : [0.55, 0.3, 0.1, 0.05];
  const moves = [['f1b5', 'Bb5', 42], ['d2d4', 'd4', 30], ['f1c4', 'Bc4', 12], ['b1c3', 'Nc3', 3]];
  const lines = moves.map(([uci, san, cp]) => ({ uci, san, cp }));
  return {
    ...common, phase: 'opening', last_move: null, entropy: labels === 'best' ? 0 : 1.06,
    labels: weights.map((probability, at) => ({ ...lines[at], probability })),
    sessions: [
      { depth: 40, knodes: 120000, lines },
      { depth: 22, knodes: 900, lines: [{ uci: 'd2d4', san: 'd4', mate: 5 }] },
    ],
  };
}

/** @param {URL} url @returns {[number, unknown]} */
function explorer(url) {
  const [set = '', kind, index] = url.pathname.split('/api/data')[1]?.split('/').slice(1) ?? [];
  if (!set) return [200, SETS];
  const about = SETS.find(({ name }) => name === set);
  if (!about) return [404, { error: `no set is called \`${set}\`; there are: analysed, games` }];
  const ask = url.searchParams;
  const at = (/** @type {number} */ i) => position(set, i, ask.get('labels') ?? 'deepest');
  if (kind === 'position') {
    const wanted = Number(index);
    if (wanted < about.positions) return [200, at(wanted)];
    return [404, { error: `\`${set}\` has positions 0 to ${about.positions - 1}, not ${wanted}` }];
  }
  if (kind === 'random') return [200, at(17)];
  const step = ask.get('direction') === 'back' ? -1 : 1;
  let i = Number(ask.get('from'));
  for (let looked = 0; looked < about.positions; looked++) {
    i = (i + step + about.positions) % about.positions;
    const found = at(i);
    const rating = 'game' in found ? found.game.white_elo : undefined;
    const low = ask.get('min_rating');
    if (ask.get('phase') && found.phase !== ask.get('phase')) continue;
    if (low && !(rating !== undefined && rating >= Number(low))) continue;
    return [200, found];
  }
  return [404, { error: `none of ${about.positions} positions looked at passes the filter` }];
}

/** Training runs that can grow. */
export class Runs {
  /** @type {Map<string, string[]>} */
  lines = new Map();

  /**
   * @param {string} name
   * @param {number} from
   * @param {number} to
   */
  train(name, from, to) {
    const lines = this.lines.get(name) ?? [];
    this.lines.set(name, lines);
    const speed = 1 + name.length / 20;
    for (let step = from; step < to; step += 20) {
      const loss = 3 * Math.exp((-step * speed) / 600) + 1.4 + 0.2 * Math.sin(step);
      const place = { step, positions: step * 256, seconds: step / 12 };
      lines.push(JSON.stringify({ kind: 'step', ...place, lr: 0.001, loss, policy: loss, value: 0, gradient_norm: 0.5 }));
      if (step % 200 === 0) {
        const top1 = 0.5 - 0.4 * Math.exp(-step / 900);
        const band = { count: 300, policy: loss, top1 };
        const groups = {
          all: { count: 5000, policy: loss, top1 }, 'phase endgame': { count: 900, policy: loss, top1: top1 - 0.1 },
          'pool online': band, 'pool online 1200-1399': band, 'pool online 1400-1599': band,
        };
        lines.push(JSON.stringify({ kind: 'evaluation', ...place, groups }));
      }
    }
  }

  list() {
    return {
      runs: [...this.lines].map(([name, lines], at) => ({
        name,
        glance: {
          standing: at === 0 ? 'running' : 'complete', message: null, started: 1794738786, ended: null,
          bytes: lines.join('\n').length + 1, modified: Date.now() - at * 60_000, file: `file-${name}`,
        },
      })),
    };
  }
}

/** @type {[number, unknown]} */
const ARENA = [
  200,
  {
    matches: [
      {
        name: 'night/levels', modified: 1794738786, settings: { players: 'level:1 | level:2' }, games: 20,
        report: {
          players: [
            { name: 'level:1', games: t(2, 4, 14), as_white: t(2, 2, 6), as_black: t(0, 2, 8), rating: { rating: -120.4, low: -200, high: -50, games: t(2, 4, 14) } },
            { name: 'level:2', games: t(14, 4, 2), as_white: t(8, 2, 0), as_black: t(6, 2, 2), rating: { rating: 120.4, low: 50, high: 200, games: t(14, 4, 2) } },
          ],
          encounters: [{ player: 'level:1', opponent: 'level:2', games: t(2, 4, 14), pairs: [5, 3, 2, 0, 0], draw_ratio: 0.2, elo: { score: 0.2, elo: -240.8, low: null, high: -100, superiority: 0 } }],
          openings: [],
          reasons: [['checkmate', 16], ['threefold repetition', 4]],
        },
      },
    ],
    challenges: [
      {
        name: 'small', modified: 1794738000,
        scorecard: {
          challenger: 'net:small.onnx', parameters: 18932, passed: null, interrupted: false,
          levels: [{ level: 1, opponent: 'level:1', games: t(2, 8, 40), as_white: t(1, 4, 20), as_black: t(1, 4, 20), points: 6, passed: false }],
          diversity: { games: 50, first_moves: 9, first_move_entropy: 2.5, four_move_lines: 44, four_move_entropy: 5.4 },
        },
      },
    ],
    problems: [{ name: 'broken', problem: 'invalid ledger index' }],
  },
];

/** @param {number} wins @param {number} draws @param {number} losses */
function t(wins, draws, losses) {
  return { wins, draws, losses };
}

/**
 * Mocks `api/` and `models/given/`, and opens the page at `at`. `given` are the server's networks by name.
 *
 * @param {Page} page
 * @param {string} at
 * @param {Runs} runs
 * @param {Record<string, Buffer>} given
 */
export async function withServer(page, at, runs = new Runs(), given = {}) {
  await page.route('**/models/given/*', (route) => {
    const body = given[new URL(route.request().url()).pathname.split('/').pop() ?? ''];
    return route.fulfill(body ? { status: 200, body } : { status: 404 });
  });
  await page.route('**/api/**', (route) => {
    const url = new URL(route.request().url());
    const json = (/** @type {[number, unknown]} */ [status, body]) => route.fulfill({ status, json: body });
    if (url.pathname === '/api/about') return json([200, { version: '0.1.0', data: true, runs: true, arena: true, given: Object.keys(given) }]);
    if (url.pathname === '/api/arena') return json(ARENA);
    if (url.pathname.startsWith('/api/data')) return json(explorer(url));
    if (url.pathname === '/api/runs') return json([200, runs.list()]);
    const name = url.searchParams.get('run') ?? '';
    const lines = runs.lines.get(name);
    if (!lines) return json([404, { error: `no run is called \`${name}\`` }]);
    if (url.pathname === '/api/runs/about') return json([200, { config: { net: { width: name.length } }, facts: { device: 'CPU' }, max_seconds: null, max_positions: 1_000_000 }]);
    const all = lines.join('\n') + '\n';
    const from = Number(url.searchParams.get('from'));
    return route.fulfill({
      status: 200,
      body: all.slice(from),
      headers: {
        'content-type': 'application/x-ndjson',
        'tabia-file': `file-${name}`,
        'tabia-from': String(from),
        'tabia-next': String(all.length),
        'tabia-unreadable': '0',
      },
    });
  });
  // Forces a new document where only the hash changes.
  await page.goto('about:blank');
  await page.goto(address() + at);
}
