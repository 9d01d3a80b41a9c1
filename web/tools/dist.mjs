// Copies the built page with compressed files beside the originals, and checks the initial download: node tools/dist.mjs TO
import { copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { dist, filesOf, packed } from './pack.mjs';

/** Limit of the initial download: all precached files, including the human network. */
const MAX_BYTES = 7_000_000;

const to = process.argv[2];
if (!to) throw new Error('usage: node tools/dist.mjs TO');
const names = await filesOf(dist);

/** @type {Map<string, { raw: number, sent: number }>} */
const sizes = new Map();
for (const name of names) {
  const [from, file] = [path.join(dist, name), path.join(to, name)];
  await mkdir(path.dirname(file), { recursive: true });
  const bytes = await readFile(from);
  const before = await readFile(file).catch(() => undefined);
  if (!before?.equals(bytes)) {
    await Promise.all([rm(`${file}.br`, { force: true }), rm(`${file}.gz`, { force: true })]);
    const small = await packed(bytes);
    if (small) {
      await writeFile(`${file}.br`, small.brotli);
      await writeFile(`${file}.gz`, small.gzip);
    }
    // Last, so that an interrupted copy is compressed again.
    await copyFile(from, file);
  }
  const sent = await stat(`${file}.br`).catch(() => undefined);
  sizes.set(name, { raw: bytes.length, sent: sent?.size ?? bytes.length });
}
// Files of an earlier build.
for (const name of (await filesOf(to)).filter((name) => !sizes.has(name))) {
  await Promise.all(['', '.br', '.gz'].map((ending) => rm(path.join(to, name + ending), { force: true })));
}

const kB = (/** @type {number} */ bytes) => `${(bytes / 1000).toFixed(1).padStart(9)} kB`;
const row = (/** @type {string} */ name, /** @type {{ raw: number, sent: number }} */ { raw, sent }) =>
  console.log(`${name.padEnd(40)} ${kB(raw)} ${kB(sent)}`);
console.log(`${'file'.padEnd(40)} ${'raw'.padStart(12)} ${'sent'.padStart(12)}`);
for (const [name, size] of sizes) row(name, size);

/** @param {string} name */
function sizeOf(name) {
  const size = sizes.get(name);
  if (!size) throw new Error(`${dist} has no ${name}: it changed while it was copied`);
  return size;
}

const list = (await readFile(path.join(dist, 'sw.js'), 'utf8')).split('\n', 1)[0] ?? '';
/** @type {{ files: import('./precache.mjs').PrecachedFile[] }} */
const { files } = JSON.parse(list.slice(list.indexOf('{'), -1));
const cost = (/** @type {import('./precache.mjs').PrecachedFile[2]} */ kind) =>
  files
    .filter(([, , when]) => when === kind)
    .map(([name]) => sizeOf(name))
    .reduce((sum, { raw, sent }) => ({ raw: sum.raw + raw, sent: sum.sent + sent }), { raw: 0, sent: 0 });
const [always, plain, threads, worker] = [cost('now'), cost('plain'), cost('threads'), sizeOf('sw.js')];
// A browser gets one of the two.
const larger = plain.sent > threads.sent ? plain : threads;
const initial = { raw: always.raw + larger.raw + worker.raw, sent: always.sent + larger.sent + worker.sent };
row('initial download, at most', initial);
if (initial.sent > MAX_BYTES) {
  console.error(`the initial download has ${initial.sent} bytes (at most ${MAX_BYTES})`);
  process.exitCode = 1;
}
