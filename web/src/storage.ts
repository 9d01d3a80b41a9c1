import { warn } from './notices.svelte';

// Storage may be denied by the browser, full or emptied at any time, and the values in it may be older than the code
// that reads them. Nothing here throws: the page works without storage, it only forgets.

const PREFIX = 'tabia.';
let warned = false;

/** Keeps a JSON value under a key across visits. Says so once if the browser refuses. Returns whether it was kept. */
export function keep(key: string, value: unknown): boolean {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
    return true;
  } catch (error) {
    if (!warned) {
      warned = true;
      warn(
        isQuota(error)
          ? 'The browser’s storage for this page is full: games and settings will be forgotten when the page closes.'
          : 'The browser does not let this page store anything: games and settings will be forgotten when the page closes.',
      );
    }
    return false;
  }
}

/** What was kept under a key, or undefined if there is nothing, nothing readable, or no storage. */
export function recall(key: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isQuota(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'QuotaExceededError';
}
