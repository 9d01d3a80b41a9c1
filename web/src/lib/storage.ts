import { warn } from './notices.svelte';

// The browser may deny storage, run out of it or clear it at any time, and stored values may be older than the code that
// reads them. Nothing here throws: without storage the page works and only forgets.

const PREFIX = 'tabia.';
let warned = false;

/** Stores a JSON value. Warns once if the browser refuses. */
export function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch (error) {
    if (warned) return;
    warned = true;
    const full = error instanceof DOMException && error.name === 'QuotaExceededError';
    const reason = full ? 'The browser’s storage for this page is full' : 'The browser does not let this page store anything';
    warn(`${reason}: games and settings will be lost when the page closes.`);
  }
}

/** The stored value, or undefined if it is missing or unreadable or storage is denied. */
export function load(key: string): unknown {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

// Checks of stored values, which may come from an older version or be edited by hand.

export function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

export function oneOf<T extends string>(value: unknown, allowed: readonly T[], otherwise: T): T {
  return allowed.find((one) => one === value) ?? otherwise;
}

export function numberIn(value: unknown, min: number, max: number, otherwise: number): number {
  return typeof value === 'number' && value >= min && value <= max ? value : otherwise;
}
