import * as tabia from '../../wasm/tabia.js';
import type { GameHead, ImportPlace } from '../../wasm/tabia.js';
import { isFull, openDatabase, queue, storageFailure, writeAll, type StoredImport } from '../database';
import { withLock } from './lock';
import { CHANNEL, IMPORT_LOCK, type GamesMessage, type LibraryMethods, type LibraryReply, type LibraryRequest } from './protocol';

// Holds what lists and the dashboard need of the player's games, and imports files. The games are in the database.

const GAMES_PER_STEP = 200;
const FILE_CHUNK_BYTES = 1 << 20;
const FIGURES_PER_READ = 500;
const MAX_PROBLEMS = 50;

/** Exists only in workers, and TypeScript declares it only in their library. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

const channel = new BroadcastChannel(CHANNEL);
let library: tabia.GameLibrary | undefined;
let known = new Set<string>();
let player: string[] = [];
let pausing = false;

self.addEventListener('message', (message: MessageEvent<LibraryRequest>) => {
  const request = message.data;
  if (request.kind === 'start') tabia.initSync({ module: request.module });
  else void answer(request);
});

async function answer({ id, method, args }: Extract<LibraryRequest, { kind: 'call' }>): Promise<void> {
  try {
    const call = methods[method] as (...args: unknown[]) => unknown;
    reply({ kind: 'done', id, result: await call(...args) });
  } catch (error) {
    reply({ kind: 'failed', id, error: storageFailure(error), full: isFull(error) });
  }
}

function loaded(): tabia.GameLibrary {
  if (!library) throw new Error('the games have not been loaded');
  return library;
}

const methods: LibraryMethods = {
  async load() {
    const db = await openDatabase();
    const fresh = new tabia.GameLibrary();
    fresh.setPlayer(player);
    const heads = await db.getAll('games');
    fresh.addGames(JSON.stringify(heads));
    let unreadable = 0;
    // In parts: all at once could take hundreds of megabytes.
    for (let after: IDBKeyRange | null = null; ; ) {
      const part = await db.getAll('figures', after, FIGURES_PER_READ);
      unreadable += fresh.addFigures(part.map(({ figures }) => figures));
      const last = part.at(-1);
      if (!last || part.length < FIGURES_PER_READ) break;
      after = IDBKeyRange.lowerBound(last.key, true);
    }
    known = new Set(heads.map(({ key }) => key));
    library?.free();
    library = fresh;
    return unreadable;
  },

  async loadGames() {
    const db = await openDatabase();
    const missing = (await db.getAllKeys('games')).filter((key) => !known.has(key));
    const heads = await Promise.all(missing.map((key) => db.get('games', key)));
    add(heads.filter((head) => head !== undefined));
  },

  async loadFigures(keys) {
    const db = await openDatabase();
    const stored = await Promise.all(keys.map((key) => db.get('figures', key)));
    loaded().addFigures(stored.flatMap((entry) => entry?.figures ?? []));
  },

  setPlayer(names) {
    player = names;
    library?.setPlayer(names);
  },

  names: (most) => loaded().names(most),
  counts: () => loaded().counts(),
  queue: (most, busy) => loaded().queue(most, busy),
  report: (filter) => loaded().report(filter),
  rows: (filter, first, most) => loaded().rows(filter, first, most),
  mistakes: (filter, most) => loaded().mistakes(filter, most),

  async importFile(file, state) {
    const end = await withLock(IMPORT_LOCK, { ifAvailable: true }, () => runImport(file, state));
    if (!end) throw new Error('another tab is importing games; wait until it has finished');
    return end;
  },

  pauseImport() {
    pausing = true;
  },
};

function add(heads: GameHead[]): void {
  loaded().addGames(JSON.stringify(heads));
  for (const { key } of heads) known.add(key);
}

async function runImport(file: File, from: StoredImport): Promise<StoredImport> {
  pausing = false;
  let state = from;
  const scan = new tabia.GamesImport(chunksOf(file, from.next.offset), from.next);
  const names = new tabia.GameLibrary();
  try {
    while (!state.done && !pausing) {
      const part = scan.step(GAMES_PER_STEP);
      names.addGames(JSON.stringify(part.games.map(({ head }) => head)));
      const [mostly] = part.done ? names.names(1) : [];
      state = {
        ...state,
        next: part.next,
        empty: state.empty + part.empty,
        broken: state.broken + part.broken.length,
        problems: [...state.problems, ...part.broken].slice(0, MAX_PROBLEMS),
        ...(mostly && { mostly: mostly.name }),
        done: part.done,
      };
      const fresh = await store(part.games, state);
      state = { ...state, added: state.added + fresh.length, known: state.known + part.games.length - fresh.length };
      add(fresh);
      reply({ kind: 'imported', state });
    }
  } finally {
    scan.free();
    names.free();
    channel.postMessage({ kind: 'games' } satisfies GamesMessage);
  }
  return state;
}

/** Stores the games that are new, and where the import stands, all or nothing. Returns the new ones. */
async function store(games: readonly tabia.ImportedGame[], state: StoredImport): Promise<GameHead[]> {
  const fresh = new Map<string, tabia.ImportedGame>();
  await writeAll(['games', 'pgns', 'imports'], async (transaction) => {
    const [heads, pgns] = [transaction.objectStore('games'), transaction.objectStore('pgns')];
    const present = await Promise.all(games.map(({ head }) => heads.getKey(head.key)));
    // A file may hold a game twice.
    for (const [place, game] of games.entries()) if (present[place] === undefined) fresh.set(game.head.key, game);
    for (const { head, pgn } of fresh.values()) {
      queue(heads.put(head));
      queue(pgns.put({ key: head.key, pgn }));
    }
    const counted = { ...state, added: state.added + fresh.size, known: state.known + games.length - fresh.size };
    queue(transaction.objectStore('imports').put(counted));
  });
  return [...fresh.values()].map(({ head }) => head);
}

/** A function that returns the next bytes of a file, at most so many. Workers may block on reading. */
function chunksOf(file: Blob, from: ImportPlace['offset']): (max: number) => Uint8Array {
  const reader = new FileReaderSync();
  let offset = from;
  let chunk = new Uint8Array();
  return (max) => {
    if (chunk.length === 0) {
      chunk = new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + FILE_CHUNK_BYTES)));
      offset += chunk.length;
    }
    const bytes = chunk.subarray(0, max);
    chunk = chunk.subarray(max);
    return bytes;
  };
}

function reply(message: LibraryReply): void {
  self.postMessage(message);
}
