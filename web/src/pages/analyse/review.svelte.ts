import type { EngineClient } from '../../engine/client';
import { sentence } from '../../notices.svelte';
import type { GameInput, ReviewedMove, Side } from '../../wasm/tabia.js';

/** What a review says of one player's moves. */
export interface Summary {
  moves: number;
  inaccuracies: number;
  mistakes: number;
  blunders: number;
  /** Only good moves that few people play: found, and missed. */
  found: number;
  missed: number;
  /** Chance to win given away by a move, on average. */
  loss: number;
  /** How likely people of the rating are to play these moves, on average. */
  likeness: number;
}

/** A review as it is kept: of which game, for which rating, and what it found. */
export interface Reviewed {
  line: string;
  rating: number | null;
  /** The network that said what people play, if it is not the one that comes along. */
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
   * Reviews a game. `lend` gives the worker the network that says what people play; `onMove` hears of every move as it comes.
   * Resolves to whether it came to the end.
   */
  async run(
    client: EngineClient,
    lend: (client: EngineClient) => Promise<string>,
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
    this.result = { line: lineOf(game), rating, moves: [] };
    try {
      const [network] = await Promise.all([lend(client), client.ensure('value')]);
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
      if (!stop.signal.aborted) this.problem = sentence(error);
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

/** What tells one reviewed game from another. */
export function lineOf(game: Pick<GameInput, 'startFen' | 'moves'>): string {
  return [game.startFen, ...game.moves].join(' ');
}

export function summary(reviewed: Reviewed, side: Side, moverOf: (ply: number) => Side): Summary {
  const own = reviewed.moves.filter((move) => moverOf(move.ply) === side);
  const marked = (mark: ReviewedMove['mark']) => own.filter((move) => move.mark === mark).length;
  const average = (of: (move: ReviewedMove) => number) =>
    own.length ? own.reduce((sum, move) => sum + of(move), 0) / own.length : 0;
  return {
    moves: own.length,
    inaccuracies: marked('inaccuracy'),
    mistakes: marked('mistake'),
    blunders: marked('blunder'),
    found: marked('good') + marked('brilliant'),
    missed: marked('hard-to-find'),
    loss: average((move) => Math.max(0, move.winBefore - move.winAfter)),
    likeness: average((move) => move.probability),
  };
}
