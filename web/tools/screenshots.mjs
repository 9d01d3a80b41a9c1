// Takes the README's pictures of the built page: node tools/screenshots.mjs TO [NAME...]
import { mkdir, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { serve } from '../tests/site.mjs';
import { dist } from './pack.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** What one picture, and all of them, may weigh: they travel with every clone. */
const MOST_BYTES = 150_000;
const MOST_TOGETHER = 600_000;

/** The Italian game of two club players, up to where it gets interesting. */
const PGN = '1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. c3 Nf6 5. d3 d6 6. O-O O-O 7. Re1 a6 8. Bb3 Ba7 9. h3 h6 10. Nbd2 Be6 11. Nf1 Re8 *';
const MOVES =
  'e2e4-e7e5-g1f3-b8c6-f1c4-f8c5-c2c3-g8f6-d2d3-d7d6-e1g1-e8g8-f1e1-a7a6-c4b3-c5a7-h2h3-h7h6-b1d2-c8e6-d2f1-f8e8';
const HUMAN = { opponent: { kind: 'human', rating: 1500 }, timeControl: '5+3', rating: 1500, instant: true };
const GAME = { version: 1, pgn: PGN, side: 'white', setup: HUMAN, left: { white: 231, black: 207 } };

/**
 * A picture: where it is taken, on what, and what happens before.
 *
 * @typedef {object} Picture
 * @property {string} at
 * @property {{ width: number, height: number }} viewport
 * @property {'light' | 'dark'} colorScheme
 * @property {(page: Page) => Promise<void>} prepare
 */

/** @type {Record<string, Picture>} */
const PICTURES = {
  play: { at: '#/play', viewport: { width: 1100, height: 760 }, colorScheme: 'light', prepare: goOn },
  analyse: {
    at: `#/analyse?moves=${MOVES}`,
    // Wide enough for what people play to stand beside the board, curves and all.
    viewport: { width: 1280, height: 900 },
    colorScheme: 'dark',
    prepare: async (page) => {
      await page.locator('.cg-wrap piece').first().waitFor();
      await page.getByRole('checkbox', { name: 'On', exact: true }).check();
      // The curves over the ratings, and a few plies of the engine's lines.
      await page.waitForTimeout(20_000);
    },
  },
  arena: {
    at: '#/arena',
    viewport: { width: 1100, height: 1020 },
    colorScheme: 'light',
    prepare: async (page) => {
      await page.getByRole('button', { name: 'Start match' }).click();
      await page.waitForFunction(() => /[3-9] of \d+ games/.test(document.body.innerText), undefined, { timeout: 240_000 });
    },
  },
  phone: { at: '#/play', viewport: { width: 390, height: 780 }, colorScheme: 'dark', prepare: goOn },
};

/**
 * Goes on with the game that was kept, with its opponent ready.
 *
 * @param {Page} page
 */
async function goOn(page) {
  await page.locator('.cg-wrap piece').first().waitFor();
  await page.waitForFunction(() => !/loading/i.test(document.body.innerText), undefined, { timeout: 120_000 });
  await page.getByRole('button', { name: 'Go on' }).click();
}

const [to, ...chosen] = process.argv.slice(2);
if (!to) throw new Error('say where to: node tools/screenshots.mjs TO [NAME...]');
await mkdir(to, { recursive: true });
const site = await serve(dist);
const browser = await chromium.launch({
  executablePath: process.env['TABIA_CHROMIUM'] ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
let together = 0;
try {
  for (const [name, { at, viewport, colorScheme, prepare }] of Object.entries(PICTURES)) {
    const file = path.join(to, `${name}.webp`);
    if (chosen.length === 0 || chosen.includes(name)) {
      const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce', serviceWorkers: 'block' });
      const page = await context.newPage();
      await page.addInitScript(
        ([game, settings]) => {
          localStorage.setItem('tabia.play.game', JSON.stringify(game));
          localStorage.setItem('tabia.play.settings', JSON.stringify(settings));
        },
        [GAME, HUMAN],
      );
      await page.goto(site.url + at);
      await prepare(page);
      // What was clicked last is not pointed at any more.
      await page.mouse.move(0, 0);
      await page.waitForTimeout(500);
      await writeFile(file, await picture(page));
      await context.close();
    }
    const size = (await stat(file).catch(() => undefined))?.size ?? 0;
    together += size;
    console.log(`${file}: ${(size / 1000).toFixed(1)} kB`);
    if (size > MOST_BYTES) throw new Error(`${file} has ${size} bytes; ${MOST_BYTES} are allowed`);
  }
} finally {
  await browser.close();
  await site.close();
}
if (together > MOST_TOGETHER) throw new Error(`the pictures have ${together} bytes together; ${MOST_TOGETHER} are allowed`);

/**
 * What the page looks like now, as WebP, which is a quarter of a PNG.
 *
 * @param {Page} page
 */
async function picture(page) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 72 });
  return Buffer.from(data, 'base64');
}
