import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, assertFits, onPage, SIZES, useBrowser } from './harness.mjs';

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
    assert.equal(await ground(), dark);
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
