import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { listFiles } from '../tools/precache.mjs';
import { address, drag, onPage, useBrowser, waitForPiece, web } from './harness.mjs';
import { serve } from './site.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const dist = path.join(web, 'dist');
/** What the console says of every request while there is no network. */
const NO_NETWORK = [/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_FAILED/];

/**
 * Opens the page from a server of the test's own, with what an offline page needs.
 *
 * @param {{ allow?: RegExp[] }} options
 * @param {(page: Page, site: Awaited<ReturnType<typeof serve>>) => Promise<void>} run
 */
async function onOwnSite({ allow = [] }, run) {
  const site = await serve(dist);
  try {
    await onPage({ serviceWorkers: 'allow', allow }, async (page) => {
      await page.goto(site.url);
      await run(page, site);
    });
  } finally {
    await site.close();
  }
}

/**
 * Waits until the page is kept whole.
 *
 * @param {Page} page
 */
async function untilKept(page) {
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
}

/**
 * The next version of the page: one of its lazy parts changed, and so did its name. The caller removes it.
 *
 * @param {string} part
 */
async function nextVersion(part) {
  const folder = await mkdtemp(path.join(tmpdir(), 'tabia-page-'));
  await cp(dist, folder, { recursive: true });
  const assets = path.join(folder, 'assets');
  const names = await readdir(assets);
  const old = names.find((name) => name.startsWith(`${part}-`) && name.endsWith('.js'));
  assert.ok(old, `there is a part ${part}`);
  const fresh = `${part}-Changed1.js`;
  await rename(path.join(assets, old), path.join(assets, fresh));
  for (const name of await readdir(assets)) {
    if (!name.endsWith('.js')) continue;
    const file = path.join(assets, name);
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(old, fresh));
  }
  await listFiles(folder);
  return { folder, old, fresh };
}

/**
 * Waits until a page has fetched the asset of this name: its title is there before its script is.
 *
 * @param {Page} page
 * @param {string} asset
 */
async function untilFetched(page, asset) {
  await page.waitForFunction((asset) => performance.getEntriesByType('resource').some(({ name }) => name.endsWith(`/${asset}`)), asset);
}

test('without network and server the page opens and a game goes on', () =>
  onOwnSite({ allow: NO_NETWORK }, async (page, site) => {
    await untilKept(page);
    await page.context().setOffline(true);
    await site.close();
    await page.reload();
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    // The human player answers: its network came along.
    await page.waitForFunction(() => document.querySelectorAll('.moves .turn button.move').length === 2);
    // Parts that were never opened are there too.
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Analyse' }).click();
    await page.waitForFunction(() => document.title === 'Analyse · Tabia');
    await page.goto(`${site.url}#/play`);
    await page.reload();
    await waitForPiece(page, 'e4', 'white pawn');
  }));

test('everything the page needs is kept, and not what only some need', () =>
  onOwnSite({}, async (page) => {
    await untilKept(page);
    const kept = await page.evaluate(async () => {
      const names = await caches.keys();
      const cache = await caches.open(names[0] ?? '');
      return { versions: names.length, paths: (await cache.keys()).map(({ url }) => new URL(url).pathname.slice(1)) };
    });
    assert.equal(kept.versions, 1);
    for (const name of ['index.html', 'models/human.safetensors', 'models/value.safetensors', 'manifest.webmanifest'])
      assert.ok(kept.paths.includes(name), `${name} is kept`);
    const parts = (await readdir(path.join(dist, 'assets'))).filter((name) => /\.(js|css|svg)$/.test(name));
    for (const name of parts) assert.ok(kept.paths.includes(`assets/${name}`), `${name} is kept`);
    // The page and its worker choose the same build of the module.
    assert.equal(kept.paths.filter((name) => name.endsWith('.wasm')).length, 1, 'one build of the module is kept');
    assert.ok(!kept.paths.some((name) => name.startsWith('models/challenge')), 'rare networks are not');
  }));

