import { EngineClient } from '../../engine/client';
import { fetchBytes } from '../../engine/fetch';
import { checkModelSize } from '../../engine/modelFile.svelte';
import { openingsArgument, type OpeningSet } from '../../game/openings';
import { errorMessage, warn } from '../../lib/notices.svelte';
import { goTo } from '../../lib/route.svelte';
import { CHALLENGE_LEVELS } from '../../players/roles';
import type { ChallengeEvent, ModelFacts } from '../../wasm/tabia.js';
import { arena } from '../arena/match.svelte';
import { quoted } from '../arena/playerConfig';

const GAMES_PER_LEVEL = 50;
/** Milliseconds between the moves of a watched game. */
const WATCH_DELAY = 300;

/** The editions of the challenge. */
export const RULES = ['original', '2026'] as const;
export type ChallengeRules = (typeof RULES)[number];
export const EDITIONS: Record<ChallengeRules, { name: string; levels: string[]; maxParameters: number }> = {
  original: { name: 'Original', levels: CHALLENGE_LEVELS, maxParameters: 1_000_000 },
  '2026': { name: '2026', levels: ['Beginner', 'Novice', 'Advanced', 'Expert'], maxParameters: 10_000_000 },
};
/** The share of the points that passes a level. */
export const PASS_SHARE = 0.7;

/** The progress of a level. */
export interface LevelProgress {
  level: number;
  state: 'waiting' | 'playing' | 'passed' | 'failed';
  games: number;
  total: number;
  points: number;
}

/** The scorecard written by `tabia compete --json-output`. Only the fields shown on the page. */
export interface Scorecard {
  challenger: string;
  passed: number | null;
  interrupted: boolean;
  levels: ScoredLevel[];
  diversity: {
    games: number;
    first_moves: number;
    first_move_entropy: number;
    four_move_lines: number;
    four_move_entropy: number;
  };
}

interface ScoredLevel {
  level: number;
  opponent: string;
  games: Tally;
  as_white: Tally;
  as_black: Tally;
  points: number;
  passed: boolean;
  records: ScoredGame[];
}

export interface Tally {
  wins: number;
  draws: number;
  losses: number;
}

export interface ScoredGame {
  game: number;
  opening_label: string;
  fen: string;
  white: number;
  result: string;
  reason: string;
  moves: string[];
}

export type Phase = 'idle' | 'ready' | 'playing' | 'stopping' | 'over';

/** The challenge of a network. It lives outside the page's components, so that it continues while other pages are open. */
class ChallengeRun {
  phase = $state<Phase>('idle');
  problem = $state('');
  file = $state('');
  facts = $state.raw<ModelFacts>();
  download = $state.raw<{ loaded: number; total: number }>();
  rules = $state<ChallengeRules>('original');
  /** Which openings are drawn, and how the levels choose among equally good moves. */
  seed = $state(0);
  firstLevel = $state(1);
  openings = $state<OpeningSet>('challenge');
  customOpenings = $state('');
  /** Whether the official openings are played. */
  official = $state(true);
  levels = $state.raw<LevelProgress[]>([]);
  lastGame = $state.raw<Extract<ChallengeEvent, { kind: 'game' }>>();
  scorecard = $state.raw<Scorecard>();
  json = $state('');
  saved = $state(false);

  #network: Blob | undefined;
  #client = new EngineClient();
  #stop = new AbortController();

  get busy(): boolean {
    return this.phase === 'playing' || this.phase === 'stopping';
  }

  /** Whether the network may enter by the chosen rules, and why not. */
  get admission(): { admitted: boolean; problem: string } {
    const { facts } = this;
    if (!facts) return { admitted: false, problem: '' };
    return this.rules === '2026'
      ? { admitted: facts.challenge2026, problem: facts.challenge2026Problem }
      : { admitted: facts.challenge, problem: facts.challengeProblem };
  }

  /** Whether reloading the page would lose games. */
  get unsaved(): boolean {
    return this.busy || (this.scorecard !== undefined && !this.saved);
  }

