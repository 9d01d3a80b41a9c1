/** Where games of a match or a challenge begin: the challenge's openings, the start position, or what the visitor has pasted. */
export type OpeningSet = 'challenge' | 'start' | 'own';

/** The set that is pasted, as a choice. */
export const OWN_OPENINGS: [OpeningSet, string] = ['own', 'My own'];

/** The set as the studio reads it; throws if nothing was pasted. */
export function openingsOf(chosen: OpeningSet, own: string): string {
  if (chosen !== 'own') return chosen;
  if (!own.trim()) throw new Error('there are no openings: paste FEN, EPD or PGN, or choose another set');
  return own;
}
