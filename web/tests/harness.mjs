import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../tools/browser.mjs';
import { serve } from './site.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').BrowserContextOptions} ContextOptions */

export const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const screenshots = path.join(web, 'screenshots');

export const SIZES = {
  desktop: { viewport: { width: 1280, height: 800 } },
  tablet: { viewport: { width: 820, height: 1180 }, hasTouch: true },
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
};

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serve>>} */
let site;

/**
 * Starts a browser and a server for all tests of a file.
 *
 * @param {Parameters<typeof launchBrowser>[0]} gpu
 */
export function useBrowser(gpu = 'none') {
  before(async () => {
    const dist = path.join(web, 'dist');
    assert.ok(existsSync(path.join(dist, 'index.html')), 'web/dist is missing: run npm run build first');
    site = await serve(dist);
    browser = await launchBrowser(gpu);
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });
}

/** The URL of the built page. */
export function address() {
  return site.url;
}

/**
 * Opens the page in a fresh profile and runs a test on it. Fails on console errors other than those that `allow` matches.
 * `stored` is the initial content of the browser's storage, by key.
 *
 * @param {{ at?: string, size?: keyof typeof SIZES, allow?: RegExp[], init?: () => void, stored?: Record<string, unknown> } & ContextOptions} options
 * @param {(page: Page) => Promise<void>} test
 */
export async function onPage({ at = '#/play', size = 'desktop', allow = [], init, stored, ...options }, test) {
  // Service workers are off by default, since caching all files takes time.
  const settings = { reducedMotion: 'reduce', serviceWorkers: 'block', ...options };
  const context = await browser.newContext({ ...SIZES[size], .../** @type {ContextOptions} */ (settings) });
  /** @type {string[]} */
  const errors = [];
  const report = (/** @type {string} */ text) => {
    if (!allow.some((pattern) => pattern.test(text))) errors.push(text);
  };
  context.on('weberror', (error) => report(`uncaught: ${error.error().stack ?? error.error().message}`));
  context.on('console', (message) => {
    if (message.type() === 'error') report(`console: ${message.text()}`);
  });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    if (stored)
      await page.addInitScript((entries) => {
        if (sessionStorage.getItem('tests.stored')) return;
        sessionStorage.setItem('tests.stored', 'yes');
        for (const [key, value] of Object.entries(entries)) localStorage.setItem(`tabia.${key}`, JSON.stringify(value));
      }, stored);
    if (init) await page.addInitScript(init);
    await page.goto(site.url + at);
    await test(page);
    assert.deepEqual(errors, [], 'console errors');
  } catch (error) {
    if (errors.length) console.error(errors.join('\n'));
    throw error;
  } finally {
    await context.close();
  }
}

/**
 * The centre of a square on the screen.
 *
 * @param {Page} page
 * @param {string} square
 */
export async function squareCentre(page, square) {
  const box = await page.locator('cg-board').first().boundingBox();
  assert.ok(box, 'there is a board');
  const black = await page.locator('.cg-wrap.orientation-black').count();
  const file = square.charCodeAt(0) - 97;
  const rank = square.charCodeAt(1) - 49;
  const [column, row] = black ? [7 - file, rank] : [file, 7 - rank];
  return { x: box.x + ((column + 0.5) * box.width) / 8, y: box.y + ((row + 0.5) * box.height) / 8 };
}

/**
 * Drags the piece from one square to another.
 *
 * @param {Page} page
 * @param {string} from
 * @param {string} to
 */
