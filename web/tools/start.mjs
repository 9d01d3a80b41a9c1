// Times the page from its address to the first moves, in one Chromium: node tools/start.mjs
//
// Each round has a fresh profile: a first visit, then, once every file is cached, a second one. The board is interactive when a pawn
// that was dragged stands on its new square. The best round counts. The limit is a page without a script, loaded the same way.
import path from 'node:path';
import { drag, waitForMoves, waitForPiece, web } from '../tests/harness.mjs';
import { serve } from '../tests/site.mjs';
import { launchBrowser } from './browser.mjs';

const ROUNDS = 5;
/** Most time to wait for anything, in milliseconds: other programs may be busy. */
const PATIENCE = 120_000;
const SETTINGS = { opponent: { kind: 'human', rating: 1500, pick: 'sample' }, colour: 'white', timeControl: 'untimed', rating: null, instant: true };

const [page, empty] = [await serve(path.join(web, 'dist')), await serve(path.join(web, 'bench'))];
const browser = await launchBrowser();
/** The best time of each figure. @type {Map<string, number>} */
const best = new Map();
const note = (/** @type {string} */ name, /** @type {number} */ ms) => best.set(name, Math.min(ms, best.get(name) ?? Infinity));

/**
 * Opens the page in a tab, plays a move and waits for the answer.
 *
 * @param {import('playwright-core').BrowserContext} context
 * @param {string} visit
 */
async function visited(context, visit) {
  const tab = await context.newPage();
  tab.setDefaultTimeout(PATIENCE);
  const started = performance.now();
  await tab.goto(page.url, { waitUntil: 'commit' });
  await tab.waitForFunction(() => document.querySelectorAll('cg-board piece').length === 32);
  await drag(tab, 'e2', 'e4');
  await waitForPiece(tab, 'e4', 'white pawn');
  note(`${visit}: own move`, performance.now() - started);
  await waitForMoves(tab, 2);
  note(`${visit}: reply of the human network`, performance.now() - started);
  return tab;
}

try {
  for (let round = 0; round < ROUNDS; round++) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' });
    await context.addInitScript((settings) => {
      localStorage.setItem('tabia.play.settings', JSON.stringify(settings));
      localStorage.removeItem('tabia.play.game');
    }, SETTINGS);
    const first = await visited(context, 'first visit');
    await first.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
    await first.close();
    await (await visited(context, 'cached visit')).close();
    const tab = await context.newPage();
    const started = performance.now();
    await tab.goto(empty.url);
    note('limit: an empty page', performance.now() - started);
    await context.close();
  }
  console.log(`Chromium ${browser.version()}, files from this machine, best of ${ROUNDS} profiles\n`);
  console.log(`${''.padEnd(48)}${'s'.padStart(8)}`);
  for (const [name, ms] of best) console.log(`${name.padEnd(48)}${(ms / 1000).toFixed(2).padStart(8)}`);
} finally {
  await browser.close();
  await Promise.all([page.close(), empty.close()]);
}
