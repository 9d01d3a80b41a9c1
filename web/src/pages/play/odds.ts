import { otherSide } from '../../board/squares';
import type { Rules } from '../../engine/wasm';
import type { GameTree, Side } from '../../wasm/tabia.js';
import { positionNumber } from './chess960';
import { practiceTree } from './practiceGame';
import type { Setup } from './settings.svelte';

export const ODDS = [
  ['pawn-and-move', 'pawn and move'],
  ['knight', 'knight'],
  ['rook', 'rook'],
  ['queen', 'queen'],
] as const;

/** Who gives what: `opponent:knight`, `you:queen`. */
export type GivenOdds = `${'opponent' | 'you'}:${(typeof ODDS)[number][0]}`;

/** Checks a stored value or that of a link; null if it is none. */
export function readOdds(value: unknown): GivenOdds | null {
  const [giver, name] = typeof value === 'string' ? value.split(':') : [];
  const known = ODDS.find(([odds]) => odds === name)?.[0];
  return known && (giver === 'opponent' || giver === 'you') ? `${giver}:${known}` : null;
}

/** The start of a game. */
export function startTree(rules: Rules, { chess960, odds, practice }: Pick<Setup, 'chess960' | 'odds' | 'practice'>, side: Side): GameTree {
  if (practice) return practiceTree(rules, practice);
  if (chess960 !== null) return new rules.GameTree(rules.chess960Fen(positionNumber(chess960)));
  if (odds === null) return new rules.GameTree();
  const [giver, name = ''] = odds.split(':');
  return new rules.GameTree(rules.oddsFen(name, giver === 'you' ? side : otherSide(side)));
}
