import type { Scorecard, Tally } from '../challenge/challenge.svelte';

// The answer to `api/arena`: matches and challenges in the server's folders. Only the fields shown on the page.

export interface Tournaments {
  matches: Tournament[];
  challenges: { name: string; modified: number; scorecard: Scorecard }[];
  problems: { name: string; problem: string }[];
}

interface Tournament {
  name: string;
  /** Seconds since 1970. */
  modified: number;
  games: number;
  report: {
    players: { name: string; games: Tally; as_white: Tally; as_black: Tally; rating: Rating | null }[];
    encounters: { player: string; opponent: string; games: Tally; elo: { elo: number | null; low: number | null; high: number | null } | null }[];
    reasons: [string, number][];
  };
}

export type { Tally };

/** Relative to the average of the players. */
interface Rating {
  rating: number | null;
  low: number | null;
  high: number | null;
}
