import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import {
  assertAccessible,
  assertFits,
  drag,
  dropFile,
  onPage,
  pieces,
  screenshot,
  spot,
  useBrowser,
  waitForPiece,
} from './harness.mjs';
import { GameTree, Studio, useRules } from './rules.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();
before(useRules);

/** The quickest opponent: no network to fetch, and the same answers every time. */
const LEVEL_1 = { opponent: { kind: 'challenge', level: 1 }, colour: 'white', timeControl: 'untimed', rating: null };
/** An opponent that takes long enough for something to happen meanwhile. */
const SLOW = { ...LEVEL_1, opponent: { kind: 'engine', by: 'time', seconds: 1.5 } };

/** @param {object} settings */
const playing = (settings) => ({ kept: { 'play.settings': { ...LEVEL_1, ...settings } } });

/**
 * The moves in the list, in SAN.
 *
 * @param {Page} page
 */
async function moves(page) {
  return page.locator('.moves .turn button.move').allTextContents();
}

/**
 * Waits for a number of moves in the list.
 *
 * @param {Page} page
 * @param {number} count
 */
async function waitForMoves(page, count) {
  await page.waitForFunction((n) => document.querySelectorAll('.moves .turn button.move').length === n, count);
}

test('a whole game is played by dragging, until its end', () =>
  onPage(playing({}), async (page) => {
    const studio = new Studio(1);
    const seats = { white: {}, black: {} };
    const banner = page.locator('.banner');
    for (let ply = 0; !(await banner.count()); ply += 2) {
      assert.ok(ply < 300, 'the game ends');
      const played = await moves(page);
      const tree = GameTree.fromPgn(`${played.join(' ')} *`).take(0);
      tree.toEnd();
      assert.equal(tree.moves().length, ply);
      const { uci } = studio.choose('level:3', { moves: tree.moves(), ...seats }, {});
      await drag(page, uci.slice(0, 2), uci.slice(2, 4));
      if (uci.length === 5) await page.getByRole('dialog', { name: 'Promote to' }).getByRole('button', { name: 'queen' }).click();
      await page.waitForFunction(
        (n) => document.querySelectorAll('.moves .turn button.move').length >= n || document.querySelector('.banner'),
        ply + 2,
      );
    }
    assert.match(await banner.innerText(), /You win|Draw/);
    await screenshot(page, 'play-over');
    await page.getByRole('button', { name: 'Rematch' }).click();
    await page.waitForFunction(() => document.querySelector('.cg-wrap.orientation-black'));
    await waitForMoves(page, 1);
  }));

test('a premove is played when its turn comes', () =>
  onPage(playing(SLOW), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 1);
    await drag(page, 'g1', 'f3');
    await page.locator('square.current-premove').first().waitFor();
    await waitForPiece(page, 'f3', 'white knight');
    assert.equal((await moves(page))[2], 'Nf3');
  }));

test('a premove that is no longer legal is dropped', () =>
  onPage({ ...playing(SLOW), at: `#/play?fen=${encodeURIComponent('7k/8/8/8/8/8/8/R2K3r w - - 0 1')}` }, async (page) => {
    await drag(page, 'd1', 'c2');
    await drag(page, 'a1', 'h1');
    await page.locator('square.current-premove').first().waitFor();
    await waitForMoves(page, 2);
    await page.waitForFunction(() => !document.querySelector('square.current-premove:not([style*="none"])'));
  }));

for (const [name, letter] of /** @type {const} */ ([
  ['queen', 'Q'],
  ['knight', 'N'],
])) {
  test(`a pawn becomes a ${name} when one is chosen`, () =>
    onPage({ ...playing({}), at: `#/play?fen=${encodeURIComponent('8/P6k/8/8/8/8/8/K7 w - - 0 1')}` }, async (page) => {
      await drag(page, 'a7', 'a8');
      const chooser = page.getByRole('dialog', { name: 'Promote to' });
      await screenshot(page, 'play-promotion');
      await chooser.getByRole('button', { name }).click();
      await waitForPiece(page, 'a8', `white ${name}`);
      assert.equal((await moves(page))[0], `a8=${letter}`);
    }));
}

