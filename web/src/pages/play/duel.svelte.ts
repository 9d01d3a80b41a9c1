import type { EngineClient } from '../../engine/client';
import type { Rules } from '../../engine/load';
import { numbered } from '../../board/lines';
import type { BoardShape } from '../../board/shapes';
import { GameSession } from '../../game/session.svelte';
import { announce } from '../../announce.svelte';
import { sentence } from '../../notices.svelte';
import type { GameInput, GameTree, Side, Thought } from '../../wasm/tabia.js';
import { ChessClock } from './clock.svelte';
import { heldFile } from './file.svelte';
import { keepGame, type KeptGame } from './kept';
import { limitsOf, nameOf, needsOf, ratingOf, specOf } from './opponent';
import { settings, type Setup } from './settings.svelte';

/** Another player than the opponent, so that neither learns from the other’s search. */
const HINT_SPEC = 'engine,hash=16';
/** The longest a human-like opponent thinks where no clock hurries it, in seconds. */
const UNTIMED_PAUSE = 8;
/** How many seconds an unwanted search may go on. */
const WORTH_WAITING = 2;
/** How often the clocks are kept while they run, in milliseconds. */
const KEEP_EVERY = 2000;

export function other(side: Side): Side {
  return side === 'white' ? 'black' : 'white';
}

/** One game between the visitor and an opponent: whose turn it is, clocks, offers, and the worker that thinks. */
export class Duel {
  readonly session: GameSession;
  readonly side: Side;
  readonly setup: Setup;
  readonly clock: ChessClock | undefined;
  #engine: EngineClient;
  /** What the clocks showed at the start, in seconds. */
  #base = 0;
  /** Every change of plan ends the thinking that belongs to an older one. */
  #plan = 0;
  #keeping: ReturnType<typeof setInterval> | undefined;
  #lastThought: Thought | undefined;
  /** A search is under way that is not worth waiting for once its answer is not wanted. */
  #longThought = false;

  thinking = $state(false);
  /** How far the opponent's network has been fetched, 0 to 1. */
  loading = $state<number>();
  /** Why the opponent cannot move. */
  problem = $state<string>();
  /** The visitor's clock stands still until they move or go on: the page was reloaded. */
  paused = $state(false);
  /** The opponent offers a draw. */
  offered = $state(false);
  /** The visitor has offered a draw since their last move. */
  asked = $state(false);
  hint = $state.raw<BoardShape[]>([]);
  hinting = $state(false);

