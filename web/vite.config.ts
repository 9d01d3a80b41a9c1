import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';
import { models } from './tools/models.ts';
import { offline } from './tools/offline.ts';
import { policy } from './tools/policy.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export default defineConfig({
  // Relative, so that the build works under any path.
  base: './',
  plugins: [svelte(), models(here('../models')), policy(here('policy.txt')), offline()],
  // The page of training runs, which is also a standalone file.
  resolve: { alias: { '#runs': here('../crates/runs/page') } },
  worker: { format: 'es' },
  // As `tabia serve` does, for threads.
  server: { headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' } },
  build: {
    target: 'es2023',
    // Browsers that support ES2023 preload modules themselves.
    modulePreload: { polyfill: false },
    // Wasm files must be separate for streaming compilation.
    assetsInlineLimit: (file) => (file.endsWith('.wasm') ? false : undefined),
  },
});
