import { inform, warn } from './notices.svelte';

/** Copies a text and says so. `otherwise` says what to do if the browser does not allow it. */
export async function copyText(what: string, text: string, otherwise: () => string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    inform(`${what} copied.`);
  } catch {
    // Denied, or not a secure context.
    warn(`The browser does not allow copying. ${otherwise()}`);
  }
}
