import type { MoveNode } from '../wasm/tabia.js';

/** A move with the other moves that could have been played instead of it, each a line of its own. */
export interface Step {
  node: MoveNode;
  instead: Step[][];
}

/** The tree of moves as a main line with variations hanging from its moves, in the order they are read. */
export function asLines(nodes: readonly MoveNode[]): Step[] {
  const children = new Map<number, MoveNode[]>();
  for (const node of nodes) {
    if (node.id === 0) continue;
    const parent = node.parent ?? 0;
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  return lineAfter(0, children);
}

/** The line that goes on after a node: its first child (the main one, where there is one), that one's first child, ... */
function lineAfter(id: number, children: Map<number, MoveNode[]>): Step[] {
  const line: Step[] = [];
  for (let at = id; ; ) {
    const moves = children.get(at);
    if (!moves) return line;
    const next = moves.find((node) => node.mainline) ?? moves[0]!;
    const instead = moves
      .filter((node) => node !== next)
      .map((node) => [{ node, instead: [] }, ...lineAfter(node.id, children)]);
    line.push({ node: next, instead });
    at = next.id;
  }
}

/** The number a move carries and who makes it, from where the game began. */
export function numbered(startFen: string, ply: number): { number: number; white: boolean } {
  const fields = startFen.split(' ');
  const first = Number(fields[5] ?? 1) || 1;
  const half = (fields[1] === 'b' ? 1 : 0) + ply - 1;
  return { number: first + Math.floor(half / 2), white: half % 2 === 0 };
}
