import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { address, assertAccessible, assertFits, assertTouchable, moves, onPage, screenshot, useBrowser } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const VIEW = '#/practice?view=games';
const LINES = [
  'e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0',
  'f3 e5 2. g4 Qh4# 0-1',
  'd4 d5 2. c4 e6 1/2-1/2',
  'e4 c5 2. Nf3 d6 1-0',
];

/**
 * Short games of Me, with colours, openings and dates that differ.
 *
 * @param {number} count
 */
function generated(count) {
  const games = Array.from({ length: count }, (_, number) => {
    const date = new Date(Date.UTC(2020, 0, 1) + number * 24 * 60 * 60 * 1000).toISOString().slice(0, 10).replaceAll('-', '.');
    const [white, black] = number % 2 ? ['Me', `Player${number % 50}`] : [`Player${number % 50}`, 'ME'];
    const tags = { Event: 'Rated blitz game', White: white, Black: black, UTCDate: date, WhiteElo: '1500', BlackElo: '1510', TimeControl: '300+0' };
    return `${Object.entries(tags).map(([name, value]) => `[${name} "${value}"]\n`).join('')}\n1. ${LINES[number % LINES.length]}\n`;
  });
  return games.join('\n');
}

/** @param {Page} page @param {string} text @param {string} [name] */
async function addGames(page, text, name = 'games.pgn') {
  await page.getByLabel('PGN files of your games').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
}

/**
 * Reads the database: the rows of a store.
 *
 * @param {Page} page
 * @param {string} store
 * @returns {Promise<any[]>}
 */
function stored(page, store) {
  return page.evaluate(
    (store) =>
      new Promise((resolve, reject) => {
        const opening = indexedDB.open('tabia-practice');
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          const all = opening.result.transaction(store).objectStore(store).getAll();
          all.onsuccess = () => {
            opening.result.close();
            resolve(all.result);
          };
        };
      }),
    store,
  );
}

/**
 * Creates the database of an older version of the page, before this one opens it.
 *
 * @param {Page} page
 * @param {number} version
 * @param {Record<string, { keyPath: string, rows: unknown[] }>} stores
 */
function createDatabase(page, version, stores) {
  return page.evaluate(
    ([version, stores]) =>
      new Promise((/** @type {(value?: unknown) => void} */ resolve, reject) => {
        const opening = indexedDB.open('tabia-practice', version);
        opening.onupgradeneeded = () => {
          for (const [name, { keyPath, rows }] of Object.entries(stores)) {
            const store = opening.result.createObjectStore(name, { keyPath });
            for (const row of rows) store.put(row);
          }
        };
        opening.onerror = () => reject(opening.error);
        opening.onsuccess = () => {
          opening.result.close();
          resolve();
        };
      }),
    /** @type {const} */ ([version, stores]),
  );
}

/** @param {number} version */
async function golden(version) {
  return JSON.parse(await readFile(new URL(`golden/database-${version}.json`, import.meta.url), 'utf8'));
}

/**
 * Makes reviews quick: the engine searches few nodes.
 *
 * @param {Page} page
 */
async function searchLittle(page) {
  await page.getByRole('button', { name: 'Add games…' }).waitFor();
  await page.evaluate(
    () =>
      new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
        const opening = indexedDB.open('tabia-practice');
        opening.onsuccess = () => {
          const writing = opening.result.transaction('settings', 'readwrite');
          writing.objectStore('settings').put({ name: 'reviewNodes', value: 30 });
          writing.oncomplete = () => {
            opening.result.close();
            resolve();
          };
        };
      }),
  );
  await page.reload();
}

/** @param {Page} page */
async function reviewedCount(page) {
  const text = await page.getByText(/[\d,]+ of [\d,]+ games reviewed/).textContent();
  return Number(text?.match(/^([\d,]+) of/)?.[1]?.replaceAll(',', ''));
}

/** @param {Page} page @param {number} least */
async function waitForReviewed(page, least) {
  await page.waitForFunction(
    (least) => Number(document.body.innerText.match(/([\d,]+) of [\d,]+ games reviewed/)?.[1]?.replaceAll(',', '') ?? 0) >= least,
    least,
    { timeout: 90_000 },
  );
}

