import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { models } from './tools/models.ts';

export default defineConfig({
  // Relative, so that the same build works under any path.
  base: './',
  plugins: [svelte(), models(fileURLToPath(new URL('../models', import.meta.url)))],
  // The training page reads runs as the page that stands alone does.
  resolve: { alias: { '#runs': fileURLToPath(new URL('../crates/runs/page', import.meta.url)) } },
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    // Browsers that know ES2023 preload modules themselves; the polyfill would only cost bytes.
    modulePreload: { polyfill: false },
    // The wasm files must stay files: the page compiles them while they stream in.
    assetsInlineLimit: (file) => (file.endsWith('.wasm') ? false : undefined),
  },
});
