import { fields, load, numberIn, oneOf, store } from '../../lib/storage';
import { CHALLENGE_LEVELS, RATINGS, type Role } from '../../players/roles';

/** A player as chosen in the form, with the values of the fields that its kind does not use. */
export interface PlayerConfig {
  kind: Kind;
  rating: number;
  /** Calibrated to the rating, sampled from the policy at a temperature, or the most likely move. */
  pick: 'rated' | 'sample' | 'argmax';
  temperature: number;
  level: number;
  limit: Limit;
  /** The value of each limit. */
  amounts: Record<Limit, number>;
  evaluation: 'network' | 'baseline';
  /** The name of a model file. */
  file: string;
  role: Role;
  spec: string;
  /** The id of a stored person, and the name. */
  person: string;
  personName: string;
}

export type Kind = 'human' | 'engine' | 'challenge' | 'person' | 'file' | 'random' | 'spec';
/** Milliseconds, plies or nodes per move. */
export type Limit = 'movetime' | 'depth' | 'nodes';

export const KIND_NAMES: Record<Kind, string> = {
  human: 'Human-like',
  engine: 'Engine',
  challenge: 'Challenge level',
  person: 'Like one person',
  file: 'Model file',
  random: 'Random moves',
  spec: 'Spec',
};

export const LIMITS: Record<Limit, { label: string; min: number; max: number }> = {
  movetime: { label: 'ms per move', min: 1, max: 60_000 },
  depth: { label: 'plies', min: 1, max: 60 },
  nodes: { label: 'nodes per move', min: 1, max: 100_000_000 },
};

const DEFAULT: PlayerConfig = {
  kind: 'human',
  rating: RATINGS.default,
  pick: 'rated',
  temperature: 1,
  level: 1,
  limit: 'movetime',
  amounts: { movetime: 100, depth: 4, nodes: 1000 },
  evaluation: 'network',
  file: '',
  role: 'human',
  spec: 'engine,depth=2',
  person: '',
  personName: '',
};

/** The player spec of a config; throws if something is missing. */
export function specOf(config: PlayerConfig): string {
  switch (config.kind) {
    case 'human':
      return `human,elo=${config.rating}${pickOption(config, ',strength=raw')}`;
    case 'engine':
      return `engine${config.evaluation === 'baseline' ? ',eval=baseline' : ''},${limitOption(config)}`;
    case 'challenge':
      return `level:${config.level}`;
    case 'person':
      if (!config.person) throw new Error('choose a person');
      return `human:adapter/${config.person}${pickOption(config, ',strength=raw')}`;
    case 'file':
      return fileSpec(config);
    case 'random':
      return 'random';
    case 'spec':
      if (!config.spec.trim()) throw new Error('enter a spec');
      return config.spec.trim();
  }
}

