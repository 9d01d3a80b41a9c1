import type { Curve } from './people.svelte';

/** One move's probability at every rating of a curve. */
export interface CurveLine {
  uci: string;
  san: string;
  chances: number[];
}

/** As many as can be told apart. */
const MOST = 6;
/** Moves nobody plays at any rating have no curve worth drawing. */
const LEAST_LIKELY = 0.02;

/** Lines differ by dashes as well as by colour. */
export const CURVE_DASHES: number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 5]];

/** The curves of the moves that are likely at some rating, the likeliest over all of them first. */
export function linesOf(curve: Curve): CurveLine[] {
  const lines = new Map<string, CurveLine>();
  for (const [index, { view }] of curve.entries()) {
    for (const { uci, san, probability } of view.moves) {
      let line = lines.get(uci);
      if (!line) lines.set(uci, (line = { uci, san, chances: Array<number>(curve.length).fill(0) }));
      line.chances[index] = probability;
    }
  }
  const peak = ({ chances }: CurveLine) => Math.max(...chances);
  const whole = ({ chances }: CurveLine) => chances.reduce((sum, chance) => sum + chance, 0);
  return [...lines.values()]
    .filter((line) => peak(line) >= LEAST_LIKELY)
    .sort((a, b) => peak(b) - peak(a))
    .slice(0, MOST)
    .sort((a, b) => whole(b) - whole(a));
}
