import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, assertAccessible, assertFits, download, moves, onPage, screenshot, useBrowser, waitForMoves } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const SETTINGS = { opponent: { kind: 'challenge', level: 1 }, colour: 'black', timeControl: 'untimed', rating: null, instant: true };
const playing = { stored: { 'play.settings': SETTINGS }, at: '#/play' };

/** Games of Ann, who always begins with 1. b3. */
const PGN = Array.from({ length: 24 }, (_, number) => {
  const date = `2024.01.${String(number + 1).padStart(2, '0')}`;
  return `[White "Ann"]\n[Black "Bob${number}"]\n[Date "${date}"]\n[WhiteElo "1500"]\n[BlackElo "1500"]\n\n1. b3 e5 2. Bb2 Nc6 *\n\n`;
}).join('');

/** @param {Page} page */
async function openDialog(page) {
  await page.getByRole('button', { name: 'New game' }).click();
  const dialog = page.getByRole('dialog', { name: 'New game' });
  await dialog.getByRole('radio', { name: 'Like one person' }).check();
  return dialog;
}

test('a person is learned from a PGN file, played, kept, saved, deleted and opened again', () =>
  onPage(playing, async (page) => {
    let dialog = await openDialog(page);
    await dialog.getByRole('button', { name: 'Play', exact: true }).click();
    assert.match(await dialog.getByRole('alert').innerText(), /Choose a person first/);
    await dialog.getByLabel('Games of the person').setInputFiles({ name: 'ann.pgn', mimeType: '', buffer: Buffer.from(PGN) });
    assert.equal(await dialog.getByLabel('Player', { exact: true }).inputValue(), 'Ann');
    await dialog.getByLabel('Shown as').fill('Ann the brave');
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Learn', exact: true }).click();
    const person = dialog.getByLabel('Person', { exact: true });
    await person.waitFor();
    assert.equal(await person.locator('option').innerText(), 'Ann the brave, 1500');
    assert.match(await dialog.innerText(), /24 games, 48 moves\. Its first choice is their move in \d+\.\d% of positions/);
    await assertAccessible(page);
    await screenshot(page, 'play-person');

    const file = await download(page, 'Save as a file');
    const adapter = JSON.parse(file.text);
    assert.deepEqual([file.name, adapter.format, adapter.games], ['Ann_the_brave.card', 'tabia-adapter', 24]);
    assert.equal(adapter.openings.positions['463b96181691fc9c'].b2b3, 24);

    await dialog.getByRole('radio', { name: 'Most likely' }).check();
    await dialog.getByRole('button', { name: 'Play', exact: true }).click();
    await waitForMoves(page, 1);
    assert.deepEqual(await moves(page), ['b3']);
    await page.getByText('Like Ann the brave').first().waitFor();

    await page.reload();
    dialog = await openDialog(page);
    await dialog.getByLabel('Person', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByLabel('Person', { exact: true }).waitFor({ state: 'detached' });
    const card = (/** @type {string} */ text) => ({ name: 'ann.card', mimeType: '', buffer: Buffer.from(text) });
    await dialog.getByLabel('Adapter file').setInputFiles(card(file.text.replace('"version":1', '"version":9')));
    assert.match(await dialog.getByRole('alert').innerText(), /Cannot open ann\.card: version 9 of the adapter format/);
    await dialog.getByLabel('Adapter file').setInputFiles(card(file.text));
    await dialog.getByLabel('Person', { exact: true }).waitFor();

    await page.goto(`${address()}#/arena`);
    const first = page.getByRole('group', { name: 'First player' });
    await first.getByLabel('Player', { exact: true }).selectOption('Like one person');
    await first.getByLabel('Person', { exact: true }).selectOption('Ann the brave');
    await first.getByLabel('Moves').selectOption('argmax');
    const second = page.getByRole('group', { name: 'Second player' });
    await second.getByLabel('Player', { exact: true }).selectOption('Random moves');
    await page.getByRole('button', { name: 'Start match' }).click();
    await page.getByText('Like Ann the brave, most likely move').first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll('cg-board square.last-move').length > 0);
  }));

test('learning can be cancelled, and files without enough games are refused', () =>
  onPage({ ...playing, size: 'phone' }, async (page) => {
    const dialog = await openDialog(page);
    const input = dialog.getByLabel('Games of the person');
    await input.setInputFiles({ name: 'few.pgn', mimeType: '', buffer: Buffer.from(PGN.slice(0, PGN.length / 2)) });
    await dialog.getByText('No player has 20 games in this file.').waitFor();
    await dialog.getByRole('button', { name: 'Back' }).click();
    await input.setInputFiles({ name: 'ann.pgn', mimeType: '', buffer: Buffer.from(PGN.repeat(20)) });
    await dialog.getByRole('button', { name: 'Learn', exact: true }).click();
    await dialog.getByRole('button', { name: 'Cancel learning' }).click();
    await dialog.getByRole('button', { name: 'Learn', exact: true }).waitFor();
    await assertFits(page);
    assert.equal(await dialog.getByLabel('Person', { exact: true }).count(), 0);
  }));
