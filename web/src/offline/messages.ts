/** Messages from the page to the service worker. */
export type ToWorker =
  /** Activate now instead of waiting until every page of the old version is closed. */
  | { kind: 'skip-waiting' }
  /** Cache these URLs, which the page fetched before the worker was active. */
  | { kind: 'cache'; urls: string[] };

/** Messages from the service worker to its pages. */
export type FromWorker =
  /** The browser's storage is full: the page works, but not offline. */
  { kind: 'quota-exceeded' };
