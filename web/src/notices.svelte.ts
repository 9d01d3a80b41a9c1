/** A message at the edge of the page. Warnings interrupt a screen reader and stay until dismissed. */
export interface Notice {
  id: number;
  kind: 'info' | 'warning';
  text: string;
  /** What the visitor may do about it. */
  action?: { label: string; run: () => void };
}

const INFO_STAYS_MS = 6000;
const AT_MOST = 4;
let next = 1;
let shown = $state<Notice[]>([]);

export function notices(): readonly Notice[] {
  return shown;
}

/** Shows a message for a while, or until the returned function is called. */
export function inform(text: string): () => void {
  const done = underWay(text);
  setTimeout(done, INFO_STAYS_MS);
  return done;
}

/** Shows what the page is doing, until the returned function is called. */
export function underWay(text: string): () => void {
  const id = show('info', text);
  return () => dismiss(id);
}

export function warn(text: string): void {
  show('warning', text);
}

/** A quiet message with a button, which stays until it is used or dismissed. */
export function offer(text: string, label: string, run: () => void): void {
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

/** The sentence of anything thrown. */
export function sentence(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function show(kind: Notice['kind'], text: string, action?: Notice['action']): number {
  const id = next++;
  const others = shown.filter((notice) => notice.text !== text);
  shown = [...others, { id, kind, text, ...(action && { action }) }].slice(-AT_MOST);
  return id;
}
