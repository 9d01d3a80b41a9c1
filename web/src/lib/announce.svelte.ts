// The text of the page's polite live region: moves, results, the square under the cursor.
let text = $state('');
let odd = false;

export function announced(): string {
  return text;
}

/** Makes screen readers speak a message, also when it repeats the previous one. */
export function announce(message: string): void {
  odd = !odd;
  // A live region is only read when its text changes, so every second message ends in a no-break space.
  text = odd ? message : `${message}\u00a0`;
}
