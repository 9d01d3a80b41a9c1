import { loadRules, type Rules } from '../engine/wasm';
import { errorMessage, warn } from '../lib/notices.svelte';
import type { Drill, DrillAttempt, DrillTask } from '../wasm/tabia.js';
import { deleteDrill, loadDrills, storageProblem, writeDrill, type SavedDrill } from './database';

const CHANNEL = 'tabia-drills';
/** The group of the visitor's own drills. */
export const OWN_GROUP = 'Your positions';

/** Drills are the same if position and task are. */
function idOf(task: DrillTask, fen: string): string {
  return `${task}:${fen}`;
}

/** The built-in drills and the visitor's own, with all attempts. */
export class StoredDrills {
  readonly rules: Rules;
  list = $state.raw<SavedDrill[]>([]);
  #channel = new BroadcastChannel(CHANNEL);

  private constructor(rules: Rules) {
    this.rules = rules;
    this.#channel.onmessage = () => void this.#load();
  }

  static async open(): Promise<StoredDrills> {
    const drills = new StoredDrills(await loadRules());
    await drills.#load();
    return drills;
  }

  /** Counts an attempt; returns the drill with it. A drill that is not listed becomes one of the visitor's own. */
  async record(drill: Pick<Drill, 'name' | 'task' | 'moves' | 'fen'>, attempt: DrillAttempt): Promise<SavedDrill> {
    const id = idOf(drill.task, drill.fen);
    const known = this.list.find((one) => one.id === id) ?? { ...drill, group: OWN_GROUP, ...this.#untried() };
    const saved = { ...this.rules.withAttempt(known, attempt), id };
    await this.#store(saved);
    return saved;
  }

  async delete(id: string): Promise<void> {
    try {
      await deleteDrill(id);
      this.#channel.postMessage(null);
    } catch (error) {
      warn(`The drill was not deleted: ${errorMessage(error)}`);
      return;
    }
    await this.#load();
  }

  #untried(): Pick<Drill, 'attempts' | 'schedule'> {
    return { attempts: [], schedule: { stability: 0, difficulty: 0, due: 0, repetitions: [] } };
  }

  async #store(saved: SavedDrill): Promise<void> {
    const others = this.list.filter((one) => one.id !== saved.id);
    const place = this.list.findIndex((one) => one.id === saved.id);
    this.list = place < 0 ? [...others, saved] : this.list.with(place, saved);
    try {
      await writeDrill(saved);
      this.#channel.postMessage(null);
    } catch (error) {
      warn(storageProblem('the result', error));
    }
  }

  async #load(): Promise<void> {
    const stored = await loadDrills().catch((error: unknown) => {
      warn(`The browser does not let this page store results: ${errorMessage(error)}`);
      return [] as SavedDrill[];
    });
    const byId = new Map(stored.map((drill) => [drill.id, drill]));
    const builtIn = this.rules.builtInDrills().map((drill) => {
      const id = idOf(drill.task, drill.fen);
      const tried = byId.get(id);
      byId.delete(id);
      return { ...drill, ...(tried ? { attempts: tried.attempts, schedule: tried.schedule } : {}), id };
    });
    this.list = [...builtIn, ...byId.values()];
  }
}

let shared: Promise<StoredDrills> | undefined;

/** The drills, opened once. */
export function storedDrills(): Promise<StoredDrills> {
  shared ??= StoredDrills.open().catch((error: unknown) => {
    shared = undefined;
    throw error;
  });
  return shared;
}
