import { spotOf } from '../../board/squares';
import type { BoardShape } from '../../board/shapes';
import type { HumanMove, Side } from '../../wasm/tabia.js';
import { percent } from './opinion';

/** An arrow for a move, or for all promotions on the same squares. */
export interface Arrow {
  from: string;
  to: string;
  probability: number;
  /** What it tells when pointed at. */
  text: string;
}

const MOST = 8;
const LEAST_LIKELY = 0.02;
/** In squares: how close the pointer must come. */
const REACH = 0.3;

/** Arrows for the likeliest moves. */
export function arrowsOf(moves: readonly HumanMove[]): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const { uci, san, probability } of moves) {
    const [from, to] = [uci.slice(0, 2), uci.slice(2, 4)];
    const text = `${san} ${percent(probability)}`;
    const same = arrows.get(from + to);
    arrows.set(from + to, {
      from,
      to,
      probability: (same?.probability ?? 0) + probability,
      text: same ? `${same.text}, ${text}` : text,
    });
  }
  return [...arrows.values()]
    .filter(({ probability }) => probability >= LEAST_LIKELY)
    .sort((a, b) => b.probability - a.probability)
    .slice(0, MOST);
}

/** Likely moves are wide and solid. Of all arrows, only the one pointed at keeps its colour. */
export function shapesOf(arrows: readonly Arrow[], pointed: string | undefined): BoardShape[] {
  // The widest below, so that thin ones can be seen on them.
  return arrows.map(({ from, to, probability }) => {
    const weight = Math.sqrt(probability);
    const faded = pointed !== undefined && pointed !== from + to;
    return { from, to, brush: 'human', width: Math.round(3 + 12 * weight), opacity: faded ? 0.3 : 0.5 + 0.5 * weight };
  });
}

/** The arrow under a point of the board, given in squares from its top left corner. */
export function arrowAt(arrows: readonly Arrow[], x: number, y: number, orientation: Side): Arrow | undefined {
  let best: Arrow | undefined;
  let nearest = REACH;
  for (const arrow of arrows) {
    const [start, end] = [spotOf(arrow.from, orientation), spotOf(arrow.to, orientation)];
    const [dx, dy] = [end.column - start.column, end.row - start.row];
    const [px, py] = [x - start.column - 0.5, y - start.row - 0.5];
    const along = Math.min(1, Math.max(0, (px * dx + py * dy) / (dx * dx + dy * dy)));
    const distance = Math.hypot(px - along * dx, py - along * dy);
    if (distance < nearest) [best, nearest] = [arrow, distance];
  }
  return best;
}
