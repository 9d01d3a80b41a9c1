import { EngineClient } from '../../engine/client';
import { sentence } from '../../notices.svelte';
import type { GameInput, Thought } from '../../wasm/tabia.js';

const SLICE_SECONDS = 0.2;
/** A position left on the board stops costing power after this long. */
const MOST_SECONDS = 120;

/** The engine's view of the position on the board, deeper as time goes. It has a worker of its own. */
export class Lookout {
  readonly client = new EngineClient();
  thought = $state.raw<Thought>();
  /** Whether it is thinking now. */
  thinking = $state(false);
  arriving = $state.raw<{ loaded: number; total: number }>();
  problem = $state('');

  #stop: AbortController | undefined;

  /** Thinks about a position until told otherwise, or for two minutes. */
  async think(game: GameInput, lines: number): Promise<void> {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    this.thought = undefined;
    this.problem = '';
    this.thinking = true;
    try {
      await this.client.ensure('value', (loaded, total) => (this.arriving = { loaded, total }));
      this.arriving = undefined;
      if (stop.signal.aborted) return;
      const slices = Math.ceil(MOST_SECONDS / SLICE_SECONDS);
      await this.client.stream('analysis', [game, lines, SLICE_SECONDS, slices], (thought) => (this.thought = thought), stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) this.problem = sentence(error);
    } finally {
      if (this.#stop === stop) {
        this.thinking = false;
        this.arriving = undefined;
      }
    }
  }

  stop(): void {
    this.#stop?.abort();
    this.thinking = false;
  }

  /** Forgets what was thought. */
  clear(): void {
    this.stop();
    this.thought = undefined;
  }

  /** Ends the worker. */
  close(): void {
    this.stop();
    this.client.close();
  }
}
