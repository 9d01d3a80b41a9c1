import { load, store } from '../lib/storage';

// The navigation shows how many cards are due without loading the deck: the times at which they are due are stored apart.

const KEY = 'practice.due';
const CHECK_MS = 60_000;

let times = $state.raw<number[]>(stored());
let now = $state(Date.now());

setInterval(() => (now = Date.now()), CHECK_MS);
window.addEventListener('storage', (event) => {
  if (event.key?.endsWith(KEY)) times = stored();
});

function stored(): number[] {
  const value = load(KEY);
  return Array.isArray(value) ? value.filter((time) => typeof time === 'number') : [];
}

/** The number of cards that are due. */
export function dueCards(): number {
  return times.filter((time) => time <= now).length;
}

export function setDueTimes(due: number[]): void {
  times = due;
  now = Date.now();
  store(KEY, due);
}
