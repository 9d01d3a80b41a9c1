import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The networks that are kept from the first visit on; the others are kept once they were used. */
const NETWORKS = ['models/human.safetensors', 'models/value.safetensors'];
/** What only some visitors ever fetch. */
const RARE = /^(models\/|icon-.*\.png$)/;
/** What is not part of the page: the worker itself, packed twins of files, and what a server answers where there is one. */
const OUTSIDE = /^sw\.js$|^api\/|\.(br|gz)$/;
const HEAD = 'const PRECACHE = ';

/** @typedef {[path: string, integrity: string, when: 'now' | 'later' | 'relaxed' | 'plain']} Kept */

/**
 * Puts the list of a built page's files at the head of its service worker, in place of the one that is there.
 *
 * The worker's version is a hash of the list: it changes if and only if a file does.
 *
 * @param {string} dist
 */
export async function listFiles(dist) {
  const names = (await readdir(dist, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => path.relative(dist, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .filter((name) => !OUTSIDE.test(name))
    .sort();
  const files = await Promise.all(
    names.map(async (name) => {
      const hash = createHash('sha256').update(await readFile(path.join(dist, name)));
      return /** @type {Kept} */ ([name, `sha256-${hash.digest('base64')}`, when(name)]);
    }),
  );
  const version = createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 12);
  const worker = path.join(dist, 'sw.js');
  const code = await readFile(worker, 'utf8');
  const rest = code.startsWith(HEAD) ? code.slice(code.indexOf('\n') + 1) : code;
  await writeFile(worker, `${HEAD}${JSON.stringify({ version, files })};\n${rest}`);
}

/**
 * @param {string} name
 * @returns {Kept[2]}
 */
function when(name) {
  if (name.endsWith('.wasm')) return /relaxed[^/]*$/.test(name) ? 'relaxed' : 'plain';
  return RARE.test(name) && !NETWORKS.includes(name) ? 'later' : 'now';
}
