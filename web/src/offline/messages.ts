/** What the page tells the service worker. */
export type ToWorker =
  /** Take over now, and do not wait until every page of the old version is closed. */
  | { kind: 'take-over' }
  /** Keep these addresses too: the page has used them before the worker was there. */
  | { kind: 'keep'; urls: string[] };

/** What the service worker tells its pages. */
export type FromWorker =
  /** The browser has no room for the files: the page works, but only while it can be fetched. */
  { kind: 'no-room' };
