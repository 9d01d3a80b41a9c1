import { isReviewed, type Reviewed } from '../../game/review.svelte';
import { fields, load, store } from '../../lib/storage';
import { RATINGS } from '../../players/roles';
import type { Side } from '../../wasm/tabia.js';

const KEY = 'analysis';
const PREVIOUS_KEY = 'analysis.before';

/** An analysis as it is stored. */
export interface SavedAnalysis {
  pgn: string;
  /** The moves to the current position, in UCI notation. */
  at: string[];
  orientation: Side;
  rating: number;
  engine: boolean;
  lines: number;
  arrows: boolean;
  review?: Reviewed | undefined;
}

export function saveAnalysis(analysis: SavedAnalysis): void {
  store(KEY, analysis);
}

/** Saves a game that is about to be replaced. */
export function savePrevious(pgn: string): void {
  store(PREVIOUS_KEY, pgn);
}

export function loadPrevious(): string | undefined {
  const pgn = load(PREVIOUS_KEY);
  return typeof pgn === 'string' ? pgn : undefined;
}

/** The valid parts of the saved analysis. */
export function loadAnalysis(): Partial<SavedAnalysis> {
  const { pgn, at, orientation, rating, engine, lines, arrows, review } = fields(load(KEY));
  return {
    ...(typeof pgn === 'string' ? { pgn } : {}),
    ...(Array.isArray(at) && at.every((move) => typeof move === 'string') ? { at } : {}),
    ...(orientation === 'white' || orientation === 'black' ? { orientation } : {}),
    ...(typeof rating === 'number' && rating >= RATINGS.min && rating <= RATINGS.max ? { rating } : {}),
    ...(typeof engine === 'boolean' ? { engine } : {}),
    ...(typeof lines === 'number' && lines >= 1 && lines <= 5 ? { lines } : {}),
    ...(typeof arrows === 'boolean' ? { arrows } : {}),
    ...(isReviewed(review) ? { review } : {}),
  };
}
