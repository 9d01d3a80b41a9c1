import { EngineClient, Reins } from '../../engine/client';
import { wrongSize } from '../../engine/largest';
import type { MatchEvent, MatchResults, MatchSetup, ModelFacts, Side, Thought } from '../../wasm/tabia.js';
import { sentence } from '../../notices.svelte';
import { rolesOf, type Role } from '../play/opponent';
import { about } from '../../server/server';
import { givenIn, needsOf, seatOf, specOf } from './seat';

/** A move a player thought of. */
export interface Candidate {
  uci: string;
  san: string;
  probability?: number | undefined;
  /** For White. */
  cp?: number | undefined;
  mate?: number | undefined;
  /** What the player expected after it. */
  follows: string;
}

/** A move of a game with what its player said. */
export interface Played {
  uci: string;
  san: string;
  fen: string;
  side: Side;
  candidates: Candidate[];
  depth: number;
  nodes: number;
  seconds: number;
}

export interface ArenaGame {
  number: number;
  white: string;
  black: string;
  opening: string;
  startFen: string;
  moves: Played[];
  /** Absent while it goes on. */
  result?: string;
  reason: string;
}

/** A model file that was given to the arena, and how it can play. */
export interface ArenaFile {
  name: string;
  facts: ModelFacts;
  roles: Role[];
}

export type Phase = 'idle' | 'fetching' | 'playing' | 'paused' | 'stopping' | 'over' | 'failed';
export type Outcome = { results: MatchResults; pgn: string; json: string };

/** Nobody sees more pictures, and the players need the processor. */
const FRAME_MS = 80;

/** One match at a time. It lives outside the page's components, so it goes on while other pages are looked at. */
class Arena {
  phase = $state<Phase>('idle');
  problem = $state('');
  /** What is being fetched and how far. */
  fetching = $state.raw<{ what: string; loaded: number; total: number }>();
  setup = $state.raw<MatchSetup>();
  /** What the players are called on the page. */
  names = $state.raw<[first: string, second: string]>(['', '']);
  games = $state.raw<ArenaGame[]>([]);
  results = $state.raw<MatchResults>();
  outcome = $state.raw<Outcome>();
  /** Counts up when moves were made, a few times a second: what watches it looks at the last game again. */
  moves = $state(0);
  files = $state.raw<ArenaFile[]>([]);
  /** Whether the games are also in a file. */
  saved = $state(false);
  /** Milliseconds between moves. */
  delay = $state(0);

  #client = new EngineClient();
  #reins = new Reins<Outcome>();
  #stop = new AbortController();
  #drawing = false;

  /** Whether a match is on its way. */
  get busy(): boolean {
    return this.phase !== 'idle' && this.phase !== 'over' && this.phase !== 'failed';
  }

  /** Whether reloading the page would lose games. */
  get unsaved(): boolean {
    return this.busy || (this.games.length > 0 && !this.saved);
  }

  /** Plays a match to its end, or until it is stopped. Throws nothing: what goes wrong is in `problem`. */
  async play(setup: MatchSetup, names: [first: string, second: string]): Promise<void> {
    if (this.busy) return;
    this.phase = 'fetching';
    this.problem = '';
    this.setup = setup;
    this.names = names[0] === names[1] ? [names[0], `${names[1]} (2)`] : names;
    this.games = [];
    this.results = undefined;
    this.outcome = undefined;
    this.saved = false;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#reins.pace = { paused: false, delay: this.delay };
    try {
      await this.#fetch([setup.first, setup.second]);
      if (signal.aborted) {
        this.phase = 'idle';
        return;
      }
      this.phase = 'playing';
      this.outcome = await this.#client.stream('match', [setup], (event) => this.#take(event), signal, this.#reins);
      this.results = this.outcome.results;
      this.phase = 'over';
    } catch (error) {
      this.problem = sentence(error);
      this.phase = 'failed';
    } finally {
      this.fetching = undefined;
      // A game that was broken off does not count.
      this.games = this.games.filter((game) => game.result !== undefined);
    }
  }

  pause(): void {
    if (this.phase !== 'playing') return;
    this.phase = 'paused';
    this.#reins.pace = { paused: true, delay: this.delay };
  }

