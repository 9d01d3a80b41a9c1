import { moveNumber } from '../../board/moves';
import { EngineClient } from '../../engine/client';
import { gameKey, GameReview, storedReview, storeReview } from '../../game/review.svelte';
import { RATINGS } from '../../players/roles';
import type { Side } from '../../wasm/tabia.js';
import type { LiveGame } from './liveGame.svelte';
import { opponentRating } from './opponent';

const SECONDS_PER_MOVE = 0.1;

/** The review of a finished game, in a worker of its own, so that the next game does not wait for it. */
export class ResultReview {
  readonly review = new GameReview();
  /** Whether neither side made enough moves to estimate a rating. */
  tooShort = $state(false);
  /** The moves that an estimate needs. */
  needed = $state(0);

  #client: EngineClient | undefined;

  /** Reviews a game, unless it was reviewed before. Ends the review of another one. */
  async start(game: LiveGame): Promise<void> {
    this.cancel();
    const input = game.input();
    const { startFen } = game.session.view;
    const movesOf = (side: Side) =>
      input.moves.filter((_, index) => moveNumber(startFen, index + 1).white === (side === 'white')).length;
    this.needed = game.session.rules.movesForEstimate();
    this.tooShort = Math.max(movesOf('white'), movesOf('black')) < this.needed;
    const stored = storedReview(input);
    if (stored) this.review.result = stored;
    if (stored || this.tooShort) return;
    const client = new EngineClient();
    this.#client = client;
    const rating = game.setup.rating ?? opponentRating(game.setup.opponent) ?? RATINGS.default;
    const load = async () => {
      await client.loadBundled('human');
      return 'human';
    };
    const done = await this.review.run(client, load, input, rating, SECONDS_PER_MOVE);
    const { result } = this.review;
    if (done && result?.line === gameKey(input)) storeReview(result);
    if (this.#client === client) this.#close();
  }

  /** Forgets the game. */
  cancel(): void {
    this.review.clear();
    this.tooShort = false;
    this.#close();
  }

  #close(): void {
    this.#client?.close();
    this.#client = undefined;
  }
}
