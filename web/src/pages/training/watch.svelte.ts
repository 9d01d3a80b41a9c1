import { Feed, type Run } from '#runs/feed.mjs';
import { replaceQuery } from '../../route.svelte';

export const AXES = ['positions', 'step', 'seconds'] as const;
export type Axis = (typeof AXES)[number];

/** So many runs are drawn unless the visitor chooses. */
const AT_FIRST = 6;
/** More would be a thicket, and slow. */
export const AT_MOST = 40;

/** The runs of the server, which of them are drawn and how. The address remembers what was chosen. */
export class Watch {
  /** All runs, those that go on and the newest first. */
  runs = $state.raw<Run[]>([]);
  /** Counts the server's answers that changed something. */
  beat = $state(0);
  /** What is wrong with the server. */
  trouble = $state<string>();
  answered = $state(false);
  axis = $state<Axis>('positions');
  log = $state(false);
  smoothing = $state(0.6);
  group = $state('all');
  /** Metrics that are not drawn. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());

  #runs = new Map<string, Run>();
  #wanted: Set<string> | undefined;
  #feed: Feed;

  constructor(query: URLSearchParams) {
    this.axis = AXES.find((axis) => axis === query.get('x')) ?? 'positions';
    this.log = query.get('y') === 'log';
    const smoothing = Number(query.get('smooth') ?? 0.6);
    this.smoothing = smoothing >= 0 && smoothing < 1 ? smoothing : 0.6;
    this.group = query.get('group') ?? 'all';
    this.hidden = new Set((query.get('hide') ?? '').split(',').filter(Boolean));
    const names = query.get('runs');
    if (names !== null) this.#wanted = new Set(names.split(',').map(decodeURIComponent));
    this.#feed = new Feed(this.#runs, {
      changed: () => this.#changed(),
      failed: (text) => (this.trouble = text ?? undefined),
    });
    void this.#feed.poll();
  }

  get now(): number {
    return this.#feed.now ?? Date.now() / 1000;
  }

  get drawn(): Run[] {
    void this.beat;
    return this.runs.filter(({ slot }) => slot !== null).sort((a, b) => (a.slot ?? 0) - (b.slot ?? 0));
  }

  /** Draws a run or not; a run keeps its colour while it is drawn. */
  show(run: Run, on: boolean): void {
    if (on) this.#take(run);
    else run.slot = null;
    this.remember();
    this.beat++;
    void this.#feed.poll();
  }

  /** Draws exactly these. */
  showOnly(runs: Run[]): void {
    for (const run of this.#runs.values()) if (!runs.includes(run)) run.slot = null;
    runs.forEach((run) => this.#take(run));
    this.remember();
    this.beat++;
    void this.#feed.poll();
  }

  toggle(metric: string): void {
    const hidden = new Set(this.hidden);
    if (!hidden.delete(metric)) hidden.add(metric);
    this.hidden = hidden;
    this.remember();
  }

  /** Writes what was chosen to the address. */
  remember(): void {
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

  #take(run: Run): void {
    if (run.slot !== null) return;
    const taken = new Set(this.drawn.map(({ slot }) => slot));
    if (taken.size >= AT_MOST) return;
    let slot = 0;
    while (taken.has(slot)) slot++;
    run.slot = slot;
    this.beat++;
  }

  #changed(): void {
    const going = (run: Run) => Number(run.standing === 'running');
    this.runs = [...this.#runs.values()].sort(
      (a, b) => going(b) - going(a) || (b.modified ?? 0) - (a.modified ?? 0) || a.name.localeCompare(b.name),
    );
    if (!this.answered && this.runs.length) {
      const wanted = this.#wanted;
      const first = wanted ? this.runs.filter(({ name }) => wanted.has(name)) : this.runs.slice(0, AT_FIRST);
      first.forEach((run) => this.#take(run));
      void this.#feed.poll();
    }
    this.answered = true;
    this.beat++;
  }
}
