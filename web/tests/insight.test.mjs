import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertFits, onPage, screenshot, useBrowser, waitForPiece } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

/** Twelve moves of White, eleven of Black; the fried liver attack with a blunder at the end. */
const MOVES =
  '1. e4 e5 2. Nf3 Nc6 3. Bc4 Nf6 4. Ng5 d5 5. exd5 Nxd5 6. Nxf7 Kxf7 7. Qf3+ Ke6 8. Nc3 Nb4 9. O-O c6 10. d4 Qd6 11. Re1 Qc7 12. Qxf8';
const GAME = `[White "Ada"]\n[Black "Boris"]\n[Result "0-1"]\n\n${MOVES} 0-1\n`;

/** @param {Page} page */
async function reviewed(page) {
  await page.getByRole('button', { name: 'Review again' }).waitFor({ timeout: 90_000 });
}

/** @param {string} text */
function estimateIn(text) {
  const [, rating, low, high] = (/played like (\d+)\s*\(95%: (\d+) to (\d+)\)/.exec(text) ?? []).map(Number);
  assert.ok(rating && low && high && low < rating && rating < high, text);
  return { rating, low, high };
}

test('a review says how both sides played, and a strip where it was hard', () =>
  onPage({ at: `#/analyse?pgn=${encodeURIComponent(GAME)}` }, async (page) => {
    await waitForPiece(page, 'f8', 'white queen');
    await page.getByLabel('Time per move').selectOption('0.1');
    await page.getByRole('button', { name: 'Review game' }).click();
    await reviewed(page);
    for (const side of ['white', 'black']) {
      const text = await page.locator(`[data-side="${side}"]`).innerText();
      estimateIn(text.replaceAll('\n', ' '));
      assert.match(text, /Accuracy \d+\.\d%/);
    }
    await page.getByText('By phase and as a curve').click();
    const opening = await page.getByRole('row', { name: /^opening/i }).getByRole('cell').allInnerTexts();
    for (const cell of opening) assert.match(cell, /^\d+ \(\d+ to \d+\)$/);
    assert.deepEqual(await page.getByRole('row', { name: /^endgame/i }).getByRole('cell').allInnerTexts(), ['–', '–']);
    await page.getByRole('img', { name: /^Probability of each rating: Ada \d+/ }).locator('canvas').waitFor();

    // The strip: a click goes to the move, and it follows the keyboard.
    const strip = page.getByRole('slider', { name: 'Chance of an error by move' });
    const { width = 0 } = (await strip.boundingBox()) ?? {};
    await strip.click({ position: { x: (width * 4.5) / 23, y: 10 } });
    await waitForPiece(page, 'c4', 'white bishop');
    assert.match((await strip.getAttribute('aria-valuetext')) ?? '', /^3\. Bc4, [\d.<]+% of 1500-rated players err$/);
    await strip.focus();
    await page.keyboard.press('End');
    await waitForPiece(page, 'f8', 'white queen');
    assert.match((await strip.getAttribute('aria-valuetext')) ?? '', /^12\. Qxf8/);
    assert.match(await page.locator('.verdict').innerText(), /blunder[^]*% of 1500-rated players err here/);

    await page.mouse.move(0, 0);
    await screenshot(page, 'analyse-played-like');
    await assertAccessible(page);
    const before = await page.locator('[data-side="white"]').innerText();
    await page.reload();
    await page.locator('[data-side="white"]').waitFor();
    assert.equal(await page.locator('[data-side="white"]').innerText(), before);
    await page.setViewportSize({ width: 360, height: 740 });
    await page.getByText('By phase and as a curve').click();
    await assertFits(page);
    const inner = await page.locator('.review > .panel').evaluate((panel) => panel.scrollWidth - panel.clientWidth);
    assert.equal(inner, 0, 'the tables fit the panel');
  }));

