import type { Engine, PendingEvaluation } from '../wasm/tabia.js';
import type { Compute, ComputeState } from './protocol';
import type { GpuNetwork } from './gpuNetwork';

/** Runs of a race; the best of each side counts. */
const RACE_RUNS = 4;
/** The batch of a race: about that of a rating curve. */
const RACE_ROWS = 16;
/** A device that takes longer to get ready is given up, unless it is emulated. */
const MOST_MS_TO_OPEN = 20_000;
/** Lost devices after which no other is asked for. */
const MOST_LOSSES = 3;
/** Evaluations that one call may wait for; what it needs beyond is evaluated on the processor. */
const MOST_WAITS = 3;

/**
 * The networks of an engine that run on a GPU where that is faster.
 *
 * The engine's calls are synchronous and a GPU is not: a call that needs an evaluation fails, and is repeated with its outputs. If
 * there are none, because the device is lost, the repeated call evaluates on the processor.
 */
export class Accelerator {
  readonly #engine: Engine;
  readonly #tell: (state: ComputeState) => void;
  #compute: Compute = 'automatic';
  /** How each network can be read again. */
  readonly #sources = new Map<string, () => Promise<Uint8Array>>();
  readonly #networks = new Map<string, GpuNetwork>();
  /** Networks whose race has begun, is over, or failed. */
  readonly #considered = new Set<string>();
  #losses = 0;

  constructor(engine: Engine, compute: Compute, tell: (state: ComputeState) => void) {
    this.#engine = engine;
    this.#compute = compute;
    this.#tell = tell;
  }

