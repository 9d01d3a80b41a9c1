// The page served by `tabia serve`. `cargo xtask test --only web` sets TABIA_PROGRAM.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { drag, onPage, useBrowser, waitForPiece, web } from './harness.mjs';

const program = process.env['TABIA_PROGRAM'];
useBrowser();

/**
 * Serves the built page and the matches of the fixtures.
 *
 * @param {(url: string) => Promise<void>} run
 */
async function withProgram(run) {
  const options = ['--port', '0', '--page', path.join(web, 'dist'), '--ledgers', path.join(web, '../fixtures/arena')];
  const child = spawn(program ?? '', ['serve', ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  try {
    for await (const line of createInterface(child.stdout)) {
      const url = line.match(/^listening on (\S+)/)?.[1];
      if (url) {
        await run(url);
        break;
      }
    }
  } finally {
    child.kill('SIGTERM');
    assert.equal(await ended, 0, 'the server stops on SIGTERM');
  }
}

test('tabia serve serves the page and its API', { skip: !program && !process.env['TABIA_REQUIRE_ALL'] && 'TABIA_PROGRAM is not set' }, () =>
  withProgram((url) =>
    onPage({ serviceWorkers: 'allow' }, async (page) => {
      await page.goto(`${url}#/play`);
      assert.equal(await page.evaluate(() => crossOriginIsolated), true, 'so that workers can share memory');
      await drag(page, 'e2', 'e4');
      await waitForPiece(page, 'e4', 'white pawn');
      const about = await page.evaluate(async () => (await fetch('./api/about')).json());
      assert.deepEqual([about.data, about.runs, about.arena], [false, false, true]);
      // The service worker does not cache the API.
      await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
      const list = await page.evaluate(async () => (await fetch('./api/arena')).json());
      assert.equal(list.matches[0].name, 'ledger');
      const cached = await page.evaluate(async () => {
        const versions = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
        return versions.flat().filter(({ url }) => url.includes('/api/')).length;
      });
      assert.equal(cached, 0);
    }),
  ));