  constructor(rules: Rules, engine: EngineClient, start: { tree?: GameTree; side: Side; setup: Setup; left?: KeptGame['left'] }) {
    this.#engine = engine;
    this.side = start.side;
    this.setup = start.setup;
    this.session = new GameSession(rules, start.tree ?? new rules.GameTree());
    const { base, increment, label } = rules.timeControl(start.setup.timeControl);
    if (label !== 'untimed') {
      this.#base = base;
      this.clock = new ChessClock(start.left ?? { white: base, black: base }, increment, (side) => this.#flag(side));
    }
    if (!start.tree || this.live === 0) this.#head();
  }

  /** Node of the last move that was played; 0 before the first. Going through the moves does not change it. */
  get live(): number {
    return this.session.view.nodes.findLast((node) => node.mainline)?.id ?? 0;
  }

  get plies(): number {
    return this.session.view.nodes.findLast((node) => node.mainline)?.ply ?? 0;
  }

  /** Whether the board shows the position that is played. */
  get atLive(): boolean {
    return this.session.view.current === this.live;
  }

  get turn(): Side {
    return numbered(this.session.view.startFen, this.plies + 1).white ? 'white' : 'black';
  }

  get over(): boolean {
    return this.session.view.status.over;
  }

  /** Begins, or goes on after a reload. */
  begin(): void {
    void this.#fetch().catch(() => {});
    if (this.clock) this.#keeping = setInterval(() => this.clock?.running && this.keep(), KEEP_EVERY);
    if (this.over) return;
    if (this.turn !== this.side) void this.#think();
    this.paused = this.clock !== undefined && this.plies >= 2;
  }

  /** Ends everything that runs; the game stays kept. */
  end(): void {
    if (!this.over) this.keep();
    this.#change();
    this.clock?.stop();
    clearInterval(this.#keeping);
  }

  keep(): void {
    const left = this.clock && { white: this.clock.left('white'), black: this.clock.left('black') };
    const pgn = this.session.ask((tree) => tree.pgn());
    keepGame({ pgn, side: this.side, setup: this.setup, ...(left ? { left } : {}) });
  }

  /** The visitor moves. */
  move(uci: string): void {
    if (this.over || this.turn !== this.side || !this.atLive) return;
    this.paused = false;
    this.asked = false;
    this.#moved(this.side, this.session.play(uci));
  }

  /** Lets the clock run again after a reload. */
  resume(): void {
    this.paused = false;
    if (!this.over && this.turn === this.side) this.#run(this.side);
  }

  /** How many half-moves a takeback takes: back to the visitor's last turn. */
  get takebackPlies(): number {
    const back = this.turn === this.side ? 2 : 1;
    return this.plies >= back ? back : 0;
  }

  takeBack(): void {
    const plies = this.takebackPlies;
    if (!plies) return;
    this.#change();
    this.paused = false;
    this.session.change((tree) => tree.takeBack(plies));
    this.clock?.set({ white: this.#clockOf('white'), black: this.#clockOf('black') });
    announce('taken back');
    this.keep();
    if (this.turn === this.side) this.#run(this.side);
    else void this.#think();
  }

  resign(): void {
    this.#finish((tree) => (this.plies < 2 ? tree.abort() : tree.resign(this.side)));
  }

  claimDraw(): void {
    this.#finish((tree) => {
      tree.go(this.live);
      tree.claimDraw();
    });
  }

  acceptDraw(): void {
    this.#finish((tree) => tree.agreeDraw());
  }

  declineDraw(): void {
    this.offered = false;
  }

  /** Offers a draw; returns whether the opponent accepts. */
  offerDraw(): boolean {
    this.asked = true;
    const accepts = this.#acceptsDraw();
    if (accepts) this.#finish((tree) => tree.agreeDraw());
    return accepts;
  }

  /** Shows a good or a likely move as an arrow, as the settings say. Throws what goes wrong. */
  async showHint(): Promise<void> {
    const plan = this.#plan;
    this.hinting = true;
    try {
      const arrow = await this.#findHint();
      if (plan === this.#plan && arrow) {
        this.hint = [arrow];
        announce(`hint: ${arrow.from} to ${arrow.to}`);
      }
    } finally {
      this.hinting = false;
    }
  }

  async #findHint(): Promise<BoardShape | undefined> {
    if (settings.current.hints === 'human') {
      await this.#engine.ensure('human');
      const rating = this.setup.rating ?? ratingOf(this.setup.opponent) ?? null;
      const [view] = await this.#engine.call('human', 'human', this.#input(), [rating]);
      const likely = view?.moves[0];
      return likely && { ...squares(likely.uci), brush: 'human', label: `${Math.round(likely.probability * 100)}%` };
    }
    await this.#engine.ensure('value');
    const thought = await this.#engine.call('choose', HINT_SPEC, this.#input(), { movetime: 0.4 });
    return { ...squares(thought.uci), brush: 'engine' };
  }

  async #think(): Promise<void> {
    const plan = this.#plan;
    const current = () => plan === this.#plan;
    this.thinking = true;
    this.problem = undefined;
    try {
      await this.#fetch();
      if (!current()) return;
      this.#run(other(this.side));
      const began = performance.now();
      const { opponent } = this.setup;
      const left = this.clock && { left: this.clock.left(other(this.side)), increment: this.clock.increment };
      const limits = limitsOf(opponent, left);
      this.#longThought = (limits.movetime ?? 0) > WORTH_WAITING;
      const thought = await this.#engine.call('choose', specOf(opponent), this.#input(), limits);
      if (!current()) return;
      this.#longThought = false;
      const pause = this.clock ? thought.pause : Math.min(thought.pause, UNTIMED_PAUSE);
      const wait = settings.current.instant ? 0 : pause * 1000 - (performance.now() - began);
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      if (!current()) return;
      this.#answer(thought);
    } catch (error) {
      if (!current()) return;
      this.thinking = false;
      this.clock?.stop();
      this.problem = `${nameOf(this.setup.opponent)} cannot move: ${sentence(error)}`;
    }
  }

