/** Actions of the keyboard shortcuts. A page leaves out those it does not support. */
interface Shortcuts {
  back?: () => void;
  forward?: () => void;
  start?: () => void;
  end?: () => void;
  previousVariation?: () => void;
  nextVariation?: () => void;
  flip?: () => void;
  random?: () => void;
}

const KEYS: Record<string, keyof Shortcuts> = {
  ArrowLeft: 'back',
  ArrowRight: 'forward',
  ArrowUp: 'previousVariation',
  ArrowDown: 'nextVariation',
  Home: 'start',
  End: 'end',
  f: 'flip',
  r: 'random',
};

/** Elements that use the same keys themselves. */
const EXCLUDED = 'input:not([type=checkbox]), textarea, select, [contenteditable], [role=application], [role=radiogroup], dialog';

/** Handles shortcuts wherever the focus is, until the returned function is called. */
export function bindShortcuts(shortcuts: Shortcuts): () => void {
  const keydown = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest(EXCLUDED)) return;
    const name = KEYS[event.key];
    const action = name && shortcuts[name];
    if (!action) return;
    action();
    event.preventDefault();
  };
  window.addEventListener('keydown', keydown);
  return () => window.removeEventListener('keydown', keydown);
}
