import { loadRules, type Rules } from '../engine/wasm';
import type { Card } from '../wasm/tabia.js';
import { openDatabase, queue, writeAll, type Database, type StoreName } from './database';

// A backup is a gzip file with a JSON value per line: a header, the rows of all sections, and how many there are. A section is
// an object store of the database. docs/guides/practice.md describes the format.

const FORMAT = 'tabia-backup';
const VERSION = 1;
/** Imports in progress belong to this browser. */
const LEFT_OUT: readonly string[] = ['imports'];
const ROWS_PER_READ = 200;
const ROWS_PER_WRITE = 200;
const GZIP_MAGIC = [0x1f, 0x8b];

type Row = Record<string, unknown>;
interface Line {
  section: string;
  row: Row;
}

/** Everything that is stored, as one file. */
export async function saveBackup(): Promise<Blob> {
  const db = await openDatabase();
  const sections = [...db.objectStoreNames].filter((name) => !LEFT_OUT.includes(name));
  const lines = async function* () {
    yield { format: FORMAT, version: VERSION, saved: new Date().toISOString() };
    const counts: Record<string, number> = {};
    for (const section of sections) {
      counts[section] = 0;
      for await (const row of rowsOf(db, section)) {
        counts[section]++;
        yield { section, row };
      }
    }
    yield { end: counts };
  };
  const encoder = new TextEncoder();
  const written = lines();
  const text = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const { value, done } = await written.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
    },
  });
  return new Response(text.pipeThrough(new CompressionStream('gzip'))).blob();
}

async function* rowsOf(db: Database, section: StoreName): AsyncGenerator<unknown> {
  for (let after: IDBKeyRange | null = null; ; ) {
    const [keys, rows]: [IDBValidKey[], unknown[]] = await Promise.all([db.getAllKeys(section, after, ROWS_PER_READ), db.getAll(section, after, ROWS_PER_READ)]);
    yield* rows;
    const last = keys.at(-1);
    if (last === undefined || rows.length < ROWS_PER_READ) return;
    after = IDBKeyRange.lowerBound(last, true);
  }
}

/**
 * Adds what is in a backup to what is stored; returns the number of new rows by section. The whole file is checked before
 * anything is written, so that an invalid one changes nothing.
 */
export async function restoreBackup(file: Blob, onProgress: (share: number) => void): Promise<Record<string, number>> {
  const db = await openDatabase();
  const rules = await loadRules();
  const total = await check(file, db, rules);
  const added: Record<string, number> = {};
  let done = 0;
  let part: Line[] = [];
  const write = async () => {
    for (const [section, count] of Object.entries(await add(rules, part))) added[section] = (added[section] ?? 0) + count;
    done += part.length;
    part = [];
    onProgress(done / Math.max(1, total));
  };
  for await (const [, value] of jsonLines(file)) {
    if ('section' in value) part.push(value as unknown as Line);
    if (part.length >= ROWS_PER_WRITE) await write();
  }
  await write();
  return added;
}

/** Throws what is wrong with a backup; returns the number of rows. */
async function check(file: Blob, db: Database, rules: Rules): Promise<number> {
  const counts: Record<string, number> = {};
  const known: readonly string[] = [...db.objectStoreNames].filter((name) => !LEFT_OUT.includes(name));
  let ended = false;
  let began = false;
  let total = 0;
  for await (const [number, value] of jsonLines(file)) {
    const at = `line ${number}`;
    if (!began) {
      if (value.format !== FORMAT) throw new Error(`not a backup: format ${JSON.stringify(value.format)} (expected "${FORMAT}")`);
      if (typeof value.version !== 'number' || value.version > VERSION)
        throw new Error(`version ${value.version} of the backup format (this page reads up to ${VERSION})`);
      began = true;
    } else if (ended) throw new Error(`${at}: data after the end`);
    else if ('end' in value) {
      const end = value.end as Record<string, number>;
      for (const section of new Set([...Object.keys(end), ...Object.keys(counts)]))
        if ((end[section] ?? 0) !== (counts[section] ?? 0))
          throw new Error(`${counts[section] ?? 0} rows of ${section} (expected ${end[section] ?? 0}): the file is damaged`);
      ended = true;
    } else {
      const { section, row } = value as unknown as Line;
      if (!known.includes(section)) throw new Error(`${at}: unknown section ${JSON.stringify(section)}; a newer version of the page may have saved it`);
      try {
        checkRow(db, rules, section as StoreName, row);
      } catch (error) {
        throw new Error(`${at}: ${section}: ${error instanceof Error ? error.message : String(error)}`);
      }
      counts[section] = (counts[section] ?? 0) + 1;
      total++;
    }
  }
  if (!began) throw new Error('the file is empty');
  if (!ended) throw new Error('the end is missing: the file is cut off');
  return total;
}

