import { moveNumber, numberedMove } from '../../board/moves';
import type { Mark } from '../../board/MoveList.svelte';
import { otherSide } from '../../board/squares';
import { sharedEngine, type EngineClient } from '../../engine/client';
import type { Rules } from '../../engine/wasm';
import { firstGame } from '../../game/pgn';
import { GameReview, gameKey, storedReview, type Reviewed } from '../../game/review.svelte';
import { GameSession } from '../../game/session.svelte';
import type { Score } from '../../lib/format';
import { RATINGS } from '../../players/roles';
import type { GameTree, MoveNode, ReviewedMove, Side } from '../../wasm/tabia.js';
import { Difficulty } from './difficulty.svelte';
import { EngineAnalysis } from './engineAnalysis.svelte';
import { mainline, mainlineInput, poolOf } from './gameInput';
import type { GraphPoint } from './GameGraph.svelte';
import { HumanMoves } from './humanMoves.svelte';
import { marksOf, nagsAfterReview } from './marks';
import { loadAnalysis, loadPrevious, saveAnalysis, savePrevious, type SavedAnalysis } from './savedAnalysis';
import { treeFromLink } from './share';

/** Slope of the logistic win probability per centipawn, as in reviews. */
const WIN_SLOPE = 0.003_682_08;

/** White's win probability, for scores without one. */
function winProbability({ cp, mate }: Score): number | undefined {
  if (mate != null) return mate > 0 ? 1 : 0;
  return cp == null ? undefined : 1 / (1 + Math.exp(-WIN_SLOPE * cp));
}

/** A game with variations, and what the engine and the networks say about it. */
export class Analysis {
  readonly session: GameSession;
  readonly humans = new HumanMoves(sharedEngine());
  readonly engineAnalysis = new EngineAnalysis();
  readonly difficulty = new Difficulty(this.engineAnalysis.client);
  readonly review = new GameReview();
  orientation = $state<Side>('white');
  rating = $state(RATINGS.default);
  engine = $state(false);
  lines = $state(3);
  arrows = $state(true);

  readonly line: MoveNode[] = $derived.by(() => mainline(this.session.view.nodes));
  readonly node: MoveNode | undefined = $derived.by(() =>
    this.session.view.nodes.find(({ id }) => id !== 0 && id === this.session.view.current),
  );
  /** The review, if it is of the current game. */
  readonly reviewed: Reviewed | undefined = $derived.by(() => {
    const { result } = this.review;
    const { startFen } = this.session.view;
    return result && result.line === gameKey({ startFen, moves: this.line.map(({ uci }) => uci) }) ? result : undefined;
  });
  readonly reviewedById: Map<number, ReviewedMove> = $derived.by(() => {
    const found = new Map<number, ReviewedMove>();
    for (const move of this.reviewed?.moves ?? []) {
      const node = this.line[move.ply - 1];
      if (node) found.set(node.id, move);
    }
    return found;
  });
  readonly marks: Map<number, Mark> = $derived.by(() => marksOf(this.session.view.nodes, this.reviewedById));
  readonly points: GraphPoint[] = $derived.by(() => this.#points());
  /** The current ply of the main line; in a variation, the ply where it starts. */
  readonly mainlinePly: number = $derived.by(() => {
    let node = this.node;
    while (node && !node.mainline) node = this.#nodeOf(node.parent ?? 0);
    return node?.ply ?? 0;
  });
  /** The first move of the current variation; undefined in the main line. */
  readonly variation: MoveNode | undefined = $derived.by(() => {
    for (let node = this.node; node; node = this.#nodeOf(node.parent ?? 0)) {
      const { parent } = node;
      if (this.session.view.nodes.find((other) => other.id !== 0 && other.parent === parent) !== node) return node;
    }
    return undefined;
  });
  /** The players' names and ratings, or just the colours. */
  readonly players: { white: string; black: string } = $derived.by(() => ({
    white: this.#named('White'),
    black: this.#named('Black'),
  }));
  /** Whether there are no legal moves. */
  readonly over: boolean = $derived.by(() => Object.keys(this.session.view.destinations).length === 0);

  /** Restores the saved analysis. */
  constructor(rules: Rules) {
    const saved = loadAnalysis();
    this.session = new GameSession(rules);
    this.orientation = saved.orientation ?? this.orientation;
    this.rating = saved.rating ?? this.rating;
    this.engine = saved.engine ?? this.engine;
    this.lines = saved.lines ?? this.lines;
    this.arrows = saved.arrows ?? this.arrows;
    if (saved.pgn === undefined) return;
    const tree = this.#fromPgn(saved.pgn);
    if (!tree) return;
    tree.toStart();
    try {
      for (const move of saved.at ?? []) tree.play(move);
    } catch {
      // The game is there; only the current move is lost.
    }
    this.session.replace(tree);
    this.review.result = saved.review;
  }

  /** Shows another game; the previous one can be restored. */
  replace(tree: GameTree): void {
    if (this.session.view.nodes.some(({ id }) => id !== 0)) savePrevious(this.session.read((previous) => previous.pgn()));
    this.review.clear();
    this.engineAnalysis.clear();
    this.session.replace(tree);
  }

  /** Opens one of the player's games with its review, at a ply. */
  async openStored(key: string, ply: number): Promise<void> {
    const { loadStoredGame } = await import('../../practice/games/storedGame');
    const { tree, side, rating, moves, summary } = await loadStoredGame(key, this.session.rules);
    tree.toStart();
    for (let at = 0; at < ply && tree.forward(); at++);
    this.replace(tree);
    this.orientation = side ?? this.orientation;
    if (rating !== undefined) this.rating = Math.min(RATINGS.max, Math.max(RATINGS.min, rating));
    if (moves.length === 0) return;
    const { startFen } = this.session.view;
    const line = gameKey({ startFen, moves: this.line.map(({ uci }) => uci) });
    this.review.result = { line, rating: rating ?? null, moves, ...(summary && { summary }) };
    for (const move of moves) this.#annotate(this.line[move.ply - 1], move);
  }

  /** Opens the game of a link, if it has one. Throws if it is invalid. */
  openLink(query: URLSearchParams): boolean {
    const tree = treeFromLink(this.session.rules, query);
    if (tree) {
      this.replace(tree);
      this.#useStoredReview();
    }
    const side = query.get('side');
    if (side === 'white' || side === 'black') this.orientation = side;
    return tree !== undefined;
  }

  /** Restores the previous game; returns false if there is none. */
  restorePrevious(): boolean {
    const pgn = loadPrevious();
    const tree = pgn === undefined ? undefined : this.#fromPgn(pgn);
    if (tree) this.replace(tree);
    return tree !== undefined;
  }

  get toSave(): SavedAnalysis {
    const { session, orientation, rating, engine, lines, arrows, review } = this;
    // Makes effects that read this depend on the game.
    void session.view;
    const { pgn, at } = session.read((tree) => ({ pgn: tree.pgn(), at: tree.moves() }));
    return { pgn, at, orientation, rating, engine, lines, arrows, review: review.running ? undefined : review.result };
  }

  save(): void {
    saveAnalysis(this.toSave);
  }

  play(moves: readonly string[]): void {
    this.session.change((tree) => {
      for (const move of moves) tree.play(move);
    });
  }

  flip(): void {
    this.orientation = otherSide(this.orientation);
  }

  moverOf = (ply: number): Side => (moveNumber(this.session.view.startFen, ply).white ? 'white' : 'black');

  /** Reviews the main line and adds evaluations and annotations to it. */
  async reviewGame(secondsPerMove: number): Promise<boolean> {
    this.engineAnalysis.stop();
    const ids = this.line.map(({ id }) => id);
    const { session, rating } = this;
    const game = { ...mainlineInput(session, rating), ...poolOf(session) };
    const loadNetwork = (client: EngineClient) => this.humans.loadInto(client);
    return this.review.run(this.engineAnalysis.client, loadNetwork, game, rating, secondsPerMove, (move) => {
      const id = ids[move.ply - 1];
      this.#annotate(id === undefined ? undefined : this.#nodeOf(id), move);
    });
  }

  /** Adds the evaluation and the annotation of a reviewed move to the game. */
  #annotate(node: MoveNode | undefined, { uci, after: { cp, mate }, mark }: ReviewedMove): void {
    // The move may have been deleted meanwhile.
    if (!node || node.uci !== uci) return;
    this.session.change((tree) => {
      if (mate) tree.setEvaluation(node.id, undefined, mate);
      else if (cp !== undefined && cp !== null) tree.setEvaluation(node.id, cp);
      tree.setNags(node.id, nagsAfterReview(node.nags, mark));
    });
  }

