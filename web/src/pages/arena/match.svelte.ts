import { EngineClient, StreamControl } from '../../engine/client';
import { ModelFiles, openModelFile, type ModelFile } from '../../engine/modelFile.svelte';
import type { Rules } from '../../engine/wasm';
import { toPgn } from '../../game/pgn';
import { errorMessage } from '../../lib/notices.svelte';
import { serverAbout } from '../../lib/server';
import { adapters, personOf } from '../../players/adapters.svelte';
import { bundledModels } from '../../players/roles';
import type { MatchEvent, MatchResults, MatchSetup, Side, Thought } from '../../wasm/tabia.js';
import { fileConfig, serverModels, specOf } from './playerConfig';

/** A candidate move. The score is from White's point of view. */
export interface Candidate {
  uci: string;
  san: string;
  probability?: number | undefined;
  cp?: number | undefined;
  mate?: number | undefined;
  /** The expected line after it. */
  continuation: string;
}

/** A move of a game with its candidates. */
export interface PlayedMove {
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
  moves: PlayedMove[];
  /** Undefined while it is played. */
  result?: string;
  reason: string;
}

export type Phase = 'idle' | 'loading' | 'playing' | 'paused' | 'stopping' | 'over' | 'failed';
type Outcome = { results: MatchResults; pgn: string; json: string };

/** Limits redrawing, which competes with the players for the processor. */
const REDRAW_MS = 80;

/** The match. It lives outside the page's components, so that it continues while other pages are open. */
class Arena {
  phase = $state<Phase>('idle');
  problem = $state('');
  download = $state.raw<{ text: string; loaded: number; total: number }>();
  setup = $state.raw<MatchSetup>();
  /** The players' names on the page. */
  names = $state.raw<[first: string, second: string]>(['', '']);
  games = $state.raw<ArenaGame[]>([]);
  results = $state.raw<MatchResults>();
  outcome = $state.raw<Outcome>();
  /** Incremented, a few times per second, when moves were added to the last game. */
  updates = $state(0);
  files = $state.raw<ModelFile[]>([]);
  modelFiles = new ModelFiles();
  /** Whether the games were saved to a file. */
  saved = $state(false);
  /** Milliseconds between moves. */
  delay = $state(0);

  #client = new EngineClient();
  #control = new StreamControl<Outcome>();
  #stop = new AbortController();
  #redrawPending = false;
  /** Whether a paused match continues up to its next move. */
  #stepping = false;

  /** Whether a match is running. */
  get busy(): boolean {
    return this.phase !== 'idle' && this.phase !== 'over' && this.phase !== 'failed';
  }

  /** Whether reloading the page would lose games. */
  get unsaved(): boolean {
    return this.busy || (this.games.length > 0 && !this.saved);
  }

  /** Plays a match until it is finished or stopped. Errors are reported in `problem`. */
  async play(setup: MatchSetup, names: [first: string, second: string]): Promise<void> {
    if (this.busy) return;
    this.phase = 'loading';
    this.problem = '';
    this.setup = setup;
    this.names = names[0] === names[1] ? [names[0], `${names[1]} (2)`] : names;
    this.games = [];
    this.results = undefined;
    this.outcome = undefined;
    this.saved = false;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    this.#stepping = false;
    this.#control.pace = { paused: false, delay: this.delay };
    try {
      await this.#loadModels([setup.first, setup.second]);
      if (signal.aborted) {
        this.phase = 'idle';
        return;
      }
      this.phase = 'playing';
      this.outcome = await this.#client.stream('match', [setup], (event) => this.#handle(event), signal, this.#control);
      this.results = this.outcome.results;
      this.phase = 'over';
    } catch (error) {
      this.problem = errorMessage(error);
      this.phase = 'failed';
    } finally {
      this.download = undefined;
      // An unfinished game does not count.
      this.games = this.games.filter((game) => game.result !== undefined);
    }
  }

  pause(): void {
    if (this.phase !== 'playing') return;
    this.phase = 'paused';
    this.#control.pace = { paused: true, delay: this.delay };
  }

  /** Plays one move of a paused match. */
  step(): void {
    if (this.phase !== 'paused') return;
    this.#stepping = true;
    this.#control.pace = { paused: true, delay: this.delay, step: true };
  }

