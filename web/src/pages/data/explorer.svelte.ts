import { errorMessage } from '../../lib/notices.svelte';
import { replaceQuery } from '../../lib/route.svelte';
import { fetchJson } from '../../lib/server';
import { fetchPosition, FILTERS, LABEL_STRATEGIES, noFilters, type DataSet, type Filters, type PositionView, type Target } from './api';

const DEFAULT_LABELS = LABEL_STRATEGIES[0]![0];

/** The current data set, position, labels and filters, which are also stored in the address. */
export class Explorer {
  sets = $state.raw<DataSet[]>([]);
  set = $state('');
  view = $state.raw<PositionView>();
  labels = $state(DEFAULT_LABELS);
  filters = $state<Filters>(noFilters());
  problem = $state('');
  waiting = $state(false);

  #request = new AbortController();

  get about(): DataSet | undefined {
    return this.sets.find(({ name }) => name === this.set);
  }

  get filtered(): boolean {
    return FILTERS.some((name) => this.filters[name] !== '');
  }

  /** Opens the position of an address. */
  async open(query: URLSearchParams): Promise<void> {
    this.labels = LABEL_STRATEGIES.find(([name]) => name === query.get('labels'))?.[0] ?? DEFAULT_LABELS;
    for (const name of FILTERS) this.filters[name] = query.get(name) ?? '';
    try {
      this.sets = await fetchJson<DataSet[]>('data', this.#request.signal);
    } catch (error) {
      this.problem = errorMessage(error);
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

  /** Loads the same position with other labels. */
  async relabel(labels: string): Promise<void> {
    this.labels = labels;
    if (this.view) await this.go({ index: this.view.index });
  }

  next = () => this.go({ from: this.view?.index ?? 0, direction: 'forward' });
  back = () => this.go({ from: this.view?.index ?? 0, direction: 'back' });
  random = () => this.go('random');

  async go(target: Target): Promise<void> {
    if (!this.set) return;
    // Only the last of several quick requests matters.
    this.#request.abort();
    const request = new AbortController();
    this.#request = request;
    this.waiting = true;
    try {
      this.view = await fetchPosition(this.set, target, this.labels, this.filters, request.signal);
      this.problem = '';
      this.#updateAddress();
    } catch (error) {
      if (!request.signal.aborted) this.problem = errorMessage(error);
    } finally {
      if (this.#request === request) this.waiting = false;
    }
  }

  close(): void {
    this.#request.abort();
  }

  #updateAddress(): void {
    const query: Record<string, string> = { set: this.set, index: String(this.view?.index ?? 0) };
    if (this.labels !== DEFAULT_LABELS) query['labels'] = this.labels;
    for (const name of FILTERS) if (this.filters[name]) query[name] = this.filters[name];
    replaceQuery(query);
  }
}
