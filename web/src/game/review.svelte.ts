import type { EngineClient } from '../engine/client';
import { errorMessage } from '../lib/notices.svelte';
import { fields, load, store } from '../lib/storage';
import type { GameInput, PlayedLike, ReviewedMove, ReviewSummary, Side } from '../wasm/tabia.js';

/** One player's moves in a review. */
interface Summary {
  inaccuracies: number;
  mistakes: number;
  blunders: number;
  /** Of these, where most people of the rating err too. */
  understandable: number;
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
  /** What it says about the whole game, once all moves are reviewed. */
  summary?: ReviewSummary;
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
    onMove: (move: ReviewedMove) => void = () => {},
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
      const summary = await client.stream(
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
      if (stop.signal.aborted) return false;
      if (summary && this.result) this.result = { ...this.result, summary };
      return true;
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
    understandable: own.filter((move) => move.understandable).length,
    found: marked('good') + marked('brilliant'),
    missed: marked('hard-to-find'),
    loss: average((move) => Math.max(0, move.winBefore - move.winAfter)),
    probability: average((move) => move.probability),
  };
}

/** "1640 (95%: 1480 to 1790)". */
export function playedLikeText({ rating, low, high }: PlayedLike): string {
  return `${rating} (95%: ${low} to ${high})`;
}

// The review of the last game played is kept, for the page that analyses it and for a reload.

const KEY = 'play.review';

export function storeReview(reviewed: Reviewed): void {
  store(KEY, reviewed);
}

/** The stored review of a game, if it is complete. */
export function storedReview(game: Pick<GameInput, 'startFen' | 'moves'>): Reviewed | undefined {
  const stored = load(KEY);
  return isReviewed(stored) && stored.summary && stored.line === gameKey(game) && stored.moves.length === game.moves.length
    ? stored
    : undefined;
}

/** Whether a stored value is a review. */
export function isReviewed(value: unknown): value is Reviewed {
  const { line, moves, summary } = fields(value);
  return typeof line === 'string' && Array.isArray(moves) && moves.every(isReviewedMove) && (summary === undefined || isSummary(summary));
}

function isReviewedMove(value: unknown): value is ReviewedMove {
  const { ply, winBefore, winAfter, probability, mark } = fields(value);
  return [ply, winBefore, winAfter, probability].every((number) => typeof number === 'number') && typeof mark === 'string';
}

function isSummary(value: unknown): value is ReviewSummary {
  const { white, black, ratings } = fields(value);
  const isSide = (side: unknown) => Array.isArray(fields(side).curve) && Array.isArray(fields(side).phases);
  return Array.isArray(ratings) && isSide(white) && isSide(black);
}