test('a promotion that is not wanted puts the pawn back', () =>
  onPage(
    { ...playing({ colour: 'black' }), at: `#/play?fen=${encodeURIComponent('k7/8/8/8/8/8/p6K/8 b - - 0 1')}` },
    async (page) => {
      await drag(page, 'a2', 'a1');
      await page.getByRole('dialog', { name: 'Promote to' }).waitFor();
      await page.keyboard.press('Escape');
      await waitForPiece(page, 'a2', 'black pawn');
      await drag(page, 'a2', 'a1');
      await page.getByRole('dialog', { name: 'Promote to' }).waitFor();
      await page.keyboard.press('r');
      await waitForPiece(page, 'a1', 'black rook');
    },
  ));

test('a premove can promote', () =>
  onPage({ ...playing(SLOW), at: `#/play?fen=${encodeURIComponent('8/PP5k/8/8/8/8/8/K7 w - - 0 1')}` }, async (page) => {
    await drag(page, 'a1', 'a2');
    await drag(page, 'a7', 'a8');
    await page.getByRole('dialog', { name: 'Promote to' }).getByRole('button', { name: 'bishop' }).click();
    await waitForPiece(page, 'a8', 'white bishop');
  }));

test('moves are taken back', () =>
  onPage(playing({}), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.getByRole('button', { name: 'Take back' }).click();
    await waitForPiece(page, 'e2', 'white pawn');
    assert.deepEqual(await moves(page), []);
    await drag(page, 'd2', 'd4');
    await waitForMoves(page, 2);
    assert.equal((await moves(page))[0], 'd4');
  }));

test('a move is taken back while the opponent thinks', () =>
  onPage(playing(SLOW), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 1);
    await page.getByRole('button', { name: 'Take back' }).click();
    await waitForPiece(page, 'e2', 'white pawn');
    // What the opponent was thinking about is not played when it is done.
    await page.waitForTimeout(2500);
    assert.deepEqual(await moves(page), []);
  }));

test('a game goes on after a reload, also while the opponent thinks', () =>
  onPage(playing(SLOW), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await drag(page, 'a2', 'a3');
    await waitForMoves(page, 3);
    const before = await moves(page);
    await page.reload();
    await waitForMoves(page, 4);
    assert.deepEqual((await moves(page)).slice(0, 3), before);
    await waitForPiece(page, 'a3', 'white pawn');
    await page.reload();
    await waitForMoves(page, 4);
    await drag(page, 'g1', 'h3');
    await waitForMoves(page, 6);
  }));

test('a flag falls', () =>
  onPage(playing({ timeControl: '2s+0' }), async (page) => {
    assert.equal(await page.getByRole('timer', { name: /White/ }).innerText(), '0:02.0');
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.getByText('You lose').waitFor();
    assert.match(await page.locator('.banner').innerText(), /time/);
    assert.equal(await page.getByRole('timer', { name: /White/ }).innerText(), '0:00.0');
  }));

test('the clock stands still after a reload until the game goes on', () =>
  onPage(playing({ timeControl: '5+3' }), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    const mine = page.getByRole('timer', { name: /White/ });
    await page.waitForFunction(() => document.querySelector('.clock.running')?.textContent !== '5:00');
    await page.reload();
    await page.getByText('The clock stands still').waitFor();
    const shown = await mine.innerText();
    await page.waitForTimeout(1500);
    assert.equal(await mine.innerText(), shown);
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.waitForFunction((text) => document.querySelector('.clock.running')?.textContent !== text, shown);
  }));

test('resigning asks once more, and the result says how it came about', () =>
  onPage(playing({}), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.getByRole('button', { name: 'Resign' }).click();
    await page.getByRole('button', { name: 'Yes, resign' }).click();
    assert.match(await page.locator('.banner').innerText(), /You lose[^]*resign[^]*0-1/);
    await page.reload();
    assert.match(await page.locator('.banner').innerText(), /You lose[^]*0-1/);
  }));

test('the moves can be walked through by keyboard while the game goes on', () =>
  onPage(playing({}), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await waitForPiece(page, 'e2', 'white pawn');
    await page.keyboard.press('End');
    await waitForPiece(page, 'e4', 'white pawn');
    await page.keyboard.press('f');
    await page.locator('.cg-wrap.orientation-black').waitFor();
  }));