test('a position shows how often people of a rating err, and who finds the moves', () =>
  // Taking the pawn on e5 loses a piece or the rook.
  onPage({ at: '#/analyse?moves=e2e4-e7e5-g1f3-b8c6-f1c4-c6d4' }, async (page) => {
    await waitForPiece(page, 'd4', 'black knight');
    const panel = page.locator('[data-errs]');
    const rating = page.getByLabel('Rating', { exact: true });
    const errs = async () => {
      await panel.waitFor({ timeout: 60_000 });
      return Number(await panel.getAttribute('data-errs'));
    };
    await errs();
    await rating.fill('700');
    await page.getByRole('heading', { name: 'For 700-rated players' }).waitFor();
    await page.waitForFunction(() => !document.querySelector('[data-errs]'));
    const weak = await errs();
    await rating.fill('2300');
    await page.getByRole('heading', { name: 'For 2300-rated players' }).waitFor();
    await page.waitForFunction(() => !document.querySelector('[data-errs]'));
    const strong = await errs();
    assert.ok(weak > strong, `${weak} at 700, ${strong} at 2300`);
    assert.match(await panel.innerText(), /White’s expected score\s*\d+%\s*engine \d+% \([+−]\d/);

    await panel.getByText('Moves, and who finds them').click();
    const rows = panel.getByRole('row');
    assert.ok((await rows.count()) > 2);
    // Best first.
    assert.match(await rows.nth(1).innerText(), /^(Nxd4|c3|O-O)\s+0\s/);
    await screenshot(page, 'analyse-difficulty');
    await assertAccessible(page);

    // The same position and rating again come from the cache.
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowRight');
    await panel.waitFor();
    assert.equal(await errs(), strong);
  }));

/** @param {string} pgn */
const finished = (pgn) => ({
  'play.game': {
    version: 1,
    pgn,
    side: 'white',
    setup: { opponent: { kind: 'human', rating: 1500, pick: 'sample' }, timeControl: 'untimed', rating: 1400, odds: null },
  },
});

test('after a game both sides’ estimates are shown, and the review is there in Analyse', () =>
  onPage({ stored: finished(GAME) }, async (page) => {
    const banner = page.locator('.banner');
    await banner.getByRole('progressbar', { name: 'Estimate of how you played' }).waitFor();
    const link = banner.getByRole('link', { name: 'Full review' });
    await link.waitFor({ timeout: 90_000 });
    const text = await banner.innerText();
    estimateIn(/You played .*/.exec(text)?.[0] ?? '');
    estimateIn(/Human-like 1500 played .*/.exec(text)?.[0] ?? '');
    await screenshot(page, 'play-played-like');
    await assertAccessible(page);

    // A reload does not calculate it again.
    await page.reload();
    await link.waitFor();
    assert.equal(await banner.getByRole('progressbar').count(), 0);
    assert.equal(await banner.innerText(), text);

    await link.click();
    await page.getByRole('button', { name: 'Review again' }).waitFor();
    const { rating } = estimateIn(/You played .*/.exec(text)?.[0] ?? '');
    assert.match(await page.locator('[data-side="white"]').innerText(), new RegExp(`played like ${rating}`));
    assert.match((await page.locator('.moves [aria-current]').textContent()) ?? '', /Qxf8\?\?/);
  }));

test('a new game cancels the estimate, and a short game has none', () =>
  onPage({ stored: finished(GAME) }, async (page) => {
    const banner = page.locator('.banner');
    await banner.getByRole('progressbar', { name: 'Estimate of how you played' }).waitFor();
    await banner.getByRole('button', { name: 'Rematch' }).click();
    await page.locator('.cg-wrap.orientation-black').waitFor();
    assert.equal(await banner.count(), 0);
    await page.waitForFunction(() => document.querySelectorAll('.moves .turn button.move').length >= 1);
    await page.getByRole('button', { name: /^(Resign|Abort)$/ }).click();
    await page.getByRole('button', { name: /^Confirm/ }).click();
    await banner.getByText('Too short to say how you played').waitFor();
    assert.equal(await banner.getByRole('link', { name: 'Full review' }).count(), 0);
  }));
