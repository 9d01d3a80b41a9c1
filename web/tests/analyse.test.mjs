import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import {
  address, assertAccessible, assertFits, download, drag, dropFile, fixture, onPage, pieces, screenshot, squareCentre, useBrowser, waitForPiece,
} from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const FIRST = `[Event "Club match"]
[Site "?"]
[Date "2024.05.01"]
[Round "1"]
[White "Ada"]
[Black "Boris"]
[Result "1-0"]
[TimeControl "300+3"]
[WhiteElo "1500"]
[BlackElo "1450"]

1. e4 {[%clk 0:05:01] [%eval 0.3]} e5 {[%clk 0:05:00] [%eval 0.25]} 2. Qh5 {[%clk 0:04:58] [%eval -0.4]} Nc6 {[%clk 0:04:50] [%eval -0.35]}
3. Bc4 {[%clk 0:04:55] [%eval -0.3]} (3. Nf3 g6 4. Qh4) Nf6 {[%clk 0:04:41] [%eval #1]} 4. Qxf7# {[%clk 0:04:53]} 1-0
`;
const BROKEN = `[Event "Broken"]
[White "Nobody"]
[Black "Nobody"]
[Result "*"]

1. e4 e5 2. Ke3 Nf6 *
`;
const SECOND = `[Event "Club match"]
[White "Clara"]
[Black "Dora"]
[Result "1/2-1/2"]

1. d4 d5 2. c4 {a gambit} e6 3. Nc3 Nf6 1/2-1/2
`;

/** @param {Page} page */
async function ready(page) {
  await page.locator('cg-board').first().waitFor();
}

/**
 * @param {Page} page
 * @param {string} text
 */
async function importText(page, text) {
  await page.getByRole('button', { name: 'Import' }).click();
  await page.getByLabel('PGN or FEN', { exact: true }).fill(text);
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
}

/** @param {Page} page */
async function exported(page) {
  await page.getByRole('button', { name: 'Share' }).click();
  const dialog = page.getByRole('dialog');
  const found = {
    pgn: await dialog.getByLabel('Game (PGN)').inputValue(),
    fen: await dialog.getByLabel('Position (FEN)').inputValue(),
    link: await dialog.getByLabel('Link to this line').inputValue(),
  };
  await dialog.getByRole('button', { name: 'Close' }).click();
  return found;
}

/**
 * Headers, moves, clocks and evaluations of a PGN, independent of its layout.
 *
 * @param {string} pgn
 */
