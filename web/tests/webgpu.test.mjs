// The human network on WebGPU, by Chromium's own software adapter.
//
// That adapter computes on the processor, a hundred times slower than our kernels: what it takes says nothing about a GPU.
// TABIA_WEBGPU_POSITIONS compares more first choices; the bench compares 1,000 (`cargo xtask bench web --gpu --software`).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { assetsOf, compare } from '../tools/agreement.mjs';
import { address, drag, fixture, onPage, useBrowser, waitForMoves, web } from './harness.mjs';
import { maia3 } from './maia3.mjs';
import { serve } from './site.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('playwright-core').Worker} Worker */

useBrowser('software');

const dist = path.join(web, 'dist');
const POSITIONS = Number(process.env['TABIA_WEBGPU_POSITIONS'] ?? 12);
const SETTINGS = { opponent: { kind: 'human', rating: 1500, pick: 'argmax' }, colour: 'white', timeControl: 'untimed', rating: null, instant: true };
const CHUNK = /gpuNetwork-|tabia_gpu/;
/** The software adapter compiles its shaders slowly on a busy machine. */
const PATIENCE = { timeout: 120_000 };

/**
 * Starts a game on WebGPU, which takes over after the first move.
 *
 * @param {Page} page
 */
async function untilOnGpu(page) {
  await page.getByText('Options and PGN').click();
  await page.getByText('Human-like networks run on WebGPU').waitFor(PATIENCE);
}

test(`the first choices on WebGPU are those of the CPU in ${POSITIONS} positions`, () =>
  onPage({ at: '#/challenge' }, async (page) => {
    const { others, furthest, submits } = await compare(page, await assetsOf(dist), { positions: POSITIONS });
    assert.deepEqual(others, []);
    assert.ok(furthest < 0.01, `probabilities differ by up to ${furthest}`);
    assert.ok(submits >= POSITIONS, `the GPU was asked ${submits} times`);
  }));

for (const { name, file } of [
  { name: 'a human network in floats', file: () => readFile(fixture('human.safetensors')) },
  { name: 'Maia-3', file: maia3 },
])
  test(`${name} chooses the same moves`, () =>
    onPage({ at: '#/challenge' }, async (page) => {
      const network = [...(await file())];
      const { others, furthest, submits } = await compare(page, await assetsOf(dist), { positions: 10, network });
      assert.deepEqual(others, []);
      assert.ok(furthest < 1e-4, `probabilities differ by up to ${furthest}`);
      assert.ok(submits >= 10, `the GPU was asked ${submits} times`);
    }));

test('a device that is lost in mid-game costs no move', () =>
  onPage({ at: '#/challenge', stored: { 'play.settings': SETTINGS, compute: 'webgpu' } }, async (page) => {
    /** Loses the device with the first batch after `self.lose` is set, before its outputs can be read. */
    const prepare = (/** @type {Worker} */ worker) =>
      worker.evaluate(() => {
        const scope = /** @type {any} */ (self);
        const requestDevice = GPUAdapter.prototype.requestDevice;
        GPUAdapter.prototype.requestDevice = async function (/** @type {GPUDeviceDescriptor | undefined} */ descriptor) {
          return (scope.device = await requestDevice.call(this, descriptor));
        };
        const submit = GPUQueue.prototype.submit;
        GPUQueue.prototype.submit = function (/** @type {Iterable<GPUCommandBuffer>} */ buffers) {
          submit.call(this, buffers);
          scope.submits = (scope.submits ?? 0) + 1;
          if (scope.lose) scope.device.destroy();
        };
      });
    /** @type {Promise<Worker>} */
    const started = new Promise((resolve) => page.on('worker', (worker) => void prepare(worker).then(() => resolve(worker))));
    // The device is not asked for before it is watched.
    await page.route(/tabia_gpu_bg/, async (route) => {
      await started;
      await route.continue();
    });
    await page.goto(`${address()}#/play`);
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await untilOnGpu(page);
    const worker = await started;
    const submits = () => worker.evaluate(() => /** @type {any} */ (self).submits);

    const before = await submits();
    await drag(page, 'd2', 'd3');
    await waitForMoves(page, 4);
    assert.ok((await submits()) > before, 'the second move is the GPU’s');

    await worker.evaluate(() => (/** @type {any} */ (self).lose = true));
    await drag(page, 'a2', 'a3');
    await waitForMoves(page, 6);
    await page.getByText('Networks run on the CPU').waitFor();
    const after = await submits();
    await drag(page, 'h2', 'h3');
    await waitForMoves(page, 8);
    assert.equal(await submits(), after, 'the rest of the game is the CPU’s');
  }));

test('the choice of WebGPU or the CPU takes effect in the game', () =>
  onPage({ stored: { 'play.settings': SETTINGS, compute: 'webgpu' } }, async (page) => {
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await untilOnGpu(page);
    await page.getByLabel('Compute').selectOption('CPU');
    await page.getByText('Human-like networks run on WebGPU').waitFor({ state: 'detached' });
    await drag(page, 'd2', 'd3');
    await waitForMoves(page, 4);
    await page.reload();
    await page.getByText('Options and PGN').click();
    assert.equal(await page.getByLabel('Compute').inputValue(), 'cpu', 'the choice is kept');
  }));

test('a GPU that is software is left alone, and nothing is fetched for it', () =>
  onPage({ stored: { 'play.settings': SETTINGS } }, async (page) => {
    /** @type {string[]} */
    const requested = [];
    page.on('request', (request) => requested.push(request.url()));
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    await page.getByText('Options and PGN').click();
    await page.getByText('Networks run on the CPU: the GPU is emulated.').waitFor();
    assert.deepEqual(requested.filter((url) => CHUNK.test(url)), []);
  }));

test('WebGPU works offline once it was used', async () => {
  const site = await serve(dist);
  /** @type {string[]} */
  const missing = [];
  try {
    await onPage(
      { serviceWorkers: 'allow', allow: [/ERR_CONNECTION_REFUSED|ERR_INTERNET_DISCONNECTED|ERR_FAILED/], stored: { 'play.settings': SETTINGS, compute: 'webgpu' } },
      async (page) => {
        await page.goto(site.url);
        await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated', undefined, PATIENCE);
        const cached = () =>
          page.evaluate(async () => {
            const urls = [];
            for (const name of await caches.keys()) for (const { url } of await (await caches.open(name)).keys()) urls.push(url);
            return urls;
          });
        assert.deepEqual((await cached()).filter((url) => CHUNK.test(url)), [], 'it is not part of the first download');
        await drag(page, 'e2', 'e4');
        await waitForMoves(page, 2);
        await untilOnGpu(page);
        for (let tries = 0; (await cached()).filter((url) => CHUNK.test(url)).length < 2; tries++) {
          assert.ok(tries < 600, 'it is cached when it is used');
          await page.waitForTimeout(50);
        }
        await site.close();
        page.on('requestfailed', (request) => CHUNK.test(request.url()) && missing.push(request.url()));
        await page.reload();
        await waitForMoves(page, 2);
        await drag(page, 'd2', 'd3');
        await waitForMoves(page, 4);
        await untilOnGpu(page);
      },
    );
  } finally {
    await site.close().catch(() => {});
  }
  assert.deepEqual(missing, []);
});
