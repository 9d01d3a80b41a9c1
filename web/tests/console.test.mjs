import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, drag, onPage, useBrowser, waitForMoves } from './harness.mjs';

useBrowser();

/**
 * Calls a function of `window.tabia`.
 *
 * @param {import('playwright-core').Page} page
 * @param {string} name
 * @param {unknown[]} args
 */
const call = (page, name, ...args) =>
  page.evaluate(([name, args]) => /** @type {any} */ (window).tabia[name](...args), /** @type {[string, unknown[]]} */ ([name, args]));

const LEVEL_1 = { opponent: { kind: 'challenge', level: 1 }, colour: 'white', timeControl: 'untimed', rating: null };

test('the console predicts human moves, and loads what that takes only when asked', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    /** @type {string[]} */
    const requested = [];
    page.on('request', (request) => requested.push(request.url()));
    await page.getByRole('heading', { name: 'Challenge' }).first().waitFor();
    assert.ok(!requested.some((url) => /moveDistribution|human\.safetensors/.test(url)), requested.join(' '));

    const fen = 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 4 4';
    const weak = await call(page, 'moveDistribution', fen, { elo: 800 });
    const strong = await call(page, 'moveDistribution', fen, { elo: 2200, clock: 20, timeControl: '3+0' });
    for (const { moves, wdl } of [weak, strong]) {
      assert.ok(Math.abs(moves.reduce((/** @type {number} */ sum, /** @type {any} */ move) => sum + move.probability, 0) - 1) < 1e-3);
      assert.ok(Math.abs(wdl.white + wdl.draw + wdl.black - 1) < 1e-3);
      assert.deepEqual(Object.keys(moves[0]).sort(), ['probability', 'san', 'uci']);
    }
    assert.deepEqual([strong.moves[0].uci, strong.moves[0].san], ['f3f7', 'Qxf7#']);
    assert.notDeepEqual(weak.moves, strong.moves);
    assert.equal((await call(page, 'moveDistribution')).moves.length, 20, 'the initial position');
    assert.deepEqual(await call(page, 'timings'), [], 'nothing is timed without ?debug');

    const refused = (/** @type {unknown[]} */ ...args) => call(page, 'moveDistribution', ...args).then(() => '', String);
    assert.match(await refused('nonsense'), /startFen: /);
    assert.match(await refused(fen, { elo: 9000 }), /invalid rating 9000/);
    assert.match(await refused(fen, { clock: -1 }), /invalid time -1/);
  }));

test('with ?debug the time of each evaluation is in the console', () =>
  onPage({ stored: { 'play.settings': LEVEL_1 } }, async (page) => {
    /** @type {string[]} */
    const shown = [];
    page.on('console', (message) => message.type() === 'debug' && shown.push(message.text()));
    await page.goto(`${address()}?debug#/play`);
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await call(page, 'moveDistribution', undefined, { elo: 1500 });
    const timings = await call(page, 'timings');
    const names = timings.map((/** @type {any} */ { what }) => what);
    for (const what of ['choose level:1', 'addModel human', 'human human']) {
      assert.ok(names.includes(what), names.join(', '));
      assert.ok(shown.some((text) => text.startsWith(`${what}: `) && text.endsWith(' ms')), shown.join(', '));
    }
    assert.ok(timings.every((/** @type {any} */ { ms }) => ms >= 0 && ms < 60_000));
  }));