test('a new version waits, and takes nothing from a game in progress', () =>
  onOwnSite({}, async (page, site) => {
    await untilKept(page);
    await drag(page, 'd2', 'd4');
    await waitForPiece(page, 'd4', 'white pawn');
    const { folder, old, fresh } = await nextVersion('Training');
    try {
      site.switchTo(folder);
      await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update());
      const notice = page.getByRole('status').filter({ hasText: 'A new version is ready' });
      await notice.waitFor();
      // The server has only the new files; the page that is open finds its own.
      await waitForPiece(page, 'd4', 'white pawn');
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Training' }).click();
      await page.waitForFunction(() => document.title === 'Training · Tabia');
      await untilFetched(page, old);

      // Another page asks for the new version; this one keeps its files even then.
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Play' }).click();
      const other = await page.context().newPage();
      await other.goto(site.url);
      // A file asked for while the old worker ends wakes it again, and one that is being watched as here then never ends.
      await other.waitForLoadState('networkidle');
      await other.evaluate(() => {
        const look = () => document.querySelector('[role=status]')?.textContent?.includes('Changing to the new') && sessionStorage.setItem('tests.told', 'yes');
        new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
      });
      await Promise.all([other.waitForEvent('load'), other.getByRole('button', { name: 'Reload' }).click()]);
      assert.equal(await other.evaluate(() => sessionStorage.getItem('tests.told')), 'yes', 'the page says what it waits for');
      await other.goto(`${site.url}#/training`);
      await other.waitForFunction(() => document.title === 'Training · Tabia');
      await untilFetched(other, fresh);
      assert.equal(await page.evaluate(async (name) => (await fetch(`./assets/${name}`)).status, old), 200);
      await waitForPiece(page, 'd4', 'white pawn');
      await other.close();

      // When the visitor says so, this one becomes new too, with the game on its board.
      await page.getByRole('button', { name: 'Reload' }).click();
      await page.waitForFunction(() => !document.querySelector('[role=status] button'));
      await waitForPiece(page, 'd4', 'white pawn');
      // Opened alone, the page drops what only the old version needed.
      const { url } = site;
      await page.goto('about:blank');
      await page.goto(url);
      await page.waitForFunction(async () => (await caches.keys()).length === 1);
    } finally {
      await rm(folder, { recursive: true });
    }
  }));

test('without room the page works and says that it is not kept', () =>
  onOwnSite({ allow: [/Quota/] }, async (page, site) => {
    // A fresh origin, because the first page may have been kept already.
    const full = await serve(dist);
    try {
      const session = await page.context().newCDPSession(page);
      await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(full.url).origin, quotaSize: 1_000_000 });
      await page.goto(full.url);
      await page.getByText('no room to keep this page').waitFor();
      await drag(page, 'e2', 'e4');
      await waitForPiece(page, 'e4', 'white pawn');
      assert.equal(await page.evaluate(async () => (await caches.keys()).length), 0, 'nothing is left half');
      await page.goto(site.url);
    } finally {
      await full.close();
    }
  }));

test('the page can be installed as an app', () =>
  onPage({}, async (page) => {
    const session = await page.context().newCDPSession(page);
    const { url, errors, data } = await session.send('Page.getAppManifest');
    assert.match(url, /manifest\.webmanifest$/);
    assert.deepEqual(errors, []);
    const { icons } = /** @type {{ icons: { src: string, sizes: string, type: string }[] }} */ (JSON.parse(data ?? '{}'));
    for (const { src, sizes, type } of icons) {
      const [status, found, width] = await page.evaluate(async (address) => {
        const response = await fetch(address);
        const bitmap = response.headers.get('Content-Type') === 'image/png' ? await createImageBitmap(await response.blob()) : undefined;
        return [response.status, response.headers.get('Content-Type'), bitmap?.width];
      }, src);
      assert.deepEqual([status, found], [200, type], src);
      if (width !== undefined) assert.equal(`${width}x${width}`, sizes);
    }
    const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
    assert.deepEqual(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'), []);
  }));

test('where the build with relaxed SIMD cannot be had, the plain one plays', () =>
  onPage({ allow: [/Failed to load resource/], at: '#/training' }, async (page) => {
    /** @type {string[]} */
    const refused = [];
    await page.route(/relaxed.*\.wasm$/, (route) => {
      refused.push(route.request().url());
      return route.fulfill({ status: 404 });
    });
    await page.goto('about:blank');
    await page.goto(address());
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    await page.waitForFunction(() => document.querySelectorAll('.moves .turn button.move').length === 2);
    assert.equal(refused.length, 1);
  }));