  #answer(thought: Thought): void {
    this.thinking = false;
    this.#lastThought = thought;
    const { manners } = settings.current;
    if (manners && thought.resigns) return this.#finish((tree) => tree.resign(other(this.side)));
    const id = this.session.change((tree) => {
      // The visitor may be looking at an earlier move.
      tree.go(this.live);
      return tree.play(thought.uci);
    });
    this.#moved(other(this.side), id);
    this.offered = manners && thought.offersDraw && !this.over;
  }

  /** Tries again after the opponent could not move. */
  retry(): void {
    if (!this.over && this.turn !== this.side && !this.thinking) void this.#think();
  }

  #moved(mover: Side, id: number): void {
    this.#change();
    if (this.clock) {
      const left = this.clock.press(mover);
      this.session.change((tree) => tree.setClock(id, left));
    }
    if (this.over) this.#done();
    else if (mover === this.side) void this.#think();
    else if (!this.paused) this.#run(this.side);
    this.keep();
  }

  /** Lets a side's clock run: not before both have made a move. */
  #run(side: Side): void {
    if (this.plies >= 2 && !this.over) this.clock?.start(side);
  }

  #flag(side: Side): void {
    this.#finish((tree) => tree.flagFalls(side));
  }

  #finish(ending: (tree: GameTree) => void): void {
    if (this.over) return;
    this.#change();
    this.session.change(ending);
    this.#done();
    this.keep();
  }

  #done(): void {
    this.clock?.stop();
    this.paused = false;
    const { result, reason } = this.session.view.status;
    announce(`game over: ${result}, ${reason}`);
  }

  /** What was thought, shown and offered before belongs to the past. */
  #change(): void {
    this.#plan++;
    this.thinking = false;
    this.offered = false;
    this.hint = [];
    // A search cannot be told to stop, so a long one ends with its worker; the next call makes a new one.
    if (this.#longThought) this.#engine.close();
    this.#longThought = false;
  }

  #acceptsDraw(): boolean {
    return settings.current.manners && (this.#lastThought?.acceptsDraw ?? false);
  }

  async #fetch(): Promise<void> {
    const { opponent } = this.setup;
    if (opponent.kind === 'file' && heldFile()?.name !== opponent.file)
      throw new Error(`the file ${opponent.file} is not open any more; drop it on the page again to play on`);
    for (const name of needsOf(opponent)) {
      try {
        await this.#engine.ensure(name, (loaded, total) => (this.loading = total ? loaded / total : 0));
      } finally {
        this.loading = undefined;
      }
    }
  }

  /** The game up to the live move, as players see it. */
  #input(): GameInput {
    const { view } = this.session;
    const line = view.nodes.filter((node) => node.mainline);
    const theirs = ratingOf(this.setup.opponent);
    const mine = this.setup.rating ?? theirs;
    const seat = (side: Side) => ({
      ...optional('rating', side === this.side ? mine : theirs),
      ...optional('remaining', this.clock?.left(side)),
    });
    return {
      startFen: view.startFen,
      moves: line.map((node) => node.uci),
      clocks: line.map((node) => node.clock ?? null),
      white: seat('white'),
      black: seat('black'),
      timeControl: this.setup.timeControl,
      pool: 'online',
    };
  }

  /** What a side's clock showed after its last move. */
  #clockOf(side: Side): number {
    const { nodes, startFen } = this.session.view;
    const last = nodes.findLast((node) => node.mainline && numbered(startFen, node.ply).white === (side === 'white'));
    return last?.clock ?? this.#base;
  }

  /** Says in the headers who plays, so that the PGN does. */
  #head(): void {
    const { opponent, timeControl, rating } = this.setup;
    const [mine, theirs] = this.side === 'white' ? ['White', 'Black'] : ['Black', 'White'];
    const { base, increment, label } = this.session.rules.timeControl(timeControl);
    const headers: [string, string | undefined][] = [
      ['Event', 'Game on the Tabia page'],
      ['Date', new Date().toISOString().slice(0, 10).replaceAll('-', '.')],
      [mine!, 'You'],
      [theirs!, nameOf(opponent)],
      [`${mine}Elo`, rating?.toString()],
      [`${theirs}Elo`, ratingOf(opponent)?.toString()],
      ['TimeControl', label === 'untimed' ? '-' : `${base}+${increment}`],
    ];
    this.session.change((tree) => {
      for (const [name, value] of headers) if (value) tree.setHeader(name, value);
    });
  }
}

function squares(uci: string): { from: string; to: string } {
  return { from: uci.slice(0, 2), to: uci.slice(2, 4) };
}

function optional<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>);
}
