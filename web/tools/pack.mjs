// Compresses the built page, to be embedded in the program: node tools/pack.mjs TO
//
// Each file becomes NAME.br, which the server unpacks for clients that do not take it, or is copied if compression does not help. The networks are left out, since the program
// contains them anyway.
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { fileURLToPath } from 'node:url';

export const dist = fileURLToPath(new URL('../dist', import.meta.url));

/**
 * The paths of a folder's files, with forward slashes and without compressed and hidden files.
 *
 * @param {string} folder
 */
export async function filesOf(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !/\.(br|gz)$/.test(entry.name))
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).replaceAll(path.sep, '/'))
    .sort();
}

/**
 * A file compressed at the highest levels; undefined if that saves less than 5%.
 *
 * @param {Buffer} bytes
 */
export async function packed(bytes) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const brotli = await promisify(brotliCompress)(bytes, { params });
  return brotli.length > 0.95 * bytes.length ? undefined : { brotli, gzip: await promisify(gzip)(bytes, { level: 9 }) };
}

/** @param {string} to */
async function packPage(to) {
  /** @type {Set<string>} */
  const wanted = new Set();
  for (const name of (await filesOf(dist)).filter((file) => !file.startsWith('models/'))) {
    const from = path.join(dist, name);
    const file = path.join(to, name);
    await mkdir(path.dirname(file), { recursive: true });
    // The names of assets contain a hash, so an existing one is up to date.
    if (name.startsWith('assets/') && (await stat(`${file}.br`).catch(() => undefined))) {
      wanted.add(`${name}.br`);
      continue;
    }
    const small = await packed(await readFile(from));
    if (small) await writeFile(`${file}.br`, small.brotli);
    else await copyFile(from, file);
    wanted.add(small ? `${name}.br` : name);
  }
  for (const entry of await readdir(to, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(to, file).replaceAll(path.sep, '/');
    if (entry.isFile() && !entry.name.startsWith('.') && !wanted.has(name)) await rm(file);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const to = process.argv[2];
  if (!to) throw new Error('usage: node tools/pack.mjs TO');
  await packPage(path.resolve(to));
}
