import type { Rules } from '../engine/load';
import type { GameTree, GameView } from '../wasm/tabia.js';

/**
 * One game as the page sees it: the tree that knows the rules, and a view of it that components can watch.
 *
 * Every change goes through `change`, so that the view is never older than the tree.
 */
export class GameSession {
  readonly rules: Rules;
  #tree: GameTree;
  view = $state.raw() as GameView;

  /** Takes the tree over: nobody else may free or change it. */
  constructor(rules: Rules, tree: GameTree = new rules.GameTree()) {
    this.rules = rules;
    this.#tree = tree;
    this.view = tree.view();
  }

  /** Does something to the tree, or asks it something, and looks at it again. Throws what the tree throws. */
  change<T>(action: (tree: GameTree) => T): T {
    try {
      return action(this.#tree);
    } finally {
      this.view = this.#tree.view();
    }
  }

  /** Asks the tree something that changes nothing. */
  ask<T>(question: (tree: GameTree) => T): T {
    return question(this.#tree);
  }

  /** Shows another game. */
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

  /** The legal move that a text in SAN or UCI means at the current position, or undefined. */
  parse = (text: string): string | undefined => {
    const { fen, destinations } = this.view;
    const uci = text.toLowerCase().match(/^([a-h][1-8])-?([a-h][1-8])([qrbn]?)$/);
    if (uci) {
      const [, from = '', to = '', promotion = ''] = uci;
      if (!destinations[from]?.includes(to)) return undefined;
      return from + to + (this.needsPromotion(from, to) ? promotion || 'q' : '');
    }
    // SAN is the business of the PGN reader: let it read a game of one move that begins here.
    const san = text.replace(/^[0o]-[0o](-[0o])?/i, (_, long: string | undefined) => (long ? 'O-O-O' : 'O-O'));
    const one = `[SetUp "1"]\n[FEN "${fen}"]\n\n${san.replace(/[^\w+#=-]/g, '')} *\n`;
    let read;
    try {
      read = this.rules.GameTree.fromPgn(one);
      const tree = read.take(0);
      tree.toEnd();
      const move = tree.moves()[0];
      tree.free();
      return move;
    } catch {
      return undefined;
    } finally {
      read?.free();
    }
  };
}
