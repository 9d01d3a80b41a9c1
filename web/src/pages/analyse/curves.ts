import type { PredictionsByRating } from './humanMoves.svelte';

/** The probability of a move at each rating. */
export interface MoveCurve {
  uci: string;
  san: string;
  probabilities: number[];
}

const MAX_CURVES = 6;
const MIN_PEAK = 0.02;

/** The curves of the moves that are likely at some rating, the likeliest over all ratings first. */
export function curvesOf(byRating: PredictionsByRating): MoveCurve[] {
  const curves = new Map<string, MoveCurve>();
  for (const [index, { view }] of byRating.entries()) {
    for (const { uci, san, probability } of view.moves) {
      let curve = curves.get(uci);
      if (!curve) curves.set(uci, (curve = { uci, san, probabilities: Array<number>(byRating.length).fill(0) }));
      curve.probabilities[index] = probability;
    }
  }
  const peak = ({ probabilities }: MoveCurve) => Math.max(...probabilities);
  const sum = ({ probabilities }: MoveCurve) => probabilities.reduce((total, probability) => total + probability, 0);
  return [...curves.values()]
    .filter((curve) => peak(curve) >= MIN_PEAK)
    .sort((a, b) => peak(b) - peak(a))
    .slice(0, MAX_CURVES)
    .sort((a, b) => sum(b) - sum(a));
}
