import type { DrawBrushes, DrawShape } from '@lichess-org/chessground/draw';

/** An arrow, or with no `to` a ring around a square. */
export interface BoardShape {
  from: string;
  to?: string;
  brush: Brush;
  /** Width of the arrow, 1 (thin) to 16 (a wide band); 10 without. */
  width?: number;
  /** How solid it is, 0 to 1, in tenths; as the brush is without. */
  opacity?: number;
  /** A few characters at the arrow's end, as "42%". */
  label?: string;
}

/** `engine` and `human` are who suggests a move; the others are for the person's own marks and warnings. */
export type Brush = 'engine' | 'human' | 'good' | 'bad' | 'quiet';

const BRUSHES: Record<Brush, { color: string; opacity: number }> = {
  engine: { color: '#2b5d9e', opacity: 1 },
  human: { color: '#b4500f', opacity: 1 },
  good: { color: '#2f7d4f', opacity: 1 },
  bad: { color: '#b3402f', opacity: 1 },
  quiet: { color: '#4a4a4a', opacity: 0.6 },
};

/** Brushes are told apart by name only, so every tenth of opacity has its own. */
const TENTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** Our brushes, with chessground's four names for arrows drawn by hand. */
export function brushes(): DrawBrushes {
  const brush = (key: string, { color, opacity }: { color: string; opacity: number }) => ({ key, color, opacity, lineWidth: 10 });
  const looks = Object.entries(BRUSHES).flatMap(([key, look]) => [
    [key, look] as const,
    ...TENTHS.map((tenth) => [`${key}-${tenth}`, { ...look, opacity: tenth / 10 }] as const),
  ]);
  const named = Object.fromEntries(looks.map(([key, look]) => [key, brush(key, look)]));
  return {
    ...named,
    green: brush('green', BRUSHES.good),
    red: brush('red', BRUSHES.bad),
    blue: brush('blue', BRUSHES.engine),
    yellow: brush('yellow', { color: '#b98a12', opacity: 1 }),
  };
}

export function drawn(shape: BoardShape): DrawShape {
  return {
    orig: shape.from as 'a1',
    brush: shape.opacity === undefined ? shape.brush : `${shape.brush}-${tenthsOf(shape.opacity)}`,
    ...(shape.to ? { dest: shape.to as 'a1' } : {}),
    ...(shape.width ? { modifiers: { lineWidth: shape.width } } : {}),
    ...(shape.label ? { label: { text: shape.label } } : {}),
  };
}

function tenthsOf(opacity: number): number {
  return Math.min(10, Math.max(1, Math.round(opacity * 10)));
}
