import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { listFiles } from '../tools/precache.mjs';
import { address, drag, onPage, useBrowser, waitForMoves, waitForPiece, web } from './harness.mjs';
import { serve } from './site.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();

const dist = path.join(web, 'dist');
/** Console errors of requests while offline. */
const NO_NETWORK = [/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION_REFUSED|ERR_FAILED/];

/**
 * Opens the page on its own server, with service workers.
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
 * Waits until all files are cached.
 *
 * @param {Page} page
 */
async function untilCached(page) {
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
}

/**
 * Creates a new version of the page in which one chunk has another name. The caller removes the folder.
 *
 * @param {string} part
 */
async function nextVersion(part) {
  const folder = await mkdtemp(path.join(tmpdir(), 'tabia-page-'));
  await cp(dist, folder, { recursive: true });
  const assets = path.join(folder, 'assets');
  const names = await readdir(assets);
  const old = names.find((name) => name.startsWith(`${part}-`) && name.endsWith('.js'));
  assert.ok(old, `there is a chunk ${part}`);
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
 * Waits until a page has fetched an asset. The title is set before the script is loaded.
 *
 * @param {Page} page
 * @param {string} asset
 */
async function untilFetched(page, asset) {
  await page.waitForFunction((asset) => performance.getEntriesByType('resource').some(({ name }) => name.endsWith(`/${asset}`)), asset);
}

test('the page opens and plays offline', () =>
  onOwnSite({ allow: NO_NETWORK }, async (page, site) => {
    await untilCached(page);
    await page.context().setOffline(true);
    await site.close();
    await page.reload();
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    // The human network is cached.
    await waitForMoves(page, 2);
    // Pages that were never opened are cached too.
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Analyse' }).click();
    await page.waitForFunction(() => document.title === 'Analyse · Tabia');
    await page.goto(`${site.url}#/play`);
    await page.reload();
    await waitForPiece(page, 'e4', 'white pawn');
  }));

test('all files are cached except rarely used networks and what needs a server', () =>
  onOwnSite({}, async (page) => {
    await untilCached(page);
    const { versions, paths } = await page.evaluate(async () => {
      const names = await caches.keys();
      const cache = await caches.open(names[0] ?? '');
      return { versions: names.length, paths: (await cache.keys()).map(({ url }) => new URL(url).pathname.slice(1)) };
    });
    assert.equal(versions, 1);
    for (const name of ['index.html', 'models/human.safetensors', 'models/value.safetensors', 'manifest.webmanifest'])
      assert.ok(paths.includes(name), `${name} is cached`);
    const chunks = (await readdir(path.join(dist, 'assets'))).filter((name) => /\.(js|css|svg)$/.test(name));
    for (const name of chunks) assert.equal(paths.includes(`assets/${name}`), !/^(runsPage|moveDistribution|gpuNetwork)-/.test(name), name);
    // The page and the service worker choose the same build.
    const modules = paths.filter((name) => name.endsWith('.wasm') && !/tabia_bg/.test(name));
    assert.equal(modules.length, 1, 'one build of the small module is cached');
    assert.ok(!paths.some((name) => name.startsWith('models/challenge')), 'rarely used networks are not');
  }));

test('a host without the headers for threads has them from the second visit on, without a reload', () =>
  onOwnSite({}, async (page) => {
    let loads = 0;
    page.on('load', () => loads++);
    assert.equal(await page.evaluate(() => crossOriginIsolated), false, 'the host does not send them');
    await untilCached(page);
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    await waitForMoves(page, 2);
    assert.ok(loads <= 1, 'the page does not reload itself');
    await page.reload();
    assert.equal(await page.evaluate(() => crossOriginIsolated), true);
    await waitForPiece(page, 'e4', 'white pawn');
    // Its workers' code is isolated as well, or the browser would refuse it.
    await drag(page, 'd2', 'd4');
    await waitForPiece(page, 'd4', 'white pawn');
    await waitForMoves(page, 4);
  }));

test('an update waits and does not disturb a game in progress', () =>
  onOwnSite({}, async (page, site) => {
    await untilCached(page);
    await drag(page, 'd2', 'd4');
    await waitForPiece(page, 'd4', 'white pawn');
    const { folder, old, fresh } = await nextVersion('Training');
    try {
      site.switchTo(folder);
      await page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.update());
      await page.getByRole('status').filter({ hasText: 'A new version is available' }).waitFor();
      // The server has only the new files; the open page uses the cached ones.
      await waitForPiece(page, 'd4', 'white pawn');
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Training' }).click();
      await page.waitForFunction(() => document.title === 'Training · Tabia');
      await untilFetched(page, old);

      // Another tab activates the new version; this one keeps its files.
      await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Play' }).click();
      const other = await page.context().newPage();
      await other.goto(site.url);
      // A request would restart the old worker, which then never ends while DevTools are attached, as here.
      await other.waitForLoadState('networkidle');
      await other.evaluate(() => {
        const look = () => document.querySelector('[role=status]')?.textContent?.includes('Updating to the new') && sessionStorage.setItem('tests.notified', 'yes');
        new MutationObserver(look).observe(document.body, { subtree: true, childList: true });
      });
      await Promise.all([other.waitForEvent('load'), other.getByRole('button', { name: 'Reload' }).click()]);
      assert.equal(await other.evaluate(() => sessionStorage.getItem('tests.notified')), 'yes', 'the update is announced');
      await other.goto(`${site.url}#/training`);
      await other.waitForFunction(() => document.title === 'Training · Tabia');
      await untilFetched(other, fresh);
      assert.equal(await page.evaluate(async (name) => (await fetch(`./assets/${name}`)).status, old), 200);
      await waitForPiece(page, 'd4', 'white pawn');
      await other.close();

      // This tab is updated on request and keeps its game.
      await page.getByRole('button', { name: 'Reload' }).click();
      await page.waitForFunction(() => !document.querySelector('[role=status] button'));
      await waitForPiece(page, 'd4', 'white pawn');
      // The old version is deleted when only one tab is open.
      const { url } = site;
      await page.goto('about:blank');
      await page.goto(url);
      await page.waitForFunction(async () => (await caches.keys()).length === 1);
    } finally {
      await rm(folder, { recursive: true });
    }
  }));

test('without storage the page works and warns that it is not available offline', () =>
  onOwnSite({ allow: [/Quota/] }, async (page, site) => {
    // A new origin, since the first may be cached already.
    const full = await serve(dist);
    try {
      const session = await page.context().newCDPSession(page);
      await session.send('Storage.overrideQuotaForOrigin', { origin: new URL(full.url).origin, quotaSize: 1_000_000 });
      await page.goto(full.url);
      await page.getByText('storage is full').waitFor();
      await drag(page, 'e2', 'e4');
      await waitForPiece(page, 'e4', 'white pawn');
      assert.equal(await page.evaluate(async () => (await caches.keys()).length), 0, 'no partial cache is left');
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

test('without the build with threads the plain one is used', () =>
  onPage({ allow: [/Failed to load resource/], at: '#/training' }, async (page) => {
    /** @type {string[]} */
    const refused = [];
    await page.route(/threads.*\.wasm$/, (route) => {
      refused.push(route.request().url());
      return route.fulfill({ status: 404 });
    });
    await page.goto('about:blank');
    await page.goto(address());
    await drag(page, 'e2', 'e4');
    await waitForPiece(page, 'e4', 'white pawn');
    await waitForMoves(page, 2);
    assert.equal(refused.length, 1);
  }));
