import { CHALLENGE_LEVELS, RATINGS, type Role } from '../../players/roles';
import type { LimitsInput } from '../../wasm/tabia.js';

/** The opponent, as far as it can be stored. */
export type Opponent =
  | { kind: 'human'; rating: number; pick: 'sample' | 'argmax' }
  | { kind: 'engine'; by: 'level'; level: number }
  | { kind: 'engine'; by: 'time'; seconds: number }
  | { kind: 'challenge'; level: number }
  /** One person: an adapter stored in the browser. */
  | { kind: 'person'; id: string; name: string; pick: 'sample' | 'argmax' }
  /** The file itself is not stored and must be opened again after a reload. */
  | { kind: 'file'; file: string; role: Role; rating: number; pick: 'sample' | 'argmax' };

/** Node limit per move of each engine level. */
export const ENGINE_NODES = [20, 100, 500, 2_500, 12_000, 60_000, 300_000, 1_500_000];
export const DEFAULT_OPPONENT = { kind: 'human', rating: RATINGS.default, pick: 'sample' } satisfies Opponent;

/** Time limit per move of the engine levels, for slow machines. */
const LEVEL_SECONDS = 5;
/** The name of the open model file in specs. */
export const FILE_MODEL = 'file';

/** The player spec of an opponent. */
export function opponentSpec(opponent: Opponent): string {
  switch (opponent.kind) {
    case 'human':
      return `human,elo=${opponent.rating}${opponent.pick === 'argmax' ? ',mode=argmax' : ''}`;
    case 'engine':
      return 'engine,hash=32';
    case 'challenge':
      return `level:${opponent.level}`;
    case 'person':
      return `human:adapter/${opponent.id}${opponent.pick === 'argmax' ? ',mode=argmax' : ''}`;
    case 'file':
      return fileSpec(opponent.role, opponent.rating, opponent.pick);
  }
}

/** The opponent of a spec in a link: `human,elo=1500`, `level:3`, `engine,nodes=500`. Throws on others. */
export function opponentOfSpec(spec: string): Opponent {
  const [, kind, number = ''] = spec.match(/^(human,elo=|level:|engine,nodes=)(\d+)$/) ?? [];
  const value = Number(number);
  const level = ENGINE_NODES.indexOf(value) + 1;
  if (kind === 'human,elo=' && value >= RATINGS.min && value <= RATINGS.max) return { ...DEFAULT_OPPONENT, rating: value };
  if (kind === 'level:' && value >= 1 && value <= CHALLENGE_LEVELS.length) return { kind: 'challenge', level: value };
  if (kind === 'engine,nodes=' && level) return { kind: 'engine', by: 'level', level };
  throw new Error(`invalid opponent ${spec} (expected human,elo=1500, level:3 or engine,nodes=500)`);
}

function fileSpec(role: Role, rating: number, pick: 'sample' | 'argmax'): string {
  switch (role) {
    case 'human':
      return `human:${FILE_MODEL},elo=${rating},mode=${pick}`;
    case 'maia':
      return `maia:${FILE_MODEL},mode=${pick}`;
    case 'net':
      return `net:${FILE_MODEL}`;
    case 'engine':
      return `engine:${FILE_MODEL},hash=32`;
  }
}

export function opponentName(opponent: Opponent): string {
  switch (opponent.kind) {
    case 'human':
      return `Human-like ${opponent.rating}`;
    case 'engine':
      return opponent.by === 'level' ? `Engine, level ${opponent.level}` : `Engine, ${opponent.seconds} s per move`;
    case 'challenge':
      return `Level ${opponent.level}, ${CHALLENGE_LEVELS[opponent.level - 1]}`;
    case 'person':
      return `Like ${opponent.name}`;
    case 'file':
      return opponent.file;
  }
}

/** The rating a human-like opponent plays at. */
export function opponentRating(opponent: Opponent): number | undefined {
  if (opponent.kind === 'human') return opponent.rating;
  return opponent.kind === 'file' && opponent.role === 'human' ? opponent.rating : undefined;
}

/** The search limits of a move, given the time on the opponent's clock. */
export function opponentLimits(opponent: Opponent, clock: { left: number; increment: number } | undefined): LimitsInput {
  const budget = clock ? Math.max(0.02, clock.left / 30 + clock.increment * 0.7) : Infinity;
  const atMost = (seconds: number) => Math.min(seconds, budget);
  switch (opponent.kind) {
    case 'engine':
      return opponent.by === 'level'
        ? { nodes: ENGINE_NODES[opponent.level - 1] ?? 1000, movetime: atMost(LEVEL_SECONDS) }
        : { movetime: atMost(opponent.seconds) };
    case 'file':
      return opponent.role === 'engine' ? { movetime: atMost(1) } : {};
    default:
      return {};
  }
}
