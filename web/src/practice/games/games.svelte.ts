import { inform, errorMessage, offerAction, warn } from '../../lib/notices.svelte';
import type { GameFilter, GameRows, LibraryCounts, NameCount, PlayedMistake, SummaryReport } from '../../wasm/tabia.js';
import { loadSetting, openDatabase, storageFailure, whenBlocked, writeSetting, type StoredImport } from '../database';
import { LibraryClient, StorageFull } from './client';
import { CHANNEL, type GamesMessage } from './protocol';

const LISTED_NAMES = 12;
const NO_GAMES: LibraryCounts = { games: 0, own: 0, reviewed: 0, pliesLeft: 0 };
/** How often the figures on the screen change while games are reviewed. */
const REFRESH_MS = 400;

/** The player's games in this browser, shared by all tabs through the database. */
export class Games {
  counts = $state.raw<LibraryCounts>(NO_GAMES);
  names = $state.raw<NameCount[]>([]);
  /** The player's names. */
  player = $state.raw<string[]>([]);
  /** The import in progress. */
  importing = $state.raw<StoredImport>();
  /** Imports that were not finished, and the last one that was. */
  imports = $state.raw<StoredImport[]>([]);
  importProblem = $state('');
  /** Changes whenever the figures may have changed. */
  version = $state(0);
  /** Called after the player's names have changed here. */
  onPlayer: () => void = () => {};

  #client: LibraryClient;
  #channel = new BroadcastChannel(CHANNEL);
  #refresh: ReturnType<typeof setTimeout> | undefined;
  #onMessage = new Set<(message: GamesMessage) => void>();

  private constructor(client: LibraryClient) {
    this.#client = client;
    client.onImported = (state) => {
      this.importing = state;
      this.#changed();
    };
    this.#channel.onmessage = (message: MessageEvent<GamesMessage>) => void this.#receive(message.data);
  }

  static async open(): Promise<Games> {
    whenBlocked(() => warn('Another tab keeps an older version of this page open. Close it, so that your games can be stored.'));
    // First here, so that problems of the database are reported by this thread.
    await openDatabase();
    const games = new Games(await LibraryClient.start());
    await games.#load();
    return games;
  }

  report = (filter: GameFilter): Promise<SummaryReport> => this.#client.call('report', filter);
  rows = (filter: GameFilter, first: number, most: number): Promise<GameRows> => this.#client.call('rows', filter, first, most);
  mistakes = (filter: GameFilter, most: number): Promise<PlayedMistake[]> => this.#client.call('mistakes', filter, most);
  queue = (most: number, busy: string[]): Promise<string[]> => this.#client.call('queue', most, busy);

  /** Takes over the figures of games that were reviewed in this tab, and tells the others. */
  async reviewed(keys: string[]): Promise<void> {
    await this.#client.call('loadFigures', keys);
    this.tell({ kind: 'figures', keys });
    this.#changed();
  }

  async setPlayer(names: string[]): Promise<void> {
    await writeSetting('player', names);
    this.player = names;
    await this.#client.call('setPlayer', [...names]);
    this.tell({ kind: 'settings' });
    await this.#update();
    this.onPlayer();
  }

  /** Imports a file, or goes on with it. Resolves to whether it was finished. */
  async import(file: File, handle?: FileSystemFileHandle): Promise<boolean> {
    const id = `${file.name} ${file.size} ${file.lastModified}`;
    const db = await openDatabase();
    const stored = await db.get('imports', id);
    const { name, size, lastModified: modified } = file;
    const fresh: StoredImport = {
      ...{ id, name, size, modified, added: 0, known: 0, empty: 0, broken: 0, problems: [], done: false, started: Date.now() },
      next: { offset: 0, games: 0, lines: 0 },
      ...(handle && { handle }),
    };
    return this.#run(file, stored && !stored.done ? stored : fresh);
  }

  /** Goes on with an import whose file the browser has kept; throws if it may not be read or has changed. */
  async resume(state: StoredImport): Promise<boolean> {
    if (!state.handle) throw new Error('choose the file again');
    // Asks the visitor, if the browser wants to.
    if ((await permissionOf(state.handle)) !== 'granted') throw new Error('the browser was not allowed to read the file');
    return this.resumeWith(await state.handle.getFile(), state);
  }

