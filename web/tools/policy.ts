import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

/**
 * Vite plugin that writes the content policy into the built page, for hosts that send no header. `tabia serve` sends one.
 */
export function policy(file: string): Plugin {
  return {
    name: 'tabia-policy',
    apply: 'build',
    transformIndexHtml() {
      // Who may frame the page can only be said by a header.
      const rules = readFileSync(file, 'utf8').trim().split('; ').filter((rule) => !rule.startsWith('frame-ancestors'));
      return [
        {
          tag: 'meta',
          attrs: { 'http-equiv': 'Content-Security-Policy', content: rules.join('; ') },
          injectTo: 'head-prepend',
        },
      ];
    },
  };
}
