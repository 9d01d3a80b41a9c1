import type { MoveNode } from '../wasm/tabia.js';

/** A move with the variations that start at it, i.e. replace it. */
export interface Step {
  node: MoveNode;
  variations: Step[][];
}

/** The move tree as a main line with variations. */
export function toLines(nodes: readonly MoveNode[]): Step[] {
  const children = new Map<number, MoveNode[]>();
  for (const node of nodes) {
    if (node.id === 0) continue;
    const parent = node.parent ?? 0;
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  return lineAfter(0, children);
}

/** The line that continues after a node, always with the main or first move. */
function lineAfter(id: number, children: Map<number, MoveNode[]>): Step[] {
  const line: Step[] = [];
  for (let at = id; ; ) {
    const moves = children.get(at);
    if (!moves) return line;
    const next = moves.find((node) => node.mainline) ?? moves[0]!;
    const variations = moves
      .filter((node) => node !== next)
      .map((node) => [{ node, variations: [] }, ...lineAfter(node.id, children)]);
    line.push({ node: next, variations });
    at = next.id;
  }
}

/** The move number of a ply, and whether White makes it. */
export function moveNumber(startFen: string, ply: number): { number: number; white: boolean } {
  const fields = startFen.split(' ');
  const first = Number(fields[5] ?? 1) || 1;
  const half = (fields[1] === 'b' ? 1 : 0) + ply - 1;
  return { number: first + Math.floor(half / 2), white: half % 2 === 0 };
}

/** A move with its number: "12. Nf3" or "12… Nf6". */
export function numberedMove(startFen: string, ply: number, san: string): string {
  const { number, white } = moveNumber(startFen, ply);
  return `${number}${white ? '.' : '…'} ${san}`;
}