export async function drag(page, from, to) {
  const [start, end] = [await squareCentre(page, from), await squareCentre(page, to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2);
  await page.mouse.move(end.x, end.y);
  await page.mouse.up();
}

/**
 * The pieces as drawn on the board: `{ e4: 'white pawn' }`.
 *
 * @param {Page} page
 * @returns {Promise<Record<string, string>>}
 */
export async function pieces(page) {
  return page.locator('cg-board').first().evaluate((board) => {
    /** @type {Record<string, string>} */
    const found = {};
    for (const piece of board.querySelectorAll('piece:not(.ghost):not(.fading)')) {
      const key = /** @type {{ cgKey?: string }} */ (/** @type {unknown} */ (piece)).cgKey;
      if (key) found[key] = piece.className.replace(/ (dragging|anim)/g, '');
    }
    return found;
  });
}

/**
 * Waits until a square has a piece such as 'white pawn', or is empty (undefined).
 *
 * @param {Page} page
 * @param {string} square
 * @param {string | undefined} piece
 */
export async function waitForPiece(page, square, piece) {
  const until = Date.now() + 30_000;
  for (;;) {
    const found = (await pieces(page))[square];
    if (found === piece) return;
    if (Date.now() > until) assert.fail(`${square} holds ${found ?? 'nothing'}, expected ${piece ?? 'nothing'}`);
    await page.waitForTimeout(30);
  }
}

/**
 * The moves in the list, in SAN.
 *
 * @param {Page} page
 */
export async function moves(page) {
  return page.locator('.moves .turn button.move').allTextContents();
}

/**
 * Waits for a number of moves in the list.
 *
 * @param {Page} page
 * @param {number} count
 */
export async function waitForMoves(page, count) {
  await page.waitForFunction((n) => document.querySelectorAll('.moves .turn button.move').length === n, count);
}

/**
 * Clicks a button that downloads a file, and returns the file.
 *
 * @param {Page} page
 * @param {string} button
 */
export async function download(page, button) {
  const [started] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()]);
  return { name: started.suggestedFilename(), text: await readFile(await started.path(), 'utf8') };
}

/**
 * The path of a model file in the repository.
 *
 * @param {string} name
 */
export function fixture(name) {
  return path.join(web, '../fixtures/models', name);
}

/**
 * Drops a file on an element. Many copies of the same bytes make a large file without using memory.
 *
 * @param {import('playwright-core').Locator} target
 * @param {{ name: string, bytes: Buffer, copies?: number }} file
 */
export async function dropFile(target, { name, bytes, copies = 1 }) {
  await target.evaluate(
    (element, { name, base64, copies }) => {
      const part = new Blob([Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0))]);
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(Array(copies).fill(part), name));
      element.dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
    },
    { name, base64: bytes.toString('base64'), copies },
  );
}

/**
 * Saves a screenshot under web/screenshots, for manual inspection.
 *
 * @param {Page} page
 * @param {string} name
 */
export async function screenshot(page, name) {
  await mkdir(screenshots, { recursive: true });
  await page.screenshot({ path: path.join(screenshots, `${name}.png`) });
}

/**
 * Fails on serious accessibility problems.
 *
 * @param {Page} page
 */
export async function assertAccessible(page) {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  await page.evaluate(source);
  const problems = await page.evaluate(async () => {
    const { axe } = /** @type {{ axe: typeof import('axe-core') }} */ (/** @type {unknown} */ (window));
    const { violations } = await axe.run(document, { resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  });
  assert.deepEqual(problems, [], 'serious accessibility problems');
}

/**
 * Fails if a control is too small for touch. Links and moves within text are exempt.
 *
 * @param {Page} page
 */
export async function assertTouchable(page) {
  const small = await page.evaluate(() => {
    const controls = 'button, a[href], select, summary, input:not([type=radio], [type=checkbox]), label:has([type=radio], [type=checkbox])';
    const exempt = '.visually-hidden, .skip, p a, .variation .move, ol[aria-label="Engine lines"] .move';
    return [...document.querySelectorAll(controls)].flatMap((element) => {
      const { width, height } = element.getBoundingClientRect();
      if (width === 0 || element.matches(exempt) || (width >= 40 && height >= 40)) return [];
      return [`${element.tagName} “${element.getAttribute('aria-label') ?? element.textContent?.trim()}”: ${width} × ${height}`];
    });
  });
  assert.deepEqual(small, [], 'controls too small for touch');
}

/**
 * Fails if the page scrolls sideways.
 *
 * @param {Page} page
 */
export async function assertFits(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok((content ?? 0) <= (window ?? 0), `the page is ${content} px wide in a window of ${window} px`);
}
