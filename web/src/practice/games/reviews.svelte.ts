import { EngineClient } from '../../engine/client';
import { announce } from '../../lib/announce.svelte';
import { errorMessage } from '../../lib/notices.svelte';
import { load, store } from '../../lib/storage';
import { isFull, loadSetting, openDatabase, queue, storageFailure, writeAll, writeSetting } from '../database';
import { storedGames, type Games } from './games.svelte';
import { withLock } from './lock';
import { REVIEW_LOCK } from './protocol';

/** Whether games are being reviewed: after a reload and in a new tab the review goes on. */
const KEY = 'games.reviewing';
/** One core stays free for the page. Each worker needs about 60 MB. */
const MAX_WORKERS = 8;
const KEYS_AT_ONCE = 16;
/** Fewer half-moves say little about the speed. */
const MIN_PLIES = 30;
export const NODES = { default: 5000, choices: [1000, 5000, 20_000, 100_000] };

/** Reviews the player's games in the background, in several workers. In one tab at a time. */
class Reviews {
  /** Whether games are to be reviewed. */
  wanted = $state(load(KEY) === true);
  /** Whether another tab reviews them. */
  elsewhere = $state(false);
  /** Workers at work. */
  workers = $state(0);
  problem = $state('');
  /** Games that could not be reviewed, with the reason. They are tried again after a reload. */
  failed = $state.raw<ReadonlyMap<string, string>>(new Map());
  /** Half-moves per second of all workers; undefined until it is known. */
  speed = $state<number>();
  nodes = $state(NODES.default);

  #stop: AbortController | undefined;
  #keys: string[] = [];
  #fetching: Promise<void> | undefined;
  #busy = new Set<string>();
  #plies = 0;
  #since = 0;
  #listens = false;

  /** Starts or resumes. */
  start(): void {
    this.problem = '';
    this.#want(true);
    void this.#run();
  }

  /** Pauses here and in other tabs. Games that are half reviewed are reviewed again later. */
  pause(): void {
    this.#want(false);
    this.#end();
  }

  /** Goes on after a reload. */
  resume(): void {
    if (this.wanted) void this.#run();
  }

  /** Stops the current work, such as before all games are deleted. */
  async settle(): Promise<void> {
    this.pause();
    // The lock is free once the last result is stored.
    await withLock(REVIEW_LOCK, {}, async () => {});
  }

  /** The player or the games have changed. */
  refresh(): void {
    this.#keys = [];
    if (this.wanted) void this.#run();
  }

  async loadNodes(): Promise<void> {
    const stored = await loadSetting('reviewNodes');
    if (typeof stored === 'number' && stored >= 1) this.nodes = stored;
  }

  async setNodes(nodes: number): Promise<void> {
    this.nodes = nodes;
    await writeSetting('reviewNodes', nodes);
  }

