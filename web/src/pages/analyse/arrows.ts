import { squaresOf } from '../../board/squares';
import type { BoardShape } from '../../board/shapes';
import { percent } from '../../lib/format';
import type { HumanMove } from '../../wasm/tabia.js';

/** An arrow for a move, or for all promotions between the same squares. */
export interface Arrow {
  from: string;
  to: string;
  probability: number;
  /** The text of its tooltip. */
  text: string;
}

const MAX_ARROWS = 8;
const MIN_PROBABILITY = 0.02;

/** Arrows for the likeliest moves. */
export function arrowsOf(moves: readonly HumanMove[]): Arrow[] {
  const arrows = new Map<string, Arrow>();
  for (const { uci, san, probability } of moves) {
    const { from, to } = squaresOf(uci);
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
    .filter(({ probability }) => probability >= MIN_PROBABILITY)
    .sort((a, b) => b.probability - a.probability)
    .slice(0, MAX_ARROWS);
}

/** Likelier moves are wider and more opaque. When one is hovered, the others fade. */
export function shapesOf(arrows: readonly Arrow[], hovered: string | undefined): BoardShape[] {
  // The widest first, so that thin arrows are drawn on top.
  return arrows.map(({ from, to, probability }) => {
    const weight = Math.sqrt(probability);
    const faded = hovered !== undefined && hovered !== from + to;
    return { from, to, brush: 'human', width: Math.round(3 + 12 * weight), opacity: faded ? 0.3 : 0.5 + 0.5 * weight };
  });
}