function contents(pgn) {
  const text = pgn.replace(/\[[A-Z]\w+ "[^"]*"\]/g, '');
  return {
    headers: [...pgn.matchAll(/\[([A-Z]\w+) "([^"]*)"\]/g)].map(([, name, value]) => `${name} ${value}`).sort(),
    clocks: [...text.matchAll(/%clk (\d+):(\d+):([\d.]+)/g)].map(([, h, m, s]) => Number(h) * 3600 + Number(m) * 60 + Number(s)),
    evals: [...text.matchAll(/%eval (#?-?[\d.]+)/g)].map(([, value = '']) => (value.startsWith('#') ? value : Number(value))),
    moves: text.replace(/\{[^}]*\}/g, ' ').replace(/\d+\.+/g, ' ').replace(/[()]/g, ' $& ').trim().split(/\s+/),
  };
}

/** @param {Page} page @param {string} name @param {Buffer} [bytes] by default those of the fixture */
async function drop(page, name, bytes) {
  await dropFile(page.locator('body'), { name, bytes: bytes ?? (await readFile(fixture(name))) });
}

/** @param {Page} page */
async function predictions(page) {
  const more = page.getByRole('button', { name: /^Show all/ });
  await page.locator('.bar[data-uci]').first().waitFor();
  if (await more.count()) await more.click();
  return page.locator('.bar[data-uci]').evaluateAll((rows) =>
    rows.map((row) => ({ uci: row.getAttribute('data-uci'), probability: Number(row.getAttribute('data-probability')) })),
  );
}

test('games are imported and exported unchanged, and invalid ones are listed', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await importText(page, [FIRST, BROKEN, SECOND].join('\n'));
    const dialog = page.getByRole('dialog', { name: 'Choose a game' });
    await dialog.getByRole('button', { name: /Ada - Boris/ }).waitFor();
    await dialog.getByRole('button', { name: /Clara - Dora/ }).waitFor();
    assert.match((await dialog.getByRole('list', { name: 'Invalid games' }).textContent()) ?? '', /Ke3/);
    await screenshot(page, 'analyse-choose');
    await assertAccessible(page);
    await dialog.getByRole('button', { name: /Ada - Boris/ }).click();

    const { pgn } = await exported(page);
    assert.deepEqual(contents(pgn), contents(FIRST));
    await page.getByRole('button', { name: 'Share' }).click();
    assert.deepEqual(await download(page, 'Download'), { name: 'Ada-Boris.pgn', text: pgn });
    await page.keyboard.press('Escape');

    // Keyboard navigation, also into the variation.
    await page.keyboard.press('End');
    await waitForPiece(page, 'f7', 'white queen');
    await page.keyboard.press('ArrowLeft');
    await waitForPiece(page, 'h5', 'white queen');
    await page.keyboard.press('Home');
    await waitForPiece(page, 'e2', 'white pawn');
    for (let ply = 0; ply < 5; ply++) await page.keyboard.press('ArrowRight');
    await waitForPiece(page, 'c4', 'white bishop');
    await page.keyboard.press('ArrowDown');
    await waitForPiece(page, 'f3', 'white knight');
    await page.keyboard.press('ArrowUp');
    await waitForPiece(page, 'c4', 'white bishop');
    await page.keyboard.press('f');
    await page.locator('.cg-wrap.orientation-black').waitFor();

    // A reload restores the game, the current move and the orientation.
    await page.reload();
    await waitForPiece(page, 'c4', 'white bishop');
    await page.locator('.cg-wrap.orientation-black').waitFor();
    assert.deepEqual(contents((await exported(page)).pgn), contents(FIRST));
  }));

test('variations can be made the main line and deleted', () =>
  onPage({ at: '#/analyse?moves=e2e4-e7e5' }, async (page) => {
    await waitForPiece(page, 'e5', 'black pawn');
    await page.keyboard.press('ArrowLeft');
    await drag(page, 'c7', 'c5');
    await waitForPiece(page, 'c5', 'black pawn');
    await drag(page, 'g1', 'f3');
    assert.match((await exported(page)).pgn, /1\. e4 e5 \( ?1\.\.\. c5 2\. Nf3 ?\)/);
    await page.getByRole('button', { name: 'Main line' }).click();
    assert.match((await exported(page)).pgn, /1\. e4 c5 \( ?1\.\.\. e5 ?\) 2\. Nf3/);
    await page.keyboard.press('ArrowLeft');
    await page.getByRole('button', { name: 'Delete from c5' }).click();
    assert.match((await exported(page)).pgn, /1\. e4 e5 \*/);
  }));

test('human moves are shown as arrows, bars and curves over ratings', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    const found = await predictions(page);
    assert.equal(found.length, 20);
    const sum = found.reduce((total, { probability }) => total + probability, 0);
    assert.ok(Math.abs(sum - 1) < 0.01, `probabilities add up to ${sum}`);
    const arrows = page.locator('.cg-shapes g line');
    await arrows.first().waitFor({ state: 'attached' });
    const widths = await arrows.evaluateAll((lines) => lines.map((line) => Number(line.getAttribute('stroke-width'))));
    assert.ok(widths.length > 1 && Math.max(...widths) > Math.min(...widths), `widths ${widths}`);

    // Arrows have tooltips.
    const { x, y } = await squareCentre(page, 'e3');
    await page.mouse.move(x, y);
    await page.locator('.tooltip').waitFor();
    assert.match((await page.locator('.tooltip').textContent()) ?? '', /e[34] [\d.]+%/);

    // The curves as a plot and as a table.
    await page.getByText('Show as table').click();
    const table = page.getByRole('region', { name: 'Probability of each move by rating' });
    await table.getByRole('rowheader', { name: '700', exact: true }).waitFor({ timeout: 120_000 });
    const rows = await table.getByRole('row').allInnerTexts();
    assert.equal(rows.length, 22, '600 to 2600 and a header');
    assert.notEqual(rows[1]?.replace(/^\d+/, ''), rows[21]?.replace(/^\d+/, ''), 'probabilities depend on the rating');
    assert.ok(await page.locator('.uplot canvas').count());

    await page.getByLabel('Rating', { exact: true }).fill('2600');
    await page.waitForFunction(
      (before) => document.querySelector('.bar[data-uci="e2e4"]')?.getAttribute('data-probability') !== before,
      String(found.find(({ uci }) => uci === 'e2e4')?.probability),
    );
    assert.equal(await page.getByLabel('Rating slider').inputValue(), '2600');
    await page.locator('.curves').scrollIntoViewIfNeeded();
    await screenshot(page, 'analyse-human');
    await assertAccessible(page);
  }));

