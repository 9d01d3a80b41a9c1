/** How many start positions there are. */
const POSITIONS = 960;
export const LAST_POSITION = POSITIONS - 1;

/** A start position by its number, or another one for every game. */
export type Chess960 = number | 'random';

/** Checks a stored value; null if it is none. */
export function readChess960(value: unknown): Chess960 | null {
  if (value === 'random') return value;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < POSITIONS ? value : null;
}

/** The number to play, drawn where it is random. */
export function positionNumber(chosen: Chess960): number {
  return chosen === 'random' ? Math.floor(Math.random() * POSITIONS) : chosen;
}
