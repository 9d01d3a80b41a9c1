import type { Rules } from '../../engine/load';
import type { ArenaGame } from './match.svelte';

/** One game as PGN, each move with what its player thought of it. */
export function pgnOf(rules: Rules, game: ArenaGame): string {
  const tree = rules.GameTree.fromMoves(
    game.startFen,
    game.moves.map(({ uci }) => uci),
  );
  try {
    tree.setHeader('Event', 'Tabia arena');
    tree.setHeader('Round', String(game.number + 1));
    tree.setHeader('White', game.white);
    tree.setHeader('Black', game.black);
    if (game.opening) tree.setHeader('Opening', game.opening);
    if (game.result) tree.setHeader('Result', game.result);
    const ids = tree.view().nodes.filter(({ mainline, ply }) => mainline && ply > 0);
    for (const { id, ply } of ids) {
      const move = game.moves[ply - 1];
      const said = move?.candidates.find(({ uci }) => uci === move.uci);
      if (said && (said.cp !== undefined || said.mate !== undefined)) tree.setEvaluation(id, said.cp, said.mate, move?.depth);
    }
    return tree.pgn();
  } finally {
    tree.free();
  }
}
