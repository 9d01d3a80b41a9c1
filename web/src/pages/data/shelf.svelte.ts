import { sentence } from '../../notices.svelte';
import { replaceQuery } from '../../route.svelte';
import { FILTERS, noFilters, position, sets, STRATEGIES, type Filters, type PositionView, type SetAbout, type Wanted } from './explorer';

/** What is looked at: a set, a position in it, and how. The address remembers all of it. */
export class Shelf {
  sets = $state.raw<SetAbout[]>([]);
  set = $state('');
  view = $state.raw<PositionView>();
  labels = $state(STRATEGIES[0]![0]);
  filters = $state<Filters>(noFilters());
  problem = $state('');
  waiting = $state(false);

  #asking = new AbortController();

  get about(): SetAbout | undefined {
    return this.sets.find(({ name }) => name === this.set);
  }

  get filtered(): boolean {
    return FILTERS.some((name) => this.filters[name] !== '');
  }

  /** Begins where an address says. */
  async open(query: URLSearchParams): Promise<void> {
    this.labels = STRATEGIES.find(([name]) => name === query.get('labels'))?.[0] ?? STRATEGIES[0]![0];
    for (const name of FILTERS) this.filters[name] = query.get(name) ?? '';
    try {
      this.sets = await sets(this.#asking.signal);
    } catch (error) {
      this.problem = sentence(error);
      return;
    }
    this.set = (this.sets.find(({ name }) => name === query.get('set')) ?? this.sets[0])?.name ?? '';
    const index = Number(query.get('index') ?? 0);
    await this.go({ index: Number.isSafeInteger(index) && index >= 0 ? index : 0 });
  }

  async choose(set: string): Promise<void> {
    this.set = set;
    this.view = undefined;
    await this.go({ index: 0 });
  }

  /** The same position, labelled anew. */
  async relabel(labels: string): Promise<void> {
    this.labels = labels;
    if (this.view) await this.go({ index: this.view.index });
  }

  next = () => this.go({ from: this.view?.index ?? 0, direction: 'forward' });
  back = () => this.go({ from: this.view?.index ?? 0, direction: 'back' });
  random = () => this.go('random');

  async go(wanted: Wanted): Promise<void> {
    if (!this.set) return;
    // Who turns pages quickly wants the last one.
    this.#asking.abort();
    const asking = new AbortController();
    this.#asking = asking;
    this.waiting = true;
    try {
      this.view = await position(this.set, wanted, this.labels, this.filters, asking.signal);
      this.problem = '';
      this.#remember();
    } catch (error) {
      if (!asking.signal.aborted) this.problem = sentence(error);
    } finally {
      if (this.#asking === asking) this.waiting = false;
    }
  }

  close(): void {
    this.#asking.abort();
  }

  #remember(): void {
    const query: Record<string, string> = { set: this.set, index: String(this.view?.index ?? 0) };
    if (this.labels !== STRATEGIES[0]![0]) query['labels'] = this.labels;
    for (const name of FILTERS) if (this.filters[name]) query[name] = this.filters[name];
    replaceQuery(query);
  }
}