test('the keyboard alone is enough to play', () =>
  onPage(playing({}), async (page) => {
    await page.locator('cg-board').waitFor();
    for (let tabs = 0; tabs < 20; tabs++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.getAttribute('role') === 'application')) break;
    }
    // The cursor begins on e2.
    await page.keyboard.press('Enter');
    assert.match(await page.locator('#announcements').innerText(), /picked up white pawn, goes to/);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await waitForMoves(page, 2);
    assert.equal((await moves(page))[0], 'e4');
    assert.match(await page.locator('#announcements').innerText(), /^Black: /);
    const field = page.getByLabel('Type a move');
    await field.fill('Nf3');
    await field.press('Enter');
    await waitForPiece(page, 'f3', 'white knight');
    await waitForMoves(page, 4);
    await field.fill('Ke5');
    await field.press('Enter');
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await field.fill('f1c4');
    await field.press('Enter');
    await waitForPiece(page, 'c4', 'white bishop');
  }));

test('a hint is an arrow', () =>
  onPage(playing({}), async (page) => {
    await page.locator('cg-board').waitFor();
    await page.getByRole('button', { name: 'Hint' }).click();
    await page.locator('.cg-shapes line').waitFor({ state: 'attached' });
    await screenshot(page, 'play-hint');
    await drag(page, 'e2', 'e4');
    await page.waitForFunction(() => !document.querySelector('.cg-shapes line'));
  }));

test('the human-like opponent answers, at a rating that is typed', () =>
  onPage({ kept: { 'play.settings': { instant: true } } }, async (page) => {
    await page.getByRole('button', { name: 'New game' }).click();
    const dialog = page.getByRole('dialog', { name: 'New game' });
    await dialog.getByLabel('Rating', { exact: true }).fill('99');
    await dialog.getByRole('button', { name: 'Play' }).click();
    await dialog.getByText('write a number from 600 to 2600').waitFor();
    await dialog.getByLabel('Rating', { exact: true }).fill('1234');
    await dialog.getByText(/asked for \d+, it shows \d+/).waitFor();
    await screenshot(page, 'play-new-game');
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Play' }).click();
    await page.getByText('Human-like 1234').waitFor();
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
  }));

/** Puts words into the opponent's mouth: what `window.answer` holds is part of each of its answers. */
function prompted() {
  Object.defineProperty(Worker.prototype, 'onmessage', {
    /** @this {Worker} @param {(event: MessageEvent) => void} listener */
    set(listener) {
      this.addEventListener('message', (event) => {
        const { result } = event.data;
        if (result && typeof result === 'object' && 'offersDraw' in result) Object.assign(result, Reflect.get(window, 'answer'));
        listener(event);
      });
    },
  });
}

/** @param {Page} page @param {object} answer */
const prompt = (page, answer) => page.evaluate((answer) => void Reflect.set(window, 'answer', answer), answer);

test('the opponent resigns', () =>
  onPage({ ...playing({}), init: prompted }, async (page) => {
    await page.locator('cg-board').waitFor();
    await prompt(page, { resigns: true });
    await drag(page, 'e2', 'e4');
    assert.match(await page.locator('.banner').innerText(), /You win[^]*resign[^]*1-0/);
    assert.deepEqual(await moves(page), ['e4'], 'it resigns instead of moving');
  }));

test('an opponent without manners neither resigns nor offers draws', () =>
  onPage({ ...playing({ manners: false }), init: prompted }, async (page) => {
    await page.locator('cg-board').waitFor();
    await prompt(page, { resigns: true, offersDraw: true });
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    assert.equal(await page.getByText('offers a draw').count(), 0);
  }));

test('the opponent offers a draw, which is declined, and another one, which is accepted', () =>
  onPage({ ...playing({}), init: prompted }, async (page) => {
    await page.locator('cg-board').waitFor();
    await prompt(page, { offersDraw: true });
    await drag(page, 'e2', 'e4');
    const call = page.getByRole('alert').filter({ hasText: 'Your opponent offers a draw.' });
    await call.getByRole('button', { name: 'Decline' }).click();
    await call.waitFor({ state: 'detached' });
    await drag(page, 'd2', 'd4');
    await waitForMoves(page, 4);
    await screenshot(page, 'play-draw-offer');
    await call.getByRole('button', { name: 'Accept' }).click();
    assert.match(await page.locator('.banner').innerText(), /Draw[^]*agree[^]*½-½/);
  }));

