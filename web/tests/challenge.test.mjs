import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertFits, download, fixture, onPage, screenshot, useBrowser } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

/** @param {Page} page */
const start = (page) => page.getByRole('button', { name: 'Start', exact: true }).click();

test('a challenge has the same result as on the command line', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    // A weak network: its fifty games are short.
    await page.getByLabel('ONNX file').setInputFiles(fixture('challenge-mlp.onnx'));
    await page.getByText('Eligible', { exact: true }).waitFor();
    await page.getByText('12,449 of 1,000,000').waitFor();
    await start(page);
    await page.getByText(/^[\d½]+ points of [1-9]/).waitFor({ timeout: 60_000 });
    await page.getByRole('heading', { name: 'Last game' }).waitFor();
    await screenshot(page, 'challenge-running');
    await page.getByRole('heading', { name: 'Scorecard: no level passed' }).waitFor({ timeout: 300_000 });
    // As `tabia compete` reports it.
    await page.getByText('0 points of 50').waitFor();
    await page.getByText(/Diversity in 50 games/).waitFor();
    const card = JSON.parse((await download(page, 'Save JSON')).text);
    assert.equal(card.parameters, 12_449);
    assert.deepEqual([card.rules, card.seed], ['original', 0]);
    assert.equal(card.passed, null);
    assert.equal(card.levels[0].points, 0);
    assert.equal(card.levels[0].records.length, 50);
    await assertAccessible(page);
    await screenshot(page, 'challenge-desktop');
    await page.getByText('Games of level 1').click();
    await page.getByTitle('Analyse game').first().click();
    await page.waitForURL(/#\/analyse/);
  }));

test('the bundled networks have the stated numbers of parameters', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    for (const size of ['reference', 'small', 'medium', 'large']) {
      const entry = page.getByRole('button', { name: size });
      const said = /([\d,]+) parameters/.exec(`${await entry.innerText()} ${await entry.getAttribute('title')}`)?.[1];
      await entry.click();
      await page.getByText(`${said} of 1,000,000`).waitFor();
    }
  }));

test('a stopped challenge has a scorecard of the games played', () =>
  onPage({ at: '#/challenge', size: 'phone', colorScheme: 'dark' }, async (page) => {
    await page.getByRole('button', { name: 'small' }).click();
    await page.getByLabel('From').selectOption('level 2, Novice');
    await start(page);
    await page.getByText(/^[\d½]+ points of [1-9]/).waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('heading', { name: 'Scorecard: stopped early' }).waitFor({ timeout: 60_000 });
    const row = await page.getByRole('region', { name: 'Points by level' }).getByRole('row', { name: /^2 / }).innerText();
    const [wins = 0, draws = 0, losses = 0] = row.split(/\s+/).slice(1).map(Number);
    const played = wins + draws + losses;
    assert.ok(played > 0 && played < 50, row);
    await page.getByText(new RegExp(`^[\\d½]+ points of ${played}$`)).waitFor();
    await assertFits(page);
    await assertAccessible(page);
    await screenshot(page, 'challenge-phone');
  }));

test('a challenge with custom openings is marked as unofficial', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    await page.getByLabel('ONNX file').setInputFiles(fixture('challenge-mlp.onnx'));
    await page.getByLabel('Custom').check();
    await start(page);
    await page.getByRole('alert').filter({ hasText: 'no openings' }).waitFor();
    await page.getByLabel(/^Openings: one FEN/).fill('# Mate in one\n6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1\n');
    await start(page);
    await page.getByRole('heading', { name: 'Scorecard: no level passed' }).waitFor({ timeout: 60_000 });
    await page.getByText('1.4 of 2 points').waitFor();
    await page.getByText('not an official').waitFor();
    await page.getByText('Games of level 1').click();
    assert.equal(await page.getByRole('cell', { name: 'Mate in one' }).count(), 2);
    await assertAccessible(page);
  }));

test('the reason is shown why a file is not eligible', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    const input = page.getByLabel('ONNX file');
    await input.setInputFiles({ name: 'broken.onnx', mimeType: '', buffer: Buffer.from('not a network') });
    await page.getByRole('alert').filter({ hasText: 'Cannot open broken.onnx' }).waitFor();
    await input.setInputFiles({ name: 'empty.onnx', mimeType: '', buffer: Buffer.alloc(0) });
    await page.getByRole('alert').filter({ hasText: 'empty.onnx: the file is empty' }).waitFor();
    await input.setInputFiles(new URL('../../models/value.safetensors', import.meta.url).pathname);
    await page.getByText('Not eligible:').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled());
  }));

test('the rules of 2026 have four levels and say which of them a file breaks', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    await page.getByRole('button', { name: 'reference' }).click();
    await page.getByText('Eligible', { exact: true }).waitFor();
    assert.equal(await page.getByLabel('From').locator('option').count(), 5);
    await page.getByLabel('Rules').selectOption('2026');
    assert.equal(await page.getByLabel('From').locator('option').count(), 4);
    await page.getByText(/Not eligible: .*1540/).waitFor();
    await page.getByText('769 of 10,000,000').waitFor();
    assert.ok(await page.getByRole('button', { name: 'Start', exact: true }).isDisabled());
    await assertAccessible(page);
  }));

test('a network is watched against a level, paused, and stepped move by move with arrows', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    await page.getByRole('button', { name: 'reference' }).click();
    await page.getByRole('group', { name: 'Watch a level' }).getByRole('button', { name: 'level 2' }).click();
    await page.waitForURL(/#\/arena/);
    await page.locator('.player', { hasText: 'level:2' }).waitFor();
    await page.locator('.player', { hasText: 'challenge-reference.onnx' }).waitFor();
    await page.locator('cg-board square.last-move').first().waitFor();
    assert.equal(await page.getByLabel('Speed').inputValue(), '300');
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    const plies = async () => Number(/ply (\d+) of/.exec(await page.getByText(/^ply \d+ of/).innerText())?.[1]);
    // A move that was being chosen is still played.
    let before = NaN;
    for (let now = await plies(); now !== before; now = await plies()) {
      before = now;
      await page.waitForTimeout(1500);
    }
    assert.ok((await page.locator('.cg-shapes line').count()) > 0, 'candidates are drawn');
    await page.getByRole('button', { name: 'Step' }).click();
    await page.getByText(`ply ${before + 1} of ${before + 1}`).waitFor();
    await page.waitForTimeout(500);
    assert.equal(await plies(), before + 1, 'one step, one move');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText(`ply ${before + 3} of ${before + 3}`).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
  }));
