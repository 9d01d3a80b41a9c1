import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { errorMessage } from '../lib/notices.svelte';
import type { Card, Drill, Side } from '../wasm/tabia.js';

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
  repertoires: { key: string; value: SavedRepertoire };
  drills: { key: string; value: SavedDrill };
  puzzles: { key: string; value: SavedPuzzles };
}

const NAME = 'tabia-practice';
const VERSION = 2;

let database: Promise<IDBPDatabase<Schema>> | undefined;

/** The database. After a failure the next call tries again. */
function open(): Promise<IDBPDatabase<Schema>> {
  database ??= openDB<Schema>(NAME, VERSION, {
    upgrade(db, from) {
      if (from < 1) db.createObjectStore('cards', { keyPath: 'id' });
      if (from < 2) {
        db.createObjectStore('repertoires', { keyPath: 'id' });
        db.createObjectStore('drills', { keyPath: 'id' });
        db.createObjectStore('puzzles', { keyPath: 'id' });
      }
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
  return full ? `The browser’s storage is full: ${what} was not stored.` : `${what} was not stored: ${errorMessage(error)}`;
}
