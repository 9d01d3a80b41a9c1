// Draws the PNG icons of public/ from public/icon.svg: node tools/icons.mjs
import { readFile } from 'node:fs/promises';
import { launchBrowser } from './browser.mjs';

/** @type {[name: string, size: number, shape: 'rounded' | 'full'][]} */
const ICONS = [
  ['icon-192.png', 192, 'rounded'],
  ['icon-512.png', 512, 'rounded'],
  // Maskable: the system crops it, so the background fills the square.
  ['icon-maskable-512.png', 512, 'full'],
];

const folder = new URL('../public/', import.meta.url);
const svg = await readFile(new URL('icon.svg', folder), 'utf8');
// The drawing stays within the safe zone, a circle of 80%.
const full = svg
  .replace('viewBox="0 0 32 32"', 'viewBox="-4 -4 40 40"')
  .replace('width="32" height="32" rx="6"', 'x="-4" y="-4" width="40" height="40"');
const browser = await launchBrowser();
const page = await browser.newPage();
for (const [name, size, shape] of ICONS) {
  const drawing = shape === 'full' ? full : svg;
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>html,body{margin:0;background:none}svg{display:block;width:100vw}</style>${drawing}`);
  await page.screenshot({ path: new URL(name, folder).pathname, omitBackground: true });
}
await browser.close();
