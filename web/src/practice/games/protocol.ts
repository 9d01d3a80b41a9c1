import type { GameFilter, GameRows, LibraryCounts, NameCount, PlayedMistake, SummaryReport } from '../../wasm/tabia.js';
import type { StoredImport } from '../database';

/** What the page asks of the worker that holds the player's games. */
export interface LibraryMethods {
  /** Loads the stored games and figures; returns the number of figures that cannot be read. */
  load: () => Promise<number>;
  /** Loads the games that another tab has stored. */
  loadGames: () => Promise<void>;
  /** Loads the figures of games that were reviewed. */
  loadFigures: (keys: string[]) => Promise<void>;
  setPlayer: (names: string[]) => void;
  names: (most: number) => NameCount[];
  counts: () => LibraryCounts;
  queue: (most: number, busy: string[]) => string[];
  report: (filter: GameFilter) => SummaryReport;
  rows: (filter: GameFilter, first: number, most: number) => GameRows;
  mistakes: (filter: GameFilter, most: number) => PlayedMistake[];
  /** Imports a file from where it stands; resolves when it is done or paused. One tab imports at a time. */
  importFile: (file: File, state: StoredImport) => Promise<StoredImport>;
  pauseImport: () => void;
}

export type LibraryMethod = keyof LibraryMethods;

/** Messages from the page to the worker. */
export type LibraryRequest = { kind: 'start'; module: WebAssembly.Module } | { kind: 'call'; id: number; method: LibraryMethod; args: unknown[] };

/** Messages from the worker to the page. */
export type LibraryReply =
  | { kind: 'done'; id: number; result: unknown }
  | { kind: 'failed'; id: number; error: string; full: boolean }
  | { kind: 'imported'; state: StoredImport };

/** Messages between tabs: what has changed in the database. */
export type GamesMessage = { kind: 'games' } | { kind: 'figures'; keys: string[] } | { kind: 'settings' } | { kind: 'reviewing' } | { kind: 'all' };

export const CHANNEL = 'tabia-games';
export const IMPORT_LOCK = 'tabia-games-import';
export const REVIEW_LOCK = 'tabia-games-review';
