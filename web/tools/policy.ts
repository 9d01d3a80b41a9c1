import { readFileSync } from 'node:fs';
import type { Plugin } from 'vite';

/**
 * Vite plugin that adds the content security policy to the built page, for hosts that do not send it as a header.
 */
export function policy(file: string): Plugin {
  return {
    name: 'tabia-policy',
    apply: 'build',
    transformIndexHtml() {
      // frame-ancestors only works in a header.
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
