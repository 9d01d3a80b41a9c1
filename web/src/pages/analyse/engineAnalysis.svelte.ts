import { EngineClient } from '../../engine/client';
import type { Streams } from '../../engine/protocol';
import { errorMessage } from '../../lib/notices.svelte';
import type { GameInput, Thought } from '../../wasm/tabia.js';

const SLICE_SECONDS = 0.2;
/** Limits the power used by a position that is left open. */
const MAX_SECONDS = 120;

/** The engine's analysis of the current position, with iterative deepening in a worker of its own. */
export class EngineAnalysis {
  readonly client = new EngineClient();
  thought = $state.raw<Thought>();
  /** The threads it searches with. */
  threads = $state(1);
  running = $state(false);
  download = $state.raw<{ loaded: number; total: number }>();
  problem = $state('');

  #stop: AbortController | undefined;

  /** Analyses a position until it is stopped or two minutes have passed. */
  async run(game: GameInput, lines: number): Promise<void> {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    this.thought = undefined;
    this.problem = '';
    this.running = true;
    try {
      await this.client.loadBundled('value', (loaded, total) => (this.download = { loaded, total }));
      this.download = undefined;
      if (stop.signal.aborted) return;
      const slices = Math.ceil(MAX_SECONDS / SLICE_SECONDS);
      const show = ({ thought, threads }: Streams['analysis']['event']) => ([this.thought, this.threads] = [thought, threads]);
      await this.client.stream('analysis', [game, lines, SLICE_SECONDS, slices], show, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) this.problem = errorMessage(error);
    } finally {
      if (this.#stop === stop) {
        this.running = false;
        this.download = undefined;
      }
    }
  }

  stop(): void {
    this.#stop?.abort();
    this.running = false;
  }

  clear(): void {
    this.stop();
    this.thought = undefined;
  }

  /** Terminates the worker. */
  close(): void {
    this.stop();
    this.client.close();
  }
}
