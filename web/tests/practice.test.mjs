import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { address, assertAccessible, assertFits, drag, onPage, pieces, screenshot, useBrowser, waitForPiece } from './harness.mjs';
import { PracticeDeck, useRules } from './rules.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();
before(useRules);

const MATE = 'r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4';
const FORK = 'r3k3/8/8/3N4/8/8/8/4K3 w q - 0 1';
const DAY = 24 * 60 * 60 * 1000;

/** A deck of two cards as a file. */
function backup() {
  const deck = new PracticeDeck();
  deck.add(
    {
      kind: 'mistake',
      fen: MATE,
      answers: [{ uci: 'h5f7' }],
      played: 'a2a3',
      loss: 0.5,
      peers: [{ uci: 'h5f7', probability: 0.8 }],
      opening: 'Italian Game',
      origin: { source: 'Anna – Bert', ply: 7 },
    },
    Date.now(),
  );
  deck.add({ kind: 'position', fen: FORK, answers: [{ uci: 'd5c7', line: ['e8d7', 'c7a8'] }], loss: 0.2 }, Date.now());
  return deck.json();
}

/** @param {Page} page @param {string} [text] */
async function openBackup(page, text = backup()) {
  await page.getByLabel('Backup of a deck').setInputFiles({ name: 'deck.json', mimeType: 'application/json', buffer: Buffer.from(text) });
}

/** @param {Page} page */
const rows = (page) => page.getByRole('region', { name: 'Cards' }).locator('tbody tr');

test('a deck is opened, practised and kept', () =>
  onPage({ at: '#/practice' }, async (page) => {
    await page.getByText('There are no cards yet.').waitFor();
    await openBackup(page);
    await page.getByText('2 new cards from deck.json').waitFor();
    assert.equal(await rows(page).count(), 2);
    await screenshot(page, 'practice-deck');
    await assertAccessible(page);

    await page.getByRole('button', { name: 'Practise' }).click();
    // The worst mistake comes first; a good move is recognised.
    await page.getByText('White to move').first().waitFor();
    await drag(page, 'h5', 'f7');
    await page.getByRole('heading', { name: 'Correct' }).waitFor();
    await page.getByText('a3, which lost 50%').waitFor();
    await page.getByText('Qxf7# 80%').waitFor();
    await screenshot(page, 'practice-answer');
    await assertAccessible(page);
    await page.keyboard.press('Enter');
    // A bad one is explained, and can be taken back.
    await waitForPiece(page, 'd5', 'white knight');
    await drag(page, 'd5', 'e7');
    await page.getByRole('heading', { name: 'Not the best move' }).waitFor();
    await page.getByText('Nc7+ Kd7 Nxa8').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await drag(page, 'd5', 'c7');
    await page.getByRole('heading', { name: 'Correct' }).waitFor();
    await page.getByRole('button', { name: 'Easy' }).click();
    await page.getByRole('button', { name: 'Easy', pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('2 of 2').waitFor();
    await page.getByRole('button', { name: 'Back to the deck' }).click();
    await page.getByText('Nothing to practise now.').waitFor();

    await page.reload();
    await rows(page).first().waitFor();
    const due = await rows(page).locator('td:nth-child(3)').allInnerTexts();
    assert.ok(due.every((text) => /^in \d+ days?$/.test(text)), due.join());
  }));

test('cards come back over the weeks, and the navigation shows how many', () =>
  onPage({ at: '#/practice' }, async (page) => {
    await page.clock.install({ time: Date.now() });
    await page.reload();
    await openBackup(page);
    let answered = 0;
    for (let day = 0; day < 21; day++) {
      const start = page.getByRole('button', { name: 'Practise' });
      await start.waitFor();
      if (await start.isEnabled()) {
        await start.click();
        for (;;) {
          await page.getByRole('heading', { name: 'Find a good move' }).waitFor();
          await page.waitForFunction(() => document.querySelectorAll('cg-board piece').length > 0);
          if ((await pieces(page))['h5'] === 'white queen') await drag(page, 'h5', 'f7');
          else await drag(page, 'd5', 'c7');
          await page.getByRole('heading', { name: 'Correct' }).waitFor();
          answered++;
          await page.getByRole('button', { name: 'Next' }).click();
          if (await page.getByRole('button', { name: 'Back to the deck' }).count()) break;
        }
        await page.getByRole('button', { name: 'Back to the deck' }).click();
      }
      await page.clock.fastForward(DAY);
      await page.reload();
    }
    // Twice on the first day, then at growing intervals.
    assert.ok(answered >= 4 && answered <= 10, `${answered} answers in three weeks`);
    await page.clock.fastForward(90 * DAY);
    await page.goto(`${address()}#/play`);
    await page.reload();
    await page.getByRole('navigation', { name: 'Pages' }).getByLabel('2 due').waitFor();
  }));

test('an invalid backup is refused and changes nothing', () =>
  onPage({ at: '#/practice' }, async (page) => {
    await openBackup(page);
    await rows(page).first().waitFor();
    for (const [text, reason] of /** @type {const} */ ([
      ['{"format": "tabia-deck", "ver', /invalid deck/],
      ['{"format": "something", "version": 1}', /expected "tabia-deck"/],
      ['{"format": "tabia-deck", "version": 7, "cards": []}', /version 7/],
      [backup().replace('h5f7', 'h5a8'), /card 1: illegal move/],
    ])) {
      await openBackup(page, text);
      await page.getByRole('alert').getByText(reason).waitFor();
    }
    assert.equal(await rows(page).count(), 2);
    await page.reload();
    await rows(page).first().waitFor();
    assert.equal(await rows(page).count(), 2);
  }));

test('two tabs show the same cards', () =>
  onPage({ at: '#/practice' }, async (page) => {
    const other = await page.context().newPage();
    await other.goto(`${address()}#/practice`);
    await other.getByText('There are no cards yet.').waitFor();
    await openBackup(page);
    await rows(other).first().waitFor();
    assert.equal(await rows(other).count(), 2);
    await rows(other).first().getByRole('button', { name: 'Delete' }).click();
    await rows(other).first().getByRole('button', { name: 'Really delete' }).click();
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1);
    await other.close();
  }));

test('cards are suspended, tagged and filtered', () =>
  onPage({ at: '#/practice' }, async (page) => {
    await openBackup(page);
    await rows(page).first().waitFor();
    const tags = rows(page).last().getByLabel('Tags, separated by commas');
    await tags.fill('mates, easy');
    await tags.press('Enter');
    await page.getByRole('combobox', { name: 'Tag' }).selectOption('mates');
    await page.getByText('1 new', { exact: false }).waitFor();
    await rows(page).last().getByRole('button', { name: 'Suspend' }).click();
    await page.getByText('Nothing to practise now.').waitFor();
    await rows(page).last().getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Practise' }).click();
    await waitForPiece(page, 'h5', 'white queen');
  }));

test('a full storage is reported and practice goes on', () =>
  onPage({ at: '#/practice' }, async (page) => {
    await page.addInitScript(() => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('full', 'QuotaExceededError');
      };
    });
    await page.reload();
    await openBackup(page);
    await page.getByRole('alert').getByText('storage is full').waitFor();
    await page.getByRole('button', { name: 'Practise' }).click();
    await drag(page, 'h5', 'f7');
    await page.getByRole('heading', { name: 'Correct' }).waitFor();
  }));

