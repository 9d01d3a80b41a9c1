import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  assertAccessible, assertFits, download, drag, moves, onPage, pieces, screenshot, squareCentre, useBrowser, waitForMoves, waitForPiece,
} from './harness.mjs';
import { Engine, GameTree, useRules } from './rules.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();
before(useRules);

/** The fastest opponent: deterministic, and without a network to download. */
const LEVEL_1 = { opponent: { kind: 'challenge', level: 1 }, colour: 'white', timeControl: 'untimed', rating: null };
/** An opponent that takes long enough to do something meanwhile. */
const SLOW = { ...LEVEL_1, opponent: { kind: 'engine', by: 'time', seconds: 1.5 } };

/** @param {object} settings @param {string} [fen] */
const playing = (settings, fen) => ({
  stored: { 'play.settings': { ...LEVEL_1, ...settings } },
  at: fen ? `#/play?fen=${encodeURIComponent(fen)}` : '#/play',
});

/**
 * Plays e2-e4 and waits for the reply.
 *
 * @param {Page} page
 */
async function openGame(page) {
  await drag(page, 'e2', 'e4');
  await waitForMoves(page, 2);
}

test('a whole game can be played by dragging', () =>
  onPage(playing({}), async (page) => {
    const engine = new Engine(1);
    const banner = page.locator('.banner');
    for (let ply = 0; !(await banner.count()); ply += 2) {
      assert.ok(ply < 300, 'the game ends');
      const played = await moves(page);
      const tree = GameTree.fromPgn(`${played.join(' ')} *`).take(0);
      tree.toEnd();
      assert.equal(tree.moves().length, ply);
      const { uci } = engine.choose('level:3', { moves: tree.moves(), white: {}, black: {} }, {});
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

test('a premove is played after the opponent’s move', () =>
  onPage(playing(SLOW), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 1);
    await drag(page, 'g1', 'f3');
    await page.locator('square.current-premove').first().waitFor();
    await waitForPiece(page, 'f3', 'white knight');
    assert.equal((await moves(page))[2], 'Nf3');
  }));

test('an illegal premove is cancelled', () =>
  onPage(playing(SLOW, '7k/8/8/8/8/8/8/R2K3r w - - 0 1'), async (page) => {
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
  test(`a pawn can be promoted to a ${name}`, () =>
    onPage(playing({}, '8/P6k/8/8/8/8/8/K7 w - - 0 1'), async (page) => {
      await drag(page, 'a7', 'a8');
      const chooser = page.getByRole('dialog', { name: 'Promote to' });
      await screenshot(page, 'play-promotion');
      await chooser.getByRole('button', { name }).click();
      await waitForPiece(page, 'a8', `white ${name}`);
      assert.equal((await moves(page))[0], `a8=${letter}`);
    }));
}

test('a promotion can be cancelled', () =>
  onPage(playing({ colour: 'black' }, 'k7/8/8/8/8/8/p6K/8 b - - 0 1'), async (page) => {
    await drag(page, 'a2', 'a1');
    await page.getByRole('dialog', { name: 'Promote to' }).waitFor();
    await page.keyboard.press('Escape');
    await waitForPiece(page, 'a2', 'black pawn');
    await drag(page, 'a2', 'a1');
    await page.getByRole('dialog', { name: 'Promote to' }).waitFor();
    await page.keyboard.press('r');
    await waitForPiece(page, 'a1', 'black rook');
  }));

test('a premove can promote', () =>
  onPage(playing(SLOW, '8/PP5k/8/8/8/8/8/K7 w - - 0 1'), async (page) => {
    await drag(page, 'a1', 'a2');
    await drag(page, 'a7', 'a8');
    await page.getByRole('dialog', { name: 'Promote to' }).getByRole('button', { name: 'bishop' }).click();
    await waitForPiece(page, 'a8', 'white bishop');
  }));

test('moves can be taken back', () =>
  onPage(playing({}), async (page) => {
    await openGame(page);
    await page.getByRole('button', { name: 'Takeback' }).click();
    await waitForPiece(page, 'e2', 'white pawn');
    assert.deepEqual(await moves(page), []);
    await drag(page, 'd2', 'd4');
    await waitForMoves(page, 2);
    assert.equal((await moves(page))[0], 'd4');
  }));

test('a takeback cancels the opponent’s search', () =>
  onPage(playing(SLOW), async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 1);
    await page.getByRole('button', { name: 'Takeback' }).click();
    await waitForPiece(page, 'e2', 'white pawn');
    await page.waitForTimeout(2500);
    assert.deepEqual(await moves(page), []);
  }));

test('a game continues after a reload, also while the opponent thinks', () =>
  onPage(playing(SLOW), async (page) => {
    await openGame(page);
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

test('the game is lost on time', () =>
  onPage(playing({ timeControl: '2s+0' }), async (page) => {
    assert.equal(await page.getByRole('timer', { name: /White/ }).innerText(), '0:02.0');
    await openGame(page);
    await page.getByText('You lose').waitFor();
    assert.match(await page.locator('.banner').innerText(), /time/);
    assert.equal(await page.getByRole('timer', { name: /White/ }).innerText(), '0:00.0');
  }));

test('the clock is paused after a reload', () =>
  onPage(playing({ timeControl: '5+3' }), async (page) => {
    await openGame(page);
    const mine = page.getByRole('timer', { name: /White/ });
    await page.waitForFunction(() => document.querySelector('.clock.running')?.textContent !== '5:00');
    await page.reload();
    const resume = page.getByRole('button', { name: 'Resume' });
    await resume.waitFor();
    const shown = await mine.innerText();
    await page.waitForTimeout(1500);
    assert.equal(await mine.innerText(), shown);
    await resume.click();
    await page.waitForFunction((text) => document.querySelector('.clock.running')?.textContent !== text, shown);
  }));

test('resigning needs a confirmation, and the finished game can be analysed', () =>
  onPage(playing({}), async (page) => {
    await openGame(page);
    await page.getByRole('button', { name: 'Resign' }).click();
    await page.getByRole('button', { name: 'Confirm resignation' }).click();
    assert.match(await page.locator('.banner').innerText(), /You lose[^]*resign[^]*0-1/);
    await page.reload();
    assert.match(await page.locator('.banner').innerText(), /You lose[^]*0-1/);
    await page.getByRole('button', { name: 'Analyse game' }).click();
    await page.waitForFunction(() => document.title === 'Analyse · Tabia');
    await page.goBack();
    await page.locator('.banner').waitFor();
  }));

test('the moves can be replayed by keyboard during the game', () =>
  onPage(playing({}), async (page) => {
    await openGame(page);
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await waitForPiece(page, 'e2', 'white pawn');
    await page.keyboard.press('End');
    await waitForPiece(page, 'e4', 'white pawn');
    await page.keyboard.press('f');
    await page.locator('.cg-wrap.orientation-black').waitFor();
  }));

test('the game can be played by keyboard', () =>
  onPage(playing({}), async (page) => {
    await page.locator('cg-board').waitFor();
    for (let tabs = 0; tabs < 20; tabs++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.getAttribute('role') === 'application')) break;
    }
    // The cursor starts on e2.
    await page.keyboard.press('Enter');
    assert.match(await page.locator('#announcements').innerText(), /white pawn selected, moves to/);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await waitForMoves(page, 2);
    assert.equal((await moves(page))[0], 'e4');
    assert.match(await page.locator('#announcements').innerText(), /^Black: /);
    const field = page.getByLabel('Enter a move');
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

test('a hint is shown as an arrow', () =>
  onPage(playing({}), async (page) => {
    await page.locator('cg-board').waitFor();
    await page.getByRole('button', { name: 'Hint' }).click();
    await page.locator('.cg-shapes line').waitFor({ state: 'attached' });
    await screenshot(page, 'play-hint');
    await drag(page, 'e2', 'e4');
    await page.waitForFunction(() => !document.querySelector('.cg-shapes line'));
  }));

test('the human-like opponent plays at the entered rating', () =>
  onPage({ stored: { 'play.settings': { instant: true } } }, async (page) => {
    await page.getByRole('button', { name: 'New game' }).click();
    const dialog = page.getByRole('dialog', { name: 'New game' });
    const rating = dialog.getByLabel('Rating', { exact: true });
    await rating.fill('99');
    await rating.blur();
    assert.equal(await rating.inputValue(), '600', 'clamped to the lowest rating');
    await rating.fill('1234');
    await dialog.getByText(/Measured strength at \d+: \d+/).waitFor();
    await dialog.getByText(/Scale: \S+/).waitFor();
    await screenshot(page, 'play-new-game');
    await assertAccessible(page);
    await dialog.getByRole('button', { name: 'Play' }).click();
    await page.getByText('Human-like 1234').waitFor();
    await openGame(page);
  }));

/** Overrides fields of the opponent's answers with those of `window.answer`. */
function overrideAnswers() {
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
const setAnswer = (page, answer) => page.evaluate((answer) => void Reflect.set(window, 'answer', answer), answer);

test('the opponent resigns', () =>
  onPage({ ...playing({}), init: overrideAnswers }, async (page) => {
    await page.locator('cg-board').waitFor();
    await setAnswer(page, { resigns: true });
    await drag(page, 'e2', 'e4');
    assert.match(await page.locator('.banner').innerText(), /You win[^]*resign[^]*1-0/);
    assert.deepEqual(await moves(page), ['e4'], 'it resigns instead of moving');
  }));

test('without human behaviour the opponent neither resigns nor offers draws', () =>
  onPage({ ...playing({ humanBehaviour: false }), init: overrideAnswers }, async (page) => {
    await page.locator('cg-board').waitFor();
    await setAnswer(page, { resigns: true, offersDraw: true });
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    assert.equal(await page.getByText('offers a draw').count(), 0);
  }));

test('draw offers of the opponent can be declined and accepted', () =>
  onPage({ ...playing({}), init: overrideAnswers }, async (page) => {
    await page.locator('cg-board').waitFor();
    await setAnswer(page, { offersDraw: true });
    await drag(page, 'e2', 'e4');
    const offer = page.getByRole('alert').filter({ hasText: 'offers a draw' });
    await offer.getByRole('button', { name: 'Decline' }).click();
    await offer.waitFor({ state: 'detached' });
    await drag(page, 'd2', 'd4');
    await waitForMoves(page, 4);
    await screenshot(page, 'play-draw-offer');
    await offer.getByRole('button', { name: 'Accept' }).click();
    assert.match(await page.locator('.banner').innerText(), /Draw[^]*agree[^]*½-½/);
  }));

test('the opponent declines or accepts a draw offer', () =>
  onPage(
    { ...playing({ opponent: { kind: 'human', rating: 1500, pick: 'sample' }, instant: true }), init: overrideAnswers },
    async (page) => {
      await page.locator('cg-board').waitFor();
      await setAnswer(page, { acceptsDraw: false, offersDraw: false, resigns: false });
      const offer = page.getByRole('button', { name: 'Offer draw' });
      assert.ok(await offer.isDisabled(), 'not before both have moved');
      await openGame(page);
      await offer.click();
      await page.getByText('Human-like 1500 declines the draw.').waitFor();
      assert.ok(await offer.isDisabled(), 'once per move');
      await setAnswer(page, { acceptsDraw: true, offersDraw: false, resigns: false });
      await drag(page, 'h2', 'h3');
      await waitForMoves(page, 4);
      await offer.click();
      assert.match(await page.locator('.banner').innerText(), /Draw[^]*agree[^]*½-½/);
    },
  ));

test('a model file plays and must be opened again after a reload', () =>
  onPage(playing({}), async (page) => {
    await page.getByRole('button', { name: 'New game' }).click();
    const dialog = page.getByRole('dialog', { name: 'New game' });
    await dialog.getByRole('radio', { name: 'Model file' }).check();
    await dialog.locator('input[type=file]').setInputFiles(new URL('../../models/challenge-s.onnx', import.meta.url).pathname);
    await dialog.getByText('challenge-s.onnx').waitFor();
    await dialog.getByRole('button', { name: 'Play' }).click();
    await openGame(page);
    await page.reload();
    await page.getByText('challenge-s.onnx').first().waitFor();
    await drag(page, 'd2', 'd4');
    await page.getByText('drop it on the page').waitFor();
  }));

const STORED_GAME = { version: 1, side: 'white', setup: LEVEL_1 };

test('a draw by repetition can be claimed', () =>
  onPage({ stored: { 'play.game': { ...STORED_GAME, pgn: '1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 *' } } }, async (page) => {
    await page.getByRole('button', { name: 'Claim draw' }).click();
    assert.match(await page.locator('.banner').innerText(), /Draw[^]*repetition[^]*½-½/);
  }));

test('an invalid stored game is replaced by a new one', () =>
  onPage({ stored: { 'play.game': { ...STORED_GAME, pgn: '1. Qxh9 what' }, 'play.settings': 7 } }, async (page) => {
    await waitForPiece(page, 'e2', 'white pawn');
    assert.deepEqual(await moves(page), []);
  }));

test('the game is downloaded as PGN, with clocks', () =>
  onPage(playing({ timeControl: '5+3' }), async (page) => {
    await openGame(page);
    await page.locator('summary').click();
    const pgn = (await download(page, 'Download PGN')).text;
    assert.match(pgn, /\[White "You"\][^]*\[Black "Level 1, Beginner"\]/);
    assert.match(pgn, /\[TimeControl "300\+3"\]/);
    assert.match(pgn, /1\. e4 \{ ?\[%clk 0:05:00/);
  }));

test('a link starts a game from its position, and an illegal one is rejected', () =>
  onPage(playing({}, '8/8/8/8/8/8/8/K7 w - - 0 1'), async (page) => {
    await page.getByText('Cannot play the game of the link').waitFor();
    await waitForPiece(page, 'e2', 'white pawn');
    await page.evaluate((fen) => (location.hash = `#/play?fen=${encodeURIComponent(fen)}`), '3k4/8/8/8/8/8/4Q3/4K3 w - - 0 1');
    await waitForPiece(page, 'e2', 'white queen');
    await drag(page, 'e2', 'e5');
    await waitForMoves(page, 2);
    await page.reload();
    await waitForPiece(page, 'e5', 'white queen');
  }));

test('a link sets opponent, colour and time control, and a mistake in it is shown', () =>
  onPage({ ...playing({}), at: '#/play?opponent=level:2&colour=black&time=5%2B3' }, async (page) => {
    await page.locator('.cg-wrap.orientation-black').waitFor();
    await page.getByText('Level 2, Novice').first().waitFor();
    await waitForMoves(page, 1);
    await page.locator('summary').click();
    assert.match((await download(page, 'Download PGN')).text, /\[TimeControl "300\+3"\]/);
    const stored = await page.evaluate(() => localStorage.getItem('tabia.play.settings') ?? '');
    assert.equal(JSON.parse(stored).opponent.level, 1, 'the settings are kept');
    await page.reload();
    await waitForMoves(page, 1);
    for (const mistake of ['opponent=level:9', 'opponent=human,elo=99', 'opponent=engine,nodes=3', 'colour=green', 'time=soon']) {
      await page.evaluate((query) => (location.hash = `#/play?${query}`), mistake);
      await page.getByText(/Cannot play the game of the link: .*(level:9|elo=99|nodes=3|green|soon)/).last().waitFor();
      await waitForMoves(page, 1);
    }
  }));

test('a new game ends a long search of the previous one', () =>
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

test('without storage a warning is shown and the game works', () =>
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
      await page.getByLabel('Move instantly').check();
      await page.getByText('storage for this page is full').waitFor();
      await openGame(page);
    },
  ));

test('the game can be played by touch on a phone', () =>
  onPage({ ...playing({ timeControl: '3+2' }), size: 'phone' }, async (page) => {
    await page.locator('cg-board').waitFor();
    for (const square of ['e2', 'e4']) {
      const { x, y } = await squareCentre(page, square);
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

test('the clocks are aligned with the board', () =>
  onPage({ ...playing({ timeControl: '3+2' }), viewport: { width: 390, height: 780 } }, async (page) => {
    const board = await page.locator('cg-board').boundingBox();
    const clock = await page.getByRole('timer').first().boundingBox();
    assert.ok(board && clock);
    assert.ok(Math.abs(board.x + board.width - clock.x - clock.width) < 1, `${JSON.stringify(board)} ${JSON.stringify(clock)}`);
    assert.ok(Math.abs(board.x - (390 - board.x - board.width)) < 1, 'the board is centred');
  }));

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`the page is accessible in ${colorScheme} colours`, () =>
    onPage({ ...playing({ timeControl: '10+0' }), colorScheme }, async (page) => {
      await openGame(page);
      await assertAccessible(page);
      await screenshot(page, `play-${colorScheme}`);
      assert.equal(Object.keys(await pieces(page)).length, 32);
    }));
}

test('the page fits a tablet', () =>
  onPage({ ...playing({}), size: 'tablet' }, async (page) => {
    await openGame(page);
    await assertFits(page);
    await screenshot(page, 'play-tablet');
  }));

test('at time odds each side has its own clock', () =>
  onPage(playing({}), async (page) => {
    await page.getByRole('button', { name: 'New game' }).click();
    await page.getByRole('radio', { name: '5+3' }).check();
    await page.getByLabel('Time odds: the opponent has').check();
    await page.getByLabel('Opponent’s minutes').fill('1');
    await screenshot(page, 'play-time-odds');
    await page.getByRole('dialog').getByRole('button', { name: 'Play', exact: true }).click();
    await page.getByRole('timer', { name: 'White’s clock' }).getByText('5:00').waitFor();
    await page.getByRole('timer', { name: 'Black’s clock' }).getByText('1:00').waitFor();
    await openGame(page);
    await page.getByText('Options and PGN').click();
    const { text } = await download(page, 'Download PGN');
    assert.match(text, /\[WhiteTimeControl "300\+3"\]/);
    assert.match(text, /\[BlackTimeControl "60\+0"\]/);
    // The same by a link.
    await page.goto(page.url().replace(/#.*/, '#/play?opponent=level:1&colour=black&time=1%2B0&opponentTime=10%2B5'));
    await page.getByRole('timer', { name: 'White’s clock' }).getByText('10:00').waitFor();
    await page.getByRole('timer', { name: 'Black’s clock' }).getByText('1:00').waitFor();
    await page.goto(page.url().replace(/#.*/, '#/play?time=untimed&opponentTime=10%2B5'));
    await page.getByRole('alert').getByText('opponentTime needs a clock').waitFor();
  }));
