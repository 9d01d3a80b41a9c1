import type { Score } from '../../lib/format';
import { fetchJson } from '../../lib/server';
import type { Side } from '../../wasm/tabia.js';

// The data set API of the server (docs/guides/explorer.md).

export interface DataSet {
  name: string;
  kind: 'games' | 'evaluations';
  records: number;
  positions: number;
}

interface Label extends Score {
  uci: string;
  san: string;
  probability: number;
}

export interface PositionView {
  index: number;
  record: number;
  ply: number;
  fen: string;
  turn: Side;
  phase: string;
  last_move: string | null;
  /** Of the labels, in nats. */
  entropy: number;
  labels: Label[];
  game?: GameFacts;
  sessions?: Session[];
}

interface GameFacts extends Score {
  white_elo: number | null;
  black_elo: number | null;
  pool: string;
  base_s: number | null;
  increment_s: number | null;
  result: string;
  plies: number;
  white_clock_s: number | null;
  black_clock_s: number | null;
}

interface Session {
  depth: number;
  knodes: number;
  lines: ({ uci: string; san: string } & Score)[];
}

/** How evaluations become labels. The first is the default. */
export const LABEL_STRATEGIES: [name: string, title: string][] = [
  ['deepest', 'Deepest session, softened'],
  ['sessions', 'Average of all sessions'],
  ['win-chance', 'Deepest session, by win probability'],
  ['best', 'Best move only'],
];

/** The filters of the API; empty strings are ignored. */
export const FILTERS = ['min_rating', 'max_rating', 'phase', 'min_depth', 'max_depth', 'min_entropy', 'max_entropy', 'min_ply', 'max_ply'] as const;
export type Filters = Record<(typeof FILTERS)[number], string>;

export function noFilters(): Filters {
  return Object.fromEntries(FILTERS.map((name) => [name, ''])) as Filters;
}

/** A position by its index, the next one that passes the filters, or a random one. */
export type Target = { index: number } | { from: number; direction: 'forward' | 'back' } | 'random';

export function fetchPosition(set: string, target: Target, labels: string, filters: Filters, signal: AbortSignal): Promise<PositionView> {
  const query = new URLSearchParams({ labels });
  const base = `data/${encodeURIComponent(set)}`;
  if (target !== 'random' && 'index' in target) return fetchJson(`${base}/position/${target.index}?${query}`, signal);
  for (const name of FILTERS) if (filters[name]) query.set(name, filters[name]);
  if (target === 'random') return fetchJson(`${base}/random?${query}`, signal);
  query.set('from', String(target.from));
  query.set('direction', target.direction);
  return fetchJson(`${base}/next?${query}`, signal);
}
