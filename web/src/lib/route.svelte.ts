// The page is chosen by the location's hash (#/analyse?fen=...), which works on any static host and offline.

export const PAGES = ['play', 'analyse', 'practice', 'arena', 'challenge', 'data', 'training'] as const;
export type Page = (typeof PAGES)[number];

interface Route {
  page: Page;
  /** What follows the question mark in the hash. */
  query: URLSearchParams;
}

function parseHash(): Route {
  const [, name = '', search = ''] = location.hash.match(/^#\/([^?]*)\??(.*)$/) ?? [];
  const page = PAGES.find((known) => known === name) ?? 'play';
  return { page, query: new URLSearchParams(search) };
}

let current = $state.raw<Route>(parseHash());
window.addEventListener('hashchange', () => {
  current = parseHash();
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

/** Changes the query of the current page without a history entry and without changing `route()`. */
export function replaceQuery(query: Record<string, string>): void {
  // After "back" the location already belongs to another page, although hashchange has not fired yet.
  if (parseHash().page !== current.page) return;
  history.replaceState(null, '', href(current.page, query));
}
