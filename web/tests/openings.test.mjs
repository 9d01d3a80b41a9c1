import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, assertAccessible, assertFits, download, drag, moves, onPage, screenshot, useBrowser, waitForMoves, waitForPiece } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const AT = '#/practice?view=openings';
const PGN = '[Event "Mine"]\n\n1. e4 e5 (1... c5 2. Nf3 d6 3. d4) (1... e6 2. d4) (1... d5 2. exd5) 2. Nf3 Nc6 3. Bb5 {The Spanish.} *\n';

/** The opponent moves without the pauses of a person. */
const INSTANT = { 'play.settings': { instant: true } };

/** @param {Page} page @param {string} name @param {string} [pgn] */
async function add(page, name, pgn = PGN) {
  await page.getByRole('button', { name: 'Add a repertoire' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a repertoire' });
  await dialog.getByLabel('PGN with variations').fill(pgn);
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Save' }).click();
}

/** @param {Page} page */
const list = (page) => page.getByRole('region', { name: 'Your repertoires' }).locator('li');

/** Stores a repertoire with a known id. @param {Page} page @param {string} pgn @param {'white' | 'black'} [side] */
async function stored(page, pgn, side = 'white') {
  await page.getByText('Your repertoires').waitFor();
  await page.evaluate(
    ({ pgn, side }) =>
      new Promise((resolve, reject) => {
        const open = indexedDB.open('tabia-practice');
        open.onsuccess = () => {
          const transaction = open.result.transaction('repertoires', 'readwrite');
          transaction.objectStore('repertoires').put({ id: 'test', name: 'Test', side, pgn, added: 1, cards: false });
          transaction.oncomplete = () => (open.result.close(), resolve(undefined));
          transaction.onerror = () => reject(new Error('not stored'));
        };
      }),
    { pgn, side },
  );
}

test('a repertoire is added, edited, kept and deleted, and its cards follow', () =>
  onPage({ at: AT }, async (page) => {
    await add(page, 'Spanish');
    await page.getByText('“Spanish”: White, 7 positions; cards: 7 new.').waitFor();
    await list(page).getByText('White, 7 positions').waitFor();
    await assertAccessible(page);

    // The name is taken; invalid PGN is refused; nothing changes.
    await add(page, 'Spanish');
    await page.getByRole('alert').getByText('another repertoire called “Spanish”').waitFor();
    await page.getByRole('textbox', { name: 'Name' }).fill('Other');
    await page.getByLabel('PGN with variations').fill('1. Ke2 *');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('no game with moves').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    // Another answer and a removed line.
    await list(page).getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('PGN with variations').fill(PGN.replace('3. Bb5 {The Spanish.}', '3. Bc4').replace('(1... d5 2. exd5) ', ''));
    await page.getByRole('textbox', { name: 'Name' }).fill('Italian');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByText(/“Italian”: White, 6 positions; cards: 6 changed, 1 suspended/).waitFor();

    await page.reload();
    await list(page).getByText('Italian').waitFor();
    const { name, text } = await download(page, 'Export');
    assert.deepEqual([name, text.includes('3. Bc4')], ['Italian.pgn', true]);
    await page.goto(`${address()}#/practice`);
    await page.getByText('6 new').waitFor();
    assert.equal(await page.getByText('suspended').count(), 1);

    await page.goto(`${address()}${AT}`);
    await list(page).getByRole('button', { name: 'Delete' }).click();
    await list(page).getByRole('button', { name: 'Really delete' }).click();
    await page.getByText('A repertoire is a PGN with variations').waitFor();
    await page.goto(`${address()}#/practice`);
    await page.getByText('Nothing to practise now.').waitFor();
  }));

test('two tabs show the same repertoires, and a full storage is reported', () =>
  onPage({ at: AT }, async (page) => {
    const other = await page.context().newPage();
    await other.goto(`${address()}${AT}`);
    await other.getByText('A repertoire is a PGN with variations').waitFor();
    await add(page, 'Spanish');
    await list(other).getByText('Spanish').waitFor();
    await other.close();
    await page.evaluate(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    await add(page, 'Second');
    await page.getByRole('dialog').getByRole('alert').getByText('storage is full').waitFor();
    assert.equal(await list(page).count(), 1);
  }));

test('coverage shows the share of games, a picture and the likeliest holes, which become cards', () =>
  onPage({ at: AT }, async (page) => {
    await add(page, 'Spanish');
    await list(page).getByRole('button', { name: 'Coverage' }).click();
    const coverage = page.getByRole('region', { name: 'Coverage of “Spanish”' });
    await coverage.getByText(/of games against 1500-rated players stay within/).waitFor();
    await coverage.getByRole('button', { name: 'Compute again' }).waitFor({ timeout: 60_000 });
    const share = Number((await coverage.locator('.answer strong').innerText()).replace('%', ''));
    assert.ok(share > 20 && share < 95, `${share}%`);
    assert.ok((await coverage.locator('.cell.hole').count()) > 2);
    assert.ok((await coverage.locator('.cell.mine').count()) >= 3);
    const holes = coverage.getByRole('region', { name: 'Replies without an answer' }).locator('tbody tr');
    assert.equal(await holes.count(), 10);
    const shares = (await holes.locator('td:nth-child(2)').allInnerTexts()).map((text) => Number(text.replace('%', '')));
    assert.ok(shares.every((value, index) => index === 0 || value <= (shares[index - 1] ?? 0)), shares.join());
    await holes.first().getByRole('button', { name: 'Add card' }).click({ timeout: 60_000 });
    await page.getByText('1 new card to practise.').waitFor();
    await screenshot(page, 'openings-coverage');
    await assertAccessible(page);
    await page.goto(`${address()}#/practice`);
    await page.getByText('8 new').waitFor();
  }));

test('leaving the repertoire is shown at once with the prepared line', () =>
  onPage({ at: AT, stored: INSTANT }, async (page) => {
    await stored(page, PGN);
    await page.reload();
    await list(page).getByRole('link', { name: 'Play it' }).click();
    await page.getByText('In your repertoire.').waitFor();
    await drag(page, 'd2', 'd4');
    const alert = page.getByRole('alert').filter({ hasText: 'You left your repertoire with 1. d4' });
    await alert.getByText('Prepared: 1. e4 e5 Nf3 Nc6 Bb5').waitFor();
    await screenshot(page, 'openings-left');
    await assertAccessible(page);
    // The opponent waits.
    assert.deepEqual(await moves(page), ['d4']);
    await page.getByRole('button', { name: 'Take back' }).click();
    await waitForPiece(page, 'd2', 'white pawn');
    await drag(page, 'd2', 'd4');
    await page.getByRole('button', { name: 'Go on' }).click();
    await waitForMoves(page, 2);
    await page.getByText('prepared was e4').waitFor();
  }));

test('a reply without an answer is named with its share, and becomes a card', () =>
  onPage({ at: AT, stored: INSTANT }, async (page) => {
    // A reply that is hardly ever met.
    await stored(page, '1. e4 a6 2. Nf3 *\n');
    await page.reload();
    await list(page).first().waitFor();
    await page.goto(`${address()}#/play?repertoire=test&name=Test&opponent=human,elo=1500&colour=white&time=untimed`);
    await page.getByText('In your repertoire.').waitFor();
    await drag(page, 'e2', 'e4');
    await page.getByText(/Your repertoire has no answer to/).waitFor();
    await page.getByText(/[\d.]+% of 1500-rated players play this/).waitFor();
    await page.getByRole('button', { name: 'Add to practice' }).click();
    await page.getByRole('button', { name: 'Added' }).waitFor();
    await screenshot(page, 'openings-unanswered');
    // After a reload the game goes on where it was.
    await page.reload();
    await page.getByText(/Your repertoire has no answer/).waitFor();
  }));

test('a named opening is played from its last move on', () =>
  onPage({ at: AT, stored: INSTANT }, async (page) => {
    await page.getByLabel('Opening', { exact: true }).fill('No such');
    await page.getByRole('button', { name: 'Play it' }).click();
    await page.getByRole('alert').getByText('No opening is called').waitFor();
    await page.getByLabel('Opening', { exact: true }).fill('Caro-Kann Defense');
    await page.getByText('1. e4 c6').waitFor();
    await page.getByRole('button', { name: 'Play it' }).click();
    await waitForMoves(page, 2);
    await drag(page, 'd2', 'd4');
    await waitForMoves(page, 4);
    assert.deepEqual((await moves(page)).slice(0, 3), ['e4', 'c6', 'd4']);
    // The moves of the opening cannot be taken back.
    await page.getByRole('button', { name: 'Takeback' }).click();
    await waitForMoves(page, 2);
    assert.ok(await page.getByRole('button', { name: 'Takeback' }).isDisabled());
  }));

test('openings fit a phone', () =>
  onPage({ at: AT, size: 'phone', colorScheme: 'dark' }, async (page) => {
    await add(page, 'A repertoire with quite a long name');
    await list(page).getByRole('button', { name: 'Coverage' }).click();
    await page.getByRole('button', { name: 'Compute again' }).waitFor({ timeout: 60_000 });
    await assertFits(page);
    await screenshot(page, 'openings-phone');
  }));

/** A card as version 1 of the database stores it. */
const CARD_1 = {
  id: 'mistake-34a43e2b2a1e1f54',
  kind: 'mistake',
  fen: 'r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4',
  answers: [{ uci: 'h5f7' }],
  loss: 0.5,
  suspended: false,
  added: 1_800_000_000_000,
  schedule: { stability: 0, difficulty: 0, due: 0, repetitions: [] },
};

test('a database of version 1 keeps its cards and gets repertoires', () =>
  onPage({ at: '#/challenge' }, async (page) => {
    // The id is that of the position, whatever the version.
    const { PracticeDeck, useRules } = await import('./rules.mjs');
    await useRules();
    const { id } = new PracticeDeck().add({ kind: 'mistake', fen: CARD_1.fen, answers: CARD_1.answers, loss: 0.5 }, 0);
    await page.evaluate(
      (card) =>
        new Promise((resolve) => {
          const open = indexedDB.open('tabia-practice', 1);
          open.onupgradeneeded = () => open.result.createObjectStore('cards', { keyPath: 'id' });
          open.onsuccess = () => {
            const transaction = open.result.transaction('cards', 'readwrite');
            transaction.objectStore('cards').put(card);
            transaction.oncomplete = () => (open.result.close(), resolve(undefined));
          };
        }),
      { ...CARD_1, id },
    );
    await page.goto(`${address()}${AT}`);
    await add(page, 'Spanish');
    await list(page).getByText('Spanish').waitFor();
    await page.goto(`${address()}#/practice`);
    await page.getByText('8 new').waitFor();
  }));
