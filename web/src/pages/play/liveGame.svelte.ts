import { moveNumber } from '../../board/moves';
import type { BoardShape } from '../../board/shapes';
import { otherSide, sideName, squaresOf } from '../../board/squares';
import type { EngineClient } from '../../engine/client';
import type { Rules } from '../../engine/wasm';
import { GameSession } from '../../game/session.svelte';
import { announce } from '../../lib/announce.svelte';
import { errorMessage } from '../../lib/notices.svelte';
import { bundledModels } from '../../players/roles';
import type { GameInput, GameTree, Side, Thought } from '../../wasm/tabia.js';
import { ChessClock } from './clock.svelte';
import { modelFile } from './modelFile.svelte';
import { startTree } from './odds';
import { opponentLimits, opponentName, opponentRating, opponentSpec } from './opponent';
import { saveGame, type SavedGame } from './savedGame';
import { settings, type Setup } from './settings.svelte';

/** Not the opponent's spec, so that the two do not share a hash table. */
const HINT_SPEC = 'engine,hash=16';
/** The longest thinking time of a human-like opponent without a clock, in seconds. */
const MAX_UNTIMED_PAUSE = 8;
/** A cancelled search longer than this is ended by terminating the worker. */
const LONG_SEARCH_SECONDS = 2;
const SAVE_INTERVAL_MS = 2000;

/** A game between the visitor and an opponent, with clocks and draw offers. */
export class LiveGame {
  readonly session: GameSession;
  readonly side: Side;
  readonly setup: Setup;
  readonly clock: ChessClock | undefined;
  #engine: EngineClient;
  /** Initial times in seconds. */
  #base: Record<Side, number> = { white: 0, black: 0 };
  /** Incremented to cancel the running search and hint. */
  #epoch = 0;
  #saveTimer: ReturnType<typeof setInterval> | undefined;
  #lastThought: Thought | undefined;
  /** Whether a search is running that takes too long to wait for after it was cancelled. */
  #longSearch = false;

  thinking = $state(false);
  /** Progress of the download of the opponent's network, 0 to 1. */
  loading = $state<number>();
  /** Why the opponent cannot move. */
  problem = $state<string>();
  /** After a reload the visitor's clock is paused until they move or resume. */
  paused = $state(false);
  /** The opponent offers a draw. */
  drawOffered = $state(false);
  /** The visitor has offered a draw since their last move. */
  drawOfferedByMe = $state(false);
  hint = $state.raw<BoardShape[]>([]);
  hinting = $state(false);
  /** The opponent waits, as after a move that left the repertoire. */
  held = $state(false);
  /** Asked after each move of the visitor: whether the opponent waits. */
  holds: () => boolean = () => false;

  constructor(rules: Rules, engine: EngineClient, start: { tree?: GameTree; side: Side; setup: Setup; left?: SavedGame['left'] }) {
    this.#engine = engine;
    this.side = start.side;
    this.setup = start.setup;
    this.session = new GameSession(rules, start.tree ?? startTree(rules, start.setup, start.side));
    const mine = rules.timeControl(start.setup.timeControl);
    const theirs = rules.timeControl(this.#theirTime);
    if (mine.label !== 'untimed') {
      const bySide = <T>(own: T, other: T) => (this.side === 'white' ? { white: own, black: other } : { white: other, black: own });
      this.#base = bySide(mine.base, theirs.base);
      this.clock = new ChessClock(start.left ?? this.#base, bySide(mine.increment, theirs.increment), (side) => this.#flag(side));
    }
    if (!start.tree || this.live === 0) this.#setHeaders();
  }

  /** The opponent's time control. */
  get #theirTime(): string {
    const { timeControl, opponentTime } = this.setup;
    return timeControl === 'untimed' ? timeControl : (opponentTime ?? timeControl);
  }

  /** The moves made before the game began, as of an opening. */
  get #given(): number {
    return this.setup.practice?.moves.length ?? 0;
  }

  /** The node of the last move of the game, whichever is shown; 0 before the first. */
  get live(): number {
    return this.session.view.nodes.findLast((node) => node.mainline)?.id ?? 0;
  }

  get plies(): number {
    return this.session.view.nodes.findLast((node) => node.mainline)?.ply ?? 0;
  }

  /** Whether the board shows the current position of the game. */
  get atLive(): boolean {
    return this.session.view.current === this.live;
  }

  get turn(): Side {
    return moveNumber(this.session.view.startFen, this.plies + 1).white ? 'white' : 'black';
  }

  get over(): boolean {
    return this.session.view.status.over;
  }

  /** Starts the game, or continues it after a reload. */
  begin(): void {
    void this.#loadModels().catch(() => {});
    if (this.clock) this.#saveTimer = setInterval(() => this.clock?.running && this.save(), SAVE_INTERVAL_MS);
    if (this.over) return;
    if (this.turn !== this.side) void this.#think();
    this.paused = this.clock !== undefined && this.plies >= this.#given + 2;
  }

