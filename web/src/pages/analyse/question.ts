import type { GameSession } from '../../game/session.svelte';
import type { GameInput, MoveNode } from '../../wasm/tabia.js';

/** The position looked at with all that led to it, played by two people of a rating. */
export function questionHere(session: GameSession, rating: number | null): GameInput {
  const { moves, clocks } = session.ask((tree) => ({ moves: tree.moves(), clocks: tree.clocks() }));
  return question(session, moves, clocks, rating);
}

/** The whole main line. */
export function questionOfGame(session: GameSession, rating: number | null): GameInput {
  const line = mainline(session.view.nodes);
  return question(
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

function question(session: GameSession, moves: string[], clocks: (number | null)[], rating: number | null): GameInput {
  const seat = rating === null ? {} : { rating };
  const timeControl = knownTimeControl(session);
  return {
    startFen: session.view.startFen,
    moves,
    white: seat,
    black: seat,
    ...(timeControl ? { timeControl, clocks } : {}),
  };
}

/** The time control of the headers, where it is one that players can be told about. */
function knownTimeControl(session: GameSession): string | undefined {
  const written = session.view.headers.find(([name]) => name === 'TimeControl')?.[1];
  if (!written) return undefined;
  try {
    return session.rules.timeControl(written).base > 0 ? written : undefined;
  } catch {
    // Several periods, hourglasses, or nonsense: people are asked without a clock.
    return undefined;
  }
}
