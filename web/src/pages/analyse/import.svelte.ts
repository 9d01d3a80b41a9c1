import { EngineClient } from '../../engine/client';
import type { Rules } from '../../engine/wasm';
import { firstGame } from '../../game/pgn';
import type { GameTree, PgnEntry } from '../../wasm/tabia.js';

/** Limited by the memory of phones. */
const MAX_FILE_MB = 200;
const MAX_FEN_LENGTH = 1000;
/** Shorter texts are read on the page's thread, which is quicker than starting a worker. */
const WORKER_BYTES = 100_000;
const MODEL_FILE = /\.(onnx|safetensors|tflite|pb|pb\.gz|gz|pt|pth|bin|nnue)$/i;

/** A pasted, dropped or opened text. */
type Imported =
  /** A position, or a single game. */
  | { kind: 'tree'; tree: GameTree }
  /** Several games, or some with errors. */
  | { kind: 'choice'; games: PgnFile };

export function isModelFile(file: File): boolean {
  return MODEL_FILE.test(file.name);
}

/** The index of a PGN file. Only the game that is loaded is read into memory. */
export class PgnFile {
  readonly entries: PgnEntry[] = [];
  /** Errors in the other games. */
  readonly problems: string[] = [];
  #rules: Rules;
  #text: Blob;

  constructor(rules: Rules, text: Blob) {
    this.#rules = rules;
    this.#text = text;
  }

  async load({ offset, length }: PgnEntry): Promise<GameTree> {
    return firstGame(this.#rules, await this.#text.slice(offset, offset + length).text());
  }
}

/** Imports one text at a time, large ones in a worker of its own. */
export class Importer {
  /** The progress of a large file. */
  progress = $state.raw<{ read: number; total: number; games: number }>();
  #stop: AbortController | undefined;

  /** Reads a FEN or a PGN. Resolves to undefined if it was stopped; throws if the text is invalid. */
  async read(rules: Rules, text: Blob): Promise<Imported | undefined> {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    try {
      if (text.size > MAX_FILE_MB << 20)
        throw new Error(`the file is too large: ${Math.round(text.size / 2 ** 20)} MB (at most ${MAX_FILE_MB} MB)`);
      const head = await text.slice(0, MAX_FEN_LENGTH).text();
      if (head.includes('\0')) throw new Error('not a text (expected PGN or FEN)');
      if (text.size <= MAX_FEN_LENGTH && !head.trim()) throw new Error('the text is empty');
      if (text.size <= MAX_FEN_LENGTH && looksLikeFen(head.trim())) return { kind: 'tree', tree: new rules.GameTree(head.trim()) };
      const games = await this.#scan(rules, text, stop.signal);
      if (stop.signal.aborted) return undefined;
      const [only] = games.entries;
      if (!only) throw new Error(games.problems[0] ?? 'no game or position found');
      if (games.entries.length > 1 || games.problems.length > 0) return { kind: 'choice', games };
      return { kind: 'tree', tree: await games.load(only) };
    } finally {
      if (this.#stop === stop) this.progress = undefined;
    }
  }

  stop(): void {
    this.#stop?.abort();
    this.progress = undefined;
  }

  async #scan(rules: Rules, text: Blob, signal: AbortSignal): Promise<PgnFile> {
    const file = new PgnFile(rules, text);
    if (text.size <= WORKER_BYTES) {
      let bytes = new Uint8Array(await text.arrayBuffer());
      const scan = new rules.PgnScan((max) => {
        const chunk = bytes.subarray(0, max);
        bytes = bytes.subarray(max);
        return chunk;
      });
      const { games, problems } = scan.step(WORKER_BYTES);
      scan.free();
      file.entries.push(...games);
      file.problems.push(...problems);
      return file;
    }
    const client = new EngineClient();
    try {
      await client.stream(
        'pgn',
        [text],
        ({ games, problems, read, done }) => {
          file.entries.push(...games);
          file.problems.push(...problems);
          if (!done) this.progress = { read, total: text.size, games: file.entries.length };
        },
        signal,
      );
      return file;
    } finally {
      client.close();
    }
  }
}

/** A single line that starts with ranks separated by slashes. */
function looksLikeFen(text: string): boolean {
  return !text.includes('\n') && /^[^\s[\]{}]*(\/[^\s[\]{}]*){3,}(\s|$)/.test(text);
}
