import type { EngineClient } from '../../engine/client';
import { wrongSize } from '../../engine/largest';
import { sentence } from '../../notices.svelte';
import type { GameInput, HumanView, ModelFacts } from '../../wasm/tabia.js';

export const LOWEST = 600;
export const HIGHEST = 2600;
const STEP = 100;
/** Views kept, of a few kilobytes each. */
const REMEMBERED = 1500;
/** How long a position must stay on the board before the whole curve is asked for. */
const SETTLED_MS = 150;

/** The ratings of a curve, those first that already give it its shape. */
const RATINGS = (() => {
  const all = Array.from({ length: (HIGHEST - LOWEST) / STEP + 1 }, (_, index) => LOWEST + index * STEP);
  const every = (step: number) => all.filter((rating) => (rating - LOWEST) % step === 0);
  return [...new Set([...every(500), ...every(200), ...all])];
})();
/** A curve is drawn anew when it has so many points. */
const SHOWN_AFTER = [5, 13, RATINGS.length];

/** What people of one rating would do: a view for each rating asked so far, in order. */
export type Curve = { rating: number; view: HumanView }[];

/** What a network with a move head says about the position on the board, at a rating and over all ratings. */
export class People {
  /** Every network that can be asked: the one that comes along and the files that were dropped. */
  models = $state.raw<ModelFacts[]>([]);
  model = $state('human');
  /** What it says; of the position before as long as `stale`. */
  view = $state.raw<HumanView>();
  curve = $state.raw<Curve>([]);
  /** Bytes of the network that have arrived, while it does. */
  arriving = $state.raw<{ loaded: number; total: number }>();
  problem = $state('');
  stale = $state(false);

  #client: EngineClient;
  #asked = 0;
  #position = '';
  /** The call the worker is busy with; it cannot be stopped, so the next one waits to see whether it is still wanted. */
  #busy: Promise<unknown> | undefined;
  #remembered = new Map<string, HumanView>();
  #files = new Map<string, File>();

  constructor(client: EngineClient) {
    this.#client = client;
  }

  /** Whether the network looks at ratings at all. */
  get rated(): boolean {
    return this.models.find(({ name }) => name === this.model)?.rated ?? true;
  }

  /** Asks about a position. Whatever was asked before and is not answered yet is dropped. */
  async ask(questionAt: (rating: number | null) => GameInput, rating: number): Promise<void> {
    const asked = ++this.#asked;
    const { model } = this;
    const current = () => asked === this.#asked;
    const position = keyOf(model, questionAt(null), null);
    if (position !== this.#position) this.stale = true;
    this.#position = position;
    try {
      if (model === 'human') await this.#come();
      if (!current()) return;
      const { rated } = this;
      const view = await this.#at(model, questionAt, rated ? rating : null, current);
      if (!current() || !view) return;
      this.problem = '';
      this.stale = false;
      this.view = view;
      this.curve = rated ? this.#known(model, questionAt) : [];
      if (!rated || this.curve.length === RATINGS.length) return;
      await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
      for (const [index, at] of RATINGS.entries()) {
        if (!current()) return;
        await this.#at(model, questionAt, at, current);
        if (current() && SHOWN_AFTER.includes(index + 1)) this.curve = this.#known(model, questionAt);
      }
    } catch (error) {
      if (!current()) return;
      this.clear();
      this.problem = sentence(error);
    }
  }

  /** Forgets the answers: there is nothing to ask about. */
  clear(): void {
    this.#asked++;
    this.#position = '';
    this.stale = false;
    this.view = undefined;
    this.curve = [];
  }

  /** Adds a model file. Throws if it is none, or none that says which moves are likely. */
  async add(file: File): Promise<ModelFacts> {
    const wrong = wrongSize(file);
    if (wrong) throw new Error(`it is ${wrong}`);
    const name = file.name.replace(/[^\w.-]+/g, '_');
    const facts = await this.#client.add(name, file);
    if (!facts.plays) {
      await this.#client.remove(name);
      throw new Error('it has no move head: it can judge positions, but not say which moves are likely');
    }
    // Another file of the same name answers otherwise.
    this.#remembered.clear();
    this.#files.set(name, file);
    this.models = [...this.models.filter((known) => known.name !== name), facts];
    this.model = name;
    return facts;
  }

  /** Gives the network that is asked to another worker as well. Resolves to the name it has there. */
  async lend(client: EngineClient): Promise<string> {
    const { model } = this;
    const file = this.#files.get(model);
    await (file ? client.add(model, file) : client.ensure('human'));
    return file ? model : 'human';
  }

  async #come(): Promise<void> {
    if (this.models.some(({ name }) => name === 'human')) return;
    try {
      const facts = await this.#client.ensure('human', (loaded, total) => (this.arriving = { loaded, total }));
      if (!this.models.some(({ name }) => name === 'human')) this.models = [facts, ...this.models];
    } finally {
      this.arriving = undefined;
    }
  }

  /** What the network says at a rating, or undefined if nobody wants to know any more when its turn comes. */
  async #at(
    model: string,
    questionAt: (rating: number | null) => GameInput,
    rating: number | null,
    wanted: () => boolean,
  ): Promise<HumanView | undefined> {
    const game = questionAt(rating);
    const key = keyOf(model, game, rating);
    const known = this.#remembered.get(key);
    if (known) return known;
    while (this.#busy) await this.#busy;
    if (!wanted()) return undefined;
    const answer = this.#client.call('human', model, game, [rating]);
    this.#busy = answer.then(
      () => (this.#busy = undefined),
      () => (this.#busy = undefined),
    );
    const [view] = await answer;
    if (!view) throw new Error('the network gave no answer');
    this.#remembered.set(key, view);
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= REMEMBERED) break;
      this.#remembered.delete(oldest);
    }
    return view;
  }

  #known(model: string, questionAt: (rating: number | null) => GameInput): Curve {
    return [...RATINGS]
      .sort((a, b) => a - b)
      .flatMap((rating) => {
        const view = this.#remembered.get(keyOf(model, questionAt(rating), rating));
        return view ? [{ rating, view }] : [];
      });
  }
}

function keyOf(model: string, game: GameInput, rating: number | null): string {
  return [model, rating, game.startFen, game.moves.join(' '), game.timeControl, game.clocks?.join(' ')].join('|');
}
