// Compares the human network on WebGPU with the processor, in one browser: node tools/gpu.mjs [--software] [--positions N]
//
// The times are those of the page's own race, the best of a few runs. With --software, Chromium's software adapter takes the place
// of a GPU: its first choices count, its times say nothing.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { serve } from '../tests/site.mjs';
import { assetsOf, compare } from './agreement.mjs';
import { launchBrowser } from './browser.mjs';

const { values } = parseArgs({ options: { software: { type: 'boolean', default: false }, positions: { type: 'string', default: '1000' } } });
const positions = Number(values.positions);
if (!Number.isInteger(positions) || positions < 1) throw new Error(`--positions: invalid number ${values.positions} (expected 1 or more)`);

const web = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const dist = path.join(web, 'dist');
const site = await serve(dist);
const browser = await launchBrowser(values.software ? 'software' : 'hardware');
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(0);
  await page.goto(`${site.url}#/challenge`);
  const adapter = await page.evaluate(async () => {
    const adapter = await navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) return undefined;
    const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info;
    return { name: [vendor, architecture, device, description].filter(Boolean).join(' '), emulated: isFallbackAdapter };
  });
  if (!adapter) throw new Error('Chromium offers no GPU here; --software compares the first choices on its software adapter');
  console.log(`Chromium ${browser.version()}, ${adapter.name}${adapter.emulated ? ': emulated, so its times say nothing of a GPU' : ''}`);

  const shown = process.stderr.isTTY ? (/** @type {number} */ done) => process.stderr.write(`\r${done} of ${positions} positions`) : () => {};
  const { others, furthest, race, submits } = await compare(page, await assetsOf(dist), { positions, progress: shown });
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');

  const ms = (/** @type {number} */ time) => time.toPrecision(3).padStart(12);
  console.log(`\n${'human network'.padEnd(32)}${'CPU ms'.padStart(12)}${'WebGPU ms'.padStart(12)}${'WebGPU/CPU'.padStart(14)}`);
  const lines = [{ name: 'one position', ...race.one }];
  if (race.batch) lines.push({ name: '16 positions at once', ...race.batch });
  for (const { name, cpu, gpu } of lines)
    console.log(`${name.padEnd(32)}${ms(cpu)}${ms(gpu)}${(gpu / cpu).toFixed(2).padStart(14)}`);
  const same = positions - others.length;
  console.log(`\nfirst choices: ${same} of ${positions} are the same; probabilities differ by up to ${furthest.toExponential(1)} (${submits} batches)`);
  for (const { moves, cpu, webgpu } of others.slice(0, 10)) console.log(`  ${cpu} on the CPU, ${webgpu} on WebGPU after ${moves.join(' ') || 'no moves'}`);
  if (others.length > 0) process.exitCode = 1;
} finally {
  await browser.close();
  await site.close();
}
