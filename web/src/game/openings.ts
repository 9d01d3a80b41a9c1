/** Where games start: the challenge's openings, the initial position, or pasted openings. */
export type OpeningSet = 'challenge' | 'start' | 'own';

/** The openings argument of the engine; throws if nothing was pasted. */
export function openingsArgument(chosen: OpeningSet, custom: string): string {
  if (chosen !== 'own') return chosen;
  if (!custom.trim()) throw new Error('no openings: paste FEN, EPD or PGN, or choose another set');
  return custom;
}
