import type { HumanMove } from '../wasm/tabia.js';
import { sharedEngine } from './client';

interface Options {
  /** The rating of both players [default: unknown]. */
  elo?: number;
  /** Seconds on both clocks [default: unknown]. */
  clock?: number;
  /** Such as "3+2" [default: unknown]. */
  timeControl?: string;
}

interface Distribution {
  /** All legal moves, likeliest first. */
  moves: HumanMove[];
  /** The chances of a White win, a draw and a Black win. */
  wdl: { white: number; draw: number; black: number } | undefined;
}

/** The moves that people play in a position, by the human network. For the browser's console. */
export async function moveDistribution(fen?: string, { elo, clock, timeControl }: Options = {}): Promise<Distribution> {
  const engine = sharedEngine();
  await engine.loadBundled('human');
  const player = { rating: elo, remaining: clock };
  const game = { startFen: fen, moves: [], white: player, black: player, timeControl };
  const [view] = await engine.call('human', 'human', game, [elo ?? null]);
  if (!view) throw new Error('no answer for the rating');
  const { moves, wdl } = view;
  return { moves, wdl: wdl && { white: wdl[0], draw: wdl[1], black: wdl[2] } };
}
