// Pages are told apart by the location's hash (#/analyse?fen=...), which works on any static host and offline.

export const PAGES = ['play', 'analyse', 'arena', 'challenge', 'data', 'training'] as const;
export type Page = (typeof PAGES)[number];

export interface Route {
  page: Page;
  /** What follows the question mark in the hash. */
  query: URLSearchParams;
}

function read(): Route {
  const [, name = '', search = ''] = location.hash.match(/^#\/([^?]*)\??(.*)$/) ?? [];
  const page = PAGES.find((known) => known === name) ?? 'play';
  return { page, query: new URLSearchParams(search) };
}

let current = $state.raw<Route>(read());
window.addEventListener('hashchange', () => {
  current = read();
});

export function route(): Route {
  return current;
}

/** The address of a page, for links. */
export function href(page: Page, query: Record<string, string> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${page}${search ? `?${search}` : ''}`;
}

export function goTo(page: Page, query: Record<string, string> = {}): void {
  location.hash = href(page, query);
}

/** Changes the address of the current page without a new entry in the history and without telling the page. */
export function replaceQuery(query: Record<string, string>): void {
  // Who has just gone back is elsewhere already, though the page has not heard of it: that entry is not this page's to change.
  if (read().page !== current.page) return;
  history.replaceState(null, '', href(current.page, query));
}