test('the engine searches deeper over time, and the space bar turns it on and off', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await page.keyboard.press(' ');
    const depth = page.locator('[data-depth]');
    await depth.waitFor();
    const seen = async () => Number(await depth.getAttribute('data-depth'));
    await page.waitForFunction(() => Number(document.querySelector('[data-depth]')?.getAttribute('data-depth')) > 0);
    const first = await seen();
    await page.waitForFunction((less) => Number(document.querySelector('[data-depth]')?.getAttribute('data-depth')) > less, first);
    const lines = page.getByRole('list', { name: 'Engine lines' }).getByRole('listitem');
    assert.equal(await lines.count(), 3);
    await page.getByRole('combobox', { name: /^Lines/ }).selectOption('5');
    await page.waitForFunction(() => document.querySelectorAll('[aria-label="Engine lines"] li').length === 5);
    await screenshot(page, 'analyse-engine');
    await lines.first().getByRole('button').nth(1).click();
    await page.getByRole('group', { name: 'Moves', exact: true }).locator('[aria-current]').waitFor();
    assert.equal(await page.getByRole('group', { name: 'Moves', exact: true }).getByRole('button').count(), 2);
    await page.locator('h1').click();
    await page.keyboard.press(' ');
    assert.equal(await page.getByLabel('On', { exact: true }).isChecked(), false);
  }));

