import assert from 'node:assert/strict';
import { test } from 'node:test';
import { address, assertAccessible, assertFits, drag, onPage, pieces, screenshot, useBrowser, waitForMoves, waitForPiece } from './harness.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const DRILLS = '#/practice?view=drills';
const PUZZLES = '#/practice?view=puzzles';
const MATE = '6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1';

/** @param {Record<string, string>} query */
const drill = (query) => `#/play?${new URLSearchParams({ opponent: 'level:1', colour: 'white', time: 'untimed', ...query })}`;

test('a drill is won, counted and comes back later', () =>
  onPage({ at: drill({ fen: MATE, task: 'win', limit: '10', name: 'Back rank' }) }, async (page) => {
    await page.getByText('Win within 10 moves.').waitFor();
    await drag(page, 'a1', 'a8');
    await page.getByText('Done').first().waitFor();
    await page.getByText(/Again in \d+ days?/).waitFor();
    await screenshot(page, 'drill-done');
    // It is not counted again.
    await page.reload();
    await page.getByText('You win').waitFor();
    await page.getByRole('link', { name: 'All drills' }).click();
    const own = page.getByRole('region', { name: 'Your positions' }).locator('tr').last();
    assert.match(await own.innerText(), /Back rank\s+win, 10 moves\s+1 of 1\s+in \d+ days?/);
    await own.getByRole('button', { name: 'Start Back rank' }).click();
    await waitForPiece(page, 'a1', 'white rook');
  }));

test('a drill without a win in time fails, and can be played again', () =>
  onPage({ at: drill({ fen: MATE, task: 'win', limit: '1', name: 'Slow' }) }, async (page) => {
    await drag(page, 'a1', 'a7');
    await page.getByText('Not done: no win in 1 moves').waitFor();
    await page.getByText(/Again in \d+ minutes/).waitFor();
  }));

test('a draw is held for some moves', () =>
  onPage({ at: drill({ fen: '4k3/8/8/8/8/8/4P3/4K3 b - - 0 1', colour: 'black', task: 'draw', limit: '2', name: 'Hold' }) }, async (page) => {
    await page.getByText('Do not lose within 2 moves.').waitFor();
    await drag(page, 'e8', 'e7');
    await waitForMoves(page, 2);
    await drag(page, 'e7', 'e6');
    await page.getByText('Done: held for 2 moves').waitFor();
  }));

test('drills are listed, and a position comes from Analyse', () =>
  onPage({ at: `#/analyse?fen=${encodeURIComponent(MATE)}` }, async (page) => {
    await page.getByRole('link', { name: 'Drill from here' }).click();
    assert.equal(await page.getByLabel('FEN').inputValue(), MATE);
    assert.ok((await page.getByRole('button', { name: /^Start / }).count()) >= 20);
    await assertAccessible(page);
    await screenshot(page, 'drills');
    await page.getByLabel('FEN').fill('nonsense');
    await page.getByRole('button', { name: 'Start this position' }).click();
    await page.getByRole('alert').getByText('Invalid FEN').waitFor();
    await page.getByRole('button', { name: /^Lucena.s position/ }).click();
    await waitForPiece(page, 'b7', 'white pawn');
    await page.getByRole('button', { name: 'Start', exact: true }).first().click();
    await page.getByText('Win within 40 moves.').waitFor();
    await waitForPiece(page, 'c1', 'white rook');
  }));

test('drills fit a phone', () =>
  onPage({ at: DRILLS, size: 'phone', colorScheme: 'dark' }, async (page) => {
    await page.getByText('Rook endgames').first().waitFor();
    await assertFits(page);
    await screenshot(page, 'drills-phone');
  }));

const ROW =
  '00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1760,76,95,6915,crushing hangingPiece,https://lichess.org/787zsVup/black#48,';
const TABLE = `PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n${ROW}\n`;

/** @param {Page} page @param {string} text @param {string} [name] */
async function openPuzzles(page, text, name = 'lichess_db_puzzle.csv') {
  await page.getByLabel('Puzzle file').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
}

test('a puzzle of a file is solved move by move', () =>
  onPage({ at: PUZZLES }, async (page) => {
    await page.getByText('Sample: 198 puzzles').waitFor();
    await openPuzzles(page, TABLE);
    await page.getByText('1 of 1 puzzles were chosen').waitFor();
    // After the opponent's move.
    await waitForPiece(page, 'g3', 'black bishop');
    await drag(page, 'e6', 'e7');
    await waitForPiece(page, 'b1', 'black queen');
    await drag(page, 'b3', 'c1');
    await waitForPiece(page, 'c1', 'black queen');
    await drag(page, 'h6', 'c1');
    await page.getByRole('heading', { name: 'Solved' }).waitFor();
    await page.getByText('Rated 1760: crushing, hanging piece').waitFor();
    await page.getByText('1 of 1 solved at once').waitFor();
    await assertAccessible(page);
    // The choice is kept.
    await page.reload();
    await page.getByText('lichess_db_puzzle.csv: 1 puzzles').waitFor();
  }));

test('a failed puzzle becomes a card', () =>
  onPage({ at: PUZZLES }, async (page) => {
    await page.getByText('Sample: 198 puzzles').waitFor();
    await screenshot(page, 'puzzles');
    await openPuzzles(page, TABLE);
    await waitForPiece(page, 'g3', 'black bishop');
    await drag(page, 'h6', 'f6');
    await page.getByRole('heading', { name: 'Not the move' }).waitFor();
    await page.getByText('Added to your cards.').waitFor();
    await page.getByRole('button', { name: 'Show the solution' }).click();
    await page.getByText('Rxe7 Qb1+ Nc1 Qxc1+ Qxc1').waitFor();
    await page.goto(`${address()}#/practice`);
    await page.getByRole('button', { name: 'Practise' }).click();
    await waitForPiece(page, 'e6', 'white rook');
    await drag(page, 'e6', 'e7');
    await page.getByRole('heading', { name: 'Correct' }).waitFor();
    await page.getByText('Puzzle 00008, rated 1760').waitFor();
  }));

test('what is no file of puzzles is refused', () =>
  onPage({ at: PUZZLES }, async (page) => {
    await page.getByText('Sample: 198 puzzles').waitFor();
    await openPuzzles(page, 'hello\n', 'notes.txt');
    await page.getByRole('alert').getByText('Cannot read notes.txt').waitFor();
    await openPuzzles(page, '(\u00b5/\u00fd', 'x.zst');
    await page.getByRole('alert').getByText('Cannot read x.zst').waitFor();
    await page.getByText('Sample: 198 puzzles').waitFor();
    assert.ok(Object.keys(await pieces(page)).length > 2);
  }));
