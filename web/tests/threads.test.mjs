import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { onPage, useBrowser, waitForPiece, web } from './harness.mjs';
import { serve } from './site.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const dist = path.join(web, 'dist');

/** As many as `helpersFor` allows. @param {Page} page */
async function helpersOf(page) {
  return page.evaluate(() => Math.min(4, navigator.hardwareConcurrency) - 1);
}

/** Waits until the page has so many workers. @param {Page} page @param {number} count */
async function untilWorkers(page, count) {
  const until = Date.now() + 30_000;
  while (page.workers().length !== count) {
    if (Date.now() > until) assert.fail(`the page has ${page.workers().length} workers, expected ${count}`);
    await page.waitForTimeout(30);
  }
}

/**
 * Opens the page on a host that isolates it.
 *
 * @param {string} at
 * @param {(page: Page) => Promise<void>} run
 */
async function onIsolatedPage(at, run) {
  const site = await serve(dist, { isolated: true });
  try {
    await onPage({}, async (page) => {
      await page.goto(site.url + at);
      assert.equal(await page.evaluate(() => crossOriginIsolated), true);
      await run(page);
    });
  } finally {
    await site.close();
  }
}

/**
 * What the human network predicts, by the function for the console.
 *
 * @param {Page} page
 */
async function predictions(page) {
  return page.evaluate(async () => {
    const { tabia } = /** @type {{ tabia: { moveDistribution: (fen: string, options: object) => Promise<unknown> } }} */ (/** @type {unknown} */ (window));
    const ask = (/** @type {number} */ elo) => tabia.moveDistribution('r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR w KQkq - 4 4', { elo });
    // Helpers take part in the later ones for certain.
    const all = [];
    for (let elo = 800; elo < 2400; elo += 200) all.push(await ask(elo));
    return all;
  });
}

test('with and without threads the human network predicts the same', async () => {
  /** @type {unknown} */
  let alone;
  await onPage({}, async (page) => {
    assert.equal(await page.evaluate(() => crossOriginIsolated), false);
    alone = await predictions(page);
    await untilWorkers(page, 1);
  });
  await onIsolatedPage('#/play', async (page) => {
    assert.deepEqual(await predictions(page), alone);
    await untilWorkers(page, 1 + (await helpersOf(page)));
  });
});

test('an analysis runs on all threads, and leaving the page ends them', () =>
  onIsolatedPage('#/analyse', async (page) => {
    await page.getByLabel('On', { exact: true }).check();
    const helpers = await helpersOf(page);
    if (helpers > 0) await page.locator(`[data-threads="${1 + helpers}"]`).waitFor();
    await page.waitForFunction(() => Number(document.querySelector('[data-depth]')?.getAttribute('data-depth')) > 5);
    const during = page.workers().length;
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Training' }).click();
    await page.waitForFunction(() => document.title === 'Training · Tabia');
    // The shared engine of the other pages stays.
    await untilWorkers(page, during - 1 - helpers);
  }));

test('a game is reviewed some moves at a time', () =>
  onIsolatedPage('#/analyse?moves=e2e4-e7e5-d1h5-b8c6-f1c4-g8f6-h5f7', async (page) => {
    await waitForPiece(page, 'f7', 'white queen');
    await page.getByRole('button', { name: 'Review game' }).click();
    await page.getByRole('button', { name: 'Review again' }).waitFor({ timeout: 60_000 });
    const blunders = page.getByRole('row', { name: /Blunders/ }).getByRole('cell');
    assert.deepEqual(await blunders.allInnerTexts(), ['0', '1']);
    assert.match((await page.getByRole('button', { name: 'Nf6' }).textContent()) ?? '', /Nf6\?\?/);
  }));

test('games of a match are played at the same time', () =>
  onIsolatedPage('#/arena?first=level:2&second=level:1', async (page) => {
    await page.getByLabel('Games', { exact: true }).fill('4');
    await page.getByLabel('Draw after').fill('60');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByText('Match finished').waitFor({ timeout: 120_000 });
    await page.getByText(/4 of 4 games: \d won, \d drawn, \d lost/).waitFor();
    const games = page.getByRole('region', { name: 'Games', exact: true }).getByRole('row');
    assert.equal(await games.count(), 5);
    // Each has its own moves.
    for (const game of [1, 4]) {
      await page.getByRole('button', { name: new RegExp(`^Game ${game},`) }).click();
      await page.locator('.about', { hasText: `Game ${game}, ` }).waitFor();
      assert.ok(Number((await page.getByText(/^ply \d+ of \d+$/).textContent())?.match(/of (\d+)/)?.[1]) > 4);
    }
  }));
