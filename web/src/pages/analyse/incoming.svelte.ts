import { EngineClient } from '../../engine/client';
import type { Rules } from '../../engine/load';
import type { GameTree, PgnEntry } from '../../wasm/tabia.js';

/** More games than this make a list nobody looks through, and more than some phones remember. */
const LARGEST_MB = 200;
/** A position is one line; whatever is longer is a game. */
const LONGEST_POSITION = 1000;
/** Shorter texts are read before a worker would have begun. */
const SHORT = 100_000;
const MODEL_FILE = /\.(onnx|safetensors|tflite|pb|pb\.gz|gz|bin|nnue)$/i;

/** What somebody pasted, dropped or opened. */
export type Incoming =
  /** A position, or the only game. */
  | { kind: 'tree'; tree: GameTree }
  /** Several games, or broken ones. */
  | { kind: 'choice'; games: FoundGames };

/** Whether a file is for the network's panel rather than a text with games. */
export function isModelFile(file: File): boolean {
  return MODEL_FILE.test(file.name);
}

/** The games of a text, which stays where it is until one of them is taken. */
export class FoundGames {
  readonly entries: PgnEntry[] = [];
  /** What is wrong with the others. */
  readonly problems: string[] = [];
  #rules: Rules;
  #text: Blob;

  constructor(rules: Rules, text: Blob) {
    this.#rules = rules;
    this.#text = text;
  }

  /** One of them as a tree; throws if it cannot be read any more. */
  async take({ offset, length }: PgnEntry): Promise<GameTree> {
    const games = this.#rules.GameTree.fromPgn(await this.#text.slice(offset, offset + length).text());
    try {
      return games.take(0);
    } finally {
      games.free();
    }
  }
}

/** Reads what comes in, one thing at a time; what is long in a worker of its own, so that nothing else waits for it. */
export class Reader {
  /** How far it is, if it takes more than a moment. */
  progress = $state.raw<{ read: number; total: number; games: number }>();
  #stop: AbortController | undefined;

  /** Reads a FEN or a PGN of any number of games. Resolves to nothing if it was stopped; throws what is wrong with it. */
  async read(rules: Rules, text: Blob): Promise<Incoming | undefined> {
    this.stop();
    const stop = new AbortController();
    this.#stop = stop;
    try {
      if (text.size > LARGEST_MB << 20)
        throw new Error(`it has ${Math.round(text.size / 2 ** 20)} MB; up to ${LARGEST_MB} MB are read here. Cut it into smaller files`);
      const head = await text.slice(0, LONGEST_POSITION).text();
      if (head.includes('\0')) throw new Error('this is no text: a PGN or a FEN was expected');
      if (text.size <= LONGEST_POSITION && !head.trim()) throw new Error('there is nothing in it');
      if (text.size <= LONGEST_POSITION && looksLikeFen(head.trim())) return { kind: 'tree', tree: new rules.GameTree(head.trim()) };
      const games = await this.#scan(rules, text, stop.signal);
      if (stop.signal.aborted) return undefined;
      const [only] = games.entries;
      if (!only) throw new Error(games.problems[0] ?? 'there is neither a game nor a position in it');
      if (games.entries.length > 1 || games.problems.length > 0) return { kind: 'choice', games };
      return { kind: 'tree', tree: await games.take(only) };
    } finally {
      if (this.#stop === stop) this.progress = undefined;
    }
  }

  stop(): void {
    this.#stop?.abort();
    this.progress = undefined;
  }

  async #scan(rules: Rules, text: Blob, signal: AbortSignal): Promise<FoundGames> {
    const found = new FoundGames(rules, text);
    if (text.size <= SHORT) {
      let bytes = new Uint8Array(await text.arrayBuffer());
      const scan = new rules.PgnScan((most) => {
        const given = bytes.subarray(0, most);
        bytes = bytes.subarray(most);
        return given;
      });
      const { games, problems } = scan.step(SHORT);
      scan.free();
      found.entries.push(...games);
      found.problems.push(...problems);
      return found;
    }
    const client = new EngineClient();
    try {
      await client.stream(
        'pgn',
        [text],
        ({ games, problems, read, done }) => {
          found.entries.push(...games);
          found.problems.push(...problems);
          if (!done) this.progress = { read, total: text.size, games: found.entries.length };
        },
        signal,
      );
      return found;
    } finally {
      client.close();
    }
  }
}

/** One line whose first word has eight rows of a board. */
function looksLikeFen(text: string): boolean {
  return !text.includes('\n') && /^[^\s[\]{}]*(\/[^\s[\]{}]*){3,}(\s|$)/.test(text);
}
