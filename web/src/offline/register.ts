import { inform, offer, underWay } from '../notices.svelte';
import type { FromWorker, ToWorker } from './messages';

const LOOK_AGAIN_MS = 60 * 60 * 1000;

/**
 * Lets the page work without a network from its first visit on, and tells when a new version of it is ready.
 *
 * Nothing here ever reloads the page by itself: a game may be going on.
 */
export function keepOffline(): void {
  // While developing, the page on the screen must be the one that was written last.
  if (!('serviceWorker' in navigator) || import.meta.env.DEV) return;
  // What the page needs now comes first.
  window.addEventListener('load', () => {
    register().catch(() => {
      // Storage is denied, or there is no network yet: the page works, it only cannot be kept.
    });
  });
}

async function register(): Promise<void> {
  const { serviceWorker } = navigator;
  let controlled = serviceWorker.controller !== null;
  serviceWorker.addEventListener('message', (event) => hear(event.data as FromWorker));
  serviceWorker.addEventListener('controllerchange', () => {
    // The first worker of all is no news; a later one was asked for by another page.
    if (controlled) offerReload(() => location.reload());
    controlled = true;
    tellWhatWasUsed();
  });

  const registration = await serviceWorker.register('./sw.js', { updateViaCache: 'none' });
  if (registration.waiting) offerVersion(registration);
  registration.addEventListener('updatefound', () => {
    const { installing } = registration;
    installing?.addEventListener('statechange', () => {
      if (installing.state === 'installed' && serviceWorker.controller) offerVersion(registration);
    });
  });
  if (controlled) tellWhatWasUsed();
  lookForUpdates(registration);
}

function hear(message: FromWorker): void {
  if (message.kind === 'no-room') {
    inform('The browser has no room to keep this page for use without a network. With a network it works as usual.');
  }
}

function offerVersion(registration: ServiceWorkerRegistration): void {
  offerReload(() => {
    const { waiting } = registration;
    if (!waiting) return location.reload();
    // The browser lets the old worker finish first, which may take it half a minute.
    underWay('Changing to the new version…');
    navigator.serviceWorker.addEventListener('controllerchange', () => location.reload(), { once: true });
    waiting.postMessage({ kind: 'take-over' } satisfies ToWorker);
  });
}

function offerReload(reload: () => void): void {
  offer('A new version is ready.', 'Reload', reload);
}

/** The first page of all fetched its files before there was a worker to see it. */
function tellWhatWasUsed(): void {
  const urls = performance.getEntriesByType('resource').map(({ name }) => name);
  navigator.serviceWorker.controller?.postMessage({ kind: 'keep', urls } satisfies ToWorker);
}

/** A page may stay open for weeks. */
function lookForUpdates(registration: ServiceWorkerRegistration): void {
  let looked = performance.now();
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible' || performance.now() - looked < LOOK_AGAIN_MS) return;
    looked = performance.now();
    registration.update().catch(() => {});
  });
}
