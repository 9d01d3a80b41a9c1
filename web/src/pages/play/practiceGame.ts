import type { Rules } from '../../engine/wasm';
import { fields } from '../../lib/storage';
import type { DrillTask, GameTree } from '../../wasm/tabia.js';

/** What a game practises: an opening, a repertoire or a drill. */
export interface PracticeGame {
  /** The name of the opening, repertoire or drill. */
  name: string;
  /** The initial position; null for the standard one. */
  fen: string | null;
  /** The moves already made, in UCI notation. */
  moves: string[];
  /** The id of the visitor's repertoire. */
  repertoire: string | null;
  drill: { task: DrillTask; limit: number } | null;
}

/** The moves of a drill from a link without a limit. */
const DEFAULT_LIMIT = 60;
const LIMITS = { min: 1, max: 200 };

/** Checks a stored value; null if it is none. */
export function readPractice(stored: unknown): PracticeGame | null {
  const from = fields(stored);
  const { name, fen, moves, repertoire } = from;
  if (typeof name !== 'string' || !Array.isArray(moves)) return null;
  const { task, limit } = fields(from['drill']);
  return {
    name,
    fen: typeof fen === 'string' ? fen : null,
    moves: moves.filter((move) => typeof move === 'string'),
    repertoire: typeof repertoire === 'string' ? repertoire : null,
    drill: isTask(task) && isLimit(limit) ? { task, limit } : null,
  };
}

export const PRACTICE_PARAMETERS = ['moves', 'repertoire', 'task'] as const;

/** What a link asks to practise; null for an ordinary game. Throws if it is invalid. */
export function practiceOfLink(query: URLSearchParams): PracticeGame | null {
  if (!PRACTICE_PARAMETERS.some((name) => query.get(name))) return null;
  const task = query.get('task');
  if (task && !isTask(task)) throw new Error(`invalid task ${task} (expected win or draw)`);
  const limit = Number(query.get('limit') || DEFAULT_LIMIT);
  if (!isLimit(limit)) throw new Error(`invalid limit ${query.get('limit')} (expected ${LIMITS.min} to ${LIMITS.max} moves)`);
  return {
    name: query.get('name') || (task ? 'Drill' : 'Opening'),
    fen: query.get('fen') || null,
    moves: (query.get('moves') || '').split('-').filter(Boolean),
    repertoire: query.get('repertoire') || null,
    drill: isTask(task) ? { task, limit } : null,
  };
}

/** The link to a practice game, as parameters. */
export function linkToPractice({ name, fen, moves, repertoire, drill }: PracticeGame): Record<string, string> {
  return {
    name,
    ...(fen ? { fen } : {}),
    ...(moves.length ? { moves: moves.join('-') } : {}),
    ...(repertoire ? { repertoire } : {}),
    ...(drill ? { task: drill.task, limit: String(drill.limit) } : {}),
  };
}

/** The game with the moves already made. */
export function practiceTree(rules: Rules, { fen, moves }: PracticeGame): GameTree {
  const tree = rules.GameTree.fromMoves(fen ?? undefined, moves);
  tree.toEnd();
  return tree;
}

function isTask(value: unknown): value is DrillTask {
  return value === 'win' || value === 'draw';
}

function isLimit(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= LIMITS.min && value <= LIMITS.max;
}
