import { loadRules, type Rules } from '../engine/wasm';
import { errorMessage, warn } from '../lib/notices.svelte';
import type { OpeningRepertoire, RepertoireFacts, Side, SyncedCards } from '../wasm/tabia.js';
import { deleteRepertoire, loadRepertoires, storageProblem, writeRepertoire, type SavedRepertoire } from './database';
import { storedDeck } from './deck.svelte';

const CHANNEL = 'tabia-repertoires';

/** What the visitor enters. Without a side it is guessed. */
export interface RepertoireInput {
  name: string;
  side: Side | undefined;
  pgn: string;
  cards: boolean;
}

/** A stored repertoire and what is in it; without facts it cannot be read. */
export interface ListedRepertoire extends SavedRepertoire {
  facts: RepertoireFacts | undefined;
}

/** The repertoires of this browser. Every change is stored at once, and other tabs take it over. */
export class StoredRepertoires {
  readonly rules: Rules;
  /** In the order they were added. */
  list = $state.raw<ListedRepertoire[]>([]);
  #opened = new Map<string, OpeningRepertoire>();
  #channel = new BroadcastChannel(CHANNEL);

  private constructor(rules: Rules) {
    this.rules = rules;
    this.#channel.onmessage = () => void this.#load();
  }

  static async open(): Promise<StoredRepertoires> {
    const repertoires = new StoredRepertoires(await loadRules());
    await repertoires.#load();
    return repertoires;
  }

  /** The moves of a repertoire; undefined if there is none that can be read. */
  get(id: string): OpeningRepertoire | undefined {
    return this.#opened.get(id);
  }

  /** Adds a repertoire, or replaces the one with this id. Throws if the PGN is invalid or the name is taken; then nothing changes. */
  async save(input: RepertoireInput, id?: string): Promise<{ facts: RepertoireFacts; synced: SyncedCards | undefined }> {
    const name = input.name.trim();
    if (!name) throw new Error('enter a name');
    if (this.list.some((known) => known.name === name && known.id !== id)) throw new Error(`there is another repertoire called “${name}”`);
    const opened = new this.rules.OpeningRepertoire(name, input.pgn, input.side);
    const facts = opened.facts();
    const before = this.list.find((known) => known.id === id);
    const saved: SavedRepertoire = {
      id: id ?? `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`,
      name,
      side: facts.side,
      pgn: input.pgn,
      added: before?.added ?? Date.now(),
      cards: input.cards,
    };
    try {
      await writeRepertoire(saved);
    } catch (error) {
      opened.free();
      throw new Error(storageProblem(`“${name}”`, error));
    }
    this.#opened.get(saved.id)?.free();
    this.#opened.set(saved.id, opened);
    this.list = [...this.list.filter((known) => known.id !== saved.id), { ...saved, facts }].sort((a, b) => a.added - b.added);
    this.#channel.postMessage(null);
    return { facts, synced: await this.#syncCards(before && (before.name !== name || !input.cards) ? [before.name] : []) };
  }

  async delete(id: string): Promise<void> {
    const known = this.list.find((one) => one.id === id);
    if (!known) return;
    await deleteRepertoire(id);
    this.#opened.get(id)?.free();
    this.#opened.delete(id);
    this.list = this.list.filter((one) => one.id !== id);
    this.#channel.postMessage(null);
    await this.#syncCards([known.name]);
  }

  async #syncCards(former: string[]): Promise<SyncedCards | undefined> {
    const repertoires = this.list.flatMap(({ id, name, cards }) => {
      const opened = this.#opened.get(id);
      return cards && opened ? [{ name, cards: opened.cards() }] : [];
    });
    try {
      return await (await storedDeck()).syncRepertoires(repertoires, former);
    } catch (error) {
      warn(`The cards of the repertoires were not updated: ${errorMessage(error)}`);
      return undefined;
    }
  }

  async #load(): Promise<void> {
    let stored: SavedRepertoire[];
    try {
      stored = await loadRepertoires();
    } catch (error) {
      warn(`The browser does not let this page store repertoires: ${errorMessage(error)}`);
      return;
    }
    for (const opened of this.#opened.values()) opened.free();
    this.#opened.clear();
    const list = stored.map((saved): ListedRepertoire => {
      try {
        const opened = new this.rules.OpeningRepertoire(saved.name, saved.pgn, saved.side);
        this.#opened.set(saved.id, opened);
        return { ...saved, facts: opened.facts() };
      } catch {
        // It stays stored, and can be exported or deleted.
        return { ...saved, facts: undefined };
      }
    });
    this.list = list.sort((a, b) => a.added - b.added);
  }
}

let shared: Promise<StoredRepertoires> | undefined;

/** The repertoires, opened once. */
export function storedRepertoires(): Promise<StoredRepertoires> {
  shared ??= StoredRepertoires.open().catch((error: unknown) => {
    shared = undefined;
    throw error;
  });
  return shared;
}
