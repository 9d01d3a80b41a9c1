import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
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

/** Starts one browser and one server for all tests of a file. */
export function useBrowser() {
  before(async () => {
    const dist = path.join(web, 'dist');
    assert.ok(existsSync(path.join(dist, 'index.html')), 'there is no web/dist: run npm run build first');
    site = await serve(dist);
    browser = await chromium.launch({
      executablePath: process.env['TABIA_CHROMIUM'] ?? '/usr/bin/chromium',
      args: [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });
}

/** The address the built page is served under. */
export function address() {
  return site.url;
}

/**
 * Opens the page in a fresh profile, runs a test on it and fails if the page has complained meanwhile.
 *
 * `allow` lists what the console may say: the errors a test provokes on purpose. `kept` is what an earlier visit has kept
 * in the browser's storage, by key.
 *
 * @param {{ at?: string, size?: keyof typeof SIZES, allow?: RegExp[], init?: () => void, kept?: Record<string, unknown> } & ContextOptions} options
 * @param {(page: Page) => Promise<void>} test
 */
export async function onPage({ at = '#/play', size = 'desktop', allow = [], init, kept, ...options }, test) {
  // Fetching everything for use without a network takes time: tests that need it ask for it.
  const settings = { reducedMotion: 'reduce', serviceWorkers: 'block', ...options };
  const context = await browser.newContext({ ...SIZES[size], .../** @type {ContextOptions} */ (settings) });
  /** @type {string[]} */
  const complaints = [];
  const complain = (/** @type {string} */ text) => {
    if (!allow.some((pattern) => pattern.test(text))) complaints.push(text);
  };
  context.on('weberror', (error) => complain(`uncaught: ${error.error().stack ?? error.error().message}`));
  context.on('console', (message) => {
    if (message.type() === 'error') complain(`console: ${message.text()}`);
  });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    if (kept)
      await page.addInitScript((entries) => {
        if (sessionStorage.getItem('tests.kept')) return;
        sessionStorage.setItem('tests.kept', 'yes');
        for (const [key, value] of Object.entries(entries)) localStorage.setItem(`tabia.${key}`, JSON.stringify(value));
      }, kept);
    if (init) await page.addInitScript(init);
    await page.goto(site.url + at);
    await test(page);
    assert.deepEqual(complaints, [], 'the page complained');
  } catch (error) {
    if (complaints.length) console.error(complaints.join('\n'));
    throw error;
  } finally {
    await context.close();
  }
}

/**
 * The middle of a square on the screen.
 *
 * @param {Page} page
 * @param {string} square
 */
export async function spot(page, square) {
  const board = page.locator('cg-board').first();
  const box = await board.boundingBox();
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
  const [start, end] = [await spot(page, from), await spot(page, to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, (start.y + end.y) / 2);
  await page.mouse.move(end.x, end.y);
  await page.mouse.up();
}

/**
 * What stands where on the board, as the eye sees it: `{ e4: 'white pawn' }`.
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
 * Waits until a square holds a piece, as 'white pawn', or is empty (undefined).
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
 * Drops a file on an element. A file of many copies of its bytes is large without taking memory.
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
 * Saves what the page looks like under web/screenshots, for people.
 *
 * @param {Page} page
 * @param {string} name
 */
export async function screenshot(page, name) {
  await mkdir(screenshots, { recursive: true });
  await page.screenshot({ path: path.join(screenshots, `${name}.png`) });
}

/**
 * Fails on serious accessibility problems of what is on the page now.
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
 * Fails if something to press is too small for a finger. Links and moves within a text are spared.
 *
 * @param {Page} page
 */
export async function assertTouchable(page) {
  const small = await page.evaluate(() => {
    const pressed = 'button, a[href], select, summary, input:not([type=radio], [type=checkbox]), label:has([type=radio], [type=checkbox])';
    const spared = '.unseen, .skip, p a, .variation .move, ol[aria-label^="Lines"] .move';
    return [...document.querySelectorAll(pressed)].flatMap((element) => {
      const { width, height } = element.getBoundingClientRect();
      if (width === 0 || element.matches(spared) || (width >= 40 && height >= 40)) return [];
      return [`${element.tagName} “${element.getAttribute('aria-label') ?? element.textContent?.trim()}”: ${width} × ${height}`];
    });
  });
  assert.deepEqual(small, [], 'too small for a finger');
}

/**
 * Fails if the page scrolls sideways.
 *
 * @param {Page} page
 */
export async function assertFits(page) {
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok((wide ?? 0) <= (seen ?? 0), `the page is ${wide} px wide in a window of ${seen} px`);
}
