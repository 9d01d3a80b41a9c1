import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertAccessible, assertFits, download, fixture, onPage, pieces, screenshot, SIZES, useBrowser } from './harness.mjs';
import { withServer } from './server.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

/**
 * The form of a player.
 *
 * @param {Page} page
 * @param {'First' | 'Second'} which
 */
const player = (page, which) => page.getByRole('group', { name: `${which} player` });

/**
 * Starts a match of the players in the form.
 *
 * @param {Page} page
 * @param {{ games: number, plies?: number }} length
 */
async function start(page, { games, plies = 300 }) {
  await page.getByLabel('Games', { exact: true }).fill(String(games));
  await page.getByLabel('Draw after').fill(String(plies));
  await page.getByRole('button', { name: 'Start match' }).click();
}

/**
 * Starts a match of two specs.
 *
 * @param {Page} page
 * @param {[first: string, second: string]} specs
 * @param {{ games: number, plies?: number }} length
 */
async function startSpecs(page, [first, second], length) {
  await page.locator('details.setup').evaluate((setup) => setup.setAttribute('open', ''));
  for (const [which, spec] of /** @type {const} */ ([['First', first], ['Second', second]])) {
    await player(page, which).getByLabel('Player', { exact: true }).selectOption('Spec');
    await player(page, which).getByLabel('Spec').fill(spec);
  }
  await start(page, length);
}

/** @param {Page} page */
const finished = (page) => page.getByText('Match finished').waitFor({ timeout: 120_000 });

/** @param {Page} page */
const candidates = (page) => page.getByRole('region', { name: 'Candidate moves' });

