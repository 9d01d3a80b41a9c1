import { numbered } from '../../board/lines';
import type { Mark } from '../../board/MoveList.svelte';
import type { EngineClient } from '../../engine/client';
import type { Rules } from '../../engine/load';
import { sharedEngine } from '../../engine/shared';
import { GameSession } from '../../game/session.svelte';
import type { GameTree, MoveNode, ReviewedMove, Side } from '../../wasm/tabia.js';
import type { GraphPoint } from './GameGraph.svelte';
import { keepAnalysis, putAside, recallAnalysis, setAside, type Kept } from './kept';
import { Lookout } from './lookout.svelte';
import { judged, marksOf } from './marks';
import { share } from './opinion';
import { People } from './people.svelte';
import { mainline, questionOfGame } from './question';
import { GameReview, lineOf, type Reviewed } from './review.svelte';
import { treeOf } from './share';

/** One analysis: a game with variations, who is asked about it, and what they said. */
export class Analysis {
  readonly session: GameSession;
  readonly people = new People(sharedEngine());
  readonly lookout = new Lookout();
  readonly review = new GameReview();
  orientation = $state<Side>('white');
  rating = $state(1500);
  engine = $state(false);
  lines = $state(3);
  arrows = $state(true);

  readonly line: MoveNode[] = $derived.by(() => mainline(this.session.view.nodes));
  readonly node: MoveNode | undefined = $derived.by(() =>
    this.session.view.nodes.find(({ id }) => id !== 0 && id === this.session.view.current),
  );
  /** The review, if it is one of the game on the board. */
  readonly reviewed: Reviewed | undefined = $derived.by(() => {
    const { result } = this.review;
    const { startFen } = this.session.view;
    return result && result.line === lineOf({ startFen, moves: this.line.map(({ uci }) => uci) }) ? result : undefined;
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
  /** Half-moves of the main line up to what is on the board, or to where its variation begins. */
  readonly mainlinePly: number = $derived.by(() => {
    let node = this.node;
    while (node && !node.mainline) node = this.#nodeOf(node.parent ?? 0);
    return node?.ply ?? 0;
  });
  /** The first move of the variation on the board that is not the first choice where it is played. */
  readonly variation: MoveNode | undefined = $derived.by(() => {
    for (let node = this.node; node; node = this.#nodeOf(node.parent ?? 0)) {
      const { parent } = node;
      if (this.session.view.nodes.find((other) => other.id !== 0 && other.parent === parent) !== node) return node;
    }
    return undefined;
  });
  /** Who played, with their ratings where they are known; else just the colours. */
  readonly players: { white: string; black: string } = $derived.by(() => ({
    white: this.#named('White'),
    black: this.#named('Black'),
  }));
  /** Whether there is no move to make. */
  readonly over: boolean = $derived.by(() => Object.keys(this.session.view.destinations).length === 0);

  /** Goes on with what was kept. */
  constructor(rules: Rules) {
    const kept = recallAnalysis();
    this.session = new GameSession(rules);
    this.orientation = kept.orientation ?? this.orientation;
    this.rating = kept.rating ?? this.rating;
    this.engine = kept.engine ?? this.engine;
    this.lines = kept.lines ?? this.lines;
    this.arrows = kept.arrows ?? this.arrows;
    if (kept.pgn === undefined) return;
    const tree = this.#fromPgn(kept.pgn);
    if (!tree) return;
    tree.toStart();
    try {
      for (const move of kept.at ?? []) tree.play(move);
    } catch {
      // Where it was left is not worth a message: the game is there.
    }
    this.session.replace(tree);
    this.review.result = kept.review;
  }

  /** Shows another game; the one before can be brought back. */
  replace(tree: GameTree): void {
    if (this.session.view.nodes.some(({ id }) => id !== 0)) putAside(this.session.ask((before) => before.pgn()));
    this.review.clear();
    this.lookout.clear();
    this.session.replace(tree);
  }

  /** Shows what a link asks for. Returns whether it asked for something; throws what is wrong with it. */
  follow(query: URLSearchParams): boolean {
    const tree = treeOf(this.session.rules, query);
    if (tree) this.replace(tree);
    const side = query.get('side');
    if (side === 'white' || side === 'black') this.orientation = side;
    return tree !== undefined;
  }

  /** The game that was replaced last, if it can be brought back. */
  bringBack(): boolean {
    const pgn = setAside();
    const tree = pgn === undefined ? undefined : this.#fromPgn(pgn);
    if (tree) this.replace(tree);
    return tree !== undefined;
  }

  get keepable(): Kept {
    const { session, orientation, rating, engine, lines, arrows, review } = this;
    // Read so that whoever watches this hears of every change of the game.
    void session.view;
    const { pgn, at } = session.ask((tree) => ({ pgn: tree.pgn(), at: tree.moves() }));
    return { pgn, at, orientation, rating, engine, lines, arrows, review: review.running ? undefined : review.result };
  }

  keep(): void {
    keepAnalysis(this.keepable);
  }

  /** Plays moves one after the other from what is on the board. */
  play(moves: readonly string[]): void {
    this.session.change((tree) => {
      for (const move of moves) tree.play(move);
    });
  }

  flip(): void {
    this.orientation = this.orientation === 'white' ? 'black' : 'white';
  }

  moverOf = (ply: number): Side => (numbered(this.session.view.startFen, ply).white ? 'white' : 'black');

  /** Reviews the main line, noting evaluations and verdicts in it. */
  async reviewGame(secondsPerMove: number): Promise<boolean> {
    this.lookout.stop();
    const ids = this.line.map(({ id }) => id);
    const { session, rating } = this;
    const lend = (client: EngineClient) => this.people.lend(client);
    return this.review.run(this.lookout.client, lend, questionOfGame(session, rating), rating, secondsPerMove, (move) => {
      const id = ids[move.ply - 1];
      const node = id === undefined ? undefined : this.#nodeOf(id);
      // It may have been deleted meanwhile.
      if (!node || node.uci !== move.uci) return;
      session.change((tree) => {
        const { cp, mate } = move.after;
        if (mate) tree.setEvaluation(node.id, undefined, mate);
        else if (cp !== undefined && cp !== null) tree.setEvaluation(node.id, cp);
        tree.setNags(node.id, judged(node.nags, move.mark));
      });
    });
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
    const chanceOf = (ply: number, forMover: number) => (this.moverOf(ply) === 'white' ? forMover : 1 - forMover);
    const start: GraphPoint = { id: 0, ply: 0, name: 'Start', chance: first && chanceOf(1, first.winBefore) };
    return [
      start,
      ...this.line.map((node): GraphPoint => {
        const { number, white } = numbered(startFen, node.ply);
        const reviewed = this.reviewedById.get(node.id);
        return {
          id: node.id,
          ply: node.ply,
          name: `${number}${white ? '.' : '…'} ${node.san}`,
          chance: reviewed
            ? chanceOf(node.ply, reviewed.winAfter)
            : node.san.endsWith('#')
              ? chanceOf(node.ply, 1)
              : node.evaluation && share(node.evaluation),
          mark: this.marks.get(node.id),
        };
      }),
    ];
  }

  #fromPgn(pgn: string): GameTree | undefined {
    const games = this.session.rules.GameTree.fromPgn(pgn);
    try {
      return games.games.length ? games.take(0) : undefined;
    } finally {
      games.free();
    }
  }
}
