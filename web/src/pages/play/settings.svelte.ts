import { fields, load, numberIn, oneOf, store } from '../../lib/storage';
import { CHALLENGE_LEVELS, RATINGS, type Role } from '../../players/roles';
import type { Side } from '../../wasm/tabia.js';
import { readChess960, type Chess960 } from './chess960';
import { readOdds, type GivenOdds } from './odds';
import { DEFAULT_OPPONENT, ENGINE_NODES, type Opponent } from './opponent';
import { readPractice, type PracticeGame } from './practiceGame';

/** The settings of a single game. */
export interface Setup {
  opponent: Opponent;
  /** As `timeControl` parses it: "5+3", "untimed". */
  timeControl: string;
  /** The opponent's time control where it differs: time odds. */
  opponentTime: string | null;
  /** The visitor's own rating, an input of human-like opponents. */
  rating: number | null;
  /** Material that one side gives. */
  odds: GivenOdds | null;
  /** The number of a start position of Chess960, or a random one for every game; null in standard chess. */
  chess960: Chess960 | null;
  /** An opening, a repertoire or a drill to practise. */
  practice: PracticeGame | null;
}

/** The stored settings. */
interface Settings extends Setup {
  colour: Side | 'random';
  /** Move at once instead of taking human-like time. */
  instant: boolean;
  /** Let a human-like opponent resign, offer and accept draws. */
  humanBehaviour: boolean;
  /** Whose move a hint shows. */
  hints: 'engine' | 'human';
}

export const TIME_CONTROLS = ['untimed', '1+0', '3+2', '5+3', '10+0', '15+10'];

class StoredSettings {
  current = $state.raw<Settings>(readSettings(load('play.settings')));

  change(changes: Partial<Settings>): void {
    this.current = { ...this.current, ...changes };
    store('play.settings', this.current);
  }
}

export const settings = new StoredSettings();

function readSettings(stored: unknown): Settings {
  const from = fields(stored);
  return {
    ...readSetup(stored),
    colour: oneOf(from['colour'], ['white', 'black', 'random'], 'white'),
    instant: from['instant'] === true,
    // `manners` is the former name.
    humanBehaviour: (from['humanBehaviour'] ?? from['manners']) !== false,
    hints: oneOf(from['hints'], ['engine', 'human'], 'engine'),
  };
}

export function readSetup(stored: unknown): Setup {
  const from = fields(stored);
  const { timeControl, opponentTime } = from;
  return {
    opponent: readOpponent(from['opponent']),
    timeControl: typeof timeControl === 'string' ? timeControl : 'untimed',
    opponentTime: typeof opponentTime === 'string' ? opponentTime : null,
    rating: numberIn(from['rating'], 100, 4000, 0) || null,
    odds: readOdds(from['odds']),
    chess960: readChess960(from['chess960']),
    practice: readPractice(from['practice']),
  };
}

function readOpponent(stored: unknown): Opponent {
  const from = fields(stored);
  const rating = numberIn(from['rating'], RATINGS.min, RATINGS.max, RATINGS.default);
  const pick = oneOf(from['pick'], ['sample', 'argmax'], 'sample');
  switch (from['kind']) {
    case 'human':
      return { kind: 'human', rating, pick };
    case 'engine':
      return from['by'] === 'time'
        ? { kind: 'engine', by: 'time', seconds: numberIn(from['seconds'], 0.05, 60, 1) }
        : { kind: 'engine', by: 'level', level: numberIn(from['level'], 1, ENGINE_NODES.length, 3) };
    case 'challenge':
      return { kind: 'challenge', level: numberIn(from['level'], 1, CHALLENGE_LEVELS.length, 1) };
    case 'person': {
      const { id, name } = from;
      return typeof id === 'string' && /^[\w-]+$/.test(id) && typeof name === 'string' ? { kind: 'person', id, name, pick } : DEFAULT_OPPONENT;
    }
    case 'file': {
      const role: Role = oneOf(from['role'], ['human', 'maia', 'net', 'engine'], 'human');
      return typeof from['file'] === 'string' ? { kind: 'file', file: from['file'], role, rating, pick } : DEFAULT_OPPONENT;
    }
    default:
      return DEFAULT_OPPONENT;
  }
}
