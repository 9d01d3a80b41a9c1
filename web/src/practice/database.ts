import { openDB, type DBSchema, type IDBPDatabase, type IDBPTransaction, type StoreNames } from 'idb';
import type { Card, GameHead, ImportPlace } from '../wasm/tabia.js';

/** A file of games that is being imported, or was. */
export interface StoredImport {
  /** Name, size and date of the file: the same file again is the same import. */
  id: string;
  name: string;
  size: number;
  modified: number;
  /** Where to go on. */
  next: ImportPlace;
  /** Games that are new, that were there before, without moves, and that cannot be read. */
  added: number;
  known: number;
  empty: number;
  broken: number;
  /** What is wrong with the first broken games. */
  problems: string[];
  /** The most frequent name in the file. */
  mostly?: string;
  done: boolean;
  started: number;
  /** The file, where the browser can keep a handle. */
  handle?: FileSystemFileHandle;
}

/** What is kept in the browser. A new version of the schema adds a step to `upgrade`; stored data is never dropped. */
interface Schema extends DBSchema {
  cards: { key: string; value: Card };
  /** What lists show of the player's games; the texts are apart, because lists do not need them. */
  games: { key: string; value: GameHead };
  pgns: { key: string; value: { key: string; pgn: string } };
  /** Reviews as JSON, and the figures that the dashboard needs of them. Both are written together. */
  reviews: { key: string; value: { key: string; review: string; nodes: number } };
  figures: { key: string; value: { key: string; figures: string } };
  imports: { key: string; value: StoredImport };
  settings: { key: string; value: { name: string; value: unknown } };
}

export type Database = IDBPDatabase<Schema>;
export { open as openDatabase };
const NAME = 'tabia-practice';
const VERSION = 2;

let database: Promise<Database> | undefined;
let onBlocked = () => {};

/** Sets what to do when another tab keeps an older version of the database open. */
export function whenBlocked(listener: () => void): void {
  onBlocked = listener;
}

/** The database. After a failure the next call tries again. */
function open(): Promise<Database> {
  database ??= openDB<Schema>(NAME, VERSION, {
    upgrade(db, from) {
      if (from < 1) db.createObjectStore('cards', { keyPath: 'id' });
      if (from < 2) {
        for (const store of ['games', 'pgns', 'reviews', 'figures'] as const) db.createObjectStore(store, { keyPath: 'key' });
        db.createObjectStore('imports', { keyPath: 'id' });
        db.createObjectStore('settings', { keyPath: 'name' });
      }
    },
    blocked: () => onBlocked(),
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

/** Why something cannot be stored or read, in words. */
export function storageFailure(error: unknown): string {
  const name = error instanceof DOMException ? error.name : '';
  if (isFull(error)) return 'the browser’s storage for this page is full';
  if (name === 'VersionError') return 'a newer version of this page has stored data here; reload the page';
  if (name === 'InvalidStateError' || name === 'SecurityError') return 'the browser does not let this page store anything';
  return error instanceof Error ? error.message : String(error);
}

export function isFull(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'QuotaExceededError';
}

export async function loadCards(): Promise<Card[]> {
  return (await open()).getAll('cards');
}

export type StoreName = StoreNames<Schema>;

/** Writes all or nothing: whatever fails, nothing is changed. */
export async function writeAll<Names extends StoreName[]>(
  stores: Names,
  write: (transaction: IDBPTransaction<Schema, Names, 'readwrite'>) => void | Promise<void>,
): Promise<void> {
  const transaction = (await open()).transaction(stores, 'readwrite');
  // Its failure is reported below.
  transaction.done.catch(() => {});
  try {
    await write(transaction);
  } catch (error) {
    try {
      transaction.abort();
    } catch {
      // It has failed already.
    }
    throw error;
  }
  await transaction.done;
}

/** Ignores the failure of a single request, which makes its transaction fail. */
export function queue(request: Promise<unknown>): void {
  request.catch(() => {});
}

/** Writes cards and deletes others, all or nothing. */
export function writeCards(cards: readonly Card[], deleted: readonly string[] = []): Promise<void> {
  return writeAll(['cards'], (transaction) => {
    const store = transaction.objectStore('cards');
    for (const card of cards) queue(store.put(card));
    for (const id of deleted) queue(store.delete(id));
  });
}

export async function loadSetting(name: string): Promise<unknown> {
  return (await (await open()).get('settings', name))?.value;
}

export async function writeSetting(name: string, value: unknown): Promise<void> {
  await (await open()).put('settings', { name, value });
}
