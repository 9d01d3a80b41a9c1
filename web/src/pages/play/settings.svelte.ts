import type { Side } from '../../wasm/tabia.js';
import { keep, recall } from '../../storage';
import { CHALLENGE_LEVELS, ENGINE_NODES, RATINGS, USUAL_OPPONENT, type Opponent, type Role } from './opponent';

/** What a game is played by. */
export interface Setup {
  opponent: Opponent;
  /** As `timeControl` reads it: "5+3", "untimed". */
  timeControl: string;
  /** The visitor's own rating, which a human-like opponent takes into account. */
  rating: number | null;
}

/** What the visitor likes, kept across visits. */
export interface Settings extends Setup {
  colour: Side | 'random';
  /** Moves at once instead of taking a person's time. */
  instant: boolean;
  /** Lets a human-like opponent resign, offer and accept draws. */
  manners: boolean;
  /** Whose move a hint shows. */
  hints: 'engine' | 'human';
}

export const TIME_CONTROLS = ['untimed', '1+0', '3+2', '5+3', '10+0', '15+10'];

const USUAL: Settings = {
  opponent: USUAL_OPPONENT,
  timeControl: 'untimed',
  rating: null,
  colour: 'white',
  instant: false,
  manners: true,
  hints: 'engine',
};

class KeptSettings {
  current = $state.raw<Settings>(read(recall('play.settings')));

  change(some: Partial<Settings>): void {
    this.current = { ...this.current, ...some };
    keep('play.settings', this.current);
  }
}

export const settings = new KeptSettings();

// What was kept may be from an older page or edited by hand: every part is checked, and replaced where it is wrong.

function read(kept: unknown): Settings {
  const from = fields(kept);
  return {
    ...readSetup(kept),
    colour: oneOf(from['colour'], ['white', 'black', 'random'], USUAL.colour),
    instant: from['instant'] === true,
    manners: from['manners'] !== false,
    hints: oneOf(from['hints'], ['engine', 'human'], USUAL.hints),
  };
}

export function readSetup(kept: unknown): Setup {
  const from = fields(kept);
  const timeControl = from['timeControl'];
  return {
    opponent: readOpponent(from['opponent']),
    timeControl: typeof timeControl === 'string' ? timeControl : USUAL.timeControl,
    rating: from['rating'] === null ? null : (numberIn(from['rating'], 100, 4000) ?? null),
  };
}

function readOpponent(kept: unknown): Opponent {
  const from = fields(kept);
  const rating = numberIn(from['rating'], RATINGS.lowest, RATINGS.highest) ?? RATINGS.usual;
  const pick = oneOf(from['pick'], ['sample', 'argmax'], 'sample');
  switch (from['kind']) {
    case 'human':
      return { kind: 'human', rating, pick };
    case 'engine':
      return from['by'] === 'time'
        ? { kind: 'engine', by: 'time', seconds: numberIn(from['seconds'], 0.05, 60) ?? 1 }
        : { kind: 'engine', by: 'level', level: numberIn(from['level'], 1, ENGINE_NODES.length) ?? 3 };
    case 'challenge':
      return { kind: 'challenge', level: numberIn(from['level'], 1, CHALLENGE_LEVELS.length) ?? 1 };
    case 'file': {
      const role: Role = oneOf(from['role'], ['human', 'maia', 'net', 'engine'], 'human');
      return typeof from['file'] === 'string' ? { kind: 'file', file: from['file'], role, rating, pick } : USUAL_OPPONENT;
    }
    default:
      return USUAL_OPPONENT;
  }
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], otherwise: T): T {
  return allowed.find((one) => one === value) ?? otherwise;
}

function numberIn(value: unknown, lowest: number, highest: number): number | undefined {
  return typeof value === 'number' && value >= lowest && value <= highest ? value : undefined;
}
