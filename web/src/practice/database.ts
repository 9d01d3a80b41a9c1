import { openDB, type DBSchema, type IDBPDatabase, type IDBPTransaction, type StoreNames } from 'idb';
import type { Card, Drill, GameHead, ImportPlace, Side } from '../wasm/tabia.js';

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

/** A repertoire as it is stored. Names are unique. */
export interface SavedRepertoire {
  id: string;
  name: string;
  side: Side;
  pgn: string;
  /** When it was added, in milliseconds since 1970. */
  added: number;
  /** Whether its lines are cards. */
  cards: boolean;
}

/** A drill that was tried, or that the visitor added. Its id is made of task and position. */
export interface SavedDrill extends Drill {
  id: string;
}

/** The puzzles chosen from a file, one per line. */
interface SavedPuzzles {
  id: 'file';
  /** The name of the file. */
  name: string;
  text: string;
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
  repertoires: { key: string; value: SavedRepertoire };
  drills: { key: string; value: SavedDrill };
  puzzles: { key: string; value: SavedPuzzles };
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
        db.createObjectStore('repertoires', { keyPath: 'id' });
        db.createObjectStore('drills', { keyPath: 'id' });
        db.createObjectStore('puzzles', { keyPath: 'id' });
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

export async function loadRepertoires(): Promise<SavedRepertoire[]> {
  return (await open()).getAll('repertoires');
}

export async function writeRepertoire(repertoire: SavedRepertoire): Promise<void> {
  await (await open()).put('repertoires', repertoire);
}

export async function deleteRepertoire(id: string): Promise<void> {
  await (await open()).delete('repertoires', id);
}

export async function loadDrills(): Promise<SavedDrill[]> {
  return (await open()).getAll('drills');
}

export async function writeDrill(drill: SavedDrill): Promise<void> {
  await (await open()).put('drills', drill);
}

export async function deleteDrill(id: string): Promise<void> {
  await (await open()).delete('drills', id);
}

export async function loadPuzzles(): Promise<SavedPuzzles | undefined> {
  return (await open()).get('puzzles', 'file');
}

export async function writePuzzles(puzzles: SavedPuzzles): Promise<void> {
  await (await open()).put('puzzles', puzzles);
}

/** What went wrong when something was stored, for people. */
export function storageProblem(what: string, error: unknown): string {
  const full = error instanceof DOMException && error.name === 'QuotaExceededError';
  return full ? `The browser’s storage is full: ${what} was not stored.` : `${what} was not stored: ${error instanceof Error ? error.message : String(error)}`;
}