test('2,000 games are imported once, and a killed review goes on without losing or doubling a game', () =>
  onPage({ at: VIEW }, async (page) => {
    await searchLittle(page);
    const games = generated(2000);
    await addGames(page, games);
    await page.getByText('games.pgn: 2,000 new games.').waitFor({ timeout: 60_000 });
    // The most frequent name is the player, whatever its case.
    await page.getByText('2,000 of 2,000 games').first().waitFor();
    await waitForReviewed(page, 2);
    // In mid-review.
    const context = page.context();
    await page.close();
    const other = await context.newPage();
    await other.goto(`${address()}#/play`);
    // It goes on while another page is shown.
    const before = (await stored(other, 'reviews')).length;
    assert.ok(before >= 2 && before < 2000, `${before}`);
    while ((await stored(other, 'reviews')).length === before) await other.waitForTimeout(100);
    await other.goto(`${address()}${VIEW}`);
    await waitForReviewed(other, before + 2);
    await other.getByRole('button', { name: 'Pause review' }).click();
    await other.getByRole('button', { name: 'Resume review' }).waitFor();
    await other.reload();
    await other.getByRole('button', { name: 'Resume review' }).waitFor();
    const [reviews, figures] = [await stored(other, 'reviews'), await stored(other, 'figures')];
    const keys = reviews.map(({ key }) => key);
    assert.deepEqual(figures.map(({ key }) => key), keys);
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(await reviewedCount(other), keys.length);
    await other.getByText(new RegExp(`${keys.length} games: \\d+ won`)).waitFor();
    // The newest first.
    const oldest = Math.min(...reviews.map(({ review }) => Date.parse(JSON.parse(review).date.replaceAll('.', '-'))));
    const newest = Date.UTC(2020, 0, 1) + 1999 * 24 * 60 * 60 * 1000;
    assert.ok(newest - oldest <= (keys.length + 20) * 24 * 60 * 60 * 1000);

    await addGames(other, games);
    await other.getByText('games.pgn: 0 new games, 2,000 known before.').waitFor({ timeout: 60_000 });
    assert.equal((await stored(other, 'games')).length, 2000);
    await other.getByRole('button', { name: 'Pause review' }).click();
    await other.close();
  }));

test('an import is paused, and goes on after a reload with the same file', () =>
  onPage({ at: VIEW }, async (page) => {
    await page.getByText('They stay in this browser.').waitFor();
    await assertAccessible(page);
    // Many of the same games, so that there is time to pause.
    const text = `${generated(200)}\n`.repeat(60) + '\n[White "Me"]\n[Black "Ann"]\n\n1. e4 e5 2. Ke3 *\n';
    await addGames(page, text);
    await page.getByRole('button', { name: 'Pause import' }).click();
    await page.getByText(/games\.pgn is read to \d+%/).waitFor();
    await page.reload();
    await page.getByText(/games\.pgn is read to \d+%/).waitFor();
    await page.getByRole('button', { name: 'Choose the file again and resume' }).waitFor();
    const [half] = await stored(page, 'imports');
    assert.ok(!half.done && half.next.offset < text.length);
    const chooser = async (/** @type {string} */ content) => {
      const opened = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Choose the file again and resume' }).click();
      await (await opened).setFiles({ name: 'games.pgn', mimeType: 'text/plain', buffer: Buffer.from(content) });
    };
    await chooser(generated(3));
    await page.getByRole('alert').getByText('is another file').waitFor();
    await chooser(text);
    await page.getByText('games.pgn: 200 new games, 11,800 known before, 1 broken.').waitFor({ timeout: 60_000 });
    await page.getByText('1 broken game left out of games.pgn').click();
    await page.getByText('game 12001').waitFor();
    await page.getByText(/Ke3.*is not a legal move/).waitFor();
    assert.equal((await stored(page, 'games')).length, 200);
  }));

test('a full storage stops the import with a message, and what was stored stays', () =>
  onPage({ at: VIEW }, async (page) => {
    await page.getByRole('button', { name: 'Add games…' }).waitFor();
    const session = await page.context().newCDPSession(page);
    const origin = new URL(address()).origin;
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 1_000_000 });
    await addGames(page, generated(400).replaceAll('"Rated blitz game"', `"${'x'.repeat(10_000)}"`));
    await page.getByRole('alert').getByText('storage for this page is full').waitFor({ timeout: 60_000 });
    const kept = (await stored(page, 'games')).length;
    assert.ok(kept < 400, `${kept}`);
    assert.equal((await stored(page, 'pgns')).length, kept);
    await session.send('Storage.overrideQuotaForOrigin', { origin });
    // A review that cannot be stored.
    await page.addInitScript(() => {
      const put = IDBObjectStore.prototype.put;
      IDBObjectStore.prototype.put = function (/** @type {unknown} */ value) {
        if (this.name === 'reviews') throw new DOMException('full', 'QuotaExceededError');
        return put.call(this, value);
      };
    });
    await page.reload();
    await page.getByRole('button', { name: 'Add games…' }).waitFor();
    assert.equal((await stored(page, 'games')).length, kept);
    await addGames(page, generated(2), 'two.pgn');
    await page.getByRole('alert').getByText('the review is paused').waitFor({ timeout: 60_000 });
    assert.equal((await stored(page, 'figures')).length, 0);
    await page.getByRole('button', { name: 'Review games' }).waitFor();
  }));

