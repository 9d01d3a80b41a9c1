import type {
  ChallengeEvent,
  GameInput,
  MatchEvent,
  MatchResults,
  MatchSetup,
  ModelFacts,
  PgnPart,
  ReviewedMove,
  Studio,
  Thought,
} from '../wasm/tabia.js';

/** The networks that come along, by the names specs know them under. */
export type ComesAlong = 'human' | 'value';

/** The studio's methods, without its constructor and destructor. */
export type StudioMethod = Exclude<
  { [K in keyof Studio]: Studio[K] extends (...args: never[]) => unknown ? K : never }[keyof Studio],
  'free' | undefined
>;
export type StudioArgs<M extends StudioMethod> = Parameters<Extract<Studio[M], (...args: never[]) => unknown>>;
export type StudioResult<M extends StudioMethod> = ReturnType<Extract<Studio[M], (...args: never[]) => unknown>>;

/** Long work that is done in steps: what it is made from, what each step tells, and what is left at its end. */
export interface Streams {
  /** Deeper and deeper; ends by itself after `slices`. */
  analysis: { args: [game: GameInput, lines: number, secondsPerSlice: number, slices: number]; event: Thought; end: null };
  review: { args: [game: GameInput, network: string, rating: number | null, secondsPerMove: number]; event: ReviewedMove | { total: number }; end: null };
  /** The games of a PGN file of any size, some at a time. */
  pgn: { args: [file: Blob]; event: PgnPart; end: null };
  match: {
    args: [setup: MatchSetup];
    event: MatchEvent | { kind: 'results'; results: MatchResults };
    end: { results: MatchResults; pgn: string; json: string };
  };
  challenge: { args: [model: string, firstLevel: number, openings: string]; event: ChallengeEvent; end: { scorecard: string; text: string } };
}
export type StreamKind = keyof Streams;

/** How fast a stream goes: not at all, or with so many milliseconds between its steps. */
export interface Pace {
  paused: boolean;
  delay: number;
}

/** What the page tells the worker. */
export type Request =
  | { kind: 'start'; module: WebAssembly.Module; seed: number }
  | { kind: 'fetch'; id: number; name: string; url: string }
  | { kind: 'read'; id: number; name: string; file: Blob }
  | { kind: 'call'; id: number; method: StudioMethod; args: unknown[] }
  | { kind: 'stream'; id: number; stream: StreamKind; args: unknown[]; pace: Pace }
  | { kind: 'pace'; id: number; pace: Pace }
  /** Asks what the stream `of` would end with if it ended now. */
  | { kind: 'so-far'; id: number; of: number }
  | { kind: 'stop'; id: number };

/** What the worker tells the page. `broken`: the module has trapped and the worker is of no more use. */
export type Reply =
  | { kind: 'progress'; id: number; loaded: number; total: number }
  | { kind: 'event'; id: number; event: unknown }
  | { kind: 'done'; id: number; result: unknown }
  | { kind: 'failed'; id: number; problem: string; broken: boolean };

export type { ModelFacts };
