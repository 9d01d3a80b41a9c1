import { loadRules, type Rules } from '../../engine/wasm';
import { firstGame } from '../../game/pgn';
import type { GameTree, ReviewedMove, ReviewSummary, Side } from '../../wasm/tabia.js';
import { loadSetting, openDatabase } from '../database';

interface StoredGame {
  tree: GameTree;
  /** The player's colour and rating in the game, if they are known. */
  side: Side | undefined;
  rating: number | undefined;
  /** Empty if the game was not reviewed. */
  moves: ReviewedMove[];
  summary: ReviewSummary | undefined;
}

/** One of the player's games with its review; throws if there is none of this key. */
export async function loadStoredGame(key: string, rules?: Rules): Promise<StoredGame> {
  const tabia = rules ?? (await loadRules());
  const db = await openDatabase();
  const [head, text, review, player] = await Promise.all([db.get('games', key), db.get('pgns', key), db.get('reviews', key), loadSetting('player')]);
  if (!head || !text) throw new Error('the game is not among your games in this browser');
  const names = (Array.isArray(player) ? player : []).map((name) => String(name).toLowerCase());
  const side = names.includes(head.white.toLowerCase()) ? 'white' : names.includes(head.black.toLowerCase()) ? 'black' : undefined;
  const rating = side === 'white' ? head.whiteRating : side === 'black' ? head.blackRating : undefined;
  return {
    tree: firstGame(tabia, text.pgn),
    side,
    rating: rating ?? undefined,
    moves: review ? tabia.storedReview(review.review) : [],
    summary: review && tabia.storedSummary(review.review),
  };
}
