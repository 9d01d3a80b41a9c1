import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertAccessible, assertFits, onPage, screenshot, useBrowser } from './harness.mjs';

useBrowser();

test('a network climbs the ladder as it does on the command line', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    // A dense network of next to no knowledge: its fifty games are over soon.
    await page.getByLabel('ONNX file').setInputFiles(new URL('../../fixtures/models/challenge-mlp.onnx', import.meta.url).pathname);
    await page.getByText('It may take part.').waitFor();
    await page.getByText('12,449 of 1,000,000').waitFor();
    await page.getByRole('button', { name: 'Start climbing' }).click();
    await page.getByText(/^[\d½]+ points of [1-9]/).waitFor({ timeout: 60_000 });
    await page.getByRole('heading', { name: 'The game that ended last' }).waitFor();
    await screenshot(page, 'challenge-climbing');
    await page.getByRole('heading', { name: 'Scorecard: No level passed.' }).waitFor({ timeout: 300_000 });
    // What `tabia compete` says of it.
    await page.getByText('0 points of 50').waitFor();
    await page.getByText(/different first moves/).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save JSON' }).click()]);
    const card = JSON.parse(await readFile(await download.path(), 'utf8'));
    assert.equal(card.parameters, 12_449);
    assert.equal(card.passed, null);
    assert.equal(card.levels[0].points, 0);
    assert.equal(card.levels[0].records.length, 50);
    await assertAccessible(page);
    await screenshot(page, 'challenge-desktop');
    await page.getByText('The games of level 1').click();
    await page.getByTitle('Analyse this game').first().click();
    await page.waitForURL(/#\/analyse/);
  }));

test('our entries have as many parameters as the page says', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    for (const size of ['small', 'medium', 'large']) {
      const entry = page.getByRole('button', { name: size });
      const said = /([\d,]+) parameters/.exec(`${await entry.innerText()} ${await entry.getAttribute('title')}`)?.[1];
      await entry.click();
      await page.getByText(`${said} of 1,000,000`).waitFor();
    }
  }));

test('the ladder can be stopped and then has a scorecard of what was played', () =>
  onPage({ at: '#/challenge', size: 'phone', colorScheme: 'dark' }, async (page) => {
    await page.getByRole('button', { name: 'small' }).click();
    await page.getByLabel('from').selectOption('level 2, Novice');
    await page.getByRole('button', { name: 'Start climbing' }).click();
    await page.getByText(/^[\d½]+ points of [1-9]/).waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('heading', { name: 'Scorecard: Stopped before the end.' }).waitFor({ timeout: 60_000 });
    const row = await page.getByRole('region', { name: 'Points by level' }).getByRole('row', { name: /^2 / }).innerText();
    const [wins = 0, draws = 0, losses = 0] = row.split(/\s+/).slice(1).map(Number);
    const played = wins + draws + losses;
    assert.ok(played > 0 && played < 50, row);
    await page.getByText(new RegExp(`^[\\d½]+ points of ${played}$`)).waitFor();
    await assertFits(page);
    await assertAccessible(page);
    await screenshot(page, 'challenge-phone');
  }));

test('openings of one’s own are climbed from, and the page says that this is not by the rules', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    await page.getByLabel('ONNX file').setInputFiles(new URL('../../fixtures/models/challenge-mlp.onnx', import.meta.url).pathname);
    await page.getByLabel('My own').check();
    await page.getByRole('button', { name: 'Start climbing' }).click();
    await page.getByRole('alert').filter({ hasText: 'there are no openings' }).waitFor();
    await page.getByLabel(/^Openings, one a line/).fill('# Mate in one\n6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1\n');
    await page.getByRole('button', { name: 'Start climbing' }).click();
    await page.getByRole('heading', { name: 'Scorecard: No level passed.' }).waitFor({ timeout: 60_000 });
    await page.getByText('The line marks 1.4 points of 2').waitFor();
    await page.getByText('no result of the Chess Challenge').waitFor();
    await page.getByText('The games of level 1').click();
    assert.equal(await page.getByRole('cell', { name: 'Mate in one' }).count(), 2);
    await assertAccessible(page);
  }));

test('a file that may not take part is told why', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    const input = page.getByLabel('ONNX file');
    await input.setInputFiles({ name: 'broken.onnx', mimeType: '', buffer: Buffer.from('this is no network') });
    await page.getByRole('alert').filter({ hasText: 'broken.onnx cannot take part' }).waitFor();
    await input.setInputFiles({ name: 'empty.onnx', mimeType: '', buffer: Buffer.alloc(0) });
    await page.getByRole('alert').filter({ hasText: 'it is empty' }).waitFor();
    await input.setInputFiles(new URL('../../models/value.safetensors', import.meta.url).pathname);
    await page.getByText('It may not take part:').waitFor();
    await page.getByText('the challenge takes ONNX files').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Start climbing' }).count(), 0);
  }));

test('a file of 500 MB is refused at once and the page lives on', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    await page.getByLabel('ONNX file').evaluate((input) => {
      const many = new Uint8Array(50e6);
      const file = new File(Array(10).fill(many), 'huge.onnx');
      const given = new DataTransfer();
      given.items.add(file);
      /** @type {HTMLInputElement} */ (input).files = given.files;
      input.dispatchEvent(new Event('change', { bubbles: true }));
    });
    await page.getByRole('alert').filter({ hasText: 'huge.onnx cannot take part: it is 500 MB large' }).waitFor();
    await page.getByRole('button', { name: 'small' }).click();
    await page.getByText('It may take part.').waitFor();
  }));
