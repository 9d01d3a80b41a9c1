import { ANY_NETWORK_MODULE } from '../engine/wasm';
import { inform, offerAction, showStatus } from '../lib/notices.svelte';
import type { FromWorker, ToWorker } from './messages';

/** Caching what may never be needed must not compete with the first game. */
const IDLE_MS = 20_000;
const UPDATE_INTERVAL_MS = 60 * 60 * 1000;

/**
 * Registers the service worker, which makes the page work offline, and offers new versions.
 *
 * The page is never reloaded without being asked: a game may be in progress.
 */
export function registerServiceWorker(): void {
  // A cache would hide changes during development.
  if (!('serviceWorker' in navigator) || import.meta.env.DEV) return;
  // Caching must not compete with loading the page.
  window.addEventListener('load', () => {
    register().catch(() => {
      // Storage is denied or there is no network: the page works, but not offline.
    });
  });
}

async function register(): Promise<void> {
  const { serviceWorker } = navigator;
  let controlled = serviceWorker.controller !== null;
  serviceWorker.addEventListener('message', (event) => {
    if ((event.data as FromWorker).kind === 'quota-exceeded')
      inform('The browser’s storage is full, so this page will not work offline. Online it works as usual.');
  });
  serviceWorker.addEventListener('controllerchange', () => {
    // The first worker is not an update; a later one was activated by another tab.
    if (controlled) offerReload(() => location.reload());
    controlled = true;
    cacheFetched();
    cacheWhenIdle();
  });

  const registration = await serviceWorker.register('./sw.js', { updateViaCache: 'none' });
  if (registration.waiting) offerVersion(registration);
  registration.addEventListener('updatefound', () => {
    const { installing } = registration;
    installing?.addEventListener('statechange', () => {
      if (installing.state === 'installed' && serviceWorker.controller) offerVersion(registration);
    });
  });
  if (controlled) {
    cacheFetched();
    cacheWhenIdle();
  }
  checkForUpdates(registration);
}

function offerVersion(registration: ServiceWorkerRegistration): void {
  offerReload(() => {
    const { waiting } = registration;
    if (!waiting) return location.reload();
    // The browser lets the old worker finish first, which may take half a minute.
    showStatus('Updating to the new version…');
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
    waiting.postMessage({ kind: 'skip-waiting' } satisfies ToWorker);
  });
}

function offerReload(reload: () => void): void {
  offerAction('A new version is available.', 'Reload', reload);
}

/** Caches files that the page fetched before the worker controlled it. */
function cacheFetched(): void {
  cache(performance.getEntriesByType('resource').map(({ name }) => name));
}

function cache(urls: string[]): void {
  navigator.serviceWorker.controller?.postMessage({ kind: 'cache', urls } satisfies ToWorker);
}

/** Caches the module for any network, so that files of networks can be opened offline. */
function cacheWhenIdle(): void {
  const { connection } = navigator as Navigator & { connection?: { saveData?: boolean } };
  if (connection?.saveData) return;
  setTimeout(() => cache([ANY_NETWORK_MODULE]), IDLE_MS);
}

/** Checks when the page becomes visible, since it may stay open for weeks. */
function checkForUpdates(registration: ServiceWorkerRegistration): void {
  let checked = performance.now();
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible' || performance.now() - checked < UPDATE_INTERVAL_MS) return;
    checked = performance.now();
    registration.update().catch(() => {});
  });
}