  async open(file: File): Promise<void> {
    await this.#load(file.name, async () => {
      checkModelSize(file);
      return file;
    });
  }

  async openBundled(name: string): Promise<void> {
    await this.#load(name, async () => {
      const url = new URL(`models/${name}`, document.baseURI).href;
      const bytes = await fetchBytes(url, (loaded, total) => (this.download = { loaded, total }));
      return new Blob([bytes as BlobPart]);
    });
  }

  async #load(name: string, read: () => Promise<Blob>): Promise<void> {
    if (this.busy) return;
    this.phase = 'idle';
    this.problem = '';
    this.file = name;
    this.facts = undefined;
    this.levels = [];
    this.lastGame = undefined;
    this.scorecard = undefined;
    this.download = { loaded: 0, total: 0 };
    try {
      this.#network = await read();
      this.facts = await this.#client.addModel(name, this.#network);
      this.rules = this.facts.challenge2026 && !this.facts.challenge ? '2026' : 'original';
      this.firstLevel = 1;
      this.phase = 'ready';
    } catch (error) {
      this.problem = `Cannot open ${name}: ${errorMessage(error).replace(`${name}: `, '')}`;
    } finally {
      this.download = undefined;
    }
  }

  /** Plays from `firstLevel` until a level is not passed. */
  async start(): Promise<void> {
    if (this.busy || !this.facts || !this.admission.admitted) return;
    this.phase = 'playing';
    this.problem = '';
    this.scorecard = undefined;
    this.saved = false;
    this.lastGame = undefined;
    this.official = this.openings === 'challenge';
    this.levels = EDITIONS[this.rules].levels.map((_, index) => newLevel(index + 1)).filter(({ level }) => level >= this.firstLevel);
    this.#update(this.firstLevel, { state: 'playing' });
    this.#stop = new AbortController();
    try {
      const openings = openingsArgument(this.openings, this.customOpenings);
      const args: [string, string, number, number, string] = [this.facts.name, this.rules, this.seed, this.firstLevel, openings];
      const result = await this.#client.stream('challenge', args, (event) => this.#handle(event), this.#stop.signal);
      this.json = result.scorecard;
      this.scorecard = JSON.parse(result.scorecard) as Scorecard;
      // No events arrive after a stop, so the last game is only on the scorecard.
      for (const { level, games, points, passed } of this.scorecard.levels) {
        const played = games.wins + games.draws + games.losses;
        const total = this.levels.find((row) => row.level === level)?.total ?? GAMES_PER_LEVEL;
        this.#update(level, { points, games: played, state: passed ? 'passed' : played < total ? 'waiting' : 'failed' });
      }
      this.phase = 'over';
    } catch (error) {
      this.problem = `Challenge aborted: ${errorMessage(error)}`;
      this.phase = 'ready';
    } finally {
      this.levels = this.levels.map((row) => (row.state === 'playing' ? { ...row, state: 'waiting' } : row));
    }
  }

  /** Lets the network play a level in the arena, to be watched. */
  async watch(level: number): Promise<void> {
    if (!this.#network) return;
    try {
      if (arena.busy) throw new Error('a match is running there');
      const { name } = await arena.openModel([new File([this.#network], this.file)]);
      const edition = this.rules === 'original' ? '' : `,rules=${this.rules}`;
      goTo('arena', {
        first: `net:${quoted(name)},rules=${this.rules}`,
        second: `level:${level}${edition}`,
        delay: String(WATCH_DELAY),
        auto: '1',
      });
    } catch (error) {
      warn(`Cannot show a game in the arena: ${errorMessage(error)}`);
    }
  }

  /** Stops after the current game. A second call stops at once, without a scorecard. */
  stop(): void {
    if (this.phase === 'stopping') this.#client.close();
    else if (this.phase === 'playing') {
      this.phase = 'stopping';
      this.#stop.abort();
    }
  }

  #handle(event: ChallengeEvent): void {
    if (event.kind === 'game') {
      const { level, game, of: total, points } = event;
      this.lastGame = event;
      this.levels = this.levels.map((row) => ({ ...row, total }));
      this.#update(level, { state: 'playing', games: game, points });
    } else if (event.kind === 'level') {
      const { level, points, passed } = event;
      this.#update(level, { state: passed ? 'passed' : 'failed', points });
      if (passed) this.#update(level + 1, { state: 'playing' });
    }
  }

  #update(level: number, changes: Partial<LevelProgress>): void {
    this.levels = this.levels.map((row) => (row.level === level ? { ...row, ...changes } : row));
  }
}

function newLevel(level: number): LevelProgress {
  return { level, state: 'waiting', games: 0, total: GAMES_PER_LEVEL, points: 0 };
}

export const challenge = new ChallengeRun();

window.addEventListener('beforeunload', (event) => {
  if (challenge.unsaved) event.preventDefault();
});
