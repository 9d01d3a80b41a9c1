import type { ComesAlong } from '../../engine/protocol';
import { keep, recall } from '../../storage';
import { RATINGS, type Role } from '../play/opponent';

/** Who sits at one side of the board, with what was chosen for the other kinds of players kept beside it. */
export interface Seat {
  kind: Kind;
  rating: number;
  /** As strong as the rating, by the network's own probabilities at a temperature, or always the likeliest move. */
  pick: 'rated' | 'sample' | 'argmax';
  temperature: number;
  level: number;
  limit: Limit;
  /** How much of each limit. */
  amounts: Record<Limit, number>;
  evaluation: 'network' | 'baseline';
  /** A model file by its name in the studio. */
  file: string;
  role: Role;
  /** A player in its own words. */
  spec: string;
}

export type Kind = 'human' | 'engine' | 'challenge' | 'file' | 'random' | 'spec';
/** Milliseconds, plies or positions a move. */
export type Limit = 'movetime' | 'depth' | 'nodes';

export const KIND_NAMES: Record<Kind, string> = {
  human: 'Human-like',
  engine: 'Engine',
  challenge: 'Challenge level',
  file: 'Model file',
  random: 'Random moves',
  spec: 'By spec',
};

export const LIMITS: Record<Limit, { label: string; least: number; most: number }> = {
  movetime: { label: 'milliseconds a move', least: 1, most: 60_000 },
  depth: { label: 'plies deep', least: 1, most: 60 },
  nodes: { label: 'positions a move', least: 1, most: 100_000_000 },
};

const USUAL: Seat = {
  kind: 'human',
  rating: RATINGS.usual,
  pick: 'rated',
  temperature: 1,
  level: 1,
  limit: 'movetime',
  amounts: { movetime: 100, depth: 4, nodes: 1000 },
  evaluation: 'network',
  file: '',
  role: 'human',
  spec: 'engine,depth=2',
};

/** The player in the language of player specs; throws what is missing. */
export function specOf(seat: Seat): string {
  switch (seat.kind) {
    case 'human':
      return `human,elo=${seat.rating}${choice(seat, ',strength=raw')}`;
    case 'engine':
      return `engine${seat.evaluation === 'baseline' ? ',eval=baseline' : ''},${effort(seat)}`;
    case 'challenge':
      return `level:${seat.level}`;
    case 'file':
      return fileSpec(seat);
    case 'random':
      return 'random';
    case 'spec':
      if (!seat.spec.trim()) throw new Error('a player has no spec');
      return seat.spec.trim();
  }
}

