import type { EngineClient } from '../../engine/client';
import { errorMessage } from '../../lib/notices.svelte';
import type { GameInput, PositionDifficulty } from '../../wasm/tabia.js';

/** Results in the cache, of a kilobyte each. */
const CACHE_SIZE = 500;
/** How long a position must stay on the board before it is searched. */
const DELAY_MS = 400;
const SECONDS = 0.5;

/** How hard the current position is for people of the chosen rating. */
export class Difficulty {
  /** The result; of the previous position or rating while `stale`. */
  found = $state.raw<PositionDifficulty>();
  stale = $state(false);
  problem = $state('');

  #client: EngineClient;
  #stop: AbortController | undefined;
  #cache = new Map<string, PositionDifficulty>();

  constructor(client: EngineClient) {
    this.#client = client;
  }

  /** Searches a position. Cancels an earlier search. `loadNetwork` loads the policy network into the worker. */
  async search(game: GameInput, rating: number, model: string, loadNetwork: (client: EngineClient) => Promise<string>): Promise<void> {
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    const { signal } = stop;
    this.stale = true;
    try {
      const key = [model, rating, game.startFen, game.moves.join(' '), game.timeControl, game.clocks?.join(' ')].join('|');
      const found = this.#cache.get(key) ?? (await this.#find(game, rating, loadNetwork, signal));
      if (signal.aborted) return;
      this.found = found;
      this.problem = '';
      if (found) this.#remember(key, found);
    } catch (error) {
      if (signal.aborted) return;
      this.found = undefined;
      this.problem = errorMessage(error);
    }
    this.stale = false;
  }

  clear(): void {
    this.#stop?.abort();
    this.found = undefined;
    this.stale = false;
    this.problem = '';
  }

  async #find(
    game: GameInput,
    rating: number,
    loadNetwork: (client: EngineClient) => Promise<string>,
    signal: AbortSignal,
  ): Promise<PositionDifficulty | undefined> {
    await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    if (signal.aborted) return undefined;
    const [network] = await Promise.all([loadNetwork(this.#client), this.#client.loadBundled('value')]);
    if (signal.aborted) return undefined;
    return (await this.#client.stream('difficulty', [game, network, rating, SECONDS], () => {}, signal)) ?? undefined;
  }

  #remember(key: string, found: PositionDifficulty): void {
    this.#cache.delete(key);
    this.#cache.set(key, found);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= CACHE_SIZE) break;
      this.#cache.delete(oldest);
    }
  }
}
