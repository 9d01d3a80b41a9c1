// How the page feels, in figures. They are printed, not asserted: machines differ. What is asserted is that it all happens.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, drag, onPage, spot, useBrowser, waitForPiece } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const HUMAN = { opponent: { kind: 'human', rating: 1500, pick: 'sample' }, colour: 'white', timeControl: 'untimed', rating: null, instant: true };

test('a first move on a warm cache', () =>
  onPage({ serviceWorkers: 'allow', kept: { 'play.settings': HUMAN } }, async (page) => {
    await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated', undefined, { timeout: 120_000 });
    for (const visit of ['first', 'second']) {
      await page.evaluate(() => localStorage.removeItem('tabia.play.game'));
      const tab = await page.context().newPage();
      const began = performance.now();
      await tab.goto(address(), { waitUntil: 'commit' });
      await tab.waitForFunction(() => document.querySelectorAll('cg-board piece').length === 32);
      await drag(tab, 'e2', 'e4');
      await waitForPiece(tab, 'e4', 'white pawn');
      const moved = performance.now() - began;
      await tab.waitForFunction(() => document.querySelectorAll('.moves .turn button.move').length === 2, undefined, { timeout: 60_000 });
      const answered = performance.now() - began;
      console.log(`${visit} visit with everything kept: own move made after ${(moved / 1000).toFixed(2)} s, answered after ${(answered / 1000).toFixed(2)} s`);
      await tab.close();
    }
  }));

/**
 * Drags a piece in circles for a while and says how the frames came.
 *
 * @param {Page} page
 * @param {string} square
 */
async function circle(page, square) {
  const { x, y } = await spot(page, square);
  await page.evaluate(() => {
    const seen = /** @type {{ frames?: number[] }} */ (/** @type {unknown} */ (window));
    const frames = /** @type {number[]} */ (seen.frames = []);
    requestAnimationFrame(function frame(now) {
      frames.push(now);
      if (seen.frames === frames) requestAnimationFrame(frame);
    });
  });
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let step = 0; step < 120; step++) await page.mouse.move(x + 60 * Math.sin(step / 8), y - 60 + 60 * Math.cos(step / 8));
  const dragging = await page.locator('piece.dragging').count();
  await page.mouse.move(x, y);
  await page.mouse.up();
  const frames = await page.evaluate(() => {
    const seen = /** @type {{ frames?: number[] }} */ (/** @type {unknown} */ (window));
    const { frames = [] } = seen;
    delete seen.frames;
    return frames;
  });
  const gaps = frames.slice(1).map((now, index) => now - (frames[index] ?? now)).sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => (gaps[Math.floor(share * (gaps.length - 1))] ?? 0).toFixed(1);
  const rate = (gaps.length * 1000) / gaps.reduce((sum, gap) => sum + gap, 0);
  return { dragging, told: `${rate.toFixed(0)} frames a second, a frame ${at(0.5)} ms in the middle, ${at(0.95)} ms at the 95th percentile, ${at(1)} ms at most` };
}

test('dragging while somebody thinks', () =>
  onPage({ kept: { 'play.settings': { ...HUMAN, opponent: { kind: 'engine', by: 'time', seconds: 20 } } } }, async (page) => {
    await page.locator('cg-board piece').first().waitFor();
    const still = await circle(page, 'e2');
    assert.equal(still.dragging, 1);
    console.log(`nobody thinks: ${still.told}`);
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    await page.getByText(/thinking/i).first().waitFor({ timeout: 60_000 });
    const busy = await circle(page, 'd2');
    // A premove can be dragged meanwhile.
    assert.equal(busy.dragging, 1);
    assert.equal(await page.locator('.moves .turn button.move').count(), 1, 'the engine still thinks');
    console.log(`the engine thinks: ${busy.told}`);
  }));
