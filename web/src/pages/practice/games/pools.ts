import type { RatingPoolName } from '../../../wasm/tabia.js';

/** Whose scale a rating is on. */
export const SCALES: Record<RatingPoolName, string> = {
  lichess: 'Lichess',
  'chess.com': 'Chess.com',
  'over-the-board': 'FIDE',
  online: 'chess servers',
  puzzle: 'puzzles',
  unknown: 'an unknown pool',
};

/** In tens: more digits would mean nothing. */
export function inTens(rating: number): number {
  return 10 * Math.round(rating / 10);
}
