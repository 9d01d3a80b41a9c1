import type { Rules } from '../engine/wasm';
import type { GameTree, GameView } from '../wasm/tabia.js';
import { firstGame } from './pgn';

/** A game tree and a reactive view of it. Every change goes through `change`, which updates the view. */
export class GameSession {
  readonly rules: Rules;
  #tree: GameTree;
  view = $state.raw() as GameView;

  /** Takes ownership of the tree. */
  constructor(rules: Rules, tree: GameTree = new rules.GameTree()) {
    this.rules = rules;
    this.#tree = tree;
    this.view = tree.view();
  }

  /** Runs an action on the tree and updates the view. */
  change<T>(action: (tree: GameTree) => T): T {
    try {
      return action(this.#tree);
    } finally {
      this.view = this.#tree.view();
    }
  }

  /** Reads from the tree without changing it. */
  read<T>(query: (tree: GameTree) => T): T {
    return query(this.#tree);
  }

  replace(tree: GameTree): void {
    this.#tree.free();
    this.#tree = tree;
    this.view = tree.view();
  }

  go = (id: number) => this.change((tree) => tree.go(id));
  back = () => this.change((tree) => tree.back());
  forward = () => this.change((tree) => tree.forward());
  toStart = () => this.change((tree) => tree.toStart());
  toEnd = () => this.change((tree) => tree.toEnd());
  sibling = (step: number) => this.change((tree) => tree.sibling(step));
  play = (uci: string) => this.change((tree) => tree.play(uci));
  needsPromotion = (from: string, to: string) => this.#tree.needsPromotion(from, to);

  /** Parses a legal move in SAN or UCI notation; undefined if it is none. */
  parse = (text: string): string | undefined => {
    const { fen, destinations } = this.view;
    const uci = text.toLowerCase().match(/^([a-h][1-8])-?([a-h][1-8])([qrbn]?)$/);
    if (uci) {
      const [, from = '', to = '', promotion = ''] = uci;
      if (!destinations[from]?.includes(to)) return undefined;
      return from + to + (this.needsPromotion(from, to) ? promotion || 'q' : '');
    }
    // SAN is parsed as a PGN of one move from the current position.
    const san = text.replace(/^[0o]-[0o](-[0o])?/i, (_, long: string | undefined) => (long ? 'O-O-O' : 'O-O'));
    try {
      const tree = firstGame(this.rules, `[SetUp "1"]\n[FEN "${fen}"]\n\n${san.replace(/[^\w+#=-]/g, '')} *\n`);
      tree.toEnd();
      const move = tree.moves()[0];
      tree.free();
      return move;
    } catch {
      return undefined;
    }
  };
}