  #want(wanted: boolean): void {
    this.wanted = wanted;
    store(KEY, wanted);
    void storedGames().then((games) => games.tell({ kind: 'reviewing' }), () => {});
  }

  #end(): void {
    this.#stop?.abort();
    this.#stop = undefined;
    this.elsewhere = false;
    this.speed = undefined;
  }

  async #run(): Promise<void> {
    if (this.#stop) return;
    const stop = new AbortController();
    this.#stop = stop;
    try {
      const done = await withLock(REVIEW_LOCK, { ifAvailable: true }, () => this.#work(stop.signal));
      if (!done && !stop.signal.aborted) {
        this.elsewhere = true;
        await this.#listen();
        await withLock(REVIEW_LOCK, { signal: stop.signal }, () => this.#work(stop.signal));
      }
      if (!stop.signal.aborted) {
        // Nothing is left.
        this.#want(false);
        announce('All games are reviewed');
      }
    } catch (error) {
      if (stop.signal.aborted) return;
      this.problem = isFull(error)
        ? 'The browser’s storage for this page is full: the review is paused. Free some space and resume.'
        : `The review stopped: ${storageFailure(error)}`;
      this.#want(false);
    } finally {
      stop.abort();
      if (this.#stop === stop) this.#end();
    }
  }

  async #listen(): Promise<void> {
    if (this.#listens) return;
    this.#listens = true;
    (await storedGames()).listen(({ kind }) => {
      if (kind !== 'reviewing') return;
      this.wanted = load(KEY) === true;
      if (this.wanted) void this.#run();
      else this.#end();
    });
  }

  /** Reviews what is left; resolves to true. */
  async #work(signal: AbortSignal): Promise<boolean> {
    this.elsewhere = false;
    const games = await storedGames();
    await Promise.all([this.loadNodes(), this.#listen()]);
    this.#keys = [];
    const left = (await games.queue(MAX_WORKERS, [...this.failed.keys()])).length;
    [this.#plies, this.#since] = [0, performance.now()];
    const failures = new AbortController();
    const stopped = AbortSignal.any([signal, failures.signal]);
    const count = Math.min(left, Math.max(1, Math.min(MAX_WORKERS, navigator.hardwareConcurrency - 1)));
    const workers = Array.from({ length: count }, () =>
      this.#worker(games, stopped).catch((error: unknown) => {
        failures.abort();
        throw error;
      }),
    );
    const results = await Promise.allSettled(workers);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
    return true;
  }

  async #worker(games: Games, signal: AbortSignal): Promise<void> {
    // One of several, each on a core.
    const client = new EngineClient({ maxHelpers: 0 });
    const close = () => client.close();
    signal.addEventListener('abort', close, { once: true });
    this.workers++;
    try {
      await Promise.all([client.loadBundled('human'), client.loadBundled('value')]);
      for (let key = await this.#next(games); key !== undefined && !signal.aborted; key = await this.#next(games)) {
        try {
          await this.#review(games, client, key, signal);
        } catch (error) {
          if (signal.aborted) return;
          // Problems of the storage concern all games.
          if (error instanceof DOMException) throw error;
          this.failed = new Map(this.failed).set(key, errorMessage(error));
        } finally {
          this.#busy.delete(key);
        }
      }
    } finally {
      this.workers--;
      signal.removeEventListener('abort', close);
      client.close();
    }
  }

  /** Reviews a game and stores the result, all or nothing. */
  async #review(games: Games, client: EngineClient, key: string, signal: AbortSignal): Promise<void> {
    const { pgn } = (await (await openDatabase()).get('pgns', key)) ?? {};
    if (pgn === undefined) throw new Error('the game is not stored');
    const nodes = this.nodes;
    const result = await client.stream('gameReview', [pgn, { names: [...games.player], nodes }], () => this.#count(), signal);
    if (!result || signal.aborted) return;
    await writeAll(['reviews', 'figures'], (transaction) => {
      queue(transaction.objectStore('reviews').put({ key, review: result.review, nodes }));
      queue(transaction.objectStore('figures').put({ key, figures: result.figures }));
    });
    await games.reviewed([key]);
  }

  #count(): void {
    this.#plies++;
    if (this.#plies >= MIN_PLIES) this.speed = (1000 * this.#plies) / (performance.now() - this.#since);
  }

  /** The next game, which is then busy. */
  async #next(games: Games): Promise<string | undefined> {
    for (;;) {
      const key = this.#keys.shift();
      if (key !== undefined) {
        if (this.#busy.has(key)) continue;
        this.#busy.add(key);
        return key;
      }
      this.#fetching ??= games
        .queue(KEYS_AT_ONCE, [...this.#busy, ...this.failed.keys()])
        .then((keys) => {
          this.#keys = keys;
        })
        .finally(() => {
          this.#fetching = undefined;
        });
      await this.#fetching;
      if (this.#keys.length === 0) return undefined;
    }
  }
}

export const reviews = new Reviews();
