import type { EngineClient } from '../../engine/client';
import { errorMessage } from '../../lib/notices.svelte';
import type { GameInput, ReviewedMove, Side } from '../../wasm/tabia.js';

/** One player's moves in a review. */
interface Summary {
  inaccuracies: number;
  mistakes: number;
  blunders: number;
  /** Only good moves that are rarely played: found, and missed. */
  found: number;
  missed: number;
  /** Average win probability lost per move. */
  loss: number;
  /** Average predicted probability of the moves. */
  probability: number;
}

/** A review as it is stored. */
export interface Reviewed {
  /** The game, see `gameKey`. */
  line: string;
  rating: number | null;
  /** The network that predicted human moves, if it is not the bundled one. */
  network?: string;
  moves: ReviewedMove[];
}

/** A review of a whole game, move by move. */
export class GameReview {
  result = $state.raw<Reviewed>();
  running = $state(false);
  done = $state(0);
  total = $state(0);
  problem = $state('');

  #stop: AbortController | undefined;

  /**
   * Reviews a game. `loadNetwork` loads the policy network into the worker; `onMove` is called for each move.
   * Resolves to whether the review was completed.
   */
  async run(
    client: EngineClient,
    loadNetwork: (client: EngineClient) => Promise<string>,
    game: GameInput,
    rating: number,
    secondsPerMove: number,
    onMove: (move: ReviewedMove) => void,
  ): Promise<boolean> {
    this.cancel();
    const stop = new AbortController();
    this.#stop = stop;
    this.running = true;
    this.problem = '';
    this.done = 0;
    this.total = game.moves.length;
    this.result = { line: gameKey(game), rating, moves: [] };
    try {
      const [network] = await Promise.all([loadNetwork(client), client.loadBundled('value')]);
      if (stop.signal.aborted) return false;
      if (network !== 'human') this.result = { ...this.result, network };
      await client.stream(
        'review',
        [game, network, rating, secondsPerMove],
        (event) => {
          if ('total' in event) this.total = event.total;
          else {
            this.done++;
            if (this.result) this.result = { ...this.result, moves: [...this.result.moves, event] };
            onMove(event);
          }
        },
        stop.signal,
      );
      return !stop.signal.aborted;
    } catch (error) {
      if (!stop.signal.aborted) this.problem = errorMessage(error);
      return false;
    } finally {
      if (this.#stop === stop) this.running = false;
    }
  }

  cancel(): void {
    this.#stop?.abort();
    this.running = false;
  }

  clear(): void {
    this.cancel();
    this.result = undefined;
  }
}

/** Identifies a game by its start position and moves. */
export function gameKey(game: Pick<GameInput, 'startFen' | 'moves'>): string {
  return [game.startFen, ...game.moves].join(' ');
}

export function summary(reviewed: Reviewed, side: Side, moverOf: (ply: number) => Side): Summary {
  const own = reviewed.moves.filter((move) => moverOf(move.ply) === side);
  const marked = (mark: ReviewedMove['mark']) => own.filter((move) => move.mark === mark).length;
  const average = (of: (move: ReviewedMove) => number) =>
    own.length ? own.reduce((sum, move) => sum + of(move), 0) / own.length : 0;
  return {
    inaccuracies: marked('inaccuracy'),
    mistakes: marked('mistake'),
    blunders: marked('blunder'),
    found: marked('good') + marked('brilliant'),
    missed: marked('hard-to-find'),
    loss: average((move) => Math.max(0, move.winBefore - move.winAfter)),
    probability: average((move) => move.probability),
  };
}
