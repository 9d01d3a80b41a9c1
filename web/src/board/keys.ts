/** What the keys that walk through a game do; what a page leaves out its keys ignore. */
export interface Walk {
  back?: () => void;
  forward?: () => void;
  start?: () => void;
  end?: () => void;
  /** The previous or next variation. */
  up?: () => void;
  down?: () => void;
  flip?: () => void;
  /** Somewhere else. */
  random?: () => void;
}

const KEYS: Record<string, keyof Walk> = {
  ArrowLeft: 'back',
  ArrowRight: 'forward',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Home: 'start',
  End: 'end',
  f: 'flip',
  r: 'random',
};

// Where the same keys already mean something else.
const TAKEN = 'input:not([type=checkbox]), textarea, select, [contenteditable], [role=application], [role=radiogroup], dialog';

/** Walks through a game by keyboard, wherever the focus is, until the returned function is called. */
export function walkByKeys(walk: Walk): () => void {
  const keydown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest(TAKEN)) return;
    const name = KEYS[event.key];
    const action = name && walk[name];
    if (!action) return;
    action();
    event.preventDefault();
  };
  window.addEventListener('keydown', keydown);
  return () => window.removeEventListener('keydown', keydown);
}