test('a review finds the blunder, draws the graph and can be cancelled', () =>
  onPage({ at: '#/analyse?moves=e2e4-e7e5-d1h5-b8c6-f1c4-g8f6-h5f7' }, async (page) => {
    await waitForPiece(page, 'f7', 'white queen');
    await page.getByLabel('Time per move').selectOption('3');
    await page.getByRole('button', { name: 'Review game' }).click();
    await page.getByRole('progressbar', { name: 'Review' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Time per move').selectOption('0.1');
    await page.getByRole('button', { name: /^Review/ }).click();
    await page.getByRole('rowheader', { name: /Blunders/ }).waitFor();
    await page.getByRole('button', { name: 'Review again' }).waitFor({ timeout: 60_000 });
    const blunders = page.getByRole('row', { name: /Blunders/ }).getByRole('cell');
    assert.deepEqual(await blunders.allInnerTexts(), ['0', '1']);
    assert.match((await page.getByRole('button', { name: 'Nf6' }).textContent()) ?? '', /Nf6\?\?/);

    // A click on the graph goes to a move; the graph follows the keyboard.
    const graph = page.getByRole('slider', { name: 'Win probability by move' });
    await graph.click({ position: { x: 10, y: 60 } });
    await waitForPiece(page, 'e2', 'white pawn');
    await graph.focus();
    for (let ply = 0; ply < 6; ply++) await page.keyboard.press('ArrowRight');
    assert.match((await graph.getAttribute('aria-valuetext')) ?? '', /Nf6.*blunder/);
    await page.locator('[data-mark="blunder"]').waitFor();
    const { pgn } = await exported(page);
    assert.match(pgn, /Nf6 (\$4|\?\?) ?\{ ?\[%eval #1/);
    await page.mouse.move(0, 0);
    await page.getByRole('row', { name: /Average move probability/ }).scrollIntoViewIfNeeded();
    await screenshot(page, 'analyse-review');
    await assertAccessible(page);

    await page.reload();
    await page.getByRole('row', { name: /Blunders/ }).waitFor();
  }));

test('the module for any network is fetched when a file needs it, and the analysis goes on', () =>
  onPage({ at: '#/analyse?moves=e2e4-e7e5-g1f3' }, async (page) => {
    /** @type {string[]} */
    const modules = [];
    page.on('request', (request) => {
      const module = /assets\/(tabia\w*?)_bg-[^/]*\.wasm$/.exec(request.url())?.[1];
      if (module) modules.push(module);
    });
    await page.reload();
    await ready(page);
    await page.getByLabel('Time per move').selectOption('1');
    await page.getByRole('button', { name: 'Review game' }).click();
    await drop(page, 'lc0-plain-conv.pb.gz');
    await page.getByRole('status').getByText('Using lc0-plain-conv.pb.gz').waitFor();
    // The review was begun by the first worker.
    await page.getByRole('button', { name: 'Review again' }).waitFor({ timeout: 60_000 });
    assert.equal(modules.filter((name) => name.startsWith('tabia_small')).length, 1, modules.join());
    assert.equal(modules.filter((name) => name === 'tabia').length, 1, modules.join());
  }));

test('a review uses the chosen network', () =>
  onPage({ at: '#/analyse?moves=e2e4-e7e5-g1f3' }, async (page) => {
    await ready(page);
    await drop(page, 'lc0-plain-conv.pb.gz');
    await page.getByText('good moves that lc0-plain-conv.pb.gz rarely plays').waitFor();
    await page.getByLabel('Time per move').selectOption('0.1');
    await page.getByRole('button', { name: 'Review game' }).click();
    await page.getByRole('button', { name: 'Review again' }).waitFor({ timeout: 60_000 });
    const dropped = await page.getByRole('row', { name: 'Average move probability, lc0-plain-conv.pb.gz' }).innerText();
    await page.getByLabel('Network', { exact: true }).selectOption('human');
    await page.getByRole('button', { name: 'Review again' }).click();
    const bundled = page.getByRole('row', { name: 'Average move probability, 1500-rated players' });
    await bundled.waitFor();
    await page.getByRole('button', { name: 'Review again' }).waitFor({ timeout: 60_000 });
    assert.notEqual((await bundled.innerText()).match(/[\d.]+%.*/)?.[0], dropped.match(/[\d.]+%.*/)?.[0]);
  }));

test('the editor accepts legal positions and explains why others are illegal', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await page.getByRole('button', { name: 'Edit board' }).click();
    const done = page.getByRole('button', { name: 'Analyse this position' });
    await page.getByRole('button', { name: 'Clear' }).click();
    assert.equal(await done.isDisabled(), true);
    assert.match((await page.getByRole('status').filter({ hasText: /king/i }).textContent()) ?? '', /king/i);
    // By click, by drag from the palette and by keyboard.
    await page.getByRole('button', { name: 'Place a white king' }).click();
    const e1 = await squareCentre(page, 'e1');
    await page.mouse.click(e1.x, e1.y);
    await waitForPiece(page, 'e1', 'white king');
    const king = await page.getByRole('button', { name: 'Place a black king' }).boundingBox();
    assert.ok(king);
    const e8 = await squareCentre(page, 'e8');
    await page.mouse.move(king.x + king.width / 2, king.y + king.height / 2);
    await page.mouse.down();
    await page.mouse.move(e8.x, e8.y + 30);
    await page.mouse.move(e8.x, e8.y);
    await page.mouse.up();
    await waitForPiece(page, 'e8', 'black king');
    const board = page.getByRole('application');
    await board.focus();
    // The cursor begins on e4.
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Shift+R');
    await waitForPiece(page, 'e3', 'white rook');
    await page.keyboard.press('Delete');
    await waitForPiece(page, 'e3', undefined);
    await page.keyboard.press('p');
    await waitForPiece(page, 'e3', 'black pawn');
    await page.getByRole('radio', { name: 'Black' }).check();
    await screenshot(page, 'analyse-editor');
    await assertAccessible(page);
    await done.click();
    await page.getByText('Black to move', { exact: true }).first().waitFor();
    assert.equal((await exported(page)).fen, '4k3/8/8/8/8/4p3/8/4K3 b - - 0 1');
    assert.equal(await page.getByRole('link', { name: 'Play from here' }).getAttribute('href'), '#/play?fen=4k3%2F8%2F8%2F8%2F8%2F4p3%2F8%2F4K3+b+-+-+0+1');
  }));

test('a shared link opens the same line', async () => {
  let link = '';
  await onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await importText(page, SECOND);
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    for (let ply = 0; ply < 3; ply++) await page.keyboard.press('ArrowRight');
    await waitForPiece(page, 'c4', 'white pawn');
    link = (await exported(page)).link;
  });
  await onPage({ at: link.slice(address().length) }, async (page) => {
    await waitForPiece(page, 'c4', 'white pawn');
    await waitForPiece(page, 'e7', 'black pawn');
    await page.keyboard.press('End');
    await waitForPiece(page, 'f6', 'black knight');
    // A reload keeps later changes, although the page was opened by a link.
    await drag(page, 'c1', 'g5');
    await waitForPiece(page, 'g5', 'white bishop');
    await page.reload();
    await waitForPiece(page, 'g5', 'white bishop');
  });
});

test('a large PGN file is read without blocking the page, and can be cancelled', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await predictions(page);
    const dropPgn = (/** @type {number} */ megabytes) =>
      page.evaluate(async (bytes) => {
        const moves = '1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7 11. Nbd2 Bb7 12. Bc2 Re8 1/2-1/2';
        const parts = [];
        for (let number = 1, length = 0; length < bytes; number++) {
          const game = `[Event "Long"]\n[White "Player ${number}"]\n[Black "Mr. Black"]\n[Result "1/2-1/2"]\n\n${moves}\n\n`;
          parts.push(game);
          length += game.length;
        }
        const data = new DataTransfer();
        data.items.add(new File(parts, 'long.pgn'));
        // Creating the file must not count as a long frame.
        await new Promise((resolve) => setTimeout(resolve, 1000));
        window.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
        const watch = { longest: 0 };
        Object.assign(window, { watch });
        let last = performance.now();
        requestAnimationFrame(function frame(now) {
          watch.longest = Math.max(watch.longest, now - last);
          last = now;
          requestAnimationFrame(frame);
        });
        return parts.length;
      }, megabytes << 20);
    const bar = page.getByRole('progressbar', { name: 'Reading games' });
    await dropPgn(60);
    await bar.waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('PGN or FEN', { exact: true }).waitFor();
    await page.keyboard.press('Escape');

    const began = performance.now();
    const games = await dropPgn(60);
    await bar.waitFor();
    const search = page.getByPlaceholder(`Search ${games.toLocaleString('en')} games`);
    await search.waitFor({ timeout: 240_000 });
    const seconds = (performance.now() - began) / 1000;
    const longest = await page.evaluate(() => /** @type {{ watch: { longest: number } }} */ (/** @type {unknown} */ (window)).watch.longest);
    console.log(`60 MB of PGN, ${games} games: ${seconds.toFixed(1)} s in the worker, the page's longest frame ${longest.toFixed(0)} ms`);
    await search.fill(`Player ${games}`);
    await page.getByRole('button', { name: `Player ${games} - Mr. Black` }).click();
    await page.getByText(`Player ${games} – Mr. Black`).waitFor();
  }));

