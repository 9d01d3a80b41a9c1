import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { EngineClient } from '../engine/client';
import { loadRules } from '../engine/wasm';
import { errorMessage, warn } from '../lib/notices.svelte';
import type { AdapterFacts } from '../wasm/tabia.js';

/** An adapter in this browser: what makes the human network play like one person. */
export interface StoredAdapter {
  id: string;
  /** The file, as `tabia me learn` writes it. */
  json: string;
  /** Milliseconds since 1970. */
  added: number;
}

export interface Person {
  id: string;
  json: string;
  facts: AdapterFacts;
}

interface Schema extends DBSchema {
  adapters: { key: string; value: StoredAdapter };
}

let database: Promise<IDBPDatabase<Schema>> | undefined;

function open(): Promise<IDBPDatabase<Schema>> {
  database ??= openDB<Schema>('tabia-adapters', 1, {
    upgrade(db, from) {
      if (from < 1) db.createObjectStore('adapters', { keyPath: 'id' });
    },
    // A tab with a newer page waits for this one.
    blocking() {
      void database?.then((db) => db.close());
      database = undefined;
    },
    terminated() {
      database = undefined;
    },
  }).catch((error: unknown) => {
    database = undefined;
    throw error;
  });
  return database;
}

/** The adapters of this browser. */
class Adapters {
  /** In the order they were added. */
  people = $state.raw<Person[]>([]);
  #loaded: Promise<void> | undefined;

  /** Reads the stored adapters, once. */
  load(): Promise<void> {
    this.#loaded ??= this.#read();
    return this.#loaded;
  }

  /** Stores an adapter. Throws if it is invalid; warns if it cannot be stored. */
  async add(json: string): Promise<Person> {
    await this.load();
    const rules = await loadRules();
    const person = { id: crypto.randomUUID(), json, facts: rules.adapterFacts(json) };
    this.people = [...this.people, person];
    await this.#write((db) => db.put('adapters', { id: person.id, json, added: Date.now() }));
    return person;
  }

  async delete(id: string): Promise<void> {
    this.people = this.people.filter((person) => person.id !== id);
    await this.#write((db) => db.delete('adapters', id));
  }

  /** Makes the adapter available to players. Throws if it is gone. */
  async give(engine: EngineClient, id: string): Promise<void> {
    await this.load();
    const person = this.people.find((one) => one.id === id);
    if (!person) throw new Error('this person was deleted; start a new game');
    await engine.call('addAdapter', `adapter/${id}`, person.json);
  }

  async #write(change: (db: IDBPDatabase<Schema>) => Promise<unknown>): Promise<void> {
    try {
      await change(await open());
    } catch (error) {
      warn(`The browser does not let this page store what it learned, so it will be lost when the page closes: ${errorMessage(error)}`);
    }
  }

  async #read(): Promise<void> {
    let stored: StoredAdapter[] = [];
    try {
      stored = await (await open()).getAll('adapters');
    } catch {
      // Without storage there are none; storing one warns.
    }
    const rules = await loadRules();
    const people: Person[] = [];
    for (const { id, json } of stored.sort((a, b) => a.added - b.added)) {
      try {
        people.push({ id, json, facts: rules.adapterFacts(json) });
      } catch {
        // It stays stored: a newer version of the page may have written it.
      }
    }
    this.people = people;
  }
}

/** The stored person of a player spec. */
export function personOf(spec: string): string[] {
  return [...spec.matchAll(/^human:adapter\/([\w-]+)/g)].flatMap(([, id]) => id ?? []);
}

export const adapters = new Adapters();