/** The player in a few words. */
export function nameOf(seat: Seat): string {
  switch (seat.kind) {
    case 'human':
      return `Human-like ${seat.rating}${manner(seat)}`;
    case 'engine':
      return `Engine${seat.evaluation === 'baseline' ? ' by rules' : ''}, ${patience(seat)}`;
    case 'challenge':
      return `Level ${seat.level}`;
    case 'file':
      return `${seat.file}${seat.role === 'human' ? ` ${seat.rating}` : ''}${seat.role === 'engine' ? `, ${patience(seat)}` : ''}${seat.role === 'human' || seat.role === 'maia' ? manner(seat) : ''}`;
    case 'random':
      return 'Random moves';
    case 'spec':
      return seat.spec.trim().replace(/^\w+:given\//, '');
  }
}

function manner(seat: Seat): string {
  return { rated: '', sample: `, temperature ${seat.temperature}`, argmax: ', likeliest moves' }[pickOf(seat)];
}

function patience({ limit, amounts }: Seat): string {
  const amount = amounts[limit].toLocaleString('en');
  return { movetime: `${amount} ms`, depth: `depth ${amount}`, nodes: `${amount} positions` }[limit];
}

function fileSpec(seat: Seat): string {
  if (!seat.file) throw new Error('a player waits for a model file');
  const name = quoted(seat.file);
  switch (seat.role) {
    case 'human':
      return `human:${name},elo=${seat.rating}${choice(seat, ',strength=raw')}`;
    case 'maia':
      return `maia:${name}${choice(seat, ',mode=sample')}`;
    case 'net':
      return `net:${name}`;
    case 'engine':
      return `engine:${name},${effort(seat)}`;
  }
}

/** How a seat's moves are picked. Only human-like players know what a rating is worth; the others go by their probabilities. */
export function pickOf({ kind, role, pick }: Seat): Seat['pick'] {
  return pick === 'rated' && kind === 'file' && role === 'maia' ? 'sample' : pick;
}

/** The same for a spec, where `plain` asks for the network's own probabilities. A temperature asks for them too. */
function choice(seat: Seat, plain: string): string {
  const sample = seat.temperature === 1 ? plain : `,temp=${seat.temperature}`;
  return { rated: '', sample, argmax: ',mode=argmax' }[pickOf(seat)];
}

// A small table: a page is not the place for the engine's usual one.
function effort({ limit, amounts }: Seat): string {
  return `${limit}=${amounts[limit]},hash=32`;
}

function quoted(name: string): string {
  return /[,"]/.test(name) ? `"${name.replace(/[\\"]/g, '\\$&')}"` : name;
}

/** The networks that must have been fetched before a player can play. */
export function needsOf(spec: string): ComesAlong[] {
  // A human-like player may have a light search at its side, which judges as the engine does.
  if (/^human(,|$|:\w+=)/.test(spec)) return ['human', 'value'];
  if (/^human:/.test(spec)) return ['value'];
  return /^engine(,|$)/.test(spec) && !/,eval=baseline(,|$)/.test(spec) ? ['value'] : [];
}

/** The networks of the server, by name, that must have been fetched before a player can play. */
export function givenIn(spec: string): string[] {
  return [...spec.matchAll(/[:="]given\/([\w.-]+)/g)].flatMap(([, name]) => name ?? []);
}

/** Whether a player searches deeper the fewer candidates it must report. */
export function searches(spec: string): boolean {
  return spec.startsWith('engine') || /,search=ab(,|$)/.test(spec);
}

/** A seat for a model file, otherwise as usual. */
export function seatOf(file: string, role: Role): Seat {
  return { ...structuredClone(USUAL), kind: 'file', file, role };
}

/** The seats of the last visit. A file has to be given again. */
export function recallSeats(): [Seat, Seat] {
  const kept = recall('arena.seats');
  const [first, second] = Array.isArray(kept) ? (kept as unknown[]) : [];
  return [seatFrom(first, USUAL), seatFrom(second, { ...USUAL, kind: 'challenge', level: 3 })];
}

export function keepSeats(seats: readonly Seat[]): void {
  keep('arena.seats', seats);
}

/** What was kept may be older than this code: whatever is not as it should be is replaced. */
function seatFrom(kept: unknown, usual: Seat): Seat {
  if (typeof kept !== 'object' || kept === null) return structuredClone(usual);
  const seat = structuredClone(usual);
  const from = kept as Partial<Record<keyof Seat, unknown>>;
  seat.kind = oneOf(from.kind, Object.keys(KIND_NAMES) as Kind[], usual.kind);
  if (seat.kind === 'file') seat.kind = usual.kind;
  seat.rating = within(from.rating, RATINGS.lowest, RATINGS.highest, usual.rating);
  seat.pick = oneOf(from.pick, ['rated', 'sample', 'argmax'], usual.pick);
  seat.temperature = within(from.temperature, 0.05, 5, usual.temperature);
  seat.level = within(from.level, 1, 5, usual.level);
  seat.limit = oneOf(from.limit, Object.keys(LIMITS) as Limit[], usual.limit);
  const amounts = (from.amounts ?? {}) as Partial<Record<Limit, unknown>>;
  for (const limit of Object.keys(LIMITS) as Limit[])
    seat.amounts[limit] = within(amounts[limit], LIMITS[limit].least, LIMITS[limit].most, usual.amounts[limit]);
  seat.evaluation = oneOf(from.evaluation, ['network', 'baseline'], usual.evaluation);
  if (typeof from.spec === 'string') seat.spec = from.spec;
  return seat;
}

function oneOf<T extends string>(value: unknown, allowed: readonly T[], otherwise: T): T {
  return allowed.find((one) => one === value) ?? otherwise;
}

function within(value: unknown, least: number, most: number, otherwise: number): number {
  return typeof value === 'number' && value >= least && value <= most ? value : otherwise;
}
