/** A message at the edge of the page. Warnings interrupt screen readers and stay until dismissed. */
interface Notice {
  id: number;
  kind: 'info' | 'warning';
  text: string;
  action?: { label: string; run: () => void };
}

const INFO_TIMEOUT_MS = 6000;
const MAX_NOTICES = 4;
let nextId = 1;
let shown = $state<Notice[]>([]);

export function notices(): readonly Notice[] {
  return shown;
}

/** Shows a message for a few seconds, or until the returned function is called. */
export function inform(text: string): () => void {
  const close = showStatus(text);
  setTimeout(close, INFO_TIMEOUT_MS);
  return close;
}

/** Shows a message until the returned function is called. */
export function showStatus(text: string): () => void {
  const id = show('info', text);
  return () => dismiss(id);
}

export function warn(text: string): void {
  show('warning', text);
}

/** Shows a message with a button until the button is pressed or the message dismissed. */
export function offerAction(text: string, label: string, run: () => void): void {
  const id = show('info', text, {
    label,
    run: () => {
      dismiss(id);
      run();
    },
  });
}

export function dismiss(id: number): void {
  shown = shown.filter((notice) => notice.id !== id);
}

/** The message of anything thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function show(kind: Notice['kind'], text: string, action?: Notice['action']): number {
  const id = nextId++;
  const others = shown.filter((notice) => notice.text !== text);
  shown = [...others, { id, kind, text, ...(action && { action }) }].slice(-MAX_NOTICES);
  return id;
}
