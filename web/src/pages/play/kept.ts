import type { Side } from '../../wasm/tabia.js';
import { keep, recall } from '../../storage';
import { readSetup, type Setup } from './settings.svelte';

/** A game that goes on after a reload. */
export interface KeptGame {
  pgn: string;
  /** Which side the visitor plays. */
  side: Side;
  setup: Setup;
  /** Seconds on the clocks. */
  left?: Record<Side, number>;
}

const VERSION = 1;

export function keepGame(game: KeptGame): void {
  keep('play.game', { version: VERSION, ...game });
}

/** The game that was kept, or undefined if there is none that this page understands. */
export function recallGame(): KeptGame | undefined {
  const kept = recall('play.game') as Partial<KeptGame & { version: number }> | undefined | null;
  if (kept?.version !== VERSION || typeof kept.pgn !== 'string') return undefined;
  if (kept.side !== 'white' && kept.side !== 'black') return undefined;
  const { pgn, side, left } = kept;
  const clocks = typeof left?.white === 'number' && typeof left.black === 'number';
  return { pgn, side, setup: readSetup(kept.setup), ...(clocks ? { left } : {}) };
}
