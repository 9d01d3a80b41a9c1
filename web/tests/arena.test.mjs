import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertAccessible, assertFits, onPage, pieces, screenshot, SIZES, useBrowser } from './harness.mjs';
import { withServer } from './server.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const serviceWorkers = /** @type {const} */ ('block');

/**
 * Seats two players by kind or spec and starts a match.
 *
 * @param {Page} page
 * @param {string} first
 * @param {string} second
 * @param {{ games: number, plies?: number }} length
 */
async function start(page, first, second, { games, plies = 300 }) {
  await page.locator('details.setup').evaluate((setup) => setup.setAttribute('open', ''));
  for (const [title, spec] of [['First player', first], ['Second player', second]]) {
    const seat = page.getByRole('group', { name: title });
    await seat.getByLabel('Player', { exact: true }).selectOption('By spec');
    await seat.getByLabel('Spec').fill(spec ?? '');
  }
  await page.getByLabel('Games', { exact: true }).fill(String(games));
  await page.getByLabel('Draw after').fill(String(plies));
  await page.getByRole('button', { name: 'Start match' }).click();
}

/** @param {Page} page @param {string} button */
async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  return readFile(await download.path(), 'utf8');
}

test('two levels play a match, with score, games, traces and files', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await start(page, 'level:1', 'random', { games: 2 });
    await page.getByText('The match is over').waitFor({ timeout: 120_000 });
    await page.getByText(/2 of 2 games: \d won, \d drawn, \d lost/).waitFor();
    await page.getByText(/Elo difference/).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Games', exact: true }).getByRole('row').count(), 3);

    await page.getByRole('button', { name: /^Game 1,/ }).click();
    await page.getByText(/ply 0 of \d+/).waitFor();
    await page.keyboard.press('End');
    const last = (await page.getByText(/ply \d+ of \d+/).innerText()).match(/ply (\d+) of (\d+)/);
    assert.ok(last && last[1] === last[2] && Number(last[1]) > 4, `at ${last?.[0]}`);
    // Of the two, the level says what its moves are worth.
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    const trace = page.getByRole('region', { name: 'What the player thought' });
    const first = await trace.innerText();
    await page.keyboard.press('ArrowRight');
    const second = await trace.innerText();
    assert.ok([first, second].some((text) => /Score[\s\S]*[+−#]\d/.test(text)), `${first}\n${second}`);
    await screenshot(page, 'arena-replay');

    const json = JSON.parse(await saved(page, 'Save JSON'));
    assert.equal(json.games.length, 2);
    assert.deepEqual(new Set(json.games.map((/** @type {{ white: number }} */ game) => game.white)), new Set([0, 1]), 'colours are swapped');
    const pgn = await saved(page, 'Save PGN');
    assert.equal(pgn.match(/^\[Result "/gm)?.length, 2);
    const one = await saved(page, 'Save this game');
    assert.match(one, /\[White "/);
    await page.getByRole('button', { name: 'Analyse this game' }).click();
    await page.waitForURL(/#\/analyse/);
  }));

test('a match is paused, goes on, outlives the page and can be stopped', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await start(page, 'level:1', 'level:2', { games: 200 });
    await page.getByText(/^[1-9]\d* of 200 games$/).waitFor({ timeout: 120_000 });
    await page.getByLabel('Speed').selectOption('0.1 s a move');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    await page.waitForTimeout(600);
    const soFar = JSON.parse(await saved(page, 'Save JSON'));
    assert.ok(soFar.games.length >= 1 && soFar.games.length < 200, `${soFar.games.length} games`);
    assert.equal((await saved(page, 'Save PGN')).match(/^\[Result "/gm)?.length, soFar.games.length, 'the same games');
    const still = await pieces(page);
    await page.waitForTimeout(600);
    assert.deepEqual(await pieces(page), still, 'nothing moves while it is paused');
    await page.getByRole('link', { name: 'Training' }).click();
    await page.waitForURL(/#\/training/);
    await page.getByRole('link', { name: 'Arena' }).click();
    await page.getByText('Paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.waitForFunction((old) => {
      const now = [...document.querySelectorAll('cg-board piece')].map((piece) => /** @type {{ cgKey?: string }} */ (/** @type {unknown} */ (piece)).cgKey).sort();
      return now.join() !== old;
    }, Object.keys(still).sort().join());
    await page.getByText('Reloading or closing the tab loses it').waitFor();
    await screenshot(page, 'arena-live');
    const asked = page.waitForEvent('dialog');
    await page.evaluate(() => setTimeout(() => location.reload()));
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The match is over').waitFor({ timeout: 60_000 });
    const json = JSON.parse(await saved(page, 'Save JSON'));
    assert.ok(json.games.length >= 1 && json.games.length < 200, `${json.games.length} games`);
  }));

test('a human-like player shows the probabilities of its moves', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await start(page, 'human,elo=1500', 'level:1', { games: 1, plies: 12 });
    await page.getByText('The match is over').waitFor({ timeout: 120_000 });
    await page.getByRole('button', { name: /^Game 1,/ }).click();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('columnheader', { name: 'Probability' }).waitFor();
    const row = await page.getByRole('region', { name: 'What the player thought' }).getByRole('row').nth(1).innerText();
    assert.match(row, /%/);
    assert.ok((await page.locator('.cg-shapes line').count()) > 1, 'candidates are drawn on the board');
    await screenshot(page, 'arena-human');
  }));

test('a human-like player is as strong as its rating unless a temperature is asked for', () =>
  onPage({ at: '#/arena' }, async (page) => {
    const seat = (/** @type {string} */ title) => page.getByRole('group', { name: title });
    await seat('Second player').getByLabel('Player', { exact: true }).selectOption('Human-like');
    for (const title of ['First player', 'Second player']) {
      assert.equal(await seat(title).getByLabel('Moves').inputValue(), 'rated');
      assert.equal(await seat(title).getByLabel('Temperature').count(), 0);
    }
    await seat('Second player').getByLabel('Moves').selectOption('by chance');
    await seat('Second player').getByLabel('Temperature').waitFor();
    await page.getByLabel('Games', { exact: true }).fill('1');
    await page.getByLabel('Draw after').fill('10');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByText('The match is over').waitFor({ timeout: 120_000 });
    const { report } = JSON.parse(await saved(page, 'Save JSON'));
    const [{ player, opponent }] = report.encounters;
    assert.deepEqual([player, opponent], ['human,elo=1500', 'human,elo=1500,strength=raw']);
    const names = await page.getByRole('region', { name: 'Games', exact: true }).getByRole('row').nth(1).innerText();
    assert.match(names, /Human-like 1500\s+Human-like 1500, temperature 1/);
  }));

test('a network without ratings plays by chance, at the temperature that is shown', () =>
  onPage({ at: '#/arena' }, async (page) => {
    const seat = page.getByRole('group', { name: 'First player' });
    await seat.getByLabel('Player', { exact: true }).selectOption('Model file');
    const file = new URL('../../fixtures/models/lc0-plain-conv.pb.gz', import.meta.url).pathname;
    await seat.getByLabel('Model file of the first player').setInputFiles(file);
    await seat.getByLabel('How').waitFor();
    assert.equal(await seat.getByLabel('How').inputValue(), 'maia');
    assert.equal(await seat.getByLabel('Moves').inputValue(), 'sample');
    await seat.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Games', { exact: true }).fill('1');
    await page.getByLabel('Draw after').fill('4');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByText('The match is over').waitFor({ timeout: 120_000 });
    const { report } = JSON.parse(await saved(page, 'Save JSON'));
    assert.match(report.encounters[0].player, /^maia:.*lc0-plain-conv\.pb\.gz,temp=0\.5$/);
  }));

test('an engine reports its best move and the player across the board all its candidates', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await start(page, 'human,elo=1500', 'engine,depth=2', { games: 1, plies: 12 });
    await page.getByText('The match is over').waitFor({ timeout: 120_000 });
    await page.getByRole('button', { name: /^Game 1,/ }).click();
    const thoughts = page.getByRole('region', { name: 'What the player thought' });
    const counts = new Map();
    for (let ply = 0; ply < 2; ply++) {
      await page.keyboard.press('ArrowRight');
      await page.getByText(`ply ${ply + 1} of`).waitFor();
      const kind = await thoughts.getByRole('columnheader').nth(1).innerText();
      // A person now and then plays a move that is not among its likely ones; it has a row of its own.
      const candidates = thoughts.locator('tbody').getByRole('row').filter({ hasNotText: 'less likely' });
      counts.set(kind, await candidates.count());
    }
    assert.equal(counts.get('Score'), 1);
    const likely = counts.get('Probability');
    assert.ok(likely > 1 && likely <= 5, `${likely} candidates of the person`);
  }));

test('what is wrong with a match is said', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await start(page, 'level:9', 'level:1', { games: 2 });
    await page.getByRole('alert').filter({ hasText: '9 is no level' }).waitFor();
    await page.getByText('The match could not begin').waitFor();
    const seat = page.getByRole('group', { name: 'First player' });
    await seat.getByLabel('Player', { exact: true }).selectOption('Model file');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByRole('alert').filter({ hasText: 'waits for a model file' }).waitFor();
    await seat.getByLabel('Model file of the first player').setInputFiles({ name: 'broken.onnx', mimeType: '', buffer: Buffer.from('no network') });
    await page.getByRole('alert').filter({ hasText: 'broken.onnx cannot be read as a chess model' }).waitFor();
    await seat.getByLabel('Player', { exact: true }).selectOption('Challenge level');
    await page.getByLabel('My own').check();
    await page.getByLabel(/^Openings/).fill('this is no position');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByText('The match could not begin').waitFor();
    await page.getByRole('button', { name: 'Start match' }).waitFor();
  }));

test('a model file takes a seat', () =>
  onPage({ at: '#/arena' }, async (page) => {
    const seat = page.getByRole('group', { name: 'First player' });
    await seat.getByLabel('Player', { exact: true }).selectOption('Model file');
    const file = new URL('../../models/challenge-s.onnx', import.meta.url).pathname;
    await seat.getByLabel('Model file of the first player').setInputFiles(file);
    await seat.getByLabel('How').waitFor();
    const other = page.getByRole('group', { name: 'Second player' });
    await other.getByLabel('Player', { exact: true }).selectOption('Random moves');
    await page.getByLabel('Games', { exact: true }).fill('1');
    await page.getByLabel('Draw after').fill('10');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByText('The match is over').waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: /^Game 1,/ }).click();
    await page.locator('.player', { hasText: 'challenge-s.onnx' }).waitFor();
  }));

