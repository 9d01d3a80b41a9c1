import type { Rules } from '../../engine/load';
import type { GameSession } from '../../game/session.svelte';
import type { GameTree } from '../../wasm/tabia.js';

/** Where games begin unless they say otherwise. */
export const START_FEN = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';

/** Longer links are cut off by what they are sent with. */
const LONGEST = 6000;

/** What a link to the line on the board carries: where it began, its moves and how far they have been played. */
export function sharedQuery(session: GameSession): Record<string, string> {
  const { startFen, nodes, current, ply } = session.view;
  let end = current;
  for (let next: number | undefined = current; next !== undefined; ) {
    end = next;
    next = nodes.find((node) => (node.parent ?? 0) === next && node.id !== 0)?.id;
  }
  const moves = session.ask((tree) => tree.movesTo(end));
  const query = {
    ...(startFen === START_FEN ? {} : { fen: startFen }),
    ...(moves.length ? { moves: moves.join('-') } : {}),
    ...(moves.length !== ply ? { ply: String(ply) } : {}),
  };
  return JSON.stringify(query).length > LONGEST ? { fen: session.view.fen } : query;
}

/** The game a link asks for, or undefined if it asks for none. Throws what is wrong with it. */
export function treeOf(rules: Rules, query: URLSearchParams): GameTree | undefined {
  const pgn = query.get('pgn');
  if (pgn) {
    const games = rules.GameTree.fromPgn(pgn);
    try {
      if (games.games.length === 0) throw new Error(games.problems[0] ?? 'there is no game in it');
      const tree = games.take(0);
      tree.toEnd();
      return tree;
    } finally {
      games.free();
    }
  }
  const fen = query.get('fen')?.replaceAll('_', ' ') ?? undefined;
  const moves = query.get('moves');
  if (fen === undefined && moves === null) return undefined;
  const tree = rules.GameTree.fromMoves(fen, moves?.split(/[^a-z0-9]+/i).filter(Boolean) ?? []);
  const ply = Number(query.get('ply') ?? NaN);
  if (Number.isInteger(ply) && ply >= 0) {
    tree.toStart();
    for (let at = 0; at < ply && tree.forward(); at++);
  }
  return tree;
}
