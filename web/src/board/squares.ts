import type { Side } from '../wasm/tabia.js';

/** Where a square is on the screen, in squares from the left and from the top. */
export interface Spot {
  column: number;
  row: number;
}

export function spotOf(square: string, orientation: Side): Spot {
  const file = square.charCodeAt(0) - 97;
  const rank = square.charCodeAt(1) - 49;
  return orientation === 'white' ? { column: file, row: 7 - rank } : { column: 7 - file, row: rank };
}

/** The arrow keys that move over a board, as columns and rows on the screen. */
export const ARROWS: Record<string, [columns: number, rows: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The square a number of columns and rows away on the screen, or the same one at the edge. */
export function neighbour(square: string, orientation: Side, columns: number, rows: number): string {
  const { column, row } = spotOf(square, orientation);
  const [x, y] = [clamp(column + columns), clamp(row + rows)];
  const [file, rank] = orientation === 'white' ? [x, 7 - y] : [7 - x, y];
  return String.fromCharCode(97 + file) + String.fromCharCode(49 + rank);
}

function clamp(n: number): number {
  return Math.min(7, Math.max(0, n));
}
