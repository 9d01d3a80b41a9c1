import { ask } from '../../server/server';
import type { Scorecard } from '../challenge/climb.svelte';

// What the server tells of matches and challenges in its folders; only what the page shows.

export interface Tournaments {
  matches: Tournament[];
  challenges: { name: string; modified: number; scorecard: Scorecard }[];
  problems: { name: string; problem: string }[];
}

export interface Tournament {
  name: string;
  /** Seconds since 1970. */
  modified: number;
  settings: Record<string, string>;
  games: number;
  report: {
    players: { name: string; games: Tally; as_white: Tally; as_black: Tally; rating: Rating | null }[];
    encounters: { player: string; opponent: string; games: Tally; elo: { elo: number | null; low: number | null; high: number | null } | null }[];
    reasons: [string, number][];
  };
}

export interface Tally {
  wins: number;
  draws: number;
  losses: number;
}

/** Among the players of the tournament, zero on average. */
interface Rating {
  rating: number | null;
  low: number | null;
  high: number | null;
}

export function tournaments(signal: AbortSignal): Promise<Tournaments> {
  return ask<Tournaments>('arena', signal);
}

/** Where the games of a match can be had. */
export function pgnAddress(name: string): string {
  return new URL(`api/arena/pgn?match=${encodeURIComponent(name)}`, document.baseURI).href;
}
