import { compile } from './load';
import type {
  ComesAlong,
  ModelFacts,
  Pace,
  Reply,
  Request,
  StreamKind,
  Streams,
  StudioArgs,
  StudioMethod,
  StudioResult,
} from './protocol';

type Progress = (loaded: number, total: number) => void;

interface Pending {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
  onEvent?: (event: never) => void;
  onProgress?: Progress;
}

interface Model {
  source: string | Blob;
  facts: Promise<ModelFacts>;
  loaded: boolean;
}

/** What a stream hears from its reins. */
interface Held<End> {
  pace: (pace: Pace) => void;
  soFar: () => Promise<End>;
}

const LOOSE: Held<never> = { pace: () => {}, soFar: () => Promise.reject(new Error('it is over')) };

/** Holds a stream back while it runs, and asks how far it is. */
export class Reins<End = unknown> {
  #pace: Pace = { paused: false, delay: 0 };
  #held: Held<End> = LOOSE;

  get pace(): Pace {
    return this.#pace;
  }

  set pace(pace: Pace) {
    this.#pace = pace;
    this.#held.pace(pace);
  }

  /** What the stream would end with if it ended now; rejects when it does not run. */
  soFar(): Promise<End> {
    return this.#held.soFar();
  }

  hold(stream: Held<End>): void {
    this.#held = stream;
  }

  loosen(): void {
    this.#held = LOOSE;
  }
}

/**
 * A worker with its own studio, seen from the page.
 *
 * If the worker breaks, everything that waits for it fails with a sentence, and the next call gets a new worker with the
 * same models. A call cannot be stopped while it runs, a stream only between steps; `close` ends both at once.
 */
export class EngineClient {
  #worker: Promise<Worker> | undefined;
  #pending = new Map<number, Pending>();
  #models = new Map<string, Model>();
  #next = 1;
  #seed: number;
  #terminate: () => void = () => {};

  /** The seed decides every move picked by chance. */
  constructor(seed = Math.floor(Math.random() * 2 ** 31)) {
    this.#seed = seed;
  }

  /** Calls a method of the studio. */
  async call<M extends StudioMethod>(method: M, ...args: StudioArgs<M>): Promise<StudioResult<M>> {
    const worker = await this.#alive();
    return this.#ask(worker, (id) => ({ kind: 'call', id, method, args }));
  }

  /**
   * Runs long work step by step. Stops between steps when the signal says so, and then resolves with what there is by
   * then; rejects only if a step fails. The reins pause it and slow it down.
   */
  async stream<K extends StreamKind>(
    kind: K,
    args: Streams[K]['args'],
    onEvent: (event: Streams[K]['event']) => void,
    signal?: AbortSignal,
    reins = new Reins<Streams[K]['end']>(),
  ): Promise<Streams[K]['end']> {
    const worker = await this.#alive();
    let stop = () => {};
    try {
      return await this.#ask(
        worker,
        (id) => {
          stop = () => worker.postMessage({ kind: 'stop', id } satisfies Request);
          reins.hold({
            pace: (pace) => worker.postMessage({ kind: 'pace', id, pace } satisfies Request),
            soFar: () => this.#ask(worker, (question) => ({ kind: 'so-far', id: question, of: id })),
          });
          return { kind: 'stream', id, stream: kind, args, pace: reins.pace };
        },
        { onEvent: (event: never) => signal?.aborted || onEvent(event) },
        () => (signal?.aborted ? stop() : signal?.addEventListener('abort', stop, { once: true })),
      );
    } finally {
      signal?.removeEventListener('abort', stop);
      reins.loosen();
    }
  }

  /** Fetches one of the networks that come along, once; later calls wait for the same download. */
  ensure(name: ComesAlong, onProgress?: Progress): Promise<ModelFacts> {
    return this.#model(name, new URL(`models/${name}.safetensors`, document.baseURI).href, onProgress);
  }

  /** Fetches a network that the server was started with, once. Specs know it as given/NAME. */
  ensureGiven(name: string, onProgress?: Progress): Promise<ModelFacts> {
    return this.#model(`given/${name}`, new URL(`models/given/${name}`, document.baseURI).href, onProgress);
  }

  /** Adds a model file under a name for specs. The worker reads it; it goes nowhere else. */
  add(name: string, file: Blob): Promise<ModelFacts> {
    const before = this.#models.get(name);
    this.#models.delete(name);
    const facts = this.#model(name, file);
    // The studio still has the one before if the new one cannot be read.
    facts.catch(() => before && !this.#models.has(name) && this.#models.set(name, before));
    return facts;
  }

  /** Takes a model away again. */
  async remove(name: string): Promise<void> {
    if (this.#models.delete(name)) await this.call('removeModel', name);
  }

  /** Ends the worker, whatever it is doing. Everything that waits for it is rejected; the client can be used again. */
  close(): void {
    this.#abandon('the work was cancelled');
  }

  #model(name: string, source: string | Blob, onProgress?: Progress): Promise<ModelFacts> {
    const known = this.#models.get(name);
    if (known) return known.facts;
    const facts = this.#alive().then((worker) => this.#load(worker, name, source, onProgress));
    const model: Model = { source, facts, loaded: false };
    this.#models.set(name, model);
    facts.then(
      () => (model.loaded = true),
      // The next one who asks gets another try.
      () => this.#models.get(name) === model && this.#models.delete(name),
    );
    return facts;
  }

  #load(worker: Worker, name: string, source: string | Blob, onProgress?: Progress): Promise<ModelFacts> {
    return this.#ask(
      worker,
      (id) => (typeof source === 'string' ? { kind: 'fetch', id, name, url: source } : { kind: 'read', id, name, file: source }),
      onProgress ? { onProgress } : {},
    );
  }

  #ask<T>(
    worker: Worker,
    request: (id: number) => Request,
    hooks: Pick<Pending, 'onEvent' | 'onProgress'> = {},
    sent: () => void = () => {},
  ): Promise<T> {
    const id = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject, ...hooks });
      worker.postMessage(request(id));
      sent();
    });
  }

  /** The worker, made anew with all models if there is none. */
  #alive(): Promise<Worker> {
    this.#worker ??= this.#spawn().catch((error: unknown) => {
      this.#worker = undefined;
      throw error;
    });
    return this.#worker;
  }

  async #spawn(): Promise<Worker> {
    const module = await compile();
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = (message: MessageEvent<Reply>) => this.#receive(message.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#abandon(`the engine stopped: ${event.message || 'its code could not be loaded'}`);
    };
    worker.postMessage({ kind: 'start', module, seed: this.#seed } satisfies Request);
    this.#terminate = () => worker.terminate();
    const before = [...this.#models].filter(([, model]) => model.loaded);
    await Promise.all(before.map(([name, { source }]) => this.#load(worker, name, source)));
    return worker;
  }

  #receive(reply: Reply): void {
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    if (reply.kind === 'progress') pending.onProgress?.(reply.loaded, reply.total);
    else if (reply.kind === 'event') pending.onEvent?.(reply.event as never);
    else {
      this.#pending.delete(reply.id);
      if (reply.kind === 'done') pending.resolve(reply.result as never);
      else pending.reject(new Error(reply.problem));
      if (reply.kind === 'failed' && reply.broken) this.#abandon(`the engine broke down: ${reply.problem}`);
    }
  }

  #abandon(problem: string): void {
    this.#terminate();
    this.#terminate = () => {};
    this.#worker = undefined;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of waiting) reject(new Error(problem));
  }
}