test('a draw that is offered is refused or accepted', () =>
  onPage(
    { ...playing({ opponent: { kind: 'human', rating: 1500, pick: 'sample' }, instant: true }), init: prompted },
    async (page) => {
      await page.locator('cg-board').waitFor();
      await prompt(page, { acceptsDraw: false, offersDraw: false, resigns: false });
      const offer = page.getByRole('button', { name: 'Offer draw' });
      assert.ok(await offer.isDisabled(), 'not before both have moved');
      await drag(page, 'e2', 'e4');
      await waitForMoves(page, 2);
      await offer.click();
      await page.getByText('Human-like 1500 plays on.').waitFor();
      assert.ok(await offer.isDisabled(), 'once a move');
      await prompt(page, { acceptsDraw: true, offersDraw: false, resigns: false });
      await drag(page, 'h2', 'h3');
      await waitForMoves(page, 4);
      await offer.click();
      assert.match(await page.locator('.banner').innerText(), /Draw[^]*agree[^]*½-½/);
    },
  ));

test('a broken model file gets a message, and the page lives on', () =>
  onPage(playing({}), async (page) => {
    await page.locator('cg-board').waitFor();
    await dropFile(page.locator('cg-board'), { name: 'broken.onnx', bytes: Buffer.from('this is no model') });
    await page.getByText('broken.onnx cannot be read as a chess model').waitFor();
    await screenshot(page, 'play-broken-model');
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
  }));

test('a chosen model file plays', () =>
  onPage(playing({}), async (page) => {
    await page.getByRole('button', { name: 'New game' }).click();
    const dialog = page.getByRole('dialog', { name: 'New game' });
    await dialog.getByRole('radio', { name: 'Model file' }).check();
    await dialog.locator('input[type=file]').setInputFiles(new URL('../../models/challenge-s.onnx', import.meta.url).pathname);
    await dialog.getByText('challenge-s.onnx').waitFor();
    await dialog.getByRole('button', { name: 'Play' }).click();
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.reload();
    await page.getByText('challenge-s.onnx').first().waitFor();
    await drag(page, 'd2', 'd4');
    await page.getByText('drop it on the page again').waitFor();
  }));

test('a draw by repetition can be claimed, and a kept game that is broken starts a new one', async () => {
  const game = { version: 1, side: 'white', setup: LEVEL_1 };
  await onPage(
    { kept: { 'play.game': { ...game, pgn: '1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 *' } } },
    async (page) => {
      await page.getByRole('button', { name: 'Claim draw' }).click();
      assert.match(await page.locator('.banner').innerText(), /Draw[^]*repetition[^]*½-½/);
    },
  );
  await onPage({ kept: { 'play.game': { ...game, pgn: '1. Qxh9 what' }, 'play.settings': 7 } }, async (page) => {
    await waitForPiece(page, 'e2', 'white pawn');
    assert.deepEqual(await moves(page), []);
  });
});

test('the game is downloaded as PGN, with clocks', () =>
  onPage(playing({ timeControl: '5+3' }), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.locator('summary').click();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download PGN' }).click(),
    ]);
    const pgn = await readFile(await download.path(), 'utf8');
    assert.match(pgn, /\[White "You"\][^]*\[Black "Level 1, Beginner"\]/);
    assert.match(pgn, /\[TimeControl "300\+3"\]/);
    assert.match(pgn, /1\. e4 \{ ?\[%clk 0:05:00/);
  }));

