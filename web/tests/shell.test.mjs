import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertFits, assertTouchable, onPage, SIZES, useBrowser } from './harness.mjs';
import { Runs, withServer } from './server.mjs';

useBrowser();

for (const size of /** @type {(keyof typeof SIZES)[]} */ (Object.keys(SIZES))) {
  test(`every page opens from the navigation on a ${size}`, () =>
    onPage({ size }, async (page) => {
      for (const name of ['Analyse', 'Arena', 'Challenge', 'Data', 'Training', 'Play']) {
        await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
        await page.waitForURL(`**/#/${name.toLowerCase()}`);
        await page.waitForFunction((title) => document.title === title, `${name} · Tabia`);
        await assertFits(page);
      }
    }));
}

test('controls on a phone are large enough for touch', () =>
  onPage({ size: 'phone' }, async (page) => {
    const runs = new Runs();
    runs.train('first', 0, 600);
    /** @type {[string, string][]} */
    const pages = [
      ['#/play', 'cg-board'],
      [`#/analyse?pgn=${encodeURIComponent('1. e4 e5 2. Nf3 (2. d4 exd4) Nc6 *')}`, 'button.bar'],
      ['#/arena', 'form button.primary:enabled'],
      ['#/challenge', 'summary'],
      ['#/data', 'cg-board'],
      ['#/training', 'path.curve'],
    ];
    for (const [at, ready] of pages) {
      await withServer(page, at, runs);
      await page.locator(ready).first().waitFor();
      const closed = page.locator('details:not([open]) > summary');
      while (await closed.count()) await closed.first().click();
      await assertTouchable(page);
      await assertFits(page);
    }
  }));

for (const width of [1280, 1100, 768, 360]) {
  test(`button labels are not squeezed at ${width} px`, () =>
    onPage({ at: '#/analyse', viewport: { width, height: 800 } }, async (page) => {
      const edit = page.getByRole('button', { name: 'Edit board' });
      await edit.waitFor();
      await page.getByRole('link', { name: 'Play from here' }).waitFor();
      // The visible part of the label.
      const drawn = width > 720 ? 'Edit board' : 'Edit';
      const [wide, needed] = await edit.evaluate((button, text) => {
        const shown = button.querySelector('span');
        const free = document.createElement('span');
        free.textContent = text;
        free.style.cssText = `position: fixed; white-space: pre; font: ${getComputedStyle(button).font}`;
        document.body.append(free);
        return [shown?.getBoundingClientRect().width ?? 0, free.getBoundingClientRect().width];
      }, drawn);
      assert.ok(Math.abs(wide - needed) < 1, `“${drawn}” needs ${needed} px and has ${wide} px`);
    }));
}

test('the chosen theme is stored', () =>
  onPage({ colorScheme: 'light' }, async (page) => {
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await background();
    await page.getByRole('button', { name: /Switch to light/ }).click();
    await page.getByRole('button', { name: /Switch to dark/ }).click();
    const dark = await background();
    assert.notEqual(light, dark);
    await page.reload();
    assert.equal(await background(), dark);
    await page.getByRole('button', { name: /Switch to system/ }).click();
    assert.equal(await background(), light);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(
      (dark) => getComputedStyle(document.documentElement).backgroundColor === dark,
      dark,
    );
  }));

test('navigation scrolls to the top', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    const board = page.locator('cg-board');
    await board.waitFor();
    await page.evaluate(() => window.scrollTo(0, 60));
    const pages = page.getByRole('navigation', { name: 'Pages' });
    // Both pages are taller than the window.
    for (const name of ['Arena', 'Analyse']) {
      await pages.getByRole('link', { name }).click();
      await page.waitForFunction(() => document.activeElement?.id === 'main');
      await page.waitForFunction((name) => document.title.startsWith(name) && document.querySelector('h1')?.textContent === name, name);
      assert.equal(await page.evaluate(() => window.scrollY), 0, name);
      await page.evaluate(() => window.scrollTo(0, 60));
    }
  }));

test('the skip link moves the focus to the content', () =>
  onPage({}, async (page) => {
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'main');
    assert.match(page.url(), /#\/play$/);
  }));

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`the shell is accessible in ${colorScheme} colours`, () =>
    onPage({ colorScheme, at: '#/training' }, async (page) => {
      await page.waitForFunction(() => document.title === 'Training · Tabia');
      await assertAccessible(page);
    }));
}
