/** Saves a text as a file on the visitor's computer. */
export function downloadText(name: string, type: 'application/json' | 'application/x-chess-pgn' | 'text/plain', text: string): void {
  downloadBlob(name, new Blob([text], { type }));
}

/** Saves a file on the visitor's computer. */
export function downloadBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // Long enough for the browser to have started reading it.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export function downloadPgn(name: string, pgn: string): void {
  downloadText(name, 'application/x-chess-pgn', pgn);
}
