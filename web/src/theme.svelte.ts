import { keep, recall } from './storage';

/** `system` follows the browser's preference. */
export type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

function recalled(): Theme {
  const kept = recall('theme');
  return THEMES.find((theme) => theme === kept) ?? 'system';
}

let chosen = $state<Theme>(recalled());

export function theme(): Theme {
  return chosen;
}

export function setTheme(next: Theme): void {
  chosen = next;
  keep('theme', next);
  applyTheme();
}

/** Writes the choice to the document, where the style sheets read it. */
export function applyTheme(): void {
  if (chosen === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = chosen;
}
