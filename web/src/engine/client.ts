import { compute, onComputeChange, recordComputeState } from '../lib/compute.svelte';
import { DEBUG, recordTiming } from '../lib/timings';
import type { ModelFacts } from '../wasm/tabia.js';
import type {
  BundledModel, Compute, EngineArgs, EngineMethod, EngineResult, FailureCause, Pace, Reply, Request, StreamKind, Streams,
} from './protocol';
import { helpersFor } from './threads';
import { compileModule, type ModuleBuild } from './wasm';

type Progress = (loaded: number, total: number) => void;

interface Pending {
  worker: Worker;
  resolve: (result: never) => void;
  reject: (error: Error) => void;
  onEvent?: (event: never) => void;
  onProgress?: Progress;
}

/** A request that the worker could not answer. */
class RequestError extends Error {
  readonly failure: FailureCause;

  constructor(message: string, failure: FailureCause) {
    super(message);
    this.failure = failure;
  }
}

/** Where a model comes from: an address or a file. */
interface ModelSource {
  source: string | Blob;
  /** The vocab.npy of a policy that has some of the moves. */
  vocabulary: Blob | undefined;
}

interface Model extends ModelSource {
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
 * The worker starts with the module for the bundled networks. When a network needs the other module, a new worker with the same
 * models takes over; the old one finishes what it was asked before.
 *
 * On a cross-origin isolated page the worker has helpers on other cores, which share its memory.
 *
 * If the worker or a helper crashes, all pending requests are rejected, and the next call starts a new worker with the same models. A call
 * cannot be stopped while it runs, and a stream only between steps; `close` ends both at once.
 */
export class EngineClient {
  #worker: Promise<Worker> | undefined;
  #build: ModuleBuild = 'bundled';
  /** All workers that run, with their helpers. */
  #running = new Map<Worker, Worker[]>();
  #maxHelpers: number;
  /** Those with the module for any network. */
  #runsAny = new WeakSet<Worker>();
  /** Those that were replaced and have pending requests. */
  #retired = new Set<Worker>();
  #pending = new Map<number, Pending>();
  #models = new Map<string, Model>();
  #nextId = 1;
  /** Random seed of the players. */
  #seed = Math.floor(Math.random() * 2 ** 31);

  /** Tells all workers of another choice of the visitor. */
  readonly #setCompute = (compute: Compute) => {
    for (const worker of this.#running.keys()) worker.postMessage({ kind: 'compute', compute } satisfies Request);
  };

