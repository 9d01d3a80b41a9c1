import { mount } from 'svelte';
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import App from './App.svelte';
import type { moveDistribution } from './engine/moveDistribution';
import { loadRules } from './engine/wasm';
import { warn } from './lib/notices.svelte';
import { applyTheme } from './lib/theme.svelte';
import { timings } from './lib/timings';
import { registerServiceWorker } from './offline/register';

applyTheme();
// After an update of the site the code of other pages may be gone. The page is not reloaded, since a game may be in progress.
window.addEventListener('vite:preloadError', (event) => {
  event.preventDefault();
  warn('Part of the page could not be loaded. Check your connection or reload: there may be a new version.');
});
registerServiceWorker();
// Preloads the module, which every page needs; the pages report errors.
loadRules().catch(() => {});
// For the browser's console, see docs/guides/page.md.
Object.assign(window, {
  tabia: {
    moveDistribution: async (...args: Parameters<typeof moveDistribution>) =>
      (await import('./engine/moveDistribution')).moveDistribution(...args),
    timings,
  },
});
const target = document.getElementById('app');
if (target) mount(App, { target });
