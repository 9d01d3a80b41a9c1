import { ask } from '../../server/server';
import type { Side } from '../../wasm/tabia.js';

// What the server answers about data sets (docs/guides/explorer.md).

export interface SetAbout {
  name: string;
  kind: 'games' | 'evaluations';
  records: number;
  positions: number;
  sources: string[];
}

/** A score for White: centipawns or moves to mate. */
export interface Scored {
  cp?: number;
  mate?: number;
}

export interface Label extends Scored {
  uci: string;
  san: string;
  probability: number;
}

export interface PositionView {
  set: string;
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

export interface GameFacts extends Scored {
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

export interface Session {
  depth: number;
  knodes: number;
  lines: ({ uci: string; san: string } & Scored)[];
}

/** How engine evaluations become labels. */
export const STRATEGIES: [string, string][] = [
  ['deepest', 'deepest session, softened'],
  ['sessions', 'all sessions, averaged'],
  ['win-chance', 'deepest session, by chance of winning'],
  ['best', 'only the best move'],
];

/** What a position must be like, by the names the server knows; empty texts do not matter. */
export const FILTERS = ['min_rating', 'max_rating', 'phase', 'min_depth', 'max_depth', 'min_entropy', 'max_entropy', 'min_ply', 'max_ply'] as const;
export type Filters = Record<(typeof FILTERS)[number], string>;

export function noFilters(): Filters {
  return Object.fromEntries(FILTERS.map((name) => [name, ''])) as Filters;
}

export function sets(signal: AbortSignal): Promise<SetAbout[]> {
  return ask<SetAbout[]>('data', signal);
}

/** Which position is wanted. */
export type Wanted = { index: number } | { from: number; direction: 'forward' | 'back' } | 'random';

export function position(set: string, wanted: Wanted, labels: string, filters: Filters, signal: AbortSignal): Promise<PositionView> {
  const query = new URLSearchParams({ labels });
  const base = `data/${encodeURIComponent(set)}`;
  if (wanted !== 'random' && 'index' in wanted) return ask(`${base}/position/${wanted.index}?${query}`, signal);
  for (const name of FILTERS) if (filters[name]) query.set(name, filters[name]);
  if (wanted === 'random') return ask(`${base}/random?${query}`, signal);
  query.set('from', String(wanted.from));
  query.set('direction', wanted.direction);
  return ask(`${base}/next?${query}`, signal);
}
