import { load, store } from '../../lib/storage';
import type { Side } from '../../wasm/tabia.js';
import { readSetup, type Setup } from './settings.svelte';

/** A game as it is stored, to be continued after a reload. */
export interface SavedGame {
  pgn: string;
  /** The visitor's side. */
  side: Side;
  setup: Setup;
  /** Seconds on the clocks. */
  left?: Record<Side, number>;
}

const VERSION = 1;

export function saveGame(game: SavedGame): void {
  store('play.game', { version: VERSION, ...game });
}

/** The saved game, or undefined if there is no valid one. */
export function loadGame(): SavedGame | undefined {
  const saved = load('play.game') as Partial<SavedGame & { version: number }> | undefined | null;
  if (saved?.version !== VERSION || typeof saved.pgn !== 'string') return undefined;
  if (saved.side !== 'white' && saved.side !== 'black') return undefined;
  const { pgn, side, left } = saved;
  const clocks = typeof left?.white === 'number' && typeof left.black === 'number';
  return { pgn, side, setup: readSetup(saved.setup), ...(clocks ? { left } : {}) };
}
