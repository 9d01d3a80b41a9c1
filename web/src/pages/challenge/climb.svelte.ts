import { EngineClient } from '../../engine/client';
import { download } from '../../engine/download';
import { wrongSize } from '../../engine/largest';
import { openingsOf, type OpeningSet } from '../../game/openings';
import { sentence } from '../../notices.svelte';
import { CHALLENGE_LEVELS } from '../play/opponent';
import type { ChallengeEvent, ModelFacts } from '../../wasm/tabia.js';

/** Games a level by the rules, and the share of the points that passes it. */
const GAMES = 50;
export const PASS = 0.7;
export const MOST_PARAMETERS = 1_000_000;

/** How the challenger stands on a level. */
export interface LevelRow {
  level: number;
  state: 'waiting' | 'playing' | 'passed' | 'missed';
  games: number;
  of: number;
  points: number;
  wins: number;
  draws: number;
  losses: number;
}

/** The game that ended last. */
export interface LastGame {
  level: number;
  game: number;
  result: string;
  fen: string;
  lastMove: [string, string];
}

/** The scorecard, as `tabia compete --json-output` writes it; only what the page shows. */
export interface Scorecard {
  challenger: string;
  parameters: number;
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

export interface ScoredLevel {
  level: number;
  opponent: string;
  games: Tally;
  as_white: Tally;
  as_black: Tally;
  points: number;
  passed: boolean;
  records: ScoredGame[];
}

interface Tally {
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

export type Phase = 'idle' | 'reading' | 'ready' | 'climbing' | 'stopping' | 'over';


/** One challenger at a time. It lives outside the page's components, so it climbs on while other pages are looked at. */
class Climb {
  phase = $state<Phase>('idle');
  /** What went wrong, for the visitor. */
  problem = $state('');
  /** The file as the visitor knows it. */
  file = $state('');
  facts = $state.raw<ModelFacts>();
  reading = $state.raw<{ loaded: number; total: number }>();
  firstLevel = $state(1);
  openings = $state<OpeningSet>('challenge');
  /** The visitor's own openings. */
  own = $state('');
  /** Whether the games on the page are those of the rules. */
  byTheRules = $state(true);
  levels = $state.raw<LevelRow[]>([]);
  last = $state.raw<LastGame>();
  card = $state.raw<Scorecard>();
  json = $state('');
  text = $state('');
  saved = $state(false);

  #client = new EngineClient();
  #stop = new AbortController();

  /** Whether the ladder is being climbed. */
  get busy(): boolean {
    return this.phase === 'climbing' || this.phase === 'stopping';
  }

  /** Whether reloading the page would lose games. */
  get unsaved(): boolean {
    return this.busy || (this.card !== undefined && !this.saved);
  }

  /** Looks at a file the visitor gives. */
  async open(file: File): Promise<void> {
    if (this.busy) return;
    await this.#read(file.name, () => {
      const wrong = wrongSize(file);
      if (wrong) throw new Error(`it is ${wrong}`);
      return Promise.resolve(file);
    });
  }

  /** Fetches a network that comes along and looks at it. */
  async fetch(name: string): Promise<void> {
    if (this.busy) return;
    await this.#read(name, async () => {
      const url = new URL(`models/${name}`, document.baseURI).href;
      const bytes = await download(url, (loaded, total) => (this.reading = { loaded, total }));
      return new Blob([bytes as BlobPart]);
    });
  }

  async #read(name: string, bytes: () => Promise<Blob>): Promise<void> {
    this.phase = 'reading';
    this.problem = '';
    this.file = name;
    this.facts = undefined;
    this.levels = [];
    this.last = undefined;
    this.card = undefined;
    try {
      this.facts = await this.#client.add(name, await bytes());
      this.phase = 'ready';
    } catch (error) {
      this.problem = `${name} cannot take part: ${sentence(error).replace(`${name}: `, '')}`;
      this.phase = 'idle';
    } finally {
      this.reading = undefined;
    }
  }

  /** Climbs from `firstLevel` on until a level is not passed. */
  async climb(): Promise<void> {
    if (this.busy || !this.facts?.challenge) return;
    this.phase = 'climbing';
    this.problem = '';
    this.card = undefined;
    this.saved = false;
    this.last = undefined;
    this.byTheRules = this.openings === 'challenge';
    this.levels = CHALLENGE_LEVELS.map((_, index) => fresh(index + 1)).filter(({ level }) => level >= this.firstLevel);
    this.#change(this.firstLevel, { state: 'playing' });
    this.#stop = new AbortController();
    try {
      const args: [string, number, string] = [this.facts.name, this.firstLevel, openingsOf(this.openings, this.own)];
      const end = await this.#client.stream('challenge', args, (event) => this.#take(event), this.#stop.signal);
      this.json = end.scorecard;
      this.text = end.text;
      this.card = JSON.parse(end.scorecard) as Scorecard;
      // The game during which it was stopped is on the card, but nobody told of it.
      for (const { level, games, points, passed } of this.card.levels) {
        const played = games.wins + games.draws + games.losses;
        this.#change(level, { ...games, points, games: played, state: passed ? 'passed' : played < this.#of(level) ? 'waiting' : 'missed' });
      }
      this.phase = 'over';
    } catch (error) {
      this.problem = `The challenge broke off: ${sentence(error)}.`;
      this.phase = 'ready';
    } finally {
      this.levels = this.levels.map((row) => (row.state === 'playing' ? { ...row, state: 'waiting' } : row));
    }
  }

  /** Stops after the game that is being played, or, asked again, at once and without a scorecard. */
  stop(): void {
    if (this.phase === 'stopping') this.#client.close();
    else if (this.phase === 'climbing') {
      this.phase = 'stopping';
      this.#stop.abort();
    }
  }

  #take(event: ChallengeEvent): void {
    switch (event.kind) {
      case 'game': {
        const { level, game, of, points, result, fen, lastMove } = event;
        this.last = { level, game, result, fen, lastMove };
        this.levels = this.levels.map((row) => ({ ...row, of }));
        this.#change(level, { state: 'playing', games: game, points });
        break;
      }
      case 'level': {
        const { level, points, wins, draws, losses, passed } = event;
        this.#change(level, { state: passed ? 'passed' : 'missed', points, wins, draws, losses });
        if (passed) this.#change(level + 1, { state: 'playing' });
        break;
      }
      case 'done':
        break;
    }
  }

  #of(level: number): number {
    return this.levels.find((row) => row.level === level)?.of ?? GAMES;
  }

  #change(level: number, some: Partial<LevelRow>): void {
    this.levels = this.levels.map((row) => (row.level === level ? { ...row, ...some } : row));
  }
}

function fresh(level: number): LevelRow {
  return { level, state: 'waiting', games: 0, of: GAMES, points: 0, wins: 0, draws: 0, losses: 0 };
}

export const climb = new Climb();

window.addEventListener('beforeunload', (event) => {
  if (climb.unsaved) event.preventDefault();
});