test('a rating in a player’s name is not repeated', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await importText(page, '[White "Human-like 1500"]\n[WhiteElo "1500"]\n[Black "Ada"]\n[BlackElo "1450"]\n\n1. e4 e5 *\n');
    await page.getByText('Human-like 1500 – Ada (1450)').waitFor();
  }));

test('invalid links, texts and models are rejected', () =>
  onPage({ at: '#/analyse?moves=e2e4-e2e4' }, async (page) => {
    const alert = page.getByRole('alert');
    await alert.getByText(/Cannot open the link/).waitFor();
    await ready(page);
    for (const junk of ['fen=hello', 'fen=8/8/8/8/8/8/8/8_w_-_-_0_1', 'moves=%00%ff', 'pgn=%7B%7B%7B']) {
      await page.evaluate((hash) => (location.hash = `#/analyse?${hash}`), junk);
      await page.waitForURL('**/#/analyse');
    }
    await importText(page, 'this is not a game');
    const dialog = page.getByRole('dialog');
    await dialog.locator('.problem:not(:empty)').waitFor();
    await dialog.getByLabel('PGN or FEN', { exact: true }).fill('rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQQBNR w KQkq - 0 1');
    await dialog.getByRole('button', { name: 'Import' }).click();
    await dialog.locator('.problem', { hasText: /king/i }).waitFor();
    await page.keyboard.press('Escape');
    await drop(page, 'broken.onnx', Buffer.from('not a network'));
    await alert.getByText(/Cannot use broken\.onnx/).waitFor();
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
  }));