  /** Stops the search and the clocks, and saves the game. */
  end(): void {
    if (!this.over) this.save();
    this.#cancel();
    this.clock?.stop();
    clearInterval(this.#saveTimer);
  }

  save(): void {
    const left = this.clock && { white: this.clock.left('white'), black: this.clock.left('black') };
    const pgn = this.session.read((tree) => tree.pgn());
    saveGame({ pgn, side: this.side, setup: this.setup, ...(left ? { left } : {}) });
  }

  /** Plays the visitor's move. */
  move(uci: string): void {
    if (this.over || this.turn !== this.side || !this.atLive) return;
    this.paused = false;
    this.drawOfferedByMe = false;
    this.#moved(this.side, this.session.play(uci));
  }

  /** Restarts the visitor's clock after a reload. */
  resume(): void {
    this.paused = false;
    if (!this.over && this.turn === this.side) this.#startClock(this.side);
  }

  /** The plies of a takeback: back to the visitor's last turn. */
  get takebackPlies(): number {
    const back = this.turn === this.side ? 2 : 1;
    return this.plies - this.#given >= back ? back : 0;
  }

  takeBack(): void {
    const plies = this.takebackPlies;
    if (!plies) return;
    this.#cancel();
    this.paused = false;
    this.held = false;
    this.session.change((tree) => tree.takeBack(plies));
    this.clock?.set({ white: this.#clockOf('white'), black: this.#clockOf('black') });
    announce('move taken back');
    this.save();
    if (this.turn === this.side) this.#startClock(this.side);
    else void this.#think();
  }

  /** Lets the opponent move that waits. */
  goOn(): void {
    if (!this.held) return;
    this.held = false;
    if (!this.over && this.turn !== this.side) void this.#think();
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
    this.drawOffered = false;
  }

  /** Offers a draw; returns whether the opponent accepts. */
  offerDraw(): boolean {
    this.drawOfferedByMe = true;
    const accepts = this.#acceptsDraw();
    if (accepts) this.#finish((tree) => tree.agreeDraw());
    return accepts;
  }

  /** Shows the engine's or the most likely human move as an arrow, depending on the settings. */
  async showHint(): Promise<void> {
    const epoch = this.#epoch;
    this.hinting = true;
    try {
      const arrow = await this.#findHint();
      if (epoch === this.#epoch && arrow) {
        this.hint = [arrow];
        announce(`hint: ${arrow.from} to ${arrow.to}`);
      }
    } finally {
      this.hinting = false;
    }
  }

  async #findHint(): Promise<BoardShape | undefined> {
    if (settings.current.hints === 'human') {
      await this.#engine.loadBundled('human');
      const rating = this.setup.rating ?? opponentRating(this.setup.opponent) ?? null;
      const [view] = await this.#engine.call('human', 'human', this.#input(), [rating]);
      const likely = view?.moves[0];
      return likely && { ...squaresOf(likely.uci), brush: 'human', label: `${Math.round(likely.probability * 100)}%` };
    }
    await this.#engine.loadBundled('value');
    const thought = await this.#engine.call('choose', HINT_SPEC, this.#input(), { movetime: 0.4 });
    return { ...squaresOf(thought.uci), brush: 'engine' };
  }

  async #think(): Promise<void> {
    const epoch = this.#epoch;
    const current = () => epoch === this.#epoch;
    const theirSide = otherSide(this.side);
    this.thinking = true;
    this.problem = undefined;
    try {
      await this.#loadModels();
      if (!current()) return;
      this.#startClock(theirSide);
      const started = performance.now();
      const { opponent } = this.setup;
      const clock = this.clock && { left: this.clock.left(theirSide), increment: this.clock.increment[theirSide] };
      const limits = opponentLimits(opponent, clock);
      this.#longSearch = (limits.movetime ?? 0) > LONG_SEARCH_SECONDS;
      const thought = await this.#engine.call('choose', opponentSpec(opponent), this.#input(), limits);
      if (!current()) return;
      this.#longSearch = false;
      const pause = this.clock ? thought.pause : Math.min(thought.pause, MAX_UNTIMED_PAUSE);
      const wait = settings.current.instant ? 0 : pause * 1000 - (performance.now() - started);
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      if (!current()) return;
      this.#reply(thought);
    } catch (error) {
      if (!current()) return;
      this.thinking = false;
      this.clock?.stop();
      this.problem = `${opponentName(this.setup.opponent)} cannot move: ${errorMessage(error)}`;
    }
  }

  #reply(thought: Thought): void {
    this.thinking = false;
    this.#lastThought = thought;
    const humanBehaviour = this.#humanBehaviour;
    if (humanBehaviour && thought.resigns) return this.#finish((tree) => tree.resign(otherSide(this.side)));
    const id = this.session.change((tree) => {
      // An earlier position may be shown.
      tree.go(this.live);
      return tree.play(thought.uci);
    });
    this.#moved(otherSide(this.side), id);
    this.drawOffered = humanBehaviour && thought.offersDraw && !this.over;
  }

