// What the page's one polite live region says: moves, results, the square under the cursor.
let text = $state('');
let odd = false;

export function announced(): string {
  return text;
}

/** Has screen readers say a sentence. The same sentence twice in a row is said twice. */
export function announce(sentence: string): void {
  odd = !odd;
  // A live region speaks only when its text changes, so every second announcement ends in a space nobody hears.
  text = odd ? sentence : `${sentence}\u00a0`;
}
