import type { GameSession } from '../../game/session.svelte';
import type { GameInput, MoveNode } from '../../wasm/tabia.js';

/** The current position with its history, as a game between two players of a rating. */
export function inputAtCursor(session: GameSession, rating: number | null): GameInput {
  const { moves, clocks } = session.read((tree) => ({ moves: tree.moves(), clocks: tree.clocks() }));
  return gameInput(session, moves, clocks, rating);
}

/** The whole main line. */
export function mainlineInput(session: GameSession, rating: number | null): GameInput {
  const line = mainline(session.view.nodes);
  return gameInput(
    session,
    line.map((node) => node.uci),
    line.map((node) => node.clock ?? null),
    rating,
  );
}

/** The moves of the main line, in order. */
export function mainline(nodes: readonly MoveNode[]): MoveNode[] {
  return nodes.filter((node) => node.mainline && node.id !== 0).sort((a, b) => a.ply - b.ply);
}

function gameInput(session: GameSession, moves: string[], clocks: (number | null)[], rating: number | null): GameInput {
  const player = rating === null ? {} : { rating };
  const timeControl = supportedTimeControl(session);
  return {
    startFen: session.view.startFen,
    moves,
    white: player,
    black: player,
    ...(timeControl ? { timeControl, clocks } : {}),
  };
}

/** The time control of the PGN headers, if the networks support it. */
function supportedTimeControl(session: GameSession): string | undefined {
  const header = session.view.headers.find(([name]) => name === 'TimeControl')?.[1];
  if (!header) return undefined;
  try {
    return session.rules.timeControl(header).base > 0 ? header : undefined;
  } catch {
    // Several periods, an hourglass, or invalid.
    return undefined;
  }
}

/** The pool of the players' ratings, if the PGN headers tell. */
export function poolOf(session: GameSession): Pick<GameInput, 'pool'> {
  const pool = session.read((tree) => tree.ratingPool());
  return pool === 'unknown' ? {} : { pool };
}