  /** Tries again after an error of the opponent. */
  retry(): void {
    if (!this.over && !this.held && this.turn !== this.side && !this.thinking) void this.#think();
  }

  #moved(mover: Side, id: number): void {
    this.#cancel();
    if (this.clock) {
      const left = this.clock.press(mover);
      this.session.change((tree) => tree.setClock(id, left));
    }
    if (this.over) this.#announceResult();
    else if (mover === this.side && this.holds()) this.held = true;
    else if (mover === this.side) void this.#think();
    else if (!this.paused) this.#startClock(this.side);
    this.save();
  }

  /** Starts a side's clock, unless one of the players has not moved yet. */
  #startClock(side: Side): void {
    if (this.plies >= this.#given + 2 && !this.over) this.clock?.start(side);
  }

  #flag(side: Side): void {
    this.#finish((tree) => tree.flagFalls(side));
  }

  #finish(ending: (tree: GameTree) => void): void {
    if (this.over) return;
    this.#cancel();
    this.session.change(ending);
    this.#announceResult();
    this.save();
  }

  #announceResult(): void {
    this.clock?.stop();
    this.paused = false;
    const { result, reason } = this.session.view.status;
    announce(`game over: ${result}, ${reason}`);
  }

  /** Cancels the search, the draw offer and the hint. */
  #cancel(): void {
    this.#epoch++;
    this.thinking = false;
    this.drawOffered = false;
    this.hint = [];
    // A search cannot be interrupted, so a long one is ended with its worker; the next call starts a new one.
    if (this.#longSearch) this.#engine.close();
    this.#longSearch = false;
  }

  /** Whether the opponent may resign, offer and accept draws. A drill is played to its end. */
  get #humanBehaviour(): boolean {
    return settings.current.humanBehaviour && !this.setup.practice?.drill;
  }

  #acceptsDraw(): boolean {
    return this.#humanBehaviour && (this.#lastThought?.acceptsDraw ?? false);
  }

  async #loadModels(): Promise<void> {
    const { opponent } = this.setup;
    if (opponent.kind === 'file' && modelFile()?.fileName !== opponent.file)
      throw new Error(`${opponent.file} is no longer open; drop it on the page to continue`);
    for (const name of bundledModels(opponentSpec(opponent))) {
      try {
        await this.#engine.loadBundled(name, (loaded, total) => (this.loading = total ? loaded / total : 0));
      } finally {
        this.loading = undefined;
      }
    }
  }

  /** The game as input of a player. */
  #input(): GameInput {
    const { view } = this.session;
    const line = view.nodes.filter((node) => node.mainline);
    const theirs = opponentRating(this.setup.opponent);
    const mine = this.setup.rating ?? theirs;
    const player = (side: Side) => ({
      ...optional('rating', side === this.side ? mine : theirs),
      ...optional('remaining', this.clock?.left(side)),
    });
    return {
      startFen: view.startFen,
      moves: line.map((node) => node.uci),
      clocks: line.map((node) => node.clock ?? null),
      white: player('white'),
      black: player('black'),
      // What the mover has counts: the opponent, or the visitor for a hint.
      timeControl: this.turn === this.side ? this.setup.timeControl : this.#theirTime,
      pool: 'online',
    };
  }

  /** A side's clock after its last move. */
  #clockOf(side: Side): number {
    const { nodes, startFen } = this.session.view;
    const last = nodes.findLast((node) => node.mainline && moveNumber(startFen, node.ply).white === (side === 'white'));
    return last?.clock ?? this.#base[side];
  }

  /** Sets the PGN headers. */
  #setHeaders(): void {
    const { opponent, timeControl, rating, practice } = this.setup;
    const [mine, theirs] = [sideName(this.side), sideName(otherSide(this.side))];
    const controlText = (text: string) => {
      const { base, increment, label } = this.session.rules.timeControl(text);
      return label === 'untimed' ? '-' : `${base}+${increment}`;
    };
    const odds = controlText(timeControl) !== controlText(this.#theirTime);
    const headers: [string, string | undefined][] = [
      ['Event', practice?.name ?? 'Tabia game'],
      ['Date', new Date().toISOString().slice(0, 10).replaceAll('-', '.')],
      [mine, 'You'],
      [theirs, opponentName(opponent)],
      [`${mine}Elo`, rating?.toString()],
      [`${theirs}Elo`, opponentRating(opponent)?.toString()],
      ...(odds
        ? ([
            [`${mine}TimeControl`, controlText(timeControl)],
            [`${theirs}TimeControl`, controlText(this.#theirTime)],
          ] satisfies [string, string][])
        : ([['TimeControl', controlText(timeControl)]] satisfies [string, string][])),
    ];
    this.session.change((tree) => {
      for (const [name, value] of headers) if (value) tree.setHeader(name, value);
    });
  }
}

function optional<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  return value === undefined ? {} : ({ [key]: value } as Record<K, V>);
}