  resume(): void {
    if (this.phase !== 'paused') return;
    this.#stepping = false;
    this.phase = 'playing';
    this.#control.pace = { paused: false, delay: this.delay };
  }

  stop(): void {
    if (!this.busy) return;
    this.phase = 'stopping';
    this.#stop.abort();
  }

  setDelay(delay: number): void {
    this.delay = delay;
    this.#control.pace = { paused: this.phase === 'paused', delay };
  }

  /** The finished games so far, for a file. Rejects if there is no match. */
  async snapshot(): Promise<Outcome> {
    return this.outcome ?? this.#control.snapshot();
  }

  /** Opens a model file for both players, with its vocab.npy if there is one. Throws if it cannot play. */
  async openModel(files: Iterable<File>): Promise<ModelFile> {
    return this.modelFiles.open(files, async (file, vocabulary) => {
      // The names of the bundled networks are reserved.
      const name = ['human', 'value'].includes(file.name) ? `${file.name} (file)` : file.name;
      const opened = await openModelFile(this.#client, name, file, (role) => specOf(fileConfig(name, role)), vocabulary);
      this.files = [...this.files.filter((other) => other.name !== name), opened];
      return opened;
    });
  }

  async #loadModels(specs: string[]): Promise<void> {
    const progress = (text: string) => {
      this.download = { text, loaded: 0, total: 0 };
      return (loaded: number, total: number) => (this.download = { text, loaded, total });
    };
    for (const name of new Set(specs.flatMap(bundledModels)))
      await this.#client.loadBundled(name, progress(name === 'human' ? 'Human network' : 'Evaluation network'));
    for (const id of new Set(specs.flatMap(personOf))) await adapters.give(this.#client, id);
    for (const name of new Set(specs.flatMap(serverModels))) {
      if (!(await serverAbout()).given.includes(name)) throw new Error(`the server has no network called ${name}`);
      await this.#client.loadFromServer(name, progress(name));
    }
    this.download = undefined;
  }

  #handle(event: MatchEvent | { kind: 'results'; results: MatchResults }): void {
    // The start and the end of a game are steps too, and are not what one waits for.
    if (this.#stepping && (event.kind === 'game-start' || event.kind === 'game-end'))
      this.#control.pace = { paused: true, delay: this.delay, step: true };
    else if (event.kind === 'move') this.#stepping = false;
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
        this.games.find(({ number }) => number === event.game)?.moves.push({ uci, san, fen, side, ...summarise(thought) });
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
    this.#redraw();
  }

  #redraw(): void {
    if (this.#redrawPending) return;
    this.#redrawPending = true;
    setTimeout(() => {
      this.#redrawPending = false;
      this.updates++;
    }, REDRAW_MS);
  }
}

export const arena = new Arena();

window.addEventListener('beforeunload', (event) => {
  if (arena.unsaved) event.preventDefault();
});

function summarise(thought: Thought): Pick<PlayedMove, 'candidates' | 'depth' | 'nodes' | 'seconds'> {
  const { lines, nodes, seconds } = thought;
  const candidates = lines.flatMap(({ moves, san, probability, cp, mate }) => {
    const [uci] = moves;
    return uci ? [{ uci, san: san[0] ?? uci, probability, cp, mate, continuation: san.slice(1, 9).join(' ') }] : [];
  });
  return { candidates, depth: lines[0]?.depth ?? 0, nodes, seconds };
}

/** A game as PGN, with the players' evaluations. */
export function pgnOf(rules: Rules, game: ArenaGame): string {
  const { startFen, result, moves, white, black, number, opening } = game;
  const headers: [string, string][] = [
    ['Event', 'Tabia arena'],
    ['Round', String(number + 1)],
    ['White', white],
    ['Black', black],
    ['Opening', opening],
  ];
  return toPgn(rules, { startFen, moves: moves.map(({ uci }) => uci), result, headers }, (tree) => {
    for (const { id, ply, mainline } of tree.view().nodes) {
      const move = mainline ? moves[ply - 1] : undefined;
      const { cp, mate } = move?.candidates.find(({ uci }) => uci === move.uci) ?? {};
      if (cp !== undefined || mate !== undefined) tree.setEvaluation(id, cp, mate, move?.depth || undefined);
    }
  });
}
