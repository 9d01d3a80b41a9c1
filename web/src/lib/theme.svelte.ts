import { load, oneOf, store } from './storage';

/** `system` follows the browser's preference. */
export type Theme = 'system' | 'light' | 'dark';

const systemDark = matchMedia('(prefers-color-scheme: dark)');
let chosen = $state<Theme>(oneOf(load('theme'), ['system', 'light', 'dark'], 'system'));

export function theme(): Theme {
  return chosen;
}

export function setTheme(next: Theme): void {
  chosen = next;
  store('theme', next);
  applyTheme();
}

/** Sets `data-theme` on the document, which the style sheets read. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosen !== 'system' ? chosen : systemDark.matches ? 'dark' : 'light';
}

systemDark.addEventListener('change', applyTheme);
