import { keep, recall } from './storage';

/** `system` follows the browser's preference. */
export type Theme = 'system' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

function recalled(): Theme {
  const kept = recall('theme');
  return THEMES.find((theme) => theme === kept) ?? 'system';
}

const systemDark = matchMedia('(prefers-color-scheme: dark)');
let chosen = $state<Theme>(recalled());

export function theme(): Theme {
  return chosen;
}

export function setTheme(next: Theme): void {
  chosen = next;
  keep('theme', next);
  applyTheme();
}

/** Writes the colours to use to the document, where the style sheets read them. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = chosen !== 'system' ? chosen : systemDark.matches ? 'dark' : 'light';
}

systemDark.addEventListener('change', applyTheme);
