import { sharedEngine } from '../../engine/client';
import { storedDeck } from '../../practice/deck.svelte';
import { newCard } from '../../practice/newCards';
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
  const source = `${players.white} – ${players.black}`;
  const cards: NewCard[] = [];
  for (const { ply, uci, winBefore, winAfter } of mistakes) {
    const before = { ...game, moves: game.moves.slice(0, ply - 1), ...(game.clocks && { clocks: game.clocks.slice(0, ply - 1) }) };
    const loss = Math.max(0, winBefore - winAfter);
    cards.push(await newCard(sharedEngine(), before, { kind: 'mistake', rating, played: uci, loss, source, ply, ...openingOf(analysis) }));
  }
  const learnable = cards.filter((card) => session.rules.isLearnable(card));
  return { added: await (await storedDeck()).add(learnable), skipped: cards.length - learnable.length };
}

/** Adds the current position; returns whether it is new. */
export async function addPositionToDeck(analysis: Analysis): Promise<boolean> {
  const { session, rating, players } = analysis;
  const source = `${players.white} – ${players.black}`;
  const game = inputAtCursor(session, rating);
  const card = await newCard(sharedEngine(), game, { kind: 'position', rating, source, ply: session.view.ply + 1, ...openingOf(analysis) });
  return (await (await storedDeck()).add([card])) > 0;
}

function openingOf(analysis: Analysis): { opening?: string } {
  const opening = analysis.session.view.headers.find(([name]) => name === 'Opening')?.[1];
  return opening ? { opening } : {};
}
