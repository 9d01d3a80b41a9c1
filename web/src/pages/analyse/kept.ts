import { keep, recall } from '../../storage';
import type { ReviewedMove, Side } from '../../wasm/tabia.js';
import type { Reviewed } from './review.svelte';
import { HIGHEST, LOWEST } from './people.svelte';

const KEY = 'analysis';
const BEFORE = 'analysis.before';

/** An analysis as it survives a reload. */
export interface Kept {
  pgn: string;
  /** The moves from the start to where it was left, in UCI notation. */
  at: string[];
  orientation: Side;
  rating: number;
  engine: boolean;
  lines: number;
  arrows: boolean;
  review?: Reviewed | undefined;
}

export function keepAnalysis(kept: Kept): void {
  keep(KEY, kept);
}

/** Puts a game aside that is about to be replaced. */
export function putAside(pgn: string): void {
  keep(BEFORE, pgn);
}

export function setAside(): string | undefined {
  const pgn = recall(BEFORE);
  return typeof pgn === 'string' ? pgn : undefined;
}

/** What was kept, as far as it can be understood. */
export function recallAnalysis(): Partial<Kept> {
  const found = recall(KEY);
  if (typeof found !== 'object' || found === null) return {};
  const { pgn, at, orientation, rating, engine, lines, arrows, review } = found as Record<string, unknown>;
  return {
    ...(typeof pgn === 'string' ? { pgn } : {}),
    ...(Array.isArray(at) && at.every((move) => typeof move === 'string') ? { at } : {}),
    ...(orientation === 'white' || orientation === 'black' ? { orientation } : {}),
    ...(typeof rating === 'number' && rating >= LOWEST && rating <= HIGHEST ? { rating } : {}),
    ...(typeof engine === 'boolean' ? { engine } : {}),
    ...(typeof lines === 'number' && lines >= 1 && lines <= 5 ? { lines } : {}),
    ...(typeof arrows === 'boolean' ? { arrows } : {}),
    ...(isReviewed(review) ? { review } : {}),
  };
}

function isReviewed(value: unknown): value is Reviewed {
  if (typeof value !== 'object' || value === null) return false;
  const { line, moves } = value as Record<string, unknown>;
  return typeof line === 'string' && Array.isArray(moves) && moves.every(isReviewedMove);
}

function isReviewedMove(value: unknown): value is ReviewedMove {
  if (typeof value !== 'object' || value === null) return false;
  const { ply, winBefore, winAfter, probability, mark } = value as Record<string, unknown>;
  return [ply, winBefore, winAfter, probability].every((number) => typeof number === 'number') && typeof mark === 'string';
}