test('mistakes of a reviewed game become cards', () =>
  onPage({ at: '#/analyse?moves=e2e4-e7e5-d1h5-b8c6-f1c4-g8f6-h5f7&side=black' }, async (page) => {
    await page.getByLabel('Time per move').selectOption('0.1');
    await page.getByRole('button', { name: 'Review game' }).click();
    await page.getByRole('button', { name: /^Practise \d+ Black mistake/ }).click({ timeout: 60_000 });
    await page.getByRole('status').getByText(/\d new cards? to practise/).waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Add to practice' }).isDisabled();
    await page.goto(`${address()}#/practice`);
    await rows(page).first().waitFor();
    await page.getByRole('button', { name: 'Practise' }).click();
    await page.getByText('Black to move').first().waitFor();
    await drag(page, 'g7', 'g6');
    await page.getByRole('heading', { name: 'Correct' }).waitFor();
  }));

test('practice fits a phone and works by keyboard', () =>
  onPage({ at: '#/practice', size: 'phone' }, async (page) => {
    await openBackup(page);
    await rows(page).first().waitFor();
    await assertFits(page);
    await page.getByRole('button', { name: 'Practise' }).focus();
    await page.keyboard.press('Enter');
    await waitForPiece(page, 'h5', 'white queen');
    await assertFits(page);
    await screenshot(page, 'practice-phone');
    // From e2, where the cursor is at first.
    await page.getByRole('application', { name: /Position to solve/ }).focus();
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    for (const key of ['ArrowLeft', 'ArrowLeft', 'ArrowUp', 'ArrowUp', 'Enter']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Correct' }).waitFor();
    await page.keyboard.press('Enter');
    await waitForPiece(page, 'd5', 'white knight');
  }));