test('invalid stored data is ignored', () =>
  onPage(
    {
      at: '#/analyse',
      init: () => localStorage.setItem('tabia.analysis', '{"pgn": 3, "at": [1], "rating": "x", "review": {"moves": [null]}}'),
    },
    async (page) => {
      await ready(page);
      assert.equal(Object.keys(await pieces(page)).length, 32);
    },
  ));

test('pasted and dropped positions, games and models are opened', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    await predictions(page);
    await page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', '4k3/8/8/8/8/4p3/8/4K3 b - - 0 1');
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    });
    await waitForPiece(page, 'e3', 'black pawn');
    await drop(page, 'game.pgn', Buffer.from(SECOND));
    await page.getByText('Clara – Dora').waitFor();

    const network = page.getByLabel('Network', { exact: true });
    // A policy with ratings, one without, and a network without a policy.
    await drop(page, 'human.safetensors');
    await page.getByRole('status').getByText('Using human.safetensors').waitFor();
    assert.equal(await network.inputValue(), 'human.safetensors');
    await page.locator('.curves canvas').waitFor();
    assert.equal((await predictions(page)).length, 20);
    await drop(page, 'lc0-plain-conv.pb.gz');
    await page.getByRole('status').getByText('Using lc0-plain-conv.pb.gz').waitFor();
    await page.getByText('This network does not use ratings.').waitFor();
    await page.locator('.bars:not(.stale)').waitFor();
    assert.equal(await page.locator('.curves').count(), 0);
    await drop(page, 'perspective.safetensors');
    await page.getByRole('alert').getByText(/Cannot use perspective\.safetensors/).waitFor();
    assert.equal(await network.inputValue(), 'lc0-plain-conv.pb.gz');
    await network.selectOption('human');
    await page.getByLabel('Rating', { exact: true }).waitFor();
  }));