test('two tabs review each game once, and one takes over from the other', () =>
  onPage({ at: VIEW }, async (page) => {
    await searchLittle(page);
    const other = await page.context().newPage();
    await other.goto(`${address()}${VIEW}`);
    await other.getByRole('button', { name: 'Add games…' }).waitFor();
    await addGames(page, generated(500));
    await waitForReviewed(page, 1);
    await waitForReviewed(other, 1);
    await other.reload();
    await other.getByText('in another tab').waitFor();
    await page.close();
    const before = (await stored(other, 'reviews')).length;
    await waitForReviewed(other, before + 2);
    await other.getByRole('button', { name: 'Pause review' }).click();
    await other.getByRole('button', { name: 'Resume review' }).waitFor();
    const keys = (await stored(other, 'reviews')).map(({ key }) => key);
    assert.deepEqual((await stored(other, 'figures')).map(({ key }) => key), keys);
    await other.getByText(new RegExp(`^${keys.length} games: `)).waitFor();
    await other.close();
  }));

test('the dashboard opens games with their reviews, makes cards, and works by keyboard and on a phone', () =>
  onPage({ at: VIEW, size: 'phone' }, async (page) => {
    await searchLittle(page);
    await addGames(page, generated(4));
    await page.getByText('All your games are reviewed.').waitFor({ timeout: 90_000 });
    await page.getByRole('heading', { name: 'Where the points go' }).waitFor();
    await page.getByText(/You played like \d+ \(95%: \d+ to \d+\)/).waitFor();
    await assertFits(page);
    await assertTouchable(page);
    await assertAccessible(page);
    await screenshot(page, 'games-phone');
    // As Black, Me was mated in four moves: only those games are left.
    await page.getByRole('combobox', { name: 'Colour' }).selectOption('black');
    await page.getByText('2 games: 0 won, 1 drawn, 1 lost').waitFor();
    await page.getByRole('combobox', { name: 'Colour' }).selectOption('');
    await page.getByRole('combobox', { name: 'Measure' }).selectOption('errors');

    await page.getByRole('button', { name: /^Practise \d+ mistakes?/ }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(/[1-9]\d* new cards? to practise/).waitFor({ timeout: 60_000 });
    await page.getByRole('link', { name: 'Go to your cards' }).waitFor();
    assert.ok((await stored(page, 'cards')).length > 0);

    // The costliest move of a weakness, or else of the list of games, opens under Analyse without another review.
    await page.getByRole('region', { name: 'Games' }).getByRole('link').last().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Review again' }).waitFor();
    const shown = (await moves(page)).map((move) => move.replace(/[!?]+$/, ''));
    assert.deepEqual(shown, ['e4', 'e5', 'Qh5', 'Nc6', 'Bc4', 'Nf6', 'Qxf7#']);
    assert.ok((await moves(page)).includes('Nf6??'));
    await page.locator('.cg-wrap.orientation-black').first().waitFor();
  }));

test('a backup holds everything, and a damaged one changes nothing', async () => {
  const { stores } = await golden(2);
  let saved = Buffer.alloc(0);
  await onPage({ at: '#/play', acceptDownloads: true }, async (page) => {
    await createDatabase(page, 2, stores);
    await page.goto(`${address()}${VIEW}`);
    await page.getByText('1 of 1 games reviewed').waitFor();
    await page.getByText('Backup of everything').first().click();
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save everything' }).click()]);
    assert.match(file.suggestedFilename(), /^tabia-backup-.*\.json\.gz$/);
    saved = await readFile(await file.path());
  });
  const lines = gunzipSync(saved).toString().trim().split('\n');
  const old = await readFile(new URL('golden/backup-1.jsonl', import.meta.url), 'utf8');
  const rows = (/** @type {string[]} */ all) => all.filter((line) => line.startsWith('{"section"'));
  assert.deepEqual(rows(lines), rows(old.trim().split('\n')));
  const packed = (/** @type {string[]} */ changed) => gzipSync(`${changed.join('\n')}\n`);
  const games = lines.findIndex((line) => line.startsWith('{"section":"games"'));
  const flipped = Buffer.from(saved);
  flipped[Math.floor(saved.length / 2)] = (flipped[Math.floor(saved.length / 2)] ?? 0) ^ 0x55;
  /** @type {[Buffer, RegExp][]} */
  const damaged = [
    [Buffer.from('nonsense'), /line 1 is not JSON/],
    [Buffer.alloc(0), /the file is empty/],
    [flipped, /damaged|is not JSON|line \d+/],
    [saved.subarray(0, saved.length - 40), /damaged|cut off/],
    [packed(lines.slice(0, -1)), /the file is cut off/],
    [packed(lines.filter((_, place) => place !== games)), /0 rows of games \(expected 1\)/],
    [packed(lines.map((line) => line.replace('"version":1', '"version":9'))), /version 9 of the backup format/],
    [packed(lines.map((line) => line.replace('"section":"games"', '"section":"novels"'))), /unknown section "novels"/],
    [packed(lines.map((line) => line.replace('Qxf7#', 'Qxf8#'))), /pgns: /],
    [packed(lines.map((line) => line.replace('"uci":"h5f7"', '"uci":"h5h9"'))), /cards: .*illegal move/],
  ];
  await onPage({ at: '#/practice?view=games' }, async (page) => {
    const restore = (/** @type {Buffer} */ buffer) =>
      page.getByLabel('Backup of everything', { exact: true }).setInputFiles({ name: 'backup.json.gz', mimeType: 'application/gzip', buffer });
    await addGames(page, generated(1));
    await page.getByText('games.pgn: 1 new game.').waitFor();
    for (const [buffer, reason] of damaged) {
      await restore(buffer);
      await page.getByRole('alert').getByText(reason).first().waitFor();
      await page.getByRole('alert').getByRole('button').first().click();
    }
    assert.equal((await stored(page, 'games')).length, 1);
    assert.equal((await stored(page, 'cards')).length, 0);
    await restore(saved);
    await page.getByText('2 new cards, 1 new games, 1 new reviews').waitFor();
    assert.equal((await stored(page, 'games')).length, 2);
    assert.deepEqual(await stored(page, 'repertoires'), stores.repertoires.rows);
    // The names of both are the player's.
    await page.getByText('2 of 2 games').first().waitFor();
    await restore(Buffer.from(old));
    await page.getByText('0 new cards, 0 new games, 0 new reviews').waitFor();
    await page.getByRole('navigation', { name: 'Practice' }).getByRole('link', { name: 'Cards' }).click();
    await page.getByRole('region', { name: 'Cards' }).locator('tbody tr').nth(1).waitFor();
  });
});

for (const version of [1, 2])
  test(`a database of version ${version} is opened with everything in it`, () =>
    onPage({ at: '#/play' }, async (page) => {
      const { stores } = await golden(version);
      await createDatabase(page, version, stores);
      await page.goto(`${address()}#/practice`);
      const rows = page.getByRole('region', { name: 'Cards' }).locator('tbody tr');
      await rows.nth(1).waitFor();
      assert.equal(await rows.count(), 2);
      assert.deepEqual(await stored(page, 'cards'), stores.cards.rows);
      await page.goto(`${address()}${VIEW}`);
      if (version === 1) await page.getByText('They stay in this browser.').waitFor();
      else {
        await page.getByText('1 of 1 games reviewed').waitFor();
        await page.getByRole('region', { name: 'Games' }).getByRole('link', { name: 'Anna' }).click();
        await page.getByRole('button', { name: 'Review again' }).waitFor();
      }
    }));

test('a tab with an older page lets the database be upgraded', () =>
  onPage({ at: '#/play' }, async (page) => {
    const { stores } = await golden(1);
    await createDatabase(page, 1, stores);
    // A page that does not give way.
    await page.evaluate(
      () =>
        new Promise((resolve) => {
          const opening = indexedDB.open('tabia-practice', 1);
          opening.onsuccess = () => {
            Object.assign(window, { held: opening.result });
            resolve(undefined);
          };
        }),
    );
    const other = await page.context().newPage();
    await other.goto(`${address()}${VIEW}`);
    await other.getByRole('alert').getByText('Another tab keeps an older version').waitFor();
    await page.close();
    await other.getByText('They stay in this browser.').waitFor();
    await other.close();
  }));
