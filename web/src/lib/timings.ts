// With `?debug` in the address, workers report the time of each call, and the console shows it.

export interface Timing {
  /** The method and the player or network, such as "choose human,elo=1500". */
  what: string;
  /** Milliseconds in the worker, without waiting for it. */
  ms: number;
}

export const DEBUG = new URLSearchParams(location.search).has('debug');
const MOST = 1000;
let latest: Timing[] = [];

export function recordTiming({ what, ms }: Timing): void {
  latest = [...latest, { what, ms }].slice(-MOST);
  console.debug(`${what}: ${ms.toFixed(1)} ms`);
}

/** The latest timings, oldest first. */
export function timings(): Timing[] {
  return latest;
}