for (const [width, height] of /** @type {const} */ ([[1160, 1000], [1280, 900], [1440, 900], [1920, 1080]]))
  test(`panels do not overlap at ${width} × ${height}`, () =>
    onPage({ at: '#/analyse?moves=e2e4-e7e5-g1f3-b8c6', viewport: { width, height } }, async (page) => {
      await page.getByLabel('On', { exact: true }).check();
      await page.locator('.bar[data-uci]').first().waitFor();
      const boxes = await page.locator('.workspace cg-board, .workspace .panel').evaluateAll((panels) =>
        panels.map((panel) => {
          const { left, right, top, bottom } = panel.getBoundingClientRect();
          return { name: panel.querySelector('h2')?.textContent ?? panel.tagName, left, right, top, bottom, inner: panel.scrollWidth - panel.clientWidth };
        }),
      );
      assert.equal(boxes.length, 6);
      for (const [index, one] of boxes.entries()) {
        assert.equal(one.inner, 0, `the content of ${one.name} fits`);
        for (const other of boxes.slice(index + 1)) {
          const apart = one.right + 8 <= other.left || other.right + 8 <= one.left || one.bottom + 8 <= other.top || other.bottom + 8 <= one.top;
          assert.ok(apart, `${one.name} and ${other.name} overlap`);
        }
      }
    }));

for (const size of /** @type {const} */ (['phone', 'tablet', 'desktop'])) {
  test(`the page fits a ${size}`, () =>
    onPage({ at: `#/analyse?pgn=${encodeURIComponent(FIRST)}`, size, colorScheme: size === 'tablet' ? 'dark' : 'light' }, async (page) => {
      await waitForPiece(page, 'f7', 'white queen');
      await page.getByRole('button', { name: 'Previous move' }).click();
      await page.getByLabel('On', { exact: true }).check();
      await page.locator('.bar[data-uci]').first().waitFor();
      await page.locator('.uplot canvas').nth(1).waitFor();
      await assertFits(page);
      if (size === 'tablet') {
        const [game, engine, review] = await page.locator('.moves > .panel, .review > .panel').evaluateAll((panels) =>
          panels.map((panel) => panel.getBoundingClientRect()).map(({ top, bottom }) => ({ top, bottom })),
        );
        assert.ok(game && engine && review);
        const distances = [engine.top - game.bottom, review.top - engine.bottom];
        assert.ok(review.top < engine.bottom + 2 * (engine.top - game.bottom), `distances between panels: ${distances.join(', ')}`);
      }
      await page.evaluate(() => scrollTo(0, 0));
      await page.mouse.move(0, 0);
      await screenshot(page, `analyse-${size}`);
      await assertAccessible(page);
      await page.getByRole('button', { name: 'Edit board' }).click();
      await assertFits(page);
      if (size !== 'desktop') {
        await page.getByRole('button', { name: 'Place a black queen' }).tap();
        const { x, y } = await squareCentre(page, 'e3');
        await page.touchscreen.tap(x, y);
        await waitForPiece(page, 'e3', 'black queen');
      }
      await screenshot(page, `analyse-editor-${size}`);
    }));
}

test('a two-input network compares the position with another one', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    await ready(page);
    const bytes = await readFile(fixture('tflite_pair.tflite'));
    await page.getByLabel('Two-input network').setInputFiles({ name: 'pair.tflite', mimeType: 'application/octet-stream', buffer: bytes });
    const table = page.getByRole('table', { name: 'Scores in the context' });
    await table.waitFor();
    const first = await table.innerText();
    assert.match(first, /\d+\.\d%\s+[+−]\d\.\d\d/);
    const before = await table.textContent();
    await page.getByLabel('Context, as FEN').fill('rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1');
    await page.waitForFunction((old) => document.querySelector('table[aria-label="Scores in the context"]')?.textContent !== old, before);
    await page.getByLabel('Context, as FEN').fill('not a position');
    await page.getByRole('alert').getByText(/context/).waitFor();
    await page.getByRole('button', { name: 'Use this position' }).click();
    await table.waitFor();
    await assertAccessible(page);
    const other = await readFile(fixture('challenge-mlp.onnx'));
    await page.getByLabel('Two-input network').setInputFiles({ name: 'one.onnx', mimeType: 'application/octet-stream', buffer: other });
    await page.getByText(/Cannot open one.onnx: not a two-input network/).waitFor();
  }));