  resume(): void {
    if (this.phase !== 'paused') return;
    this.phase = 'playing';
    this.#reins.pace = { paused: false, delay: this.delay };
  }

  stop(): void {
    if (!this.busy) return;
    this.phase = 'stopping';
    this.#stop.abort();
  }

  slow(delay: number): void {
    this.delay = delay;
    this.#reins.pace = { paused: this.phase === 'paused', delay };
  }

  /** The match as far as its games are finished, for a file. Throws if there is none. */
  async written(): Promise<Outcome> {
    return this.outcome ?? this.#reins.soFar();
  }

  /** Opens a model file for both seats. Throws a sentence for the visitor if it cannot play. */
  async hold(file: File): Promise<ArenaFile> {
    const wrong = wrongSize(file);
    if (wrong) throw new Error(`${file.name} is ${wrong}.`);
    // These names are taken by the networks that come along.
    const name = ['human', 'value'].includes(file.name) ? `${file.name} (file)` : file.name;
    const facts = await this.#client.add(name, file).catch((error: unknown) => {
      throw new Error(`${file.name} cannot be read as a chess model: ${sentence(error).replace(`${name}: `, '')}`);
    });
    const roles: Role[] = [];
    let problem = 'it has neither a move head nor a value head';
    for (const role of rolesOf(facts)) {
      try {
        await this.#client.call('describe', specOf(seatOf(name, role)));
        roles.push(role);
      } catch (error) {
        problem = sentence(error);
      }
    }
    if (!roles.length) throw new Error(`${file.name} cannot play: ${problem}`);
    const held = { name, facts, roles };
    this.files = [...this.files.filter((other) => other.name !== name), held];
    return held;
  }

  /** Fetches the networks that players need. */
  async #fetch(specs: string[]): Promise<void> {
    const progress = (what: string) => {
      this.fetching = { what, loaded: 0, total: 0 };
      return (loaded: number, total: number) => (this.fetching = { what, loaded, total });
    };
    for (const name of new Set(specs.flatMap(needsOf)))
      await this.#client.ensure(name, progress(name === 'human' ? 'the human-like network' : 'the engine’s network'));
    for (const name of new Set(specs.flatMap(givenIn))) {
      if (!(await about()).given.includes(name)) throw new Error(`The server of this page was not given a network called ${name}.`);
      await this.#client.ensureGiven(name, progress(name));
    }
    this.fetching = undefined;
  }

  #take(event: MatchEvent | { kind: 'results'; results: MatchResults }): void {
    switch (event.kind) {
      case 'game-start': {
        const { game: number, fen: startFen, opening } = event;
        const [first, second] = this.names;
        const [white, black] = event.white === this.setup?.first ? [first, second] : [second, first];
        this.games = [...this.games, { number, white, black, opening, startFen, moves: [], reason: '' }];
        break;
      }
      case 'move': {
        const { uci, san, fen, side, thought } = event;
        this.games.at(-1)?.moves.push({ uci, san, fen, side, ...said(thought) });
        break;
      }
      case 'game-end': {
        const { result, reason } = event;
        this.games = this.games.map((game) => (game.number === event.game ? { ...game, result, reason } : game));
        break;
      }
      case 'results':
        this.results = event.results;
        break;
      case 'done':
        break;
    }
    this.#draw();
  }

  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    setTimeout(() => {
      this.#drawing = false;
      this.moves++;
    }, FRAME_MS);
  }
}

export const arena = new Arena();

window.addEventListener('beforeunload', (event) => {
  if (arena.unsaved) event.preventDefault();
});

function said(thought: Thought): Pick<Played, 'candidates' | 'depth' | 'nodes' | 'seconds'> {
  const { lines, nodes, seconds } = thought;
  const candidates = lines.flatMap(({ moves, san, probability, cp, mate }) => {
    const [uci] = moves;
    return uci ? [{ uci, san: san[0] ?? uci, probability, cp, mate, follows: san.slice(1, 9).join(' ') }] : [];
  });
  return { candidates, depth: lines[0]?.depth ?? 0, nodes, seconds };
}
