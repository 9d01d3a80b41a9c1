// The service worker caches one complete version of the page, so that it works offline.
//
// A version is a list of files with their hashes, prepended to this script by the build (tools/precache.mjs). All its files are
// cached before it is installed; unchanged files are copied from the previous version. They are cached with the headers that isolate
// the page from other origins, without which browsers share no memory between threads and which many hosts cannot send. A new version waits until no page of the
// old one is open or until a page activates it. Open pages of the old version still find their files, which are deleted when
// the page is next opened in a single tab.

import { canUseThreads } from '../engine/threads';
import type { FromWorker, ToWorker } from './messages';

/** `threads` and `plain` are the builds of the small wasm module; only the one this browser supports is precached. */
type PrecachedFile = [path: string, integrity: string, when: 'now' | 'later' | 'threads' | 'plain'];
declare const PRECACHE: { version: string; files: PrecachedFile[] };

const sw = self as unknown as ServiceWorkerGlobalScope;
const PREFIX = 'tabia-';
const NAME = PREFIX + PRECACHE.version;
const SHELL = 'index.html';
const files = new Map(PRECACHE.files.map((file) => [file[0], file]));
const scope = new URL(sw.registration.scope);

sw.addEventListener('install', (event) => event.waitUntil(install()));
sw.addEventListener('activate', (event) => event.waitUntil(deleteOldVersions(event).then(() => sw.clients.claim())));

sw.addEventListener('fetch', (event) => {
  const path = pathOf(event.request);
  // Everything else, such as the server's API, goes to the network.
  if (path === undefined) return;
  event.respondWith(respond(path, event));
  if (event.request.mode === 'navigate') event.waitUntil(deleteOldVersions(event));
});

sw.addEventListener('message', (event) => {
  const message = event.data as ToWorker;
  if (message.kind === 'skip-waiting') event.waitUntil(sw.skipWaiting());
  else event.waitUntil(cacheUrls(message.urls));
});

/** The path of one of the page's files below the scope; undefined for requests that are not handled here. */
function pathOf(request: Request): string | undefined {
  const url = new URL(request.url);
  if (request.method !== 'GET' || request.headers.has('Range')) return undefined;
  if (url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return undefined;
  const path = url.pathname.slice(scope.pathname.length) || SHELL;
  // Assets of other versions are included, since pages of those may be open.
  return files.has(path) || path.startsWith('assets/') ? path : undefined;
}

async function install(): Promise<void> {
  const build = canUseThreads() ? 'threads' : 'plain';
  const wanted = PRECACHE.files.filter(([, , when]) => when === 'now' || when === build);
  try {
    const cache = await caches.open(NAME);
    await Promise.all(wanted.map((file) => precache(cache, file)));
  } catch (error) {
    await caches.delete(NAME);
    if (error instanceof DOMException && error.name === 'QuotaExceededError') await notifyPages({ kind: 'quota-exceeded' });
    // The previous version, if any, stays active; the browser tries again when the page is next opened.
    throw error;
  }
}

/** The cache key of a file, which includes its hash. */
function cacheKey([path, integrity]: PrecachedFile): string {
  return `${new URL(path, scope).href}?${encodeURIComponent(integrity)}`;
}

/** Caches a file: from another version if it has not changed, else from the network. */
async function precache(cache: Cache, file: PrecachedFile): Promise<void> {
  const key = cacheKey(file);
  const known = await caches.match(key, { ignoreVary: true });
  await cache.put(key, isolated(known ?? (await fetchFile(file))));
}

/** A response with the headers for pages and workers that share memory. */
function isolated({ body, status, statusText, headers }: Response): Response {
  const all = new Headers(headers);
  all.set('Cross-Origin-Opener-Policy', 'same-origin');
  all.set('Cross-Origin-Embedder-Policy', 'require-corp');
  return new Response(body, { status, statusText, headers: all });
}

/** Fetches a file. The integrity check fails if the site has been updated meanwhile. */
async function fetchFile([path, integrity]: PrecachedFile): Promise<Response> {
  // Some hosts redirect index.html to ./, and redirected responses cannot be used for navigation.
  const url = new URL(path === SHELL ? './' : path, scope);
  const response = await fetch(url, { integrity, cache: 'no-cache', credentials: 'same-origin' });
  if (!response.ok) throw new Error(`${path}: the server answered with status ${response.status}`);
  return response;
}

async function respond(path: string, event: FetchEvent): Promise<Response> {
  const file = files.get(path);
  // Whether the page may be shown in a frame is said by the server's current headers, not by cached ones.
  const fresh = event.request.destination === 'iframe' && (await fetch(event.request).catch(() => undefined));
  if (fresh) return fresh;
  const cached = await cachedResponse(path, file);
  if (cached) return cached;
  const response = await fetch(event.request);
  if (file && response.ok) event.waitUntil(addToCache(file, response.clone()));
  return response;
}

async function cachedResponse(path: string, file: PrecachedFile | undefined): Promise<Response | undefined> {
  try {
    return file
      ? await caches.match(cacheKey(file), { ignoreVary: true })
      : await caches.match(new URL(path, scope).href, { ignoreVary: true, ignoreSearch: true });
  } catch {
    // Storage is broken or denied.
    return undefined;
  }
}

async function addToCache(file: PrecachedFile, response: Response): Promise<void> {
  try {
    const cache = await caches.open(NAME);
    await cache.put(cacheKey(file), isolated(response));
  } catch {
    // Out of storage: it is fetched again next time.
  }
}

async function cacheUrls(urls: string[]): Promise<void> {
  for (const url of urls) {
    const file = files.get(new URL(url).pathname.slice(scope.pathname.length));
    if (file && !(await cachedResponse(file[0], file))) {
      await fetchFile(file).then(
        (response) => addToCache(file, response),
        () => {},
      );
    }
  }
}

/** Deletes other versions unless an open page may need them. */
async function deleteOldVersions(event: ExtendableEvent): Promise<void> {
  const opening = event instanceof FetchEvent ? event.resultingClientId : '';
  const pages = await sw.clients.matchAll({ type: 'window', includeUncontrolled: true });
  if (pages.some(({ id }) => id !== opening)) return;
  const names = await caches.keys();
  // A version that is being installed is not old.
  if (sw.registration.installing || sw.registration.waiting) return;
  await Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== NAME).map((name) => caches.delete(name)));
}

async function notifyPages(message: FromWorker): Promise<void> {
  for (const page of await sw.clients.matchAll({ type: 'window', includeUncontrolled: true })) page.postMessage(message);
}
