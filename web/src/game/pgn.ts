import type { Rules } from '../engine/wasm';
import type { GameTree } from '../wasm/tabia.js';

/** The first game of a PGN. Throws if there is none. */
export function firstGame(rules: Rules, pgn: string): GameTree {
  const games = rules.GameTree.fromPgn(pgn);
  try {
    if (games.games.length === 0) throw new Error(games.problems[0] ?? 'no game found');
    return games.take(0);
  } finally {
    games.free();
  }
}

/** A game that was played by the engine worker. */
interface FinishedGame {
  startFen: string;
  /** In UCI notation. */
  moves: string[];
  /** As in PGN. */
  result: string | undefined;
  headers: [name: string, value: string][];
}

/** A finished game as PGN, after `annotate` has changed it. */
export function toPgn(rules: Rules, game: FinishedGame, annotate: (tree: GameTree) => void = () => {}): string {
  const tree = rules.GameTree.fromMoves(game.startFen, game.moves);
  try {
    for (const [name, value] of game.headers) if (value) tree.setHeader(name, value);
    annotate(tree);
    tree.toEnd();
    // Results that do not follow from the position, such as an adjudication by length.
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
