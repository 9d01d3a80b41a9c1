import type { Mark } from '../../board/MoveList.svelte';
import type { MoveNode, ReviewedMove } from '../../wasm/tabia.js';

type Kind = Exclude<ReviewedMove['mark'], ''>;

/** How a review's marks look, and the numbers PGN has for them. */
export const MARKS: Record<Kind, Mark & { nag?: number }> = {
  inaccuracy: { glyph: '?!', tone: 'caution', title: 'inaccuracy', nag: 6 },
  mistake: { glyph: '?', tone: 'bad', title: 'mistake', nag: 2 },
  blunder: { glyph: '??', tone: 'bad', title: 'blunder', nag: 4 },
  good: { glyph: '!', tone: 'good', title: 'the only good move, and few find it', nag: 1 },
  brilliant: { glyph: '!!', tone: 'good', title: 'the only good move by far, and hardly anybody finds it', nag: 3 },
  'hard-to-find': { glyph: '◆', tone: 'quiet', title: 'missed the only good move, which is hard to find' },
};

const NAGS: Record<number, Mark> = {
  1: { glyph: '!', tone: 'good', title: 'good move' },
  2: { glyph: '?', tone: 'bad', title: 'mistake' },
  3: { glyph: '!!', tone: 'good', title: 'brilliant move' },
  4: { glyph: '??', tone: 'bad', title: 'blunder' },
  5: { glyph: '!?', tone: 'quiet', title: 'interesting move' },
  6: { glyph: '?!', tone: 'caution', title: 'inaccuracy' },
};

/** The sign behind every move that has one: the review's, or else that of the PGN. */
export function marksOf(nodes: readonly MoveNode[], reviewed: ReadonlyMap<number, ReviewedMove>): Map<number, Mark> {
  const marks = new Map<number, Mark>();
  for (const node of nodes) {
    const mark = reviewed.get(node.id)?.mark;
    const found = mark ? MARKS[mark] : node.nags.map((nag) => NAGS[nag]).find((known) => known !== undefined);
    if (found) marks.set(node.id, found);
  }
  return marks;
}

/** A move's judgements after a review: its own verdict takes the place of an older one, the rest stays. */
export function judged(nags: readonly number[], mark: ReviewedMove['mark']): number[] {
  const verdict = mark ? MARKS[mark].nag : undefined;
  const others = nags.filter((nag) => NAGS[nag] === undefined);
  return verdict === undefined ? others : [verdict, ...others];
}
