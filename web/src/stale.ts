import { warn } from './notices.svelte';

/**
 * Tells the visitor when a page's code can no longer be fetched, as after an update of the site, instead of leaving a
 * blank page. Reloading is left to them: a game may be going on.
 */
export function surviveStaleChunks(): void {
  window.addEventListener('vite:preloadError', (event) => {
    event.preventDefault();
    warn('Part of the page could not be loaded. Check the connection, or reload the page: it may have been updated.');
  });
}
