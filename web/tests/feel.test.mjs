// Measures responsiveness. The figures are printed and not asserted, since machines differ.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, drag, moves, onPage, squareCentre, useBrowser, waitForMoves, waitForPiece } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const HUMAN = { opponent: { kind: 'human', rating: 1500, pick: 'sample' }, colour: 'white', timeControl: 'untimed', rating: null, instant: true };

test('time to the first move with a warm cache', () =>
  onPage({ serviceWorkers: 'allow', stored: { 'play.settings': HUMAN } }, async (page) => {
    await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated', undefined, { timeout: 120_000 });
    for (const visit of ['first', 'second']) {
      await page.evaluate(() => localStorage.removeItem('tabia.play.game'));
      const tab = await page.context().newPage();
      const started = performance.now();
      await tab.goto(address(), { waitUntil: 'commit' });
      await tab.waitForFunction(() => document.querySelectorAll('cg-board piece').length === 32);
      await drag(tab, 'e2', 'e4');
      await waitForPiece(tab, 'e4', 'white pawn');
      const moved = performance.now() - started;
      tab.setDefaultTimeout(60_000);
      await waitForMoves(tab, 2);
      const answered = performance.now() - started;
      console.log(`${visit} cached visit: own move after ${(moved / 1000).toFixed(2)} s, reply after ${(answered / 1000).toFixed(2)} s`);
      await tab.close();
    }
  }));

/**
 * Drags a piece in circles and measures the frame times.
 *
 * @param {Page} page
 * @param {string} square
 */
async function dragInCircles(page, square) {
  const { x, y } = await squareCentre(page, square);
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
  return { dragging, summary: `${rate.toFixed(0)} frames/s, median ${at(0.5)} ms, 95th percentile ${at(0.95)} ms, longest ${at(1)} ms` };
}

test('frame rate of dragging while the engine searches', () =>
  onPage({ stored: { 'play.settings': { ...HUMAN, opponent: { kind: 'engine', by: 'time', seconds: 20 } } } }, async (page) => {
    await page.locator('cg-board piece').first().waitFor();
    const idle = await dragInCircles(page, 'e2');
    assert.equal(idle.dragging, 1);
    console.log(`idle: ${idle.summary}`);
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    await page.getByText(/thinking/i).first().waitFor({ timeout: 60_000 });
    const busy = await dragInCircles(page, 'd2');
    assert.equal(busy.dragging, 1, 'premoves can be dragged');
    assert.equal((await moves(page)).length, 1, 'the engine is still searching');
    console.log(`searching: ${busy.summary}`);
  }));
