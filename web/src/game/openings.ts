/** Where games start: the bundled openings, one of them, those of the challenge, the initial position, or pasted openings. */
export type OpeningSet = 'balanced' | 'one' | 'challenge' | 'start' | 'own';

/** The openings argument of the engine; throws if nothing was pasted. `one` is the name of the opening to play alone. */
export function openingsArgument(chosen: OpeningSet, custom: string, one = ''): string {
  if (chosen === 'one') return `balanced:${one}`;
  if (chosen !== 'own') return chosen;
  if (!custom.trim()) throw new Error('no openings: paste FEN, EPD or PGN, or choose another set');
  return custom;
}
