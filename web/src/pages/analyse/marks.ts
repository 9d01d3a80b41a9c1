import type { Mark } from '../../board/MoveList.svelte';
import type { MoveNode, ReviewedMove } from '../../wasm/tabia.js';

type Kind = Exclude<ReviewedMove['mark'], ''>;

/** Follows the glyph of a bad move where most people of the rating err too. */
export const UNDERSTANDABLE = '◇';

/** The annotations of a review, with their NAGs in PGN. */
export const MARKS: Record<Kind, Mark & { nag?: number }> = {
  inaccuracy: { glyph: '?!', tone: 'caution', title: 'inaccuracy', nag: 6 },
  mistake: { glyph: '?', tone: 'bad', title: 'mistake', nag: 2 },
  blunder: { glyph: '??', tone: 'bad', title: 'blunder', nag: 4 },
  good: { glyph: '!', tone: 'good', title: 'only good move, rarely found', nag: 1 },
  brilliant: { glyph: '!!', tone: 'good', title: 'only good move, hardly ever found', nag: 3 },
  'hard-to-find': { glyph: '◆', tone: 'muted', title: 'missed the only good move, which is hard to find' },
};

const NAGS: Record<number, Mark> = {
  1: { glyph: '!', tone: 'good', title: 'good move' },
  2: MARKS.mistake,
  3: { glyph: '!!', tone: 'good', title: 'brilliant move' },
  4: MARKS.blunder,
  5: { glyph: '!?', tone: 'muted', title: 'interesting move' },
  6: MARKS.inaccuracy,
};

/** The annotation of a reviewed move. */
export function markOf({ mark, understandable }: Pick<ReviewedMove, 'mark' | 'understandable'>): Mark | undefined {
  if (!mark) return undefined;
  const { glyph, tone, title } = MARKS[mark];
  return understandable ? { glyph, suffix: UNDERSTANDABLE, tone, title: `${title}, but understandable` } : { glyph, tone, title };
}

/** The annotation of each move: that of the review, or else of the PGN. */
export function marksOf(nodes: readonly MoveNode[], reviewed: ReadonlyMap<number, ReviewedMove>): Map<number, Mark> {
  const marks = new Map<number, Mark>();
  for (const node of nodes) {
    const review = reviewed.get(node.id);
    const found = (review && markOf(review)) ?? node.nags.map((nag) => NAGS[nag]).find((known) => known !== undefined);
    if (found) marks.set(node.id, found);
  }
  return marks;
}

/** A move's NAGs after a review: a move assessment is replaced, others stay. */
export function nagsAfterReview(nags: readonly number[], mark: ReviewedMove['mark']): number[] {
  const nag = mark ? MARKS[mark].nag : undefined;
  const others = nags.filter((other) => NAGS[other] === undefined);
  return nag === undefined ? others : [nag, ...others];
}
