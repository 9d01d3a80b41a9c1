import path from 'node:path';
import { build, type Plugin } from 'vite';
import { listFiles } from './precache.mjs';

/**
 * Vite plugin that builds the service worker as `sw.js` beside index.html, once the files it lists are written.
 */
export function offline(): Plugin {
  let root = '';
  let outDir = '';
  return {
    name: 'tabia-offline',
    apply: 'build',
    configResolved(config) {
      root = config.root;
      outDir = path.resolve(config.root, config.build.outDir);
    },
    closeBundle: {
      order: 'post',
      sequential: true,
      async handler(error?: Error) {
        if (error) return;
        await build({
          configFile: false,
          root,
          logLevel: 'warn',
          build: {
            target: 'es2023',
            outDir,
            emptyOutDir: false,
            copyPublicDir: false,
            modulePreload: false,
            rolldownOptions: {
              input: path.join(root, 'src/offline/worker.ts'),
              output: { format: 'iife', entryFileNames: 'sw.js' },
            },
          },
        });
        await listFiles(outDir);
      },
    },
  };
}
