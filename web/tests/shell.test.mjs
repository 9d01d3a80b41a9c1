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

test('everything to press on a phone is large enough for a finger', () =>
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
      ['#/training', 'canvas'],
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
  test(`the words on buttons keep their spaces at ${width} px`, () =>
    onPage({ at: '#/analyse', viewport: { width, height: 800 } }, async (page) => {
      const edit = page.getByRole('button', { name: 'Edit board' });
      await edit.waitFor();
      await page.getByRole('link', { name: 'Play from here' }).waitFor();
      // As they are drawn, with what is for screen readers only left out.
      const drawn = width > 720 ? 'Edit board' : 'Edit';
      const [wide, needed] = await edit.evaluate((button, text) => {
        const shown = button.querySelector('span');
        const free = document.createElement('span');
        free.textContent = text;
        free.style.cssText = `position: fixed; white-space: pre; font: ${getComputedStyle(button).font}`;
        document.body.append(free);
        return [shown?.getBoundingClientRect().width ?? 0, free.getBoundingClientRect().width];
      }, drawn);
      assert.ok(Math.abs(wide - needed) < 1, `“${drawn}” takes ${needed} px, the button’s words ${wide} px`);
    }));
}

test('the colours can be chosen and stay chosen', () =>
  onPage({ colorScheme: 'light' }, async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await ground();
    await page.getByRole('button', { name: /Change to light/ }).click();
    await page.getByRole('button', { name: /Change to dark/ }).click();
    const dark = await ground();
    assert.notEqual(light, dark);
    await page.reload();
    assert.equal(await ground(), dark);
    await page.getByRole('button', { name: /Change to as the system/ }).click();
    assert.equal(await ground(), light);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.waitForFunction(
      (dark) => getComputedStyle(document.documentElement).backgroundColor === dark,
      dark,
    );
  }));

test('a page begins at its top', () =>
  onPage({ at: '#/analyse' }, async (page) => {
    const board = page.locator('cg-board');
    await board.waitFor();
    await page.evaluate(() => window.scrollTo(0, 60));
    const pages = page.getByRole('navigation', { name: 'Pages' });
    // Both are higher than the window: the focus on their content alone would move the header away.
    for (const name of ['Arena', 'Analyse']) {
      await pages.getByRole('link', { name }).click();
      await page.waitForFunction(() => document.activeElement?.id === 'main');
      await page.waitForFunction((name) => document.title.startsWith(name) && document.querySelector('h1')?.textContent === name, name);
      assert.equal(await page.evaluate(() => window.scrollY), 0, name);
      await page.evaluate(() => window.scrollTo(0, 60));
    }
  }));

test('the keyboard skips the navigation', () =>
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