/** A short name of the player. */
export function playerName(config: PlayerConfig): string {
  switch (config.kind) {
    case 'human':
      return `Human-like ${config.rating}${pickName(config)}`;
    case 'engine':
      return `Engine${config.evaluation === 'baseline' ? ' (hand-crafted)' : ''}, ${limitName(config)}`;
    case 'challenge':
      return `Level ${config.level}`;
    case 'person':
      return `Like ${config.personName}${pickName(config)}`;
    case 'file': {
      const pick = pickName(config);
      return config.file + { human: ` ${config.rating}${pick}`, maia: pick, net: '', engine: `, ${limitName(config)}` }[config.role];
    }
    case 'random':
      return KIND_NAMES.random;
    case 'spec':
      return config.spec.trim().replace(/^\w+:given\//, '');
  }
}

function pickName(config: PlayerConfig): string {
  return { rated: '', sample: `, temperature ${config.temperature}`, argmax: ', most likely move' }[pickMode(config)];
}

function limitName({ limit, amounts }: PlayerConfig): string {
  const amount = amounts[limit].toLocaleString('en');
  return { movetime: `${amount} ms`, depth: `depth ${amount}`, nodes: `${amount} nodes` }[limit];
}

function fileSpec(config: PlayerConfig): string {
  if (!config.file) throw new Error('choose a model file');
  const name = quoted(config.file);
  switch (config.role) {
    case 'human':
      return `human:${name},elo=${config.rating}${pickOption(config, ',strength=raw')}`;
    case 'maia':
      return `maia:${name}${pickOption(config, ',mode=sample')}`;
    case 'net':
      return `net:${name}`;
    case 'engine':
      return `engine:${name},${limitOption(config)}`;
  }
}

/** How moves are picked. Only human-like players can be calibrated to a rating. */
export function pickMode({ kind, role, pick }: PlayerConfig): PlayerConfig['pick'] {
  return pick === 'rated' && kind === 'file' && role === 'maia' ? 'sample' : pick;
}

/** The spec option for `pickMode`. `raw` selects the network's own probabilities, as a temperature does. */
function pickOption(config: PlayerConfig, raw: string): string {
  const sample = config.temperature === 1 ? raw : `,temp=${config.temperature}`;
  return { rated: '', sample, argmax: ',mode=argmax' }[pickMode(config)];
}

/** With a smaller hash table than on the command line. */
function limitOption({ limit, amounts }: PlayerConfig): string {
  return `${limit}=${amounts[limit]},hash=32`;
}

/** A file name as it is written in a spec. */
export function quoted(name: string): string {
  return /[,"]/.test(name) ? `"${name.replace(/[\\"]/g, '\\$&')}"` : name;
}

/** The server's networks that a player spec needs, by name. */
export function serverModels(spec: string): string[] {
  return [...spec.matchAll(/[:="]given\/([\w.-]+)/g)].flatMap(([, name]) => name ?? []);
}

/** Whether a player uses the engine's search, which is slower the more candidates it reports. */
export function searches(spec: string): boolean {
  return spec.startsWith('engine') || /,search=ab(,|$)/.test(spec);
}

/** The default config of a model file. */
export function fileConfig(file: string, role: Role): PlayerConfig {
  return { ...structuredClone(DEFAULT), kind: 'file', file, role };
}

/** The stored configs. Model files are not stored. */
export function loadConfigs(): [PlayerConfig, PlayerConfig] {
  const stored = load('arena.seats');
  const [first, second] = Array.isArray(stored) ? (stored as unknown[]) : [];
  return [readConfig(first, DEFAULT), readConfig(second, { ...DEFAULT, kind: 'challenge', level: 3 })];
}

export function saveConfigs(configs: readonly PlayerConfig[]): void {
  store('arena.seats', configs);
}

function readConfig(stored: unknown, defaults: PlayerConfig): PlayerConfig {
  const from = fields(stored);
  const kind = oneOf(from['kind'], Object.keys(KIND_NAMES) as Kind[], defaults.kind);
  const amounts = fields(from['amounts']);
  const amountOf = (limit: Limit) => numberIn(amounts[limit], LIMITS[limit].min, LIMITS[limit].max, defaults.amounts[limit]);
  return {
    ...defaults,
    kind: kind === 'file' ? defaults.kind : kind,
    rating: numberIn(from['rating'], RATINGS.min, RATINGS.max, defaults.rating),
    pick: oneOf(from['pick'], ['rated', 'sample', 'argmax'], defaults.pick),
    temperature: numberIn(from['temperature'], 0.05, 5, defaults.temperature),
    level: numberIn(from['level'], 1, CHALLENGE_LEVELS.length, defaults.level),
    limit: oneOf(from['limit'], Object.keys(LIMITS) as Limit[], defaults.limit),
    amounts: { movetime: amountOf('movetime'), depth: amountOf('depth'), nodes: amountOf('nodes') },
    evaluation: oneOf(from['evaluation'], ['network', 'baseline'], defaults.evaluation),
    spec: typeof from['spec'] === 'string' ? from['spec'] : defaults.spec,
    person: typeof from['person'] === 'string' && /^[\w-]*$/.test(from['person']) ? from['person'] : '',
    personName: typeof from['personName'] === 'string' ? from['personName'] : '',
  };
}