test('a match shows score, games and candidates, and can be saved', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await startSpecs(page, ['level:1', 'random'], { games: 2 });
    await finished(page);
    await page.getByText(/2 of 2 games: \d won, \d drawn, \d lost/).waitFor();
    await page.getByText(/Elo difference/).waitFor();
    assert.equal(await page.getByRole('region', { name: 'Games', exact: true }).getByRole('row').count(), 3);

    await page.getByRole('button', { name: /^Game 1,/ }).click();
    await page.getByText(/ply 0 of \d+/).waitFor();
    await page.keyboard.press('End');
    const last = (await page.getByText(/ply \d+ of \d+/).innerText()).match(/ply (\d+) of (\d+)/);
    assert.ok(last && last[1] === last[2] && Number(last[1]) > 4, `at ${last?.[0]}`);
    // Only the level reports scores.
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    const first = await candidates(page).innerText();
    await page.keyboard.press('ArrowRight');
    const second = await candidates(page).innerText();
    assert.ok([first, second].some((text) => /Score[\s\S]*[+−#]\d/.test(text)), `${first}\n${second}`);
    await screenshot(page, 'arena-replay');

    const json = JSON.parse((await download(page, 'Save JSON')).text);
    assert.equal(json.games.length, 2);
    assert.deepEqual(new Set(json.games.map((/** @type {{ white: number }} */ game) => game.white)), new Set([0, 1]), 'colours are swapped');
    const pgn = (await download(page, 'Save PGN')).text;
    assert.equal(pgn.match(/^\[Result "/gm)?.length, 2);
    assert.match((await download(page, 'Save game')).text, /\[White "/);
    await page.getByRole('button', { name: 'Analyse game' }).click();
    await page.waitForURL(/#\/analyse/);
  }));

test('a match can be paused, resumed and stopped, and continues on other pages', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await startSpecs(page, ['level:1', 'level:2'], { games: 200 });
    await page.getByText(/^[1-9]\d* of 200 games$/).waitFor({ timeout: 120_000 });
    await page.getByLabel('Speed').selectOption('0.1 s per move');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    await page.waitForTimeout(600);
    const soFar = JSON.parse((await download(page, 'Save JSON')).text);
    assert.ok(soFar.games.length >= 1 && soFar.games.length < 200, `${soFar.games.length} games`);
    assert.equal((await download(page, 'Save PGN')).text.match(/^\[Result "/gm)?.length, soFar.games.length, 'the same games');
    const still = await pieces(page);
    await page.waitForTimeout(600);
    assert.deepEqual(await pieces(page), still, 'no moves while paused');
    await page.getByRole('link', { name: 'Training' }).click();
    await page.waitForURL(/#\/training/);
    await page.getByRole('link', { name: 'Arena' }).click();
    await page.getByText('Paused').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.waitForFunction((old) => {
      const now = [...document.querySelectorAll('cg-board piece')].map((piece) => /** @type {{ cgKey?: string }} */ (/** @type {unknown} */ (piece)).cgKey).sort();
      return now.join() !== old;
    }, Object.keys(still).sort().join());
    await screenshot(page, 'arena-live');
    const asked = page.waitForEvent('dialog');
    await page.evaluate(() => setTimeout(() => location.reload()));
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    await page.getByRole('button', { name: 'Stop' }).click();
    await finished(page);
    const json = JSON.parse((await download(page, 'Save JSON')).text);
    assert.ok(json.games.length >= 1 && json.games.length < 200, `${json.games.length} games`);
  }));

test('a paused match goes on by single moves, with arrows, from one named opening', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await page.getByRole('radio', { name: 'One opening' }).check();
    const opening = page.getByLabel('Opening', { exact: true });
    const names = await opening.locator('option').allInnerTexts();
    assert.equal(names.length, 25);
    await opening.selectOption(names[3] ?? '');
    await page.getByLabel('Draw after').fill('300');
    await startSpecs(page, ['level:1', 'level:2'], { games: 200 });
    await page.getByText(/ply [1-9]\d* of \d+/).waitFor({ timeout: 60_000 });
    await page.getByLabel('Speed').selectOption('1 s per move');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    await page.waitForTimeout(1200);
    await page.getByText(new RegExp(`Game \\d+, ${names[3]}`)).waitFor();
    const ply = async () => Number((await page.getByText(/ply \d+ of \d+/).innerText()).match(/ply (\d+)/)?.[1]);
    const before = await ply();
    await page.getByRole('button', { name: 'Step +1' }).click();
    await page.getByText(new RegExp(`ply ${before + 1} of`)).waitFor();
    await page.waitForTimeout(1200);
    assert.equal(await ply(), before + 1, 'one move a step');
    assert.ok((await page.locator('svg.cg-shapes g line').count()) > 0, 'arrows of the last move while the match is paused');
    await page.getByRole('button', { name: 'Stop' }).click();
    await finished(page);
  }));

test('a human-like player reports probabilities, an engine only its best move', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await startSpecs(page, ['human,elo=1500', 'engine,depth=2'], { games: 1, plies: 12 });
    await finished(page);
    await page.getByRole('button', { name: /^Game 1,/ }).click();
    const counts = new Map();
    for (let ply = 0; ply < 2; ply++) {
      await page.keyboard.press('ArrowRight');
      await page.getByText(`ply ${ply + 1} of`).waitFor();
      const kind = await candidates(page).getByRole('columnheader').nth(1).innerText();
      // A played move that is not among the candidates has its own row.
      const rows = candidates(page).locator('tbody').getByRole('row').filter({ hasNotText: 'less likely' });
      if (kind === 'Probability') {
        assert.match(await rows.first().innerText(), /%/);
        assert.ok((await page.locator('.cg-shapes line').count()) > 1, 'candidates are drawn on the board');
        await screenshot(page, 'arena-human');
      }
      counts.set(kind, await rows.count());
    }
    assert.equal(counts.get('Score'), 1);
    const likely = counts.get('Probability');
    assert.ok(likely > 1 && likely <= 5, `${likely} candidates`);
  }));

test('a human-like player is calibrated to its rating unless sampling is chosen', () =>
  onPage({ at: '#/arena' }, async (page) => {
    await player(page, 'Second').getByLabel('Player', { exact: true }).selectOption('Human-like');
    for (const which of /** @type {const} */ (['First', 'Second'])) {
      assert.equal(await player(page, which).getByLabel('Moves').inputValue(), 'rated');
      assert.equal(await player(page, which).getByLabel('Temperature').count(), 0);
    }
    await player(page, 'Second').getByLabel('Moves').selectOption('sample');
    await player(page, 'Second').getByLabel('Temperature').waitFor();
    await start(page, { games: 1, plies: 10 });
    await finished(page);
    const { report } = JSON.parse((await download(page, 'Save JSON')).text);
    const [encounter] = report.encounters;
    assert.deepEqual([encounter.player, encounter.opponent], ['human,elo=1500', 'human,elo=1500,strength=raw']);
    const names = await page.getByRole('region', { name: 'Games', exact: true }).getByRole('row').nth(1).innerText();
    assert.match(names, /Human-like 1500\s+Human-like 1500, temperature 1/);
  }));

test('model files play: a policy without ratings at a temperature, an evaluation with a one-ply search', () =>
  onPage({ at: '#/arena' }, async (page) => {
    const challenger = new URL('../../models/challenge-s.onnx', import.meta.url).pathname;
    for (const [which, file] of /** @type {const} */ ([['First', fixture('lc0-plain-conv.pb.gz')], ['Second', challenger]])) {
      await player(page, which).getByLabel('Player', { exact: true }).selectOption('Model file');
      await player(page, which).getByLabel(`Model file of the ${which.toLowerCase()} player`).setInputFiles(file);
      await player(page, which).getByLabel('Plays with').waitFor();
    }
    const first = player(page, 'First');
    assert.equal(await first.getByLabel('Plays with').inputValue(), 'maia');
    assert.equal(await first.getByLabel('Moves').inputValue(), 'sample');
    await first.getByLabel('Temperature').fill('0.5');
    await start(page, { games: 1, plies: 4 });
    await finished(page);
    const { report } = JSON.parse((await download(page, 'Save JSON')).text);
    assert.match(report.encounters[0].player, /^maia:.*lc0-plain-conv\.pb\.gz,temp=0\.5$/);
    await page.getByRole('button', { name: /^Game 1,/ }).click();
    await page.locator('.player', { hasText: 'challenge-s.onnx' }).waitFor();
  }));

test('errors in the setup of a match are shown', () =>
  onPage({ at: '#/arena' }, async (page) => {
    const failed = page.getByText('Cannot start the match', { exact: true });
    await startSpecs(page, ['level:9', 'level:1'], { games: 2 });
    await page.getByRole('alert').filter({ hasText: 'level' }).waitFor();
    await failed.waitFor();
    const first = player(page, 'First');
    await first.getByLabel('Player', { exact: true }).selectOption('Model file');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByRole('alert').filter({ hasText: 'choose a model file' }).waitFor();
    await first.getByLabel('Model file of the first player').setInputFiles({ name: 'broken.onnx', mimeType: '', buffer: Buffer.from('not a network') });
    await page.getByRole('alert').filter({ hasText: 'Cannot open broken.onnx' }).waitFor();
    await first.getByLabel('Player', { exact: true }).selectOption('Challenge level');
    await page.getByLabel('Custom').check();
    await page.getByLabel(/^Openings: one FEN/).fill('not a position');
    await page.getByRole('button', { name: 'Start match' }).click();
    await failed.waitFor();
    await page.getByRole('button', { name: 'Start match' }).waitFor();
  }));

test('a link starts a match between networks of the server', () =>
  onPage({}, async (page) => {
    const network = await readFile(fixture('human.safetensors'));
    const spec = encodeURIComponent('human:given/human.safetensors');
    const link = `#/arena?first=${spec}&second=${spec}&delay=250&auto=1`;
    await withServer(page, link, undefined, { 'human.safetensors': network });
    await page.getByText('Playing', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('Speed').inputValue(), '250');
    await page.locator('cg-board square.last-move').first().waitFor();
    await page.locator('.player', { hasText: /^human.safetensors \(2\)/ }).waitFor();
    const board = await page.locator('cg-board').boundingBox();
    assert.ok(board && board.y + board.height <= 800, 'the whole board is visible');
    assert.ok(!(await page.getByRole('button', { name: 'Start match' }).isVisible()), 'the form is closed');
    assert.doesNotMatch(page.url(), /auto/, 'a reload does not start another match');
    await screenshot(page, 'arena-link');
    await page.getByRole('button', { name: 'Stop' }).click();
    await finished(page);
    await page.reload();
    assert.equal(await player(page, 'First').getByLabel('Spec').inputValue(), 'human:given/human.safetensors');
    assert.equal(await page.getByText('Playing', { exact: true }).count(), 0);
  }));

for (const first of ['level:9', 'nobody:x', 'net:given/away.onnx']) {
  test(`a link with the invalid player ${first} shows an error and the form`, () =>
    onPage({ at: `#/arena?first=${encodeURIComponent(first)}&second=level:1&delay=soon&auto=1` }, async (page) => {
      await page.locator('.controls [role=alert]').waitFor();
      await page.getByRole('alert').filter({ hasText: 'Invalid delay' }).waitFor();
      await page.getByRole('button', { name: 'Start match' }).waitFor();
      const spec = player(page, 'First').getByLabel('Spec');
      assert.equal(await spec.inputValue(), first);
      await spec.fill('random');
      await start(page, { games: 1, plies: 4 });
      await finished(page);
    }));
}

test('matches and scorecards of the server are listed', () =>
  onPage({}, async (page) => {
    await withServer(page, '#/arena');
    await page.getByText('night/levels').click();
    await page.getByRole('row', { name: /^level:1 20 4 3 1 −120 \(−200 to −50\)/ }).waitFor();
    await page.getByText('Elo −241 (below −100)').waitFor();
    await page.getByText('challenge of net:small.onnx, no level passed').click();
    await page.getByRole('row', { name: /^1 2 8 40 6/ }).waitFor();
    await page.getByText('broken: invalid ledger index').waitFor();
    await assertAccessible(page);
  }));

for (const size of /** @type {(keyof typeof SIZES)[]} */ (Object.keys(SIZES))) {
  test(`the arena fits a ${size} and is accessible`, () =>
    onPage({ at: '#/arena', size, colorScheme: size === 'phone' ? 'dark' : 'light' }, async (page) => {
      await page.getByRole('button', { name: 'Start match' }).waitFor();
      await assertFits(page);
      await assertAccessible(page);
      await startSpecs(page, ['level:1', 'random'], { games: 2, plies: 40 });
      await finished(page);
      await assertFits(page);
      await assertAccessible(page);
      await screenshot(page, `arena-${size}`);
    }));
}
