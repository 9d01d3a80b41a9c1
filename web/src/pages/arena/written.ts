import type { Rules } from '../../engine/load';
import { pgnOf } from '../../game/finished';
import type { ArenaGame } from './match.svelte';

/** One game as PGN, each move with what its player thought of it. */
export function written(rules: Rules, game: ArenaGame): string {
  const { startFen, result, moves, white, black, number, opening } = game;
  const headers: [string, string][] = [
    ['Event', 'Tabia arena'],
    ['Round', String(number + 1)],
    ['White', white],
    ['Black', black],
    ['Opening', opening],
  ];
  return pgnOf(rules, { startFen, moves: moves.map(({ uci }) => uci), result, headers }, (tree) => {
    for (const { id, ply, mainline } of tree.view().nodes) {
      const move = moves[ply - 1];
      const said = mainline ? move?.candidates.find(({ uci }) => uci === move.uci) : undefined;
      if (said && (said.cp !== undefined || said.mate !== undefined)) tree.setEvaluation(id, said.cp, said.mate, move?.depth || undefined);
    }
  });
}
