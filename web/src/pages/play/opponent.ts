import type { LimitsInput, ModelFacts } from '../../wasm/tabia.js';
import type { ComesAlong } from '../../engine/protocol';

/** Whom one plays against, as far as it can be kept across visits. */
export type Opponent =
  | { kind: 'human'; rating: number; pick: 'sample' | 'argmax' }
  | { kind: 'engine'; by: 'level'; level: number }
  | { kind: 'engine'; by: 'time'; seconds: number }
  | { kind: 'challenge'; level: number }
  /** The file itself cannot be kept; it has to be given again after a reload. */
  | { kind: 'file'; file: string; role: Role; rating: number; pick: 'sample' | 'argmax' };

/** How a network plays: from its move head as a person or as Maia, one ply ahead, or as the engine's evaluation. */
export type Role = 'human' | 'maia' | 'net' | 'engine';

export const RATINGS = { lowest: 600, highest: 2600, usual: 1500 };
export const CHALLENGE_LEVELS = ['Beginner', 'Novice', 'Intermediate', 'Advanced', 'Expert'];
/** Positions the engine may visit for a move, level by level. */
export const ENGINE_NODES = [20, 100, 500, 2_500, 12_000, 60_000, 300_000, 1_500_000];
export const USUAL_OPPONENT: Opponent = { kind: 'human', rating: RATINGS.usual, pick: 'sample' };

/** The longest a level may take however slow the machine is, in seconds. */
const LEVEL_SECONDS = 5;
/** What the dropped file is called in specs. */
export const FILE_MODEL = 'file';

/** The player in the language of player specs. */
export function specOf(opponent: Opponent): string {
  switch (opponent.kind) {
    case 'human':
      return `human,elo=${opponent.rating}${opponent.pick === 'argmax' ? ',mode=argmax' : ''}`;
    case 'engine':
      return 'engine,hash=32';
    case 'challenge':
      return `level:${opponent.level}`;
    case 'file':
      return fileSpec(opponent.role, opponent.rating, opponent.pick);
  }
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

/** The roles a network may be able to play, the most fitting first. */
export function rolesOf(facts: ModelFacts): Role[] {
  const fromMoves: Role[] = facts.plays ? (facts.rated ? ['human', 'maia'] : ['maia', 'human']) : [];
  const fromValues: Role[] = facts.evaluates ? ['net', 'engine'] : [];
  return [...fromMoves, ...fromValues];
}

export const ROLE_NAMES: Record<Role, string> = {
  human: 'plays from its move head, as a person of a rating',
  maia: 'plays from its move head',
  net: 'judges positions, one move ahead',
  engine: 'judges positions for the engine’s search',
};

export function nameOf(opponent: Opponent): string {
  switch (opponent.kind) {
    case 'human':
      return `Human-like ${opponent.rating}`;
    case 'engine':
      return opponent.by === 'level' ? `Engine, level ${opponent.level}` : `Engine, ${opponent.seconds} s a move`;
    case 'challenge':
      return `Level ${opponent.level}, ${CHALLENGE_LEVELS[opponent.level - 1]}`;
    case 'file':
      return opponent.file;
  }
}

/** The networks that must have been fetched before it can play. */
export function needsOf(opponent: Opponent): ComesAlong[] {
  // A human-like player may have a light search at its side, which judges as the engine does.
  if (opponent.kind === 'human') return ['human', 'value'];
  return opponent.kind === 'engine' || (opponent.kind === 'file' && opponent.role === 'human') ? ['value'] : [];
}

/** Whether it plays at a rating, which then also stands in the game's headers. */
export function ratingOf(opponent: Opponent): number | undefined {
  if (opponent.kind === 'human') return opponent.rating;
  return opponent.kind === 'file' && opponent.role === 'human' ? opponent.rating : undefined;
}

/** How long it may think for a move, given the seconds on its clock and the increment. */
export function limitsOf(opponent: Opponent, clock: { left: number; increment: number } | undefined): LimitsInput {
  const fair = clock ? Math.max(0.02, clock.left / 30 + clock.increment * 0.7) : Infinity;
  const within = (seconds: number) => Math.min(seconds, fair);
  switch (opponent.kind) {
    case 'engine':
      return opponent.by === 'level'
        ? { nodes: ENGINE_NODES[opponent.level - 1] ?? 1000, movetime: within(LEVEL_SECONDS) }
        : { movetime: within(opponent.seconds) };
    case 'file':
      return opponent.role === 'engine' ? { movetime: within(1) } : {};
    default:
      return {};
  }
}
