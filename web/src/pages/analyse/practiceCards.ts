import { sharedEngine } from '../../engine/client';
import { storedDeck } from '../../practice/deck.svelte';
import { isLearnable, newCard } from '../../practice/newCards';
import type { NewCard, ReviewedMove } from '../../wasm/tabia.js';
import type { Analysis } from './analysis.svelte';
import { inputAtCursor, mainlineInput } from './gameInput';

/** Adds a card for each mistake that somewhat stronger people avoid. */
export async function addMistakesToDeck(
  analysis: Analysis,
  mistakes: readonly ReviewedMove[],
): Promise<{ added: number; skipped: number }> {
  const { session, rating, players } = analysis;
  const game = mainlineInput(session, rating);
  const cards: NewCard[] = [];
  for (const move of mistakes) {
    const before = { ...game, moves: game.moves.slice(0, move.ply - 1), ...(game.clocks && { clocks: game.clocks.slice(0, move.ply - 1) }) };
    const tree = session.rules.GameTree.fromMoves(game.startFen, before.moves);
    try {
      tree.toEnd();
      const { fen } = tree.view();
      const source = `${players.white} – ${players.black}`;
      const loss = Math.max(0, move.winBefore - move.winAfter);
      cards.push(await newCard(sharedEngine(), { kind: 'mistake', game: before, fen, rating, played: move.uci, loss, source, ply: move.ply, ...openingOf(analysis) }));
    } finally {
      tree.free();
    }
  }
  const learnable = cards.filter(isLearnable);
  return { added: await (await storedDeck()).add(learnable), skipped: cards.length - learnable.length };
}

/** Adds the current position; returns whether it is new. */
export async function addPositionToDeck(analysis: Analysis): Promise<boolean> {
  const { session, rating, players } = analysis;
  const { fen, ply } = session.view;
  const source = `${players.white} – ${players.black}`;
  const game = inputAtCursor(session, rating);
  const card = await newCard(sharedEngine(), { kind: 'position', game, fen, rating, source, ply: ply + 1, ...openingOf(analysis) });
  return (await (await storedDeck()).add([card])) > 0;
}

function openingOf(analysis: Analysis): { opening?: string } {
  const opening = analysis.session.view.headers.find(([name]) => name === 'Opening')?.[1];
  return opening ? { opening } : {};
}
