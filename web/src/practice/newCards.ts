import type { EngineClient } from '../engine/client';
import type { CardSubject, GameInput, NewCard, ReviewedMove } from '../wasm/tabia.js';

/** A card for the last position of a game: the engine's good moves, and what people play. */
export async function newCard(client: EngineClient, game: GameInput, subject: CardSubject): Promise<NewCard> {
  await Promise.all([client.loadBundled('human'), client.loadBundled('value')]);
  const card = await client.call('newCard', 'human', game, subject);
  if (!card) throw new Error('the game is over');
  return card;
}

/** The moves of a review that lost enough to be worth practising. */
export function mistakesOf(moves: readonly ReviewedMove[], mine: (ply: number) => boolean): ReviewedMove[] {
  return moves.filter((move) => mine(move.ply) && (move.mark === 'mistake' || move.mark === 'blunder'));
}
