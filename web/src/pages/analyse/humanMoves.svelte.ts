import type { EngineClient } from '../../engine/client';
import { checkModelSize } from '../../engine/modelFile.svelte';
import { errorMessage } from '../../lib/notices.svelte';
import { RATINGS } from '../../players/roles';
import type { GameInput, HumanView, ModelFacts } from '../../wasm/tabia.js';

/** Predictions in the cache, of a few kilobytes each. */
const CACHE_SIZE = 1500;
/** How long a position must stay on the board before all ratings are predicted. */
const CURVE_DELAY_MS = 150;

/** The ratings of a curve, coarse steps first. */
const CURVE_RATINGS = (() => {
  const all = Array.from({ length: (RATINGS.max - RATINGS.min) / 100 + 1 }, (_, index) => RATINGS.min + index * 100);
  const every = (step: number) => all.filter((rating) => (rating - RATINGS.min) % step === 0);
  return [...new Set([...every(500), ...every(200), ...all])];
})();
/** The curve is redrawn when it has this many points. */
const REDRAW_AT = [5, 13, CURVE_RATINGS.length];

/** The predictions calculated so far, by increasing rating. */
export type PredictionsByRating = { rating: number; view: HumanView }[];

type InputAt = (rating: number | null) => GameInput;

/** A policy network's predictions for the current position, at one rating and at all ratings. */
export class HumanMoves {
  /** The networks that can be chosen: the bundled one and opened files. */
  models = $state.raw<ModelFacts[]>([]);
  model = $state('human');
  /** The prediction; of the previous position while `stale`. */
  view = $state.raw<HumanView>();
  byRating = $state.raw<PredictionsByRating>([]);
  download = $state.raw<{ loaded: number; total: number }>();
  problem = $state('');
  stale = $state(false);

  #client: EngineClient;
  #request = 0;
  #position = '';
  /** The running call. It cannot be stopped, so the next one waits for it and then checks whether it is still wanted. */
  #running: Promise<unknown> | undefined;
  #cache = new Map<string, HumanView>();
  #files = new Map<string, File>();
  /** The files loaded into other workers, by name. */
  #loadedInto = new WeakMap<EngineClient, Map<string, File>>();

  constructor(client: EngineClient) {
    this.#client = client;
  }

  /** Whether the network depends on the rating. */
  get rated(): boolean {
    return this.models.find(({ name }) => name === this.model)?.rated ?? true;
  }

  /** Predicts the moves of a position. Cancels earlier requests. */
  async predict(inputAt: InputAt, rating: number): Promise<void> {
    const request = ++this.#request;
    const { model } = this;
    const current = () => request === this.#request;
    const position = cacheKey(model, inputAt(null), null);
    if (position !== this.#position) this.stale = true;
    this.#position = position;
    try {
      if (model === 'human') await this.#loadBundled();
      if (!current()) return;
      const { rated } = this;
      const view = await this.#predictAt(model, inputAt, rated ? rating : null, current);
      if (!current() || !view) return;
      this.problem = '';
      this.stale = false;
      this.view = view;
      this.byRating = rated ? this.#cached(model, inputAt) : [];
      if (!rated || this.byRating.length === CURVE_RATINGS.length) return;
      await new Promise((resolve) => setTimeout(resolve, CURVE_DELAY_MS));
      for (const [index, at] of CURVE_RATINGS.entries()) {
        if (!current()) return;
        await this.#predictAt(model, inputAt, at, current);
        if (current() && REDRAW_AT.includes(index + 1)) this.byRating = this.#cached(model, inputAt);
      }
    } catch (error) {
      if (!current()) return;
      this.clear();
      this.problem = errorMessage(error);
    }
  }

  clear(): void {
    this.#request++;
    this.#position = '';
    this.stale = false;
    this.view = undefined;
    this.byRating = [];
  }

  /** Adds a model file. Throws if it is not a model with a policy head. */
  async add(file: File): Promise<ModelFacts> {
    checkModelSize(file);
    const name = file.name.replace(/[^\w.-]+/g, '_');
    const facts = await this.#client.addModel(name, file);
    if (!facts.plays) {
      await this.#client.removeModel(name);
      throw new Error('it has no policy head');
    }
    // The cache may hold predictions of another file with the same name.
    this.#cache.clear();
    this.#files.set(name, file);
    this.models = [...this.models.filter((known) => known.name !== name), facts];
    this.model = name;
    return facts;
  }

  /** Loads the chosen network into another worker. Resolves to its name there. */
  async loadInto(client: EngineClient): Promise<string> {
    const { model } = this;
    const file = this.#files.get(model);
    if (!file) {
      await client.loadBundled('human');
      return 'human';
    }
    const loaded = this.#loadedInto.get(client) ?? new Map<string, File>();
    this.#loadedInto.set(client, loaded);
    if (loaded.get(model) !== file) await client.addModel(model, file);
    loaded.set(model, file);
    return model;
  }

  async #loadBundled(): Promise<void> {
    if (this.models.some(({ name }) => name === 'human')) return;
    try {
      const facts = await this.#client.loadBundled('human', (loaded, total) => (this.download = { loaded, total }));
      if (!this.models.some(({ name }) => name === 'human')) this.models = [facts, ...this.models];
    } finally {
      this.download = undefined;
    }
  }

  /** The prediction at a rating, or undefined if it is no longer wanted when the worker is free. */
  async #predictAt(model: string, inputAt: InputAt, rating: number | null, wanted: () => boolean): Promise<HumanView | undefined> {
    const game = inputAt(rating);
    const key = cacheKey(model, game, rating);
    const known = this.#cache.get(key);
    if (known) return known;
    while (this.#running) await this.#running;
    if (!wanted()) return undefined;
    const call = this.#client.call('human', model, game, [rating]);
    this.#running = call.then(
      () => (this.#running = undefined),
      () => (this.#running = undefined),
    );
    const [view] = await call;
    if (!view) throw new Error('the network returned no prediction');
    this.#cache.set(key, view);
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= CACHE_SIZE) break;
      this.#cache.delete(oldest);
    }
    return view;
  }

  #cached(model: string, inputAt: InputAt): PredictionsByRating {
    return CURVE_RATINGS.toSorted((a, b) => a - b).flatMap((rating) => {
      const view = this.#cache.get(cacheKey(model, inputAt(rating), rating));
      return view ? [{ rating, view }] : [];
    });
  }
}

function cacheKey(model: string, game: GameInput, rating: number | null): string {
  return [model, rating, game.startFen, game.moves.join(' '), game.timeControl, game.clocks?.join(' ')].join('|');
}
