import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { filesOf } from './pack.mjs';

/** The precached networks; others are cached when they are first used. */
const NETWORKS = ['models/human.safetensors', 'models/value.safetensors'];
/**
 * Files that are cached when they are first used. Training runs need a server anyway; the next is for the console, then what only
 * pages with a GPU need; the module for any network is cached when the page is idle.
 */
const RARE = /^(models\/|icon-.*\.png$|assets\/(runsPage-|moveDistribution-|gpuNetwork-|tabia_gpu_bg|tabia_bg.*\.wasm$))/;
/** Not cached: the worker itself and the API. */
const EXCLUDED = /^sw\.js$|^api\//;
const PREFIX = 'const PRECACHE = ';

/** @typedef {[path: string, integrity: string, when: 'now' | 'later' | 'threads' | 'plain']} PrecachedFile */

/**
 * Prepends the list of a built page's files to its service worker, or replaces the list. The version is a hash of the list.
 *
 * @param {string} dist
 */
export async function listFiles(dist) {
  const names = (await filesOf(dist)).filter((name) => !EXCLUDED.test(name));
  const files = await Promise.all(
    names.map(async (name) => {
      const hash = createHash('sha256').update(await readFile(path.join(dist, name)));
      return /** @type {PrecachedFile} */ ([name, `sha256-${hash.digest('base64')}`, when(name)]);
    }),
  );
  const version = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 12);
  const worker = path.join(dist, 'sw.js');
  const code = await readFile(worker, 'utf8');
  const rest = code.startsWith(PREFIX) ? code.slice(code.indexOf('\n') + 1) : code;
  await writeFile(worker, `${PREFIX}${JSON.stringify({ version, files })};\n${rest}`);
}

/**
 * @param {string} name
 * @returns {PrecachedFile[2]}
 */
function when(name) {
  if (/_small_threads_bg[^/]*\.wasm$/.test(name)) return 'threads';
  if (/_small_bg[^/]*\.wasm$/.test(name)) return 'plain';
  return RARE.test(name) && !NETWORKS.includes(name) ? 'later' : 'now';
}
