import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertFits, onPage, screenshot, useBrowser } from './harness.mjs';
import { Runs, withServer } from './server.mjs';

useBrowser();

function twoRuns() {
  const runs = new Runs();
  runs.train('large', 20, 3000);
  runs.train('small-and-quick', 20, 4000);
  return runs;
}

test('without a server the page shows the command to start one', () =>
  onPage({ at: '#/training' }, async (page) => {
    await page.getByText('tabia serve --runs DIR').waitFor();
  }));

test('runs are drawn in the same charts and updated live', () =>
  onPage({}, async (page) => {
    const runs = twoRuns();
    await withServer(page, '#/training', runs);
    await page.getByText('2 of 2 shown').waitFor();
    const loss = page.getByRole('figure', { name: 'Loss', exact: true });
    await loss.locator('path.curve').first().waitFor();
    assert.match(await loss.innerText(), /lower is better/);
    await page.getByRole('region', { name: 'Last evaluation of each run' }).getByRole('row', { name: /large/ }).waitFor();
    const top1 = () => page.getByRole('row', { name: /^large/ }).innerText();
    const before = await top1();
    runs.train('large', 3000, 6000);
    await page.waitForFunction((old) => [...document.querySelectorAll('tbody tr')].some((row) => row.textContent?.startsWith('large') && !old.includes(row.lastElementChild?.textContent ?? '?')), before);
    await loss.hover({ position: { x: 200, y: 100 } });
    await page.locator('.tooltip').first().waitFor();
    await screenshot(page, 'training-desktop');
  }));

test('chosen runs, metrics, axis and scale are stored in the address', () =>
  onPage({}, async (page) => {
    await withServer(page, '#/training', twoRuns());
    await page.getByRole('checkbox', { name: 'large' }).uncheck();
    await page.getByText('1 of 2 shown').waitFor();
    await page.getByLabel('time', { exact: true }).check();
    await page.getByLabel('Logarithmic').check();
    await page.getByText('Metrics', { exact: true }).click();
    await page.getByRole('checkbox', { name: 'Learning rate' }).uncheck();
    await page.getByLabel('Held-out positions').selectOption('phase endgame');
    await page.waitForURL(/runs=small-and-quick&x=seconds&y=log&hide=pace.lr&group=phase\+endgame$/);
    await page.reload();
    await page.getByText('1 of 2 shown').waitFor();
    assert.ok(await page.getByLabel('Logarithmic').isChecked());
    await page.getByRole('figure', { name: 'Top-1' }).waitFor();
    assert.equal(await page.getByRole('figure', { name: 'Learning rate' }).count(), 0);
  }));

test('scores are compared by group and configurations by setting', () =>
  onPage({}, async (page) => {
    await withServer(page, '#/training', twoRuns());
    const scores = page.getByRole('region', { name: 'Scores by group' });
    await scores.getByRole('row', { name: /^Endgame/ }).waitFor();
    assert.equal(await scores.getByRole('row', { name: /1200–1399/ }).count(), 0);
    await page.getByLabel('Rating bands').check();
    await scores.getByRole('row', { name: /1200–1399/ }).waitFor();
    await page.getByRole('figure', { name: 'Online, by rating' }).waitFor();
    const settings = page.getByRole('region', { name: 'Configuration of the runs' });
    assert.equal(await settings.getByRole('row', { name: /^net.width 5 15$/ }).count(), 1);
    assert.equal(await settings.getByRole('row', { name: /device/ }).count(), 0);
    await page.getByLabel('Show equal settings').check();
    await settings.getByRole('row', { name: /^device CPU CPU$/ }).waitFor();
  }));

test('a chart is read and zoomed by keyboard', () =>
  onPage({}, async (page) => {
    await withServer(page, '#/training', twoRuns());
    const loss = page.getByRole('figure', { name: 'Loss', exact: true });
    await loss.getByRole('img').focus();
    await page.keyboard.press('End');
    await loss.getByRole('cell', { name: 'small-and-quick' }).waitFor();
    await page.keyboard.press('+');
    await page.getByRole('button', { name: 'Reset zoom' }).click();
    await page.getByRole('button', { name: 'Reset zoom' }).waitFor({ state: 'hidden' });
  }));

test('charts fit a phone and are accessible', () =>
  onPage({ size: 'phone', colorScheme: 'dark' }, async (page) => {
    await withServer(page, '#/training', twoRuns());
    await page.locator('path.curve').first().waitFor();
    await assertFits(page);
    await assertAccessible(page);
    await screenshot(page, 'training-phone');
  }));