  /** Another choice of the visitor. */
  choose(compute: Compute): void {
    if (compute === this.#compute) return;
    this.#compute = compute;
    for (const name of [...this.#sources.keys()]) this.#stop(name);
    this.#considered.clear();
  }

  /** The engine has a model, perhaps in place of another of the same name. */
  added(name: string, source: () => Promise<Uint8Array>): void {
    this.removed(name);
    if (this.#engine.canAccelerate(name)) this.#sources.set(name, source);
  }

  removed(name: string): void {
    this.#stop(name);
    this.#sources.delete(name);
    this.#considered.delete(name);
  }

  /** The result of `task`, which calls the engine. */
  async run<T>(task: () => T): Promise<T> {
    for (let waits = 0; this.#networks.size > 0 && waits < MOST_WAITS; waits++) {
      const { result, pending } = this.#attempt(task);
      if (!pending) return result();
      const { model, rows } = pending;
      const outputs = await this.#networks.get(model)?.run(rows, pending.inputs()).catch(() => undefined);
      if (outputs) this.#engine.supply(pending, outputs);
      else {
        pending.free();
        // The network stops by itself; this call does not wait for that.
        break;
      }
    }
    return task();
  }

  /** What `task` returns or throws, and the evaluation that it needs first. */
  #attempt<T>(task: () => T): { result: () => T; pending?: PendingEvaluation | undefined } {
    this.#engine.defer(true);
    try {
      const result = task();
      this.#engine.defer(false);
      return { result: () => result };
    } catch (error) {
      const result = () => {
        throw error;
      };
      // After a trap nothing can be asked of the engine.
      if (error instanceof WebAssembly.RuntimeError) return { result };
      this.#engine.defer(false);
      return { result, pending: this.#engine.takePending() };
    }
  }

  /** Races the GPU against the processor for each network that is new. Never throws. */
  async consider(): Promise<void> {
    if (this.#compute === 'cpu' || !('gpu' in navigator)) return;
    for (const [name, source] of this.#sources) {
      if (this.#considered.has(name)) continue;
      this.#considered.add(name);
      try {
        await this.#start(name, source);
      } catch (error) {
        this.#tell({ model: name, on: 'cpu', why: error instanceof Error ? error.message : String(error) });
      }
    }
  }

  async #start(name: string, source: () => Promise<Uint8Array>): Promise<void> {
    const compute = this.#compute;
    const adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) return this.#tell({ model: name, on: 'cpu', why: 'this browser offers no GPU' });
    // WebGPU in software is slower than the processor's own kernels.
    const emulated = adapter.info.isFallbackAdapter;
    if (emulated && compute !== 'webgpu') return this.#tell({ model: name, on: 'cpu', why: 'the GPU is emulated' });
    const { GpuNetwork } = await import('./gpuNetwork');
    const bytes = await source();
    const opening = GpuNetwork.open(adapter, bytes);
    const network = await (emulated ? opening : within(MOST_MS_TO_OPEN, opening, (late) => late?.close()));
    if (!network) return this.#tell({ model: name, on: 'cpu', why: 'there are no shaders for this network' });
    try {
      const race = await this.#race(name, network, emulated);
      const leastRows = compute === 'webgpu' ? 1 : fewestRows(race);
      // The choice may have changed, or the model been replaced.
      const current = this.#compute === compute && this.#sources.get(name) === source;
      if (!leastRows || !current) {
        network.close();
        if (current) this.#tell({ model: name, on: 'cpu', why: 'the processor is faster', race });
        return;
      }
      this.#networks.set(name, network);
      this.#engine.accelerate(name, leastRows);
      this.#tell({ model: name, on: 'webgpu', leastRows, race });
      void network.lost.then(({ reason, message }) => {
        if (this.#networks.get(name) !== network) return;
        this.#stop(name);
        this.#tell({ model: name, on: 'cpu', why: message || 'the GPU was lost' });
        // The machine slept, perhaps. One that is lost again and again is left alone.
        if (reason === 'unknown' && ++this.#losses < MOST_LOSSES) this.#considered.delete(name);
      });
    } catch (error) {
      network.close();
      throw error;
    }
  }

  /** Milliseconds on both sides, of an emulated device only once. Throws if the GPU's outputs are wrong. */
  async #race(name: string, network: GpuNetwork, emulated: boolean): Promise<Race> {
    const gpu = async (rows: number) => {
      const probe = this.#engine.probe(name, rows);
      const inputs = probe.inputs();
      probe.free();
      const began = performance.now();
      const outputs = await network.run(rows, inputs);
      return { ms: performance.now() - began, outputs };
    };
    const cpu = (outputs?: Float32Array[]) => {
      const began = performance.now();
      const same = this.#engine.evaluateProbe(name, 1, outputs);
      if (outputs && !same) throw new Error('the GPU computes other numbers than the processor');
      return performance.now() - began;
    };
    const first = await gpu(1);
    const one = { cpu: cpu(first.outputs), gpu: first.ms };
    if (emulated) return { one };
    const batch = { cpu: Infinity, gpu: Infinity };
    for (let run = 0; run < RACE_RUNS; run++) {
      one.gpu = Math.min(one.gpu, (await gpu(1)).ms);
      batch.gpu = Math.min(batch.gpu, (await gpu(RACE_ROWS)).ms);
      one.cpu = Math.min(one.cpu, cpu());
    }
    // It takes the processor as long as its positions.
    batch.cpu = RACE_ROWS * one.cpu;
    return { one, batch };
  }

  #stop(name: string): void {
    const network = this.#networks.get(name);
    if (!network) return;
    this.#networks.delete(name);
    // Fails if the model is gone.
    if (this.#engine.canAccelerate(name)) this.#engine.accelerate(name, undefined);
    network.close();
  }
}

/** The result, if it comes in time; one that comes later is given to `late`. */
async function within<T>(ms: number, result: Promise<T>, late: (result: T) => void): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error('the GPU does not answer'));
      void result.then(late, () => {});
    }, ms);
  });
  try {
    return await Promise.race([result, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** Times of a race in milliseconds. */
export type Race = NonNullable<ComputeState['race']>;

/** From how many positions on the GPU is faster; undefined if it is for none. */
export function fewestRows({ one, batch }: Race): number | undefined {
  if (one.gpu < one.cpu) return 1;
  if (!batch || batch.gpu >= batch.cpu) return undefined;
  // The time of a batch grows evenly between the two that were measured.
  const perRow = Math.max(0, (batch.gpu - one.gpu) / (RACE_ROWS - 1));
  return Math.min(RACE_ROWS, Math.floor((one.gpu - perRow) / (one.cpu - perRow)) + 1);
}