  /** Goes on with an import from the same file. */
  async resumeWith(file: File, state: StoredImport): Promise<boolean> {
    if (file.name !== state.name || file.size !== state.size)
      throw new Error(`${file.name} is another file (expected ${state.name} with ${state.size} bytes)`);
    return this.#run(file, state);
  }

  pauseImport(): void {
    void this.#client.call('pauseImport');
  }

  async forgetImport(state: StoredImport): Promise<void> {
    await (await openDatabase()).delete('imports', state.id);
    await this.#loadImports();
  }

  /** Loads everything again, after a backup was restored. */
  async reload(): Promise<void> {
    await this.#load();
  }

  tell(message: GamesMessage): void {
    this.#channel.postMessage(message);
  }

  /** Calls a function with each message of other tabs. */
  listen(listener: (message: GamesMessage) => void): void {
    this.#onMessage.add(listener);
  }

  async #run(file: File, state: StoredImport): Promise<boolean> {
    if (this.importing) throw new Error('games are being imported; wait until this has finished');
    this.importing = state;
    this.importProblem = '';
    try {
      const end = await this.#client.call('importFile', file, state);
      if (end.done) await this.#guessPlayer(end);
      return end.done;
    } catch (error) {
      const problem = errorMessage(error);
      this.importProblem =
        error instanceof StorageFull
          ? `The browser’s storage for this page is full. ${this.importing.added} games of ${file.name} were stored; free some space and go on.`
          : `${file.name}: ${problem}`;
      return false;
    } finally {
      this.importing = undefined;
      await this.#loadImports();
      await this.#update();
    }
  }

  async #guessPlayer({ mostly, name }: StoredImport): Promise<void> {
    const known = this.player;
    const [guess] = await this.#client.call('names', 1);
    if (known.length === 0) {
      if (guess) await this.setPlayer([guess.name]);
    } else if (mostly && !known.some((own) => own.toLowerCase() === mostly.toLowerCase()))
      offerAction(`Most games of ${name} are of ${mostly}.`, 'That is me too', () => void this.setPlayer([...known, mostly]));
  }

  async #load(): Promise<void> {
    const stored = await loadSetting('player');
    this.player = Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : [];
    await this.#client.call('setPlayer', [...this.player]);
    const unreadable = await this.#client.call('load');
    if (unreadable > 0) warn(`${unreadable} stored reviews cannot be read and will not be shown.`);
    await this.#loadImports();
    await this.#update();
  }

  async #loadImports(): Promise<void> {
    const all = (await (await openDatabase()).getAll('imports')).sort((a, b) => b.started - a.started);
    const done = all.find((state) => state.done);
    this.imports = all.filter((state) => !state.done || state === done);
  }

  async #receive(message: GamesMessage): Promise<void> {
    try {
      if (message.kind === 'games') await this.#client.call('loadGames');
      else if (message.kind === 'figures') await this.#client.call('loadFigures', message.keys);
      else if (message.kind === 'settings' || message.kind === 'all') await this.#load();
      if (message.kind === 'games') await this.#loadImports();
      this.#changed();
    } catch (error) {
      inform(`Your games cannot be loaded again: ${storageFailure(error)}`);
    }
    for (const listener of this.#onMessage) listener(message);
  }

  /** Updates what is shown, soon. */
  #changed(): void {
    this.#refresh ??= setTimeout(() => void this.#update(), REFRESH_MS);
  }

  async #update(): Promise<void> {
    clearTimeout(this.#refresh);
    this.#refresh = undefined;
    const [counts, names] = await Promise.all([this.#client.call('counts'), this.#client.call('names', LISTED_NAMES)]);
    this.counts = counts;
    this.names = names;
    this.version++;
  }
}

/** Whether a kept file may be read, after asking the visitor. TypeScript does not declare this yet. */
function permissionOf(handle: FileSystemFileHandle): Promise<PermissionState> {
  const asks = handle as FileSystemFileHandle & { requestPermission?: (options: { mode: 'read' }) => Promise<PermissionState> };
  return asks.requestPermission?.({ mode: 'read' }) ?? Promise.resolve('granted');
}

let shared: Promise<Games> | undefined;

/** The games, opened once. After a failure the next call tries again. */
export function storedGames(): Promise<Games> {
  shared ??= Games.open().catch((error: unknown) => {
    shared = undefined;
    throw new Error(storageFailure(error));
  });
  return shared;
}
