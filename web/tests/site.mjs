import { createReadStream, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.wasm': 'application/wasm',
  '.png': 'image/png',
};

/** The policy that `tabia serve` sends with every file. */
const POLICY = readFileSync(new URL('../policy.txt', import.meta.url), 'utf8').trim();

/** The headers with which `tabia serve` isolates the page from other origins; many hosts cannot send them. */
const ISOLATION = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

/**
 * Serves a folder on a free local port; `switchTo` replaces the folder.
 *
 * @param {string} folder
 * @param {{ isolated?: boolean }} options
 * @returns {Promise<{ url: string, switchTo: (folder: string) => void, close: () => Promise<void> }>}
 */
export async function serve(folder, { isolated = false } = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const file = path.join(folder, path.normalize(pathname === '/' ? '/index.html' : pathname));
    const found = await stat(file).catch(() => undefined);
    if (!file.startsWith(folder) || !found?.isFile()) {
      response.writeHead(404).end();
      return;
    }
    const type = /** @type {Record<string, string>} */ (TYPES)[path.extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, {
      'Content-Type': type,
      'Content-Length': found.size,
      'Content-Security-Policy': POLICY,
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-cache',
      ...(isolated ? ISOLATION : {}),
    });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  if (!address || typeof address === 'string') throw new Error('the test server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    switchTo: (other) => {
      folder = other;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
