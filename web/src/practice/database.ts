import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import type { Card } from '../wasm/tabia.js';

/** What is kept in the browser. A new version of the schema adds a step to `upgrade`; stored data is never dropped. */
interface Schema extends DBSchema {
  cards: { key: string; value: Card };
}

const NAME = 'tabia-practice';
const VERSION = 1;

let database: Promise<IDBPDatabase<Schema>> | undefined;

/** The database. After a failure the next call tries again. */
function open(): Promise<IDBPDatabase<Schema>> {
  database ??= openDB<Schema>(NAME, VERSION, {
    upgrade(db, from) {
      if (from < 1) db.createObjectStore('cards', { keyPath: 'id' });
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

export async function loadCards(): Promise<Card[]> {
  return (await open()).getAll('cards');
}

/** Writes cards and deletes others, all or nothing. */
export async function writeCards(cards: readonly Card[], deleted: readonly string[] = []): Promise<void> {
  const transaction = (await open()).transaction('cards', 'readwrite');
  await Promise.all([
    ...cards.map((card) => transaction.store.put(card)),
    ...deleted.map((id) => transaction.store.delete(id)),
    transaction.done,
  ]);
}