  /** Shows the review of the game that was made after it was played. */
  #useStoredReview(): void {
    const { line } = this;
    const stored = storedReview({ startFen: this.session.view.startFen, moves: line.map(({ uci }) => uci) });
    if (!stored) return;
    this.review.result = stored;
    for (const move of stored.moves) this.#annotate(line[move.ply - 1], move);
  }

  #named(side: 'White' | 'Black'): string {
    const headers = new Map(this.session.view.headers);
    const [name, rating] = [headers.get(side), headers.get(`${side}Elo`)];
    if (!name || name === '?') return side;
    return rating && rating !== '?' && !name.endsWith(` ${rating}`) ? `${name} (${rating})` : name;
  }

  #nodeOf(id: number): MoveNode | undefined {
    return id === 0 ? undefined : this.session.view.nodes.find((node) => node.id === id);
  }

  #points(): GraphPoint[] {
    const { startFen } = this.session.view;
    const first = this.reviewedById.get(this.line[0]?.id ?? -1);
    const forWhite = (ply: number, forMover: number) => (this.moverOf(ply) === 'white' ? forMover : 1 - forMover);
    const winAfter = (node: MoveNode) => {
      const reviewed = this.reviewedById.get(node.id);
      if (reviewed) return forWhite(node.ply, reviewed.winAfter);
      return node.san.endsWith('#') ? forWhite(node.ply, 1) : node.evaluation && winProbability(node.evaluation);
    };
    return [
      { id: 0, ply: 0, name: 'Start', win: first && forWhite(1, first.winBefore) },
      ...this.line.map((node) => ({
        id: node.id,
        ply: node.ply,
        name: numberedMove(startFen, node.ply, node.san),
        win: winAfter(node),
        errs: this.reviewedById.get(node.id)?.errs,
        white: this.moverOf(node.ply) === 'white',
        mark: this.marks.get(node.id),
      })),
    ];
  }

  #fromPgn(pgn: string): GameTree | undefined {
    try {
      return firstGame(this.session.rules, pgn);
    } catch {
      return undefined;
    }
  }
}
