import type { DrawBrushes, DrawShape } from '@lichess-org/chessground/draw';

/** An arrow, or without `to` a circle around a square. */
export interface BoardShape {
  from: string;
  to?: string;
  brush: Brush;
  /** Width of the arrow, 1 to 16; 10 by default. */
  width?: number;
  /** 0 to 1, rounded to tenths; by default that of the brush. */
  opacity?: number;
  /** A few characters at the end of the arrow, e.g. "42%". */
  label?: string;
}

type Brush = 'engine' | 'human' | 'good' | 'bad' | 'neutral';

const BRUSHES: Record<Brush, { color: string; opacity: number }> = {
  engine: { color: '#2b5d9e', opacity: 1 },
  human: { color: '#b4500f', opacity: 1 },
  good: { color: '#2f7d4f', opacity: 1 },
  bad: { color: '#b3402f', opacity: 1 },
  neutral: { color: '#4a4a4a', opacity: 0.6 },
};

/** Our brushes, and chessground's four names for arrows drawn by the visitor. */
export function brushes(): DrawBrushes {
  const brush = (key: string, color: string, opacity = 1) => ({ key, color, opacity, lineWidth: 10 });
  const tenths = Array.from({ length: 10 }, (_, index) => index + 1);
  // chessground identifies brushes by name, so each opacity needs its own.
  const named = Object.entries(BRUSHES).flatMap(([key, { color, opacity }]) => [
    brush(key, color, opacity),
    ...tenths.map((tenth) => brush(`${key}-${tenth}`, color, tenth / 10)),
  ]);
  return {
    ...Object.fromEntries(named.map((made) => [made.key, made])),
    green: brush('green', BRUSHES.good.color),
    red: brush('red', '#b3402f'),
    blue: brush('blue', BRUSHES.engine.color),
    yellow: brush('yellow', '#b98a12'),
  };
}

export function toDrawShape({ from, to, brush, width, opacity, label }: BoardShape): DrawShape {
  return {
    orig: from as 'a1',
    brush: opacity === undefined ? brush : `${brush}-${Math.min(10, Math.max(1, Math.round(opacity * 10)))}`,
    ...(to ? { dest: to as 'a1' } : {}),
    ...(width ? { modifiers: { lineWidth: width } } : {}),
    ...(label ? { label: { text: label } } : {}),
  };
}
