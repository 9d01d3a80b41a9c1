import { size } from '../numbers';

/** The largest model file the wasm module reads, in bytes. */
const LARGEST_MODEL = 256 * 2 ** 20;

/** What keeps a file from being opened as a model by its size alone, to be said after "is"; undefined if nothing does. Reads nothing. */
export function wrongSize(file: Blob): string | undefined {
  if (file.size === 0) return 'empty, or a folder';
  if (file.size <= LARGEST_MODEL) return undefined;
  return `${size(file.size)} large; the page reads model files of up to ${size(LARGEST_MODEL)}`;
}
