import type { Rules } from '../engine/load';
import type { GameTree } from '../wasm/tabia.js';

/** A game that was played elsewhere. */
export interface FinishedGame {
  startFen: string;
  /** In UCI notation. */
  moves: string[];
  /** As PGN writes it. */
  result: string | undefined;
  headers: [name: string, value: string][];
}

/** A finished game as PGN; `annotate` may add to it first. */
export function pgnOf(rules: Rules, game: FinishedGame, annotate: (tree: GameTree) => void = () => {}): string {
  const tree = rules.GameTree.fromMoves(game.startFen, game.moves);
  try {
    for (const [name, value] of game.headers) if (value) tree.setHeader(name, value);
    annotate(tree);
    tree.toEnd();
    // The rules do not know of results that were decided otherwise: by length, by a fault.
    if (!tree.view().status.over) {
      if (game.result === '1/2-1/2') tree.agreeDraw();
      else if (game.result === '1-0') tree.resign('black');
      else if (game.result === '0-1') tree.resign('white');
    }
    return tree.pgn();
  } finally {
    tree.free();
  }
}