function checkRow(db: Database, rules: Rules, section: StoreName, row: Row): void {
  if (typeof row !== 'object' || row === null) throw new Error('not an object');
  const path = db.transaction(section).store.keyPath;
  if (typeof path === 'string' && typeof row[path] !== 'string') throw new Error(`no ${path}`);
  if (section === 'cards') {
    const deck = new rules.PracticeDeck();
    try {
      deck.merge(deckOf([row]));
    } finally {
      deck.free();
    }
  } else if (section === 'games') {
    const library = new rules.GameLibrary();
    try {
      library.addGames(JSON.stringify([row]));
    } finally {
      library.free();
    }
  } else if (section === 'pgns') {
    if (rules.gameHead(String(row['pgn'])).key !== row['key']) throw new Error(`the text is not that of the game ${String(row['key'])}`);
  } else if (section === 'reviews') {
    if (rules.reviewKey(String(row['review'])) !== row['key']) throw new Error(`the review is not that of the game ${String(row['key'])}`);
  } else if (section === 'figures') {
    const library = new rules.GameLibrary();
    const unreadable = library.addFigures([String(row['figures'])]);
    library.free();
    if (unreadable) throw new Error('the figures cannot be read');
  }
}

/** Writes a part of a backup, all or nothing. What is there stays; cards are merged. */
async function add(rules: Rules, lines: readonly Line[]): Promise<Record<string, number>> {
  const added: Record<string, number> = {};
  const sections = [...new Set(lines.map(({ section }) => section))] as StoreName[];
  if (sections.length === 0) return added;
  await writeAll(sections, async (transaction) => {
    for (const section of sections) {
      const store = transaction.objectStore(section);
      const rows = lines.filter((line) => line.section === section).map(({ row }) => row);
      const key = (row: Row) => String(row[String(store.keyPath)]);
      const present = await Promise.all(rows.map((row) => store.get(key(row))));
      for (const [place, row] of rows.entries()) {
        const before = present[place] as Row | undefined;
        if (before === undefined) added[section] = (added[section] ?? 0) + 1;
        const merged = before === undefined ? row : mergedRow(rules, section, before, row);
        if (merged) queue(store.put(merged as never));
      }
    }
  });
  return added;
}

/** What to store instead of a row that is there already; undefined to keep it. */
function mergedRow(rules: Rules, section: StoreName, before: Row, row: Row): Row | undefined {
  if (section === 'cards') {
    const deck = new rules.PracticeDeck();
    try {
      deck.merge(deckOf([before]));
      deck.merge(deckOf([row]));
      const [card] = deck.cards() as Card[];
      return card as unknown as Row;
    } finally {
      deck.free();
    }
  }
  const [old, more] = [before['value'], row['value']];
  // Lists of names and the like.
  if (section === 'settings' && Array.isArray(old) && Array.isArray(more)) return { ...before, value: [...new Set([...old, ...more])] };
  return undefined;
}

const deckOf = (cards: Row[]) => JSON.stringify({ format: 'tabia-deck', version: 1, cards });

/** The lines of a file with their numbers, from 1. Throws if it is damaged. */
async function* jsonLines(file: Blob): AsyncGenerator<[number: number, value: Row]> {
  const head = new Uint8Array(await file.slice(0, GZIP_MAGIC.length).arrayBuffer());
  const compressed = GZIP_MAGIC.every((byte, place) => head[place] === byte);
  const bytes = compressed ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
  const reader = bytes.pipeThrough(new TextDecoderStream('utf-8', { fatal: true })).getReader();
  let rest = '';
  let number = 0;
  const parse = (line: string): [number, Row] => {
    number++;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw new Error(`line ${number} is not JSON${compressed ? '' : ': not a backup, or damaged'}`);
    }
    if (typeof value !== 'object' || value === null) throw new Error(`line ${number} is not an object`);
    return [number, value as Row];
  };
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch {
      throw new Error('the file is damaged: it cannot be decompressed');
    }
    rest += part.value ?? '';
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield parse(line);
    if (part.done) break;
  }
  if (rest.trim()) yield parse(rest);
}
