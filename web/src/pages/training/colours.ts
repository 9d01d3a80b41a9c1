// Canvas knows no style sheets: the colours of curves are here, eight that can be told apart on each ground.
const LIGHT = ['#2f6f63', '#c2571a', '#3a62b8', '#a83279', '#7a5cc0', '#8a6100', '#0b7f94', '#6a6a66'];
const DARK = ['#6cc4b2', '#f0a063', '#8fb2ff', '#f08cc0', '#bda4ff', '#dcb557', '#63cfe0', '#b4b1aa'];
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [14, 4]];

export function isDark(): boolean {
  return getComputedStyle(document.documentElement).colorScheme === 'dark';
}

export function colour(slot: number, dark: boolean): string {
  const palette = dark ? DARK : LIGHT;
  return palette[slot % palette.length] ?? '#888888';
}

/** Runs that share a colour are told apart by their dashes. */
export function dash(slot: number): number[] {
  return DASHES[Math.floor(slot / LIGHT.length) % DASHES.length] ?? [];
}

/** What is drawn besides the curves. */
export function ground(dark: boolean): { text: string; grid: string } {
  return dark ? { text: '#a8a59d', grid: '#33383780' } : { text: '#5f5c56', grid: '#dcd9d1' };
}
