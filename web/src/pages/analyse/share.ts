import type { Rules } from '../../engine/wasm';
import { firstGame } from '../../game/pgn';
import type { GameSession } from '../../game/session.svelte';
import type { GameTree } from '../../wasm/tabia.js';

export const START_FEN = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';

/** Some programs truncate longer links. */
const MAX_LINK_LENGTH = 6000;

/** The query of a link to the current line: its start position, moves and current ply. */
export function sharedQuery(session: GameSession): Record<string, string> {
  const { startFen, nodes, current, ply } = session.view;
  let end = current;
  for (let next: number | undefined = current; next !== undefined; ) {
    end = next;
    next = nodes.find((node) => (node.parent ?? 0) === next && node.id !== 0)?.id;
  }
  const moves = session.read((tree) => tree.movesTo(end));
  const query = {
    ...(startFen === START_FEN ? {} : { fen: startFen }),
    ...(moves.length ? { moves: moves.join('-') } : {}),
    ...(moves.length !== ply ? { ply: String(ply) } : {}),
  };
  return JSON.stringify(query).length > MAX_LINK_LENGTH ? { fen: session.view.fen } : query;
}

/** The game of a link, or undefined if it has none. Throws if it is invalid. */
export function treeFromLink(rules: Rules, query: URLSearchParams): GameTree | undefined {
  const pgn = query.get('pgn');
  if (pgn) {
    const tree = firstGame(rules, pgn);
    tree.toEnd();
    return tree;
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