test('a link begins a game from its position, and a wrong one says what is wrong', () =>
  onPage({ ...playing({}), at: `#/play?fen=${encodeURIComponent('8/8/8/8/8/8/8/K7 w - - 0 1')}` }, async (page) => {
    await page.getByText('position cannot be played').waitFor();
    await waitForPiece(page, 'e2', 'white pawn');
    await page.evaluate((fen) => (location.hash = `#/play?fen=${encodeURIComponent(fen)}`), '3k4/8/8/8/8/8/4Q3/4K3 w - - 0 1');
    await waitForPiece(page, 'e2', 'white queen');
    await drag(page, 'e2', 'e5');
    await waitForMoves(page, 2);
    await page.reload();
    await waitForPiece(page, 'e5', 'white queen');
  }));

test('a finished game goes to the analysis', () =>
  onPage(playing({}), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.getByRole('button', { name: 'Resign' }).click();
    await page.getByRole('button', { name: 'Yes, resign' }).click();
    await page.getByRole('button', { name: 'Analyse this game' }).click();
    await page.waitForFunction(() => document.title === 'Analyse · Tabia');
    await page.goBack();
    await page.locator('.banner').waitFor();
  }));

test('a new game ends a long search for the old one', () =>
  onPage(playing({ opponent: { kind: 'engine', by: 'time', seconds: 60 } }), async (page) => {
    await drag(page, 'e2', 'e4');
    await page.getByText('thinking').waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'New game' }).click();
    const dialog = page.getByRole('dialog', { name: 'New game' });
    await dialog.getByRole('radio', { name: 'Challenge' }).check();
    await dialog.getByRole('radio', { name: '2 · Novice' }).check();
    await dialog.getByRole('radio', { name: 'Black' }).check();
    await dialog.getByRole('button', { name: 'Play' }).click();
    await page.locator('.cg-wrap.orientation-black').waitFor();
    await waitForMoves(page, 1);
  }));

test('without storage the page says so and plays on', () =>
  onPage(
    {
      init: () => {
        Storage.prototype.setItem = () => {
          throw new DOMException('full', 'QuotaExceededError');
        };
        Storage.prototype.getItem = () => {
          throw new DOMException('denied', 'SecurityError');
        };
      },
    },
    async (page) => {
      await page.locator('cg-board').waitFor();
      await page.locator('summary').click();
      await page.getByLabel('Moves at once').check();
      await page.getByText('storage for this page is full').waitFor();
      await drag(page, 'e2', 'e4');
      await waitForMoves(page, 2);
    },
  ));

test('a phone shows board, players and actions, and plays by touch', () =>
  onPage({ ...playing({ timeControl: '3+2' }), size: 'phone' }, async (page) => {
    await page.locator('cg-board').waitFor();
    for (const square of ['e2', 'e4']) {
      const { x, y } = await spot(page, square);
      await page.touchscreen.tap(x, y);
    }
    await waitForMoves(page, 2);
    await assertFits(page);
    await assertAccessible(page);
    await screenshot(page, 'play-phone');
    const box = await page.locator('cg-board').boundingBox();
    assert.ok(box && box.width > 300, 'the board uses the width');
    await page.getByRole('button', { name: 'New game' }).click();
    await assertFits(page);
    await screenshot(page, 'play-phone-new-game');
  }));

test('the clocks end where the board ends, whatever the width', () =>
  onPage({ ...playing({ timeControl: '3+2' }), viewport: { width: 390, height: 780 } }, async (page) => {
    const board = await page.locator('cg-board').boundingBox();
    const clock = await page.getByRole('timer').first().boundingBox();
    assert.ok(board && clock);
    assert.ok(Math.abs(board.x + board.width - clock.x - clock.width) < 1, `${JSON.stringify(board)} ${JSON.stringify(clock)}`);
    assert.ok(Math.abs(board.x - (390 - board.x - board.width)) < 1, 'the board is in the middle');
  }));

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`the page is accessible in ${colorScheme} colours`, () =>
    onPage({ ...playing({ timeControl: '10+0' }), colorScheme }, async (page) => {
      await drag(page, 'e2', 'e4');
      await waitForMoves(page, 2);
      await assertAccessible(page);
      await screenshot(page, `play-${colorScheme}`);
      assert.equal(Object.keys(await pieces(page)).length, 32);
    }));
}

test('a tablet fits', () =>
  onPage({ ...playing({}), size: 'tablet' }, async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await assertFits(page);
    await screenshot(page, 'play-tablet');
  }));
