import type {
  ChallengeEvent,
  CoverageInput,
  CoverageStep,
  GameInput,
  GameReviewSettings,
  LearnEvent,
  MatchEvent,
  MatchResults,
  MatchSetup,
  NameCount,
  PgnPart,
  PositionDifficulty,
  PuzzlePart,
  ReviewedGame,
  ReviewedMove,
  ReviewSummary,
  Side,
  Thought,
} from '../wasm/tabia.js';
import { Engine } from '../wasm/tabia.js';

export { Engine };

/** The bundled networks, by their names in specs. */
export type BundledModel = 'human' | 'value';

/** The methods of the wasm class `Engine` that the page can call. */
export type EngineMethod = Exclude<
  { [K in keyof Engine]: Engine[K] extends (...args: never[]) => unknown ? K : never }[keyof Engine],
  'free' | undefined
>;
export type EngineArgs<M extends EngineMethod> = Parameters<Extract<Engine[M], (...args: never[]) => unknown>>;
export type EngineResult<M extends EngineMethod> = ReturnType<Extract<Engine[M], (...args: never[]) => unknown>>;

/** Long tasks that run in steps: their arguments, the event after each step and the result. */
export interface Streams {
  /** Iterative deepening in time slices; ends after `slices`. */
  analysis: {
    args: [game: GameInput, lines: number, secondsPerSlice: number, slices: number];
    event: { thought: Thought; threads: number };
    result: null;
  };
  /** The result is null if the review was stopped. */
  review: {
    args: [game: GameInput, network: string, rating: number | null, secondsPerMove: number];
    event: ReviewedMove | { total: number };
    result: ReviewSummary | null;
  };
  /** How hard a position is; the result is null if the game is over or the search was stopped. */
  difficulty: {
    args: [game: GameInput, network: string, rating: number, seconds: number];
    event: never;
    result: PositionDifficulty | null;
  };
  /** The review of one of the player's games; an event per move. The result is null if it was stopped. */
  gameReview: { args: [pgn: string, settings: GameReviewSettings]; event: null; result: ReviewedGame | null };
  /** What people play against a repertoire. */
  coverage: { args: [network: string, pgn: string, side: Side, limits: CoverageInput]; event: CoverageStep; result: null };
  /** The games of a PGN file of any size. */
  pgn: { args: [file: Blob]; event: PgnPart; result: null };
  /** A choice of the puzzles of a file of any size. */
  puzzles: { args: [file: Blob, seed: number]; event: PuzzlePart; result: { text: string } };
  /** The players of a PGN file with at least so many games. */
  names: { args: [file: Blob, least: number]; event: never; result: NameCount[] };
  /** Learns an adapter from a player's newest games; null if it was stopped. */
  adapter: {
    args: [model: string, file: Blob, player: string, name: string, newest: number, moves: number];
    event: LearnEvent;
    result: string | null;
  };
  match: {
    args: [setup: MatchSetup];
    event: MatchEvent | { kind: 'results'; results: MatchResults };
    result: { results: MatchResults; pgn: string; json: string };
  };
  challenge: {
    args: [model: string, rules: string, seed: number, firstLevel: number, openings: string];
    event: ChallengeEvent;
    result: { scorecard: string };
  };
}
export type StreamKind = keyof Streams;

/** The speed of a stream: paused, or with a delay in milliseconds between its steps. */
export interface Pace {
  paused: boolean;
  delay: number;
  /** One step although it is paused. */
  step?: boolean;
}

/** What evaluates networks: the faster of both, or what the visitor chose. */
export type Compute = 'automatic' | 'cpu' | 'webgpu';

/** What evaluates a network from now on. */
export interface ComputeState {
  model: string;
  on: 'cpu' | 'webgpu';
  /** Why it is the processor. */
  why?: string;
  /** The GPU evaluates so many positions and more. */
  leastRows?: number;
  /** The best times of both, in milliseconds, for one position and for a batch of 16. */
  race?: { one: { cpu: number; gpu: number }; batch?: { cpu: number; gpu: number } };
}

/** Messages from the page to the worker. */
export type Request =
  /** `timed`: the worker sends a `timing` for each call and each step of a stream. `shares`: it sends its memory, for helpers. */
  | { kind: 'start'; module: WebAssembly.Module; seed: number; timed: boolean; shares: boolean; compute: Compute }
  /** Makes the worker a helper of the one whose memory this is. It hears nothing else afterwards. */
  | { kind: 'help'; module: WebAssembly.Module; memory: WebAssembly.Memory }
  | { kind: 'compute'; compute: Compute }
  | { kind: 'fetch'; id: number; name: string; url: string }
  | { kind: 'read'; id: number; name: string; file: Blob; vocabulary: Blob | undefined }
  | { kind: 'call'; id: number; method: EngineMethod; args: unknown[] }
  | { kind: 'stream'; id: number; stream: StreamKind; args: unknown[]; pace: Pace }
  | { kind: 'pace'; id: number; pace: Pace }
  /** Asks for the result that stream `of` would have if it were stopped now. */
  | { kind: 'snapshot'; id: number; of: number }
  | { kind: 'stop'; id: number };

/** Why a request failed: the module trapped and the worker must be replaced, or it lacks the runtime for a network. */
export type FailureCause = 'crash' | 'no-runtime' | null;

/** Messages from the worker to the page. */
export type Reply =
  | { kind: 'memory'; memory: WebAssembly.Memory }
  | { kind: 'timing'; what: string; ms: number }
  | { kind: 'compute'; state: ComputeState }
  | { kind: 'progress'; id: number; loaded: number; total: number }
  | { kind: 'event'; id: number; event: unknown }
  | { kind: 'done'; id: number; result: unknown }
  | { kind: 'failed'; id: number; error: string; cause: FailureCause };
