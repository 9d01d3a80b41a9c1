import type { ModelFacts } from '../wasm/tabia.js';
import type { BundledModel, EngineArgs, EngineMethod, EngineResult, Pace, Reply, Request, StreamKind, Streams } from './protocol';
import { compileModule } from './wasm';

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

/** The running stream that a `StreamControl` controls. */
interface RunningStream<Result> {
  setPace: (pace: Pace) => void;
  snapshot: () => Promise<Result>;
}

const NOT_RUNNING: RunningStream<never> = {
  setPace: () => {},
  snapshot: () => Promise.reject(new Error('nothing is running')),
};

/** Pauses and slows down a stream while it runs, and reads its results so far. */
export class StreamControl<Result = unknown> {
  #pace: Pace = { paused: false, delay: 0 };
  #stream: RunningStream<Result> = NOT_RUNNING;

  get pace(): Pace {
    return this.#pace;
  }

  set pace(pace: Pace) {
    this.#pace = pace;
    this.#stream.setPace(pace);
  }

  /** The result the stream would have if it were stopped now; rejects if it is not running. */
  snapshot(): Promise<Result> {
    return this.#stream.snapshot();
  }

  attach(stream: RunningStream<Result> = NOT_RUNNING): void {
    this.#stream = stream;
  }
}

/**
 * The page's side of a worker that runs the wasm engine.
 *
 * If the worker crashes, all pending requests are rejected, and the next call starts a new worker with the same models. A call
 * cannot be stopped while it runs, and a stream only between steps; `close` ends both at once.
 */
export class EngineClient {
  #worker: Promise<Worker> | undefined;
  #pending = new Map<number, Pending>();
  #models = new Map<string, Model>();
  #nextId = 1;
  /** Random seed of the players. */
  #seed = Math.floor(Math.random() * 2 ** 31);
  #terminate: () => void = () => {};

  async call<M extends EngineMethod>(method: M, ...args: EngineArgs<M>): Promise<EngineResult<M>> {
    const worker = await this.#getWorker();
    return this.#request(worker, (id) => ({ kind: 'call', id, method, args }));
  }

  /** Runs a stream. When `signal` is aborted it stops after the current step and resolves with the results so far. */
  async stream<K extends StreamKind>(
    kind: K,
    args: Streams[K]['args'],
    onEvent: (event: Streams[K]['event']) => void,
    signal?: AbortSignal,
    control = new StreamControl<Streams[K]['result']>(),
  ): Promise<Streams[K]['result']> {
    const worker = await this.#getWorker();
    let stop = () => {};
    try {
      return await this.#request(
        worker,
        (id) => {
          stop = () => worker.postMessage({ kind: 'stop', id } satisfies Request);
          control.attach({
            setPace: (pace) => worker.postMessage({ kind: 'pace', id, pace } satisfies Request),
            snapshot: () => this.#request(worker, (request) => ({ kind: 'snapshot', id: request, of: id })),
          });
          return { kind: 'stream', id, stream: kind, args, pace: control.pace };
        },
        { onEvent: (event: never) => signal?.aborted || onEvent(event) },
        () => (signal?.aborted ? stop() : signal?.addEventListener('abort', stop, { once: true })),
      );
    } finally {
      signal?.removeEventListener('abort', stop);
      control.attach();
    }
  }

  /** Downloads and loads a bundled network once; later calls return the same promise. */
  loadBundled(name: BundledModel, onProgress?: Progress): Promise<ModelFacts> {
    return this.#model(name, new URL(`models/${name}.safetensors`, document.baseURI).href, onProgress);
  }

  /** Downloads and loads a network that was passed to `tabia serve`, once. Its name in specs is given/NAME. */
  loadFromServer(name: string, onProgress?: Progress): Promise<ModelFacts> {
    return this.#model(`given/${name}`, new URL(`models/given/${name}`, document.baseURI).href, onProgress);
  }

  /** Loads a model file under a name for specs. The worker reads it; it is not uploaded. */
  addModel(name: string, file: Blob): Promise<ModelFacts> {
    const previous = this.#models.get(name);
    this.#models.delete(name);
    const facts = this.#model(name, file);
    // The engine keeps the previous model if the new one cannot be read.
    facts.catch(() => previous && !this.#models.has(name) && this.#models.set(name, previous));
    return facts;
  }

  async removeModel(name: string): Promise<void> {
    if (this.#models.delete(name)) await this.call('removeModel', name);
  }

  /** Terminates the worker and rejects all pending requests. The client can be used again. */
  close(): void {
    this.#abandon('the request was cancelled');
  }

  #model(name: string, source: string | Blob, onProgress?: Progress): Promise<ModelFacts> {
    const known = this.#models.get(name);
    if (known) return known.facts;
    const facts = this.#getWorker().then((worker) => this.#load(worker, name, source, onProgress));
    const model: Model = { source, facts, loaded: false };
    this.#models.set(name, model);
    facts.then(
      () => (model.loaded = true),
      // The next call tries again.
      () => this.#models.get(name) === model && this.#models.delete(name),
    );
    return facts;
  }

  #load(worker: Worker, name: string, source: string | Blob, onProgress?: Progress): Promise<ModelFacts> {
    return this.#request(
      worker,
      (id) => (typeof source === 'string' ? { kind: 'fetch', id, name, url: source } : { kind: 'read', id, name, file: source }),
      onProgress ? { onProgress } : {},
    );
  }

  #request<T>(
    worker: Worker,
    request: (id: number) => Request,
    hooks: Pick<Pending, 'onEvent' | 'onProgress'> = {},
    onSent: () => void = () => {},
  ): Promise<T> {
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject, ...hooks });
      worker.postMessage(request(id));
      onSent();
    });
  }

  #getWorker(): Promise<Worker> {
    this.#worker ??= this.#startWorker().catch((error: unknown) => {
      this.#worker = undefined;
      throw error;
    });
    return this.#worker;
  }

  async #startWorker(): Promise<Worker> {
    const module = await compileModule();
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onmessage = (message: MessageEvent<Reply>) => this.#receive(message.data);
    worker.onerror = (event) => {
      event.preventDefault();
      this.#abandon(`the engine stopped: ${event.message || 'its code could not be loaded'}`);
    };
    worker.postMessage({ kind: 'start', module, seed: this.#seed } satisfies Request);
    this.#terminate = () => worker.terminate();
    const loaded = [...this.#models].filter(([, model]) => model.loaded);
    await Promise.all(loaded.map(([name, { source }]) => this.#load(worker, name, source)));
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
      else pending.reject(new Error(reply.error));
      if (reply.kind === 'failed' && reply.crashed) this.#abandon(`the engine crashed: ${reply.error}`);
    }
  }

  #abandon(message: string): void {
    this.#terminate();
    this.#terminate = () => {};
    this.#worker = undefined;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of waiting) reject(new Error(message));
  }
}

let shared: EngineClient | undefined;

/** The client shared by the pages that play and analyse, so that models are loaded once. */
export function sharedEngine(): EngineClient {
  shared ??= new EngineClient();
  return shared;
}
