import type { Rules } from '../../engine/load';
import type { GameTree, PgnGames } from '../../wasm/tabia.js';

/** Longer texts would keep the page from answering while they are read. */
const LARGEST_MB = 16;
const MODEL_FILE = /\.(onnx|safetensors|tflite|pb|pb\.gz|gz|bin|nnue)$/i;

/** What somebody pasted, dropped or opened. */
export type Incoming =
  /** A position, or the only game. */
  | { kind: 'tree'; tree: GameTree }
  /** Several games, or broken ones. To be freed by whoever gets it. */
  | { kind: 'choice'; games: PgnGames };

/** Whether a file is for the network's panel rather than a text with games. */
export function isModelFile(file: File): boolean {
  return MODEL_FILE.test(file.name);
}

/** Reads a file of games or positions. Throws what is wrong with it. */
export async function readFile(rules: Rules, file: File): Promise<Incoming> {
  if (file.size > LARGEST_MB << 20) {
    throw new Error(`${file.name} has ${Math.round(file.size / 2 ** 20)} MB; up to ${LARGEST_MB} MB are read here. Cut it into smaller files.`);
  }
  return read(rules, await file.text());
}

/** Reads a FEN or a PGN of any number of games. Throws what is wrong with it. */
export function read(rules: Rules, text: string): Incoming {
  const trimmed = text.trim();
  if (!trimmed) throw new Error('there is nothing in it');
  if (looksLikeFen(trimmed)) return { kind: 'tree', tree: new rules.GameTree(trimmed) };
  if (trimmed.includes('\0')) throw new Error('this is no text: a PGN or a FEN was expected');
  const games = rules.GameTree.fromPgn(trimmed);
  const [count, problems] = [games.games.length, games.problems];
  if (count > 1 || (count === 1 && problems.length > 0)) return { kind: 'choice', games };
  try {
    if (count === 1) return { kind: 'tree', tree: games.take(0) };
    throw new Error(problems[0] ?? 'there is neither a game nor a position in it');
  } finally {
    games.free();
  }
}

/** One line whose first word has eight rows of a board. */
function looksLikeFen(text: string): boolean {
  return !text.includes('\n') && /^[^\s[\]{}]*(\/[^\s[\]{}]*){3,}(\s|$)/.test(text);
}
