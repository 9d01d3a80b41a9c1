import { Feed, type Run } from '#runs/feed.mjs';
import { replaceQuery } from '../../lib/route.svelte';

export const AXES = ['positions', 'step', 'seconds'] as const;
export type Axis = (typeof AXES)[number];

/** Runs drawn by default. */
const DEFAULT_DRAWN = 6;
const MAX_DRAWN = 40;

/** The number of curve colours in tokens.css. */
export const COLOURS = 8;

/** The CSS variable with the colour of a run. */
export function colourOf(slot: number): string {
  return `--curve-${(slot % COLOURS) + 1}`;
}

/** The server's training runs, which of them are drawn and how. The choice is stored in the address. */
export class TrainingRuns {
  /** All runs: running ones first, then the newest. */
  all = $state.raw<Run[]>([]);
  /** Incremented when a run changes. */
  updates = $state(0);
  problem = $state<string>();
  loaded = $state(false);
  axis = $state<Axis>('positions');
  log = $state(false);
  smoothing = $state(0.6);
  group = $state('all');
  /** Metrics that are not shown. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());

  #runs = new Map<string, Run>();
  #requested: Set<string> | undefined;
  #feed: Feed;

  constructor(query: URLSearchParams) {
    this.axis = AXES.find((axis) => axis === query.get('x')) ?? 'positions';
    this.log = query.get('y') === 'log';
    const smoothing = Number(query.get('smooth') ?? 0.6);
    this.smoothing = smoothing >= 0 && smoothing < 1 ? smoothing : 0.6;
    this.group = query.get('group') ?? 'all';
    this.hidden = new Set((query.get('hide') ?? '').split(',').filter(Boolean));
    const names = query.get('runs');
    if (names !== null) this.#requested = new Set(names.split(',').map(decodeURIComponent));
    this.#feed = new Feed(this.#runs, {
      changed: () => this.#changed(),
      failed: (text) => (this.problem = text ?? undefined),
    });
    void this.#feed.poll();
  }

  get now(): number {
    return this.#feed.now ?? Date.now() / 1000;
  }

  get drawn(): Run[] {
    void this.updates;
    return this.all.filter(({ slot }) => slot !== null).sort((a, b) => (a.slot ?? 0) - (b.slot ?? 0));
  }

  /** Shows or hides a run. It keeps its colour while it is shown. */
  show(run: Run, on: boolean): void {
    const others = this.drawn.filter((other) => other !== run);
    this.showOnly(on ? [...others, run] : others);
  }

  /** Shows exactly these runs. */
  showOnly(runs: Run[]): void {
    for (const run of this.#runs.values()) if (!runs.includes(run)) run.slot = null;
    runs.forEach((run) => this.#assignColour(run));
    this.updateAddress();
    this.updates++;
    void this.#feed.poll();
  }

  toggleMetric(metric: string): void {
    const hidden = new Set(this.hidden);
    if (!hidden.delete(metric)) hidden.add(metric);
    this.hidden = hidden;
    this.updateAddress();
  }

  updateAddress(): void {
    const query: Record<string, string> = { runs: this.drawn.map(({ name }) => encodeURIComponent(name)).join(',') };
    if (this.axis !== 'positions') query['x'] = this.axis;
    if (this.log) query['y'] = 'log';
    if (this.smoothing !== 0.6) query['smooth'] = String(this.smoothing);
    if (this.group !== 'all') query['group'] = this.group;
    if (this.hidden.size) query['hide'] = [...this.hidden].join(',');
    replaceQuery(query);
  }

  close(): void {
    this.#feed.stop();
  }

  #assignColour(run: Run): void {
    if (run.slot !== null) return;
    const used = new Set(this.drawn.map(({ slot }) => slot));
    if (used.size >= MAX_DRAWN) return;
    let slot = 0;
    while (used.has(slot)) slot++;
    run.slot = slot;
    this.updates++;
  }

  #changed(): void {
    const running = (run: Run) => Number(run.standing === 'running');
    this.all = [...this.#runs.values()].sort(
      (a, b) => running(b) - running(a) || (b.modified ?? 0) - (a.modified ?? 0) || a.name.localeCompare(b.name),
    );
    if (!this.loaded && this.all.length) {
      const requested = this.#requested;
      const first = requested ? this.all.filter(({ name }) => requested.has(name)) : this.all.slice(0, DEFAULT_DRAWN);
      first.forEach((run) => this.#assignColour(run));
      void this.#feed.poll();
    }
    this.loaded = true;
    this.updates++;
  }
}
