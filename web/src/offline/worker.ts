// The service worker: keeps one version of the page whole, so that it opens and plays without a network.
//
// A version is a list of files with their hashes, put before this script when the page is built (tools/precache.mjs). All of
// it is fetched before the version counts, and files that did not change are taken over from the version before. A new
// version waits until no page of the old one is open, or until a page asks for it; pages of the old version that are open then
// still find their files, which go away when the page is next opened alone.

import { hasRelaxedSimd } from '../engine/simd';
import type { FromWorker, ToWorker } from './messages';

/** `[path, hash (SRI), when]`: `relaxed` and `plain` are the builds of the wasm module, of which the one this browser takes is fetched at once. */
type Kept = [path: string, integrity: string, when: 'now' | 'later' | 'relaxed' | 'plain'];
declare const PRECACHE: { version: string; files: Kept[] };

const sw = self as unknown as ServiceWorkerGlobalScope;
const PREFIX = 'tabia-';
const NAME = PREFIX + PRECACHE.version;
const SHELL = 'index.html';
const files = new Map(PRECACHE.files.map((file) => [file[0], file]));
const scope = new URL(sw.registration.scope);

sw.addEventListener('install', (event) => event.waitUntil(install()));
sw.addEventListener('activate', (event) => event.waitUntil(forgetOldVersions(event).then(() => sw.clients.claim())));

sw.addEventListener('fetch', (event) => {
  const path = pathOf(event.request);
  // Everything else, the server's own answers above all, is the network's.
  if (path === undefined) return;
  event.respondWith(answer(path, event));
  if (event.request.mode === 'navigate') event.waitUntil(forgetOldVersions(event));
});

sw.addEventListener('message', (event) => {
  const message = event.data as ToWorker;
  if (message.kind === 'take-over') event.waitUntil(sw.skipWaiting());
  else event.waitUntil(keepAll(message.urls));
});

/** The path of a file of the page below the scope; undefined for what this worker leaves alone. */
function pathOf(request: Request): string | undefined {
  const url = new URL(request.url);
  if (request.method !== 'GET' || request.headers.has('Range')) return undefined;
  if (url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return undefined;
  const path = url.pathname.slice(scope.pathname.length) || SHELL;
  // Files of other versions are looked for too: pages of those may be open.
  return files.has(path) || path.startsWith('assets/') ? path : undefined;
}

async function install(): Promise<void> {
  const build = hasRelaxedSimd() ? 'relaxed' : 'plain';
  const wanted = PRECACHE.files.filter(([, , when]) => when === 'now' || when === build);
  try {
    const cache = await caches.open(NAME);
    await Promise.all(wanted.map((file) => keep(cache, file)));
  } catch (error) {
    await caches.delete(NAME);
    if (error instanceof DOMException && error.name === 'QuotaExceededError') await tellPages({ kind: 'no-room' });
    // The version before, if there is one, goes on; the browser tries again when the page is next opened.
    throw error;
  }
}

/** What a file is called in the caches: two versions of it are two entries. */
function keyOf([path, integrity]: Kept): string {
  return `${new URL(path, scope).href}?${encodeURIComponent(integrity)}`;
}

/** Puts a file into the cache: from another version if it has not changed, else from the network. */
async function keep(cache: Cache, file: Kept): Promise<void> {
  const key = keyOf(file);
  const known = await caches.match(key, { ignoreVary: true });
  await cache.put(key, known ?? (await fetchFile(file)));
}

/** The file, exactly the one that belongs to this version: a site may be changing under us. */
async function fetchFile([path, integrity]: Kept): Promise<Response> {
  // Hosts send those who ask for index.html elsewhere, and such an answer may not be used for opening a page.
  const address = new URL(path === SHELL ? './' : path, scope);
  const response = await fetch(address, { integrity, cache: 'no-cache', credentials: 'same-origin' });
  if (!response.ok) throw new Error(`${path}: the server answered ${response.status}`);
  return response;
}

async function answer(path: string, event: FetchEvent): Promise<Response> {
  const file = files.get(path);
  const cached = await recall(path, file);
  if (cached) return cached;
  const response = await fetch(event.request);
  if (file && response.ok) event.waitUntil(keepCopy(file, response.clone()));
  return response;
}

async function recall(path: string, file: Kept | undefined): Promise<Response | undefined> {
  try {
    return file
      ? await caches.match(keyOf(file), { ignoreVary: true })
      : await caches.match(new URL(path, scope).href, { ignoreVary: true, ignoreSearch: true });
  } catch {
    // Storage that is broken or denied is as good as empty.
    return undefined;
  }
}

async function keepCopy(file: Kept, response: Response): Promise<void> {
  try {
    const cache = await caches.open(NAME);
    await cache.put(keyOf(file), response);
  } catch {
    // Without room it is fetched again next time.
  }
}

async function keepAll(urls: string[]): Promise<void> {
  for (const url of urls) {
    const file = files.get(new URL(url).pathname.slice(scope.pathname.length));
    if (file && !(await recall(file[0], file))) {
      await fetchFile(file).then(
        (response) => keepCopy(file, response),
        () => {},
      );
    }
  }
}

/** Deletes the files of other versions if no page is open that may need them. */
async function forgetOldVersions(event: ExtendableEvent): Promise<void> {
  const opening = event instanceof FetchEvent ? event.resultingClientId : '';
  const pages = await sw.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (pages.some(({ id }) => id !== opening)) return;
  const names = await caches.keys();
  // A version that is being fetched meanwhile is not old.
  if (sw.registration.installing || sw.registration.waiting) return;
  await Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== NAME).map((name) => caches.delete(name)));
}

async function tellPages(message: FromWorker): Promise<void> {
  for (const page of await sw.clients.matchAll({ type: 'window', includeUncontrolled: true })) page.postMessage(message);
}
