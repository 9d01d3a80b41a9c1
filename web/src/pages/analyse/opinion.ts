/** Hundredths of a pawn or a mate, for White. */
export interface Opinion {
  cp?: number | null | undefined;
  mate?: number | null | undefined;
}

/** As it is written beside a move: "+0.35", "−1.20", "#3", "#−2". */
export function written({ cp, mate }: Opinion): string {
  if (mate !== undefined && mate !== null) return `#${mate < 0 ? '−' : ''}${Math.abs(mate)}`;
  if (cp === undefined || cp === null) return '';
  const pawns = (Math.abs(cp) / 100).toFixed(2);
  return cp > 0 ? `+${pawns}` : cp < 0 ? `−${pawns}` : pawns;
}

/** Per centipawn, as reviews have it. */
const STEEPNESS = 0.003_682_08;

/** White's chance to win, where a graph draws an opinion that nobody gave as a chance. */
export function share({ cp, mate }: Opinion): number | undefined {
  if (mate !== undefined && mate !== null) return mate > 0 ? 1 : 0;
  return cp === undefined || cp === null ? undefined : 1 / (1 + Math.exp(-STEEPNESS * cp));
}

/** A chance as whole percent, with "<1 %" for what is small but not nothing. It does not break over two lines. */
export function percent(chance: number): string {
  if (chance > 0 && chance < 0.005) return '<1\u00a0%';
  return `${Math.round(chance * 100)}\u00a0%`;
}
