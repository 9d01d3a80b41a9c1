import { copyFile, mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Plugin } from 'vite';

/** The networks the page fetches from `models/`, beside index.html. */
const NETWORKS = [
  'human.safetensors',
  'value.safetensors',
  'challenge-reference.onnx',
  'challenge-s.onnx',
  'challenge-m.onnx',
  'challenge-l.onnx',
];

/**
 * Vite plugin that serves the repository's networks under `models/` during development and copies them into the build.
 *
 * They are not imported as assets because the service worker and `tabia serve` rely on their names.
 */
export function models(folder: string): Plugin {
  let out = 'dist';
  return {
    name: 'tabia-models',
    configResolved(config) {
      out = path.resolve(config.root, config.build.outDir);
    },
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const name = request.url?.match(/\/models\/([\w.-]+)$/)?.[1];
        if (!name || !NETWORKS.includes(name)) return next();
        readFile(path.join(folder, name)).then(
          (bytes) => {
            response.setHeader('Content-Type', 'application/octet-stream');
            response.setHeader('Content-Length', bytes.length);
            response.end(bytes);
          },
          () => next(),
        );
      });
    },
    async writeBundle() {
      await mkdir(path.join(out, 'models'), { recursive: true });
      for (const name of NETWORKS) {
        const from = path.join(folder, name);
        if (await stat(from).catch(() => undefined)) await copyFile(from, path.join(out, 'models', name));
        else this.warn(`${from} not found: the page is built without it`);
      }
    },
  };
}
