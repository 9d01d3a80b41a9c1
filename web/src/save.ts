/** Offers a text as a file to save. */
export function save(name: string, type: 'application/json' | 'application/x-chess-pgn', text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then, whatever it does with it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