test('a link begins a match between networks the server was given', () =>
  onPage({}, async (page) => {
    const network = await readFile(new URL('../../fixtures/models/human.safetensors', import.meta.url));
    const spec = encodeURIComponent('human:given/human.safetensors');
    const link = `#/arena?first=${spec}&second=${spec}&delay=250&auto=1`;
    await withServer(page, link, undefined, { 'human.safetensors': network });
    await page.getByText('Playing', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Speed').inputValue(), '250');
    await page.locator('cg-board square.last-move').first().waitFor();
    await page.locator('.player', { hasText: /^human.safetensors \(2\)/ }).waitFor();
    const board = await page.locator('cg-board').boundingBox();
    assert.ok(board && board.y + board.height <= 800, 'the whole board is in sight');
    assert.ok(!(await page.getByRole('button', { name: 'Start match' }).isVisible()), 'the form is out of the way');
    assert.doesNotMatch(page.url(), /auto/, 'a reload does not begin another match');
    await screenshot(page, 'arena-link');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The match is over').waitFor();
    await page.reload();
    const seat = page.getByRole('group', { name: 'First player' });
    assert.equal(await seat.getByLabel('Spec').inputValue(), 'human:given/human.safetensors');
    assert.equal(await page.getByText('Playing', { exact: true }).count(), 0);
  }));

for (const [first, message] of /** @type {const} */ ([
  ['level:9', '9 is no level'],
  ['nobody:x', 'nobody'],
  ['net:given/away.onnx', 'was not given a network called away.onnx'],
])) {
  test(`a link with the player ${first} says what is wrong and shows the form`, () =>
    onPage({ at: `#/arena?first=${encodeURIComponent(first)}&second=level:1&delay=soon&auto=1` }, async (page) => {
      await page.getByRole('alert').filter({ hasText: message }).waitFor();
      await page.getByRole('alert').filter({ hasText: 'delay is no number of milliseconds' }).waitFor();
      await page.getByRole('button', { name: 'Start match' }).waitFor();
      const seat = page.getByRole('group', { name: 'First player' });
      assert.equal(await seat.getByLabel('Spec').inputValue(), first);
      await seat.getByLabel('Spec').fill('random');
      await page.getByLabel('Games', { exact: true }).fill('1');
      await page.getByLabel('Draw after').fill('4');
      await page.getByRole('button', { name: 'Start match' }).click();
      await page.getByText('The match is over').waitFor({ timeout: 60_000 });
    }));
}

test('matches and scorecards of the server appear', () =>
  onPage({ serviceWorkers }, async (page) => {
    await withServer(page, '#/arena');
    await page.getByText('night/levels').click();
    await page.getByRole('row', { name: /^level:1 20 4 3 1 −120 \(−200 to −50\)/ }).waitFor();
    await page.getByText('Elo −241 (below −100)').waitFor();
    await page.getByText('challenge of net:small.onnx, no level passed').click();
    await page.getByRole('row', { name: /^1 2 8 40 6/ }).waitFor();
    await page.getByText('broken: it is no index of a ledger').waitFor();
    await assertAccessible(page);
  }));

for (const size of /** @type {(keyof typeof SIZES)[]} */ (Object.keys(SIZES))) {
  test(`the arena fits a ${size} and is accessible`, () =>
    onPage({ at: '#/arena', size, colorScheme: size === 'phone' ? 'dark' : 'light' }, async (page) => {
      await page.getByRole('button', { name: 'Start match' }).waitFor();
      await assertFits(page);
      await assertAccessible(page);
      await start(page, 'level:1', 'random', { games: 2, plies: 40 });
      await page.getByText('The match is over').waitFor({ timeout: 60_000 });
      await assertFits(page);
      await assertAccessible(page);
      await screenshot(page, `arena-${size}`);
    }));
}