  /** `maxHelpers` is 0 where several clients share the work among them. */
  constructor({ maxHelpers = Infinity } = {}) {
    this.#maxHelpers = maxHelpers;
    onComputeChange(this.#setCompute);
  }

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

  /** Loads a model file under a name for specs, with its vocab.npy if it has one. The worker reads it; it is not uploaded. */
  addModel(name: string, file: Blob, vocabulary?: Blob): Promise<ModelFacts> {
    const previous = this.#models.get(name);
    this.#models.delete(name);
    const facts = this.#model(name, file, undefined, vocabulary);
    // The engine keeps the previous model if the new one cannot be read.
    facts.catch(() => previous && !this.#models.has(name) && this.#models.set(name, previous));
    return facts;
  }

  async removeModel(name: string): Promise<void> {
    if (this.#models.delete(name)) await this.call('removeModel', name);
  }

  /** Terminates the worker and rejects all pending requests. The client can be used again. */
  close(): void {
    this.#rejectAll(() => true, 'the request was cancelled');
    for (const worker of [...this.#running.keys()]) this.#terminate(worker);
    this.#retired.clear();
    this.#worker = undefined;
  }

  #model(name: string, source: string | Blob, onProgress?: Progress, vocabulary?: Blob): Promise<ModelFacts> {
    const known = this.#models.get(name);
    if (known) return known.facts;
    const facts = this.#open(name, { source, vocabulary }, onProgress);
    const model: Model = { source, vocabulary, facts, loaded: false };
    this.#models.set(name, model);
    facts.then(
      () => (model.loaded = true),
      // The next call tries again.
      () => this.#models.get(name) === model && this.#models.delete(name),
    );
    return facts;
  }

  async #open(name: string, file: ModelSource, onProgress?: Progress): Promise<ModelFacts> {
    let worker = await this.#getWorker();
    for (;;) {
      try {
        const facts = await this.#load(worker, name, file, onProgress);
        const current = (await this.#worker) ?? worker;
        if (current === worker) return facts;
        // It was replaced meanwhile.
        worker = current;
      } catch (error) {
        const retry = error instanceof RequestError && error.failure === 'no-runtime' && !this.#runsAny.has(worker);
        if (!retry) throw error;
        worker = await this.#withAnyNetwork(worker);
      }
    }
  }

  /** The worker with the module for any network, instead of `before`. */
  async #withAnyNetwork(before: Worker): Promise<Worker> {
    // Several files may be opened at once.
    if (this.#build === 'any') return this.#getWorker();
    this.#build = 'any';
    const replaced = this.#worker;
    this.#worker = undefined;
    try {
      const worker = await this.#getWorker();
      this.#retired.add(before);
      this.#endIfIdle(before);
      return worker;
    } catch (error) {
      // Offline, perhaps: go on with the worker there was.
      this.#build = 'bundled';
      this.#worker = replaced;
      throw error;
    }
  }

  /** Terminates a replaced worker that has nothing left to do. */
  #endIfIdle(worker: Worker): void {
    if (!this.#retired.has(worker) || [...this.#pending.values()].some((pending) => pending.worker === worker)) return;
    this.#retired.delete(worker);
    this.#terminate(worker);
  }

  /** Terminates a worker and its helpers, which frees their memory. */
  #terminate(worker: Worker): void {
    for (const helper of this.#running.get(worker) ?? []) helper.terminate();
    this.#running.delete(worker);
    worker.terminate();
  }

  #load(
    worker: Worker,
    name: string,
    { source, vocabulary }: ModelSource,
    onProgress?: Progress,
  ): Promise<ModelFacts> {
    return this.#request(
      worker,
      (id) => (typeof source === 'string' ? { kind: 'fetch', id, name, url: source } : { kind: 'read', id, name, file: source, vocabulary }),
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
      this.#pending.set(id, { worker, resolve: resolve as Pending['resolve'], reject, ...hooks });
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
    const build = this.#build;
    const module = await compileModule(build);
    const worker = this.#newWorker();
    this.#running.set(worker, []);
    if (build === 'any') this.#runsAny.add(worker);
    const helpers = Math.min(this.#maxHelpers, helpersFor(module));
    worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (data.kind === 'memory') this.#startHelpers(worker, helpers, module, data.memory);
      else this.#receive(data);
    };
    const start = { module, seed: this.#seed, timed: DEBUG, shares: helpers > 0, compute: compute() };
    worker.postMessage({ kind: 'start', ...start } satisfies Request);
    const loaded = [...this.#models].filter(([, model]) => model.loaded);
    await Promise.all(loaded.map(([name, model]) => this.#load(worker, name, model)));
    return worker;
  }

  /** A worker of `owner`, itself by default, which ends with it if it stops by an error. */
  #newWorker(owner?: Worker): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.onerror = (event) => {
      event.preventDefault();
      this.#abandon(owner ?? worker, `the engine stopped: ${event.message || 'its code could not be loaded'}`);
    };
    return worker;
  }

  #startHelpers(worker: Worker, count: number, module: WebAssembly.Module, memory: WebAssembly.Memory): void {
    const helpers = this.#running.get(worker);
    while (helpers && helpers.length < count) {
      const helper = this.#newWorker(worker);
      helper.postMessage({ kind: 'help', module, memory } satisfies Request);
      helpers.push(helper);
    }
  }

  #receive(reply: Exclude<Reply, { kind: 'memory' }>): void {
    if (reply.kind === 'timing') return recordTiming(reply);
    if (reply.kind === 'compute') return recordComputeState(reply.state);
    const pending = this.#pending.get(reply.id);
    if (!pending) return;
    if (reply.kind === 'progress') pending.onProgress?.(reply.loaded, reply.total);
    else if (reply.kind === 'event') pending.onEvent?.(reply.event as never);
    else {
      this.#pending.delete(reply.id);
      if (reply.kind === 'done') pending.resolve(reply.result as never);
      else pending.reject(new RequestError(reply.error, reply.cause));
      if (reply.kind === 'failed' && reply.cause === 'crash') this.#abandon(pending.worker, `the engine crashed: ${reply.error}`);
      else this.#endIfIdle(pending.worker);
    }
  }

  /** Ends a worker and rejects its requests. */
  #abandon(worker: Worker, message: string): void {
    this.#terminate(worker);
    if (!this.#retired.delete(worker)) this.#worker = undefined;
    this.#rejectAll((pending) => pending.worker === worker, message);
  }

  #rejectAll(which: (pending: Pending) => boolean, message: string): void {
    const rejected = [...this.#pending].filter(([, pending]) => which(pending));
    for (const [id] of rejected) this.#pending.delete(id);
    for (const [, { reject }] of rejected) reject(new Error(message));
  }
}

let shared: EngineClient | undefined;

/** The client shared by the pages that play and analyse, so that models are loaded once. */
export function sharedEngine(): EngineClient {
  shared ??= new EngineClient();
  return shared;
}
