// Takes the README's screenshots of the built page: node tools/screenshots.mjs TO [NAME...]
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { serve } from '../tests/site.mjs';
import { launchBrowser } from './browser.mjs';
import { dist } from './pack.mjs';

/** @typedef {import('playwright-core').Page} Page */

/** Size limits of one screenshot and of all of them, since they are part of the repository. */
const MAX_BYTES = 150_000;
const MAX_TOTAL_BYTES = 600_000;

/** An Italian Game. */
const PGN = '1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. c3 Nf6 5. d3 d6 6. O-O O-O 7. Re1 a6 8. Bb3 Ba7 9. h3 h6 10. Nbd2 Be6 11. Nf1 Re8 *';
const MOVES =
  'e2e4-e7e5-g1f3-b8c6-f1c4-f8c5-c2c3-g8f6-d2d3-d7d6-e1g1-e8g8-f1e1-a7a6-c4b3-c5a7-h2h3-h7h6-b1d2-c8e6-d2f1-f8e8';
const HUMAN = { opponent: { kind: 'human', rating: 1500 }, timeControl: '5+3', rating: 1500, instant: true };
const GAME = { version: 1, pgn: PGN, side: 'white', setup: HUMAN, left: { white: 231, black: 207 } };

/**
 * @typedef {object} Screenshot
 * @property {string} at
 * @property {{ width: number, height: number }} viewport
 * @property {'light' | 'dark'} colorScheme
 * @property {(page: Page) => Promise<void>} prepare
 */

/** @type {Record<string, Screenshot>} */
const SCREENSHOTS = {
  play: { at: '#/play', viewport: { width: 1100, height: 760 }, colorScheme: 'light', prepare: resume },
  analyse: {
    at: `#/analyse?moves=${MOVES}`,
    // Wide enough for three columns.
    viewport: { width: 1280, height: 900 },
    colorScheme: 'dark',
    prepare: async (page) => {
      await page.locator('.cg-wrap piece').first().waitFor();
      await page.getByRole('checkbox', { name: 'On', exact: true }).check();
      // For the curves and some depth of the engine.
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
  games: {
    at: '#/practice?view=games',
    viewport: { width: 1000, height: 820 },
    colorScheme: 'light',
    prepare: async (page) => {
      // Games of several people of about the same rating, as if they were one.
      const games = gunzipSync(await readFile(fileURLToPath(new URL('games.pgn.gz', import.meta.url))));
      await page.getByLabel('PGN files of your games').setInputFiles({ name: 'games.pgn', mimeType: 'text/plain', buffer: games });
      await page.getByText('All your games are reviewed.').waitFor({ timeout: 600_000 });
      await page.getByRole('heading', { name: 'What your games say' }).evaluate((heading) => heading.scrollIntoView());
    },
  },
  phone: { at: '#/play', viewport: { width: 390, height: 780 }, colorScheme: 'dark', prepare: resume },
};

/**
 * Resumes the stored game.
 *
 * @param {Page} page
 */
async function resume(page) {
  await page.locator('.cg-wrap piece').first().waitFor();
  await page.waitForFunction(() => !/loading/i.test(document.body.innerText), undefined, { timeout: 120_000 });
  await page.getByRole('button', { name: 'Resume' }).click();
}

const [to, ...chosen] = process.argv.slice(2);
if (!to) throw new Error('usage: node tools/screenshots.mjs TO [NAME...]');
await mkdir(to, { recursive: true });
const site = await serve(dist);
const browser = await launchBrowser();
let total = 0;
try {
  for (const [name, { at, viewport, colorScheme, prepare }] of Object.entries(SCREENSHOTS)) {
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
      // Remove the hover state of the last click.
      await page.mouse.move(0, 0);
      await page.waitForTimeout(500);
      await writeFile(file, await capture(page));
      await context.close();
    }
    const size = (await stat(file).catch(() => undefined))?.size ?? 0;
    total += size;
    console.log(`${file}: ${(size / 1000).toFixed(1)} kB`);
    if (size > MAX_BYTES) throw new Error(`${file} has ${size} bytes (at most ${MAX_BYTES})`);
  }
} finally {
  await browser.close();
  await site.close();
}
if (total > MAX_TOTAL_BYTES) throw new Error(`the screenshots have ${total} bytes (at most ${MAX_TOTAL_BYTES})`);

/**
 * A screenshot as WebP, a quarter of the size of a PNG.
 *
 * @param {Page} page
 */
async function capture(page) {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 72 });
  return Buffer.from(data, 'base64');
}
