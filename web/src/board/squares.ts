import type { Side } from '../wasm/tabia.js';

export function otherSide(side: Side): Side {
  return side === 'white' ? 'black' : 'white';
}

export function sideName(side: Side): 'White' | 'Black' {
  return side === 'white' ? 'White' : 'Black';
}

/** The side to move of a FEN. */
export function turnOf(fen: string): Side {
  return fen.split(' ')[1] === 'b' ? 'black' : 'white';
}

/** The squares of a move in UCI notation. */
export function squaresOf(uci: string): { from: string; to: string } {
  return { from: uci.slice(0, 2), to: uci.slice(2, 4) };
}

/** A position without legal moves to show, and the move that led to it. */
export function boardView(fen: string, lastMove: string | null | undefined) {
  const { from, to } = squaresOf(lastMove ?? '');
  return { fen, turn: turnOf(fen), ...(lastMove ? { lastMove: [from, to] as [string, string] } : {}) };
}

/** Where a square is on the screen: column from the left, row from the top. */
interface GridPosition {
  column: number;
  row: number;
}

export function gridPosition(square: string, orientation: Side): GridPosition {
  const file = square.charCodeAt(0) - 97;
  const rank = square.charCodeAt(1) - 49;
  return orientation === 'white' ? { column: file, row: 7 - rank } : { column: 7 - file, row: rank };
}

/** The arrow keys as steps on the screen. */
export const ARROW_KEYS: Record<string, [columns: number, rows: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** The square some columns and rows away on the screen; clamped to the board. */
export function neighbour(square: string, orientation: Side, columns: number, rows: number): string {
  const clamp = (n: number) => Math.min(7, Math.max(0, n));
  const { column, row } = gridPosition(square, orientation);
  const [x, y] = [clamp(column + columns), clamp(row + rows)];
  const [file, rank] = orientation === 'white' ? [x, 7 - y] : [7 - x, y];
  return String.fromCharCode(97 + file) + String.fromCharCode(49 + rank);
}

/** The move whose arrow is nearest to the pointer, if any is closer than `reach` squares. */
export function arrowAt<T extends { from: string; to: string }>(
  arrows: readonly T[],
  event: PointerEvent & { currentTarget: HTMLElement },
  orientation: Side,
  reach: number,
): T | undefined {
  const box = event.currentTarget.getBoundingClientRect();
  const [x, y] = [((event.clientX - box.left) / box.width) * 8, ((event.clientY - box.top) / box.width) * 8];
  let best: T | undefined;
  let nearest = reach;
  for (const arrow of arrows) {
    const [start, end] = [gridPosition(arrow.from, orientation), gridPosition(arrow.to, orientation)];
    const [dx, dy] = [end.column - start.column, end.row - start.row];
    const [px, py] = [x - start.column - 0.5, y - start.row - 0.5];
    const along = Math.min(1, Math.max(0, (px * dx + py * dy) / (dx * dx + dy * dy)));
    const distance = Math.hypot(px - along * dx, py - along * dy);
    if (distance < nearest) [best, nearest] = [arrow, distance];
  }
  return best;
}
