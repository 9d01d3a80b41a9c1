import { loadRules, type Rules } from '../engine/wasm';
import { errorMessage, warn } from '../lib/notices.svelte';
import type { Card, CardFilter, Explanation, Grade, NewCard, PracticeDeck, RepertoireCards, SyncedCards, Verdict } from '../wasm/tabia.js';
import { loadCards, writeCards } from './database';
import { setDueTimes } from './due.svelte';

const CHANNEL = 'tabia-practice';

/** The deck of this browser. Every change is stored at once, and other tabs take it over. */
export class StoredDeck {
  readonly rules: Rules;
  /** All cards, in the order they were added. */
  cards = $state.raw<Card[]>([]);
  #deck: PracticeDeck;
  #channel = new BroadcastChannel(CHANNEL);

  private constructor(rules: Rules) {
    this.rules = rules;
    this.#deck = new rules.PracticeDeck();
    this.#channel.onmessage = () => void this.#load();
  }

  static async open(): Promise<StoredDeck> {
    const deck = new StoredDeck(await loadRules());
    await deck.#load();
    return deck;
  }

  due(filter: CardFilter): Card[] {
    return this.#deck.due(Date.now(), filter);
  }

  explanation(id: string): Explanation {
    return this.#deck.explanation(id);
  }

  /** Adds cards; returns how many positions are new. */
  async add(cards: readonly NewCard[]): Promise<number> {
    const added = cards.map((card) => this.#deck.add(card, Date.now()));
    await this.#stored(added.map(({ id }) => id));
    return added.filter((card) => card.new).length;
  }

  /** Makes the cards of repertoires what they say; `former` are names of deleted or renamed ones. */
  async syncRepertoires(repertoires: RepertoireCards[], former: string[]): Promise<SyncedCards> {
    const synced = this.#deck.syncRepertoires({ repertoires, former }, Date.now());
    if (synced.changed.length > 0) await this.#stored(synced.changed);
    return synced;
  }

  async answer(id: string, uci: string, seconds: number): Promise<Verdict> {
    const verdict = this.#deck.answer(id, uci, seconds, Date.now());
    await this.#stored([id]);
    return verdict;
  }

  /** Replaces the grade of the last answer; returns when the card is due. */
  async regrade(id: string, grade: Grade): Promise<number> {
    this.#deck.undo();
    const due = this.#deck.grade(id, grade, Date.now());
    await this.#stored([id]);
    return due;
  }

  /** Takes the last answer back; returns its card. */
  async undo(): Promise<string | undefined> {
    const id = this.#deck.undo();
    if (id !== undefined) await this.#stored([id]);
    return id;
  }

  async suspend(id: string, suspended: boolean): Promise<void> {
    this.#deck.suspend(id, suspended);
    await this.#stored([id]);
  }

  async setTags(id: string, tags: string[]): Promise<void> {
    this.#deck.setTags(id, tags);
    await this.#stored([id]);
  }

  async delete(id: string): Promise<void> {
    this.#deck.delete(id);
    await this.#stored([], [id]);
  }

  /** Adds the cards of a file; returns how many are new. Nothing changes if the file is invalid. */
  async import(json: string): Promise<number> {
    const added = this.#deck.merge(json);
    await this.#stored(this.#deck.cards().map(({ id }) => id));
    return added;
  }

  export(as: 'json' | 'pgn' | 'anki'): string {
    return this.#deck[as]();
  }

  async #load(): Promise<void> {
    let stored: Card[];
    try {
      stored = await loadCards();
    } catch (error) {
      warn(`The browser does not let this page store cards, so they will be lost when it closes: ${errorMessage(error)}`);
      return;
    }
    const deck = new this.rules.PracticeDeck();
    let invalid = 0;
    for (const card of stored) {
      try {
        deck.merge(JSON.stringify({ format: 'tabia-deck', version: 1, cards: [card] }));
      } catch {
        // It stays stored: a newer version of the page may have written it.
        invalid++;
      }
    }
    if (invalid > 0) warn(`${invalid} stored ${invalid === 1 ? 'card' : 'cards'} cannot be read and will not be shown.`);
    this.#deck.free();
    this.#deck = deck;
    this.#changed();
  }

  async #stored(ids: readonly string[], deleted: readonly string[] = []): Promise<void> {
    this.#changed();
    const wanted = new Set(ids);
    try {
      await writeCards(
        this.cards.filter(({ id }) => wanted.has(id)),
        deleted,
      );
      this.#channel.postMessage(null);
    } catch (error) {
      const full = error instanceof DOMException && error.name === 'QuotaExceededError';
      warn(full ? 'The browser’s storage is full: the card was not stored.' : `The card was not stored: ${errorMessage(error)}`);
    }
  }

  #changed(): void {
    this.cards = this.#deck.cards().sort((a, b) => a.added - b.added);
    setDueTimes(this.cards.filter((card) => !card.suspended && card.schedule.repetitions.length > 0).map((card) => card.schedule.due));
  }
}

let shared: Promise<StoredDeck> | undefined;

/** The deck, opened once. */
export function storedDeck(): Promise<StoredDeck> {
  shared ??= StoredDeck.open().catch((error: unknown) => {
    shared = undefined;
    throw error;
  });
  return shared;
}
