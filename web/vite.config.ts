import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { models } from './tools/models.ts';
import { offline } from './tools/offline.ts';
import { policy } from './tools/policy.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export default defineConfig({
  // Relative, so that the same build works under any path.
  base: './',
  plugins: [svelte(), models(here('../models')), policy(here('policy.txt')), offline()],
  // The training page reads runs as the page that stands alone does.
  resolve: { alias: { '#runs': here('../crates/runs/page') } },
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    // Browsers that know ES2023 preload modules themselves; the polyfill would only cost bytes.
    modulePreload: { polyfill: false },
    // The wasm files must stay files: the page compiles them while they stream in.
    assetsInlineLimit: (file) => (file.endsWith('.wasm') ? false : undefined),
  },
});
