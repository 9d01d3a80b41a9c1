import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertFits, onPage, screenshot, useBrowser } from './harness.mjs';
import { withServer } from './server.mjs';

useBrowser();

test('without a server the page shows the command to start one', () =>
  onPage({ at: '#/data' }, async (page) => {
    await page.getByText('tabia serve --data DIR').waitFor();
    await assertAccessible(page);
  }));

test('keys change the position, which is stored in the address', () =>
  onPage({ allow: [/404/] }, async (page) => {
    await withServer(page, '#/data');
    const index = page.getByLabel('Position number');
    await page.locator('cg-board piece').first().waitFor();
    assert.equal(await index.inputValue(), '0');
    await page.keyboard.press('ArrowRight');
    await page.waitForURL(/index=1$/);
    await page.keyboard.press('ArrowRight');
    await page.waitForURL(/index=2$/);
    await page.keyboard.press('ArrowLeft');
    await page.waitForURL(/index=1$/);
    await page.keyboard.press('r');
    await page.waitForURL(/index=17$/);
    await page.keyboard.press('f');
    await page.locator('.cg-wrap.orientation-black').waitFor();
    await page.keyboard.press('f');
    await index.fill('33');
    await index.press('Enter');
    await page.waitForURL(/set=analysed&index=33$/);
    await page.reload();
    await page.waitForFunction(() => /** @type {HTMLInputElement | null} */ (document.querySelector('input.index'))?.value === '33');
    // Clamped to the last position.
    await index.fill('999');
    await index.press('Enter');
    await page.waitForURL(/index=39$/);
  }));

test('labels are drawn by probability, shown on hover and recalculated', () =>
  onPage({}, async (page) => {
    await withServer(page, '#/data');
    await page.getByRole('row', { name: 'Bb5 55% +0.42' }).waitFor();
    const widths = await page.locator('.cg-shapes line').evaluateAll((lines) => lines.map((line) => Number(line.getAttribute('stroke-width'))));
    assert.equal(widths.length, 4);
    assert.ok(Math.max(...widths) > 2 * Math.min(...widths), `widths ${widths}`);
    const board = await page.locator('cg-board').boundingBox();
    assert.ok(board);
    // At the head of the arrow from d2 to d4.
    await page.mouse.move(board.x + (3.5 / 8) * board.width, board.y + (4.5 / 8) * board.height);
    await page.locator('.tooltip', { hasText: 'd4 30% +0.30' }).waitFor();
    await screenshot(page, 'data-desktop');
    assert.match(await page.getByRole('row', { name: /^22 900/ }).innerText(), /d4 #5/);
    await page.getByLabel('Labels').selectOption('best');
    await page.getByRole('row', { name: 'Bb5 100%' }).waitFor();
    assert.match(page.url(), /labels=best/);
  }));

test('filters select positions and report when none matches', () =>
  onPage({ allow: [/404/] }, async (page) => {
    await withServer(page, '#/data?set=games&index=0');
    await page.getByText('1500, 4:50 left').waitFor();
    await page.getByText('Filters').click();
    await page.getByLabel('Phase').selectOption('endgame');
    await page.getByLabel(/^Rating .* min$/).fill('1570');
    await page.getByRole('button', { name: 'Next match' }).click();
    await page.waitForURL(/index=70&/);
    await page.getByLabel(/^Rating .* min$/).fill('3000');
    await page.getByRole('button', { name: 'Next match' }).click();
    await page.getByRole('alert').filter({ hasText: 'none of 120 positions' }).waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.waitForURL(/index=70$/);
  }));

for (const size of /** @type {const} */ (['phone', 'tablet'])) {
  test(`the explorer fits a ${size} and is accessible`, () =>
    onPage({ size, colorScheme: 'dark' }, async (page) => {
      await withServer(page, '#/data?set=analysed&index=3');
      await page.getByRole('row', { name: 'Bb5 55% +0.42' }).waitFor();
      await assertFits(page);
      await assertAccessible(page);
      await screenshot(page, `data-${size}`);
    }));
}
