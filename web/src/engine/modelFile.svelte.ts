import { fileSize } from '../lib/format';
import { errorMessage } from '../lib/notices.svelte';
import { rolesOf, type Role } from '../players/roles';
import type { ModelFacts } from '../wasm/tabia.js';
import type { EngineClient } from './client';

/** The largest model file the wasm module accepts. */
const MAX_MODEL_BYTES = 256 * 2 ** 20;

/** A model file opened by the visitor. The worker reads it; it is not uploaded. */
export interface ModelFile {
  /** Its name in player specs. */
  name: string;
  facts: ModelFacts;
  /** How it can play, the most suitable role first; never empty. */
  roles: Role[];
}

const isVocabulary = (file: File) => file.name.endsWith('.npy');

/** A network opened together with its vocab.npy, or first without it: a policy that has some of the moves needs it. */
export class ModelFiles {
  /** The network that needs its vocab.npy. */
  waiting = $state.raw<File>();

  /** Opens the network among `files`, or the waiting one if they are a vocab.npy. */
  async open<T>(files: Iterable<File>, open: (file: File, vocabulary?: File) => Promise<T>): Promise<T> {
    const all = [...files];
    const file = all.find((one) => !isVocabulary(one)) ?? this.waiting;
    if (!file) throw new Error('Open the network of this vocab.npy first.');
    try {
      const opened = await open(file, all.find(isVocabulary));
      this.waiting = undefined;
      return opened;
    } catch (error) {
      this.waiting = errorMessage(error).includes('vocab.npy') ? file : undefined;
      throw error;
    }
  }
}

/** Throws if a file's size rules out that it is a model. Does not read it. */
export function checkModelSize(file: Blob): void {
  if (file.size === 0) throw new Error('the file is empty, or a folder');
  if (file.size > MAX_MODEL_BYTES)
    throw new Error(`the file is too large: ${fileSize(file.size)} (at most ${fileSize(MAX_MODEL_BYTES)})`);
}

/** Loads a model file and finds out how it can play. `specFor` is the spec of a player with a role. Throws if it cannot play. */
export async function openModelFile(
  engine: EngineClient,
  name: string,
  file: File,
  specFor: (role: Role) => string,
  vocabulary?: File,
): Promise<ModelFile> {
  try {
    checkModelSize(file);
    const facts = await engine.addModel(name, file, vocabulary);
    const roles: Role[] = [];
    let problem = 'it has neither a policy head nor a value head';
    for (const role of rolesOf(facts)) {
      try {
        await engine.call('describe', specFor(role));
        roles.push(role);
      } catch (error) {
        problem = errorMessage(error);
      }
    }
    if (!roles.length) throw new Error(problem);
    return { name, facts, roles };
  } catch (error) {
    throw new Error(`Cannot open ${file.name}: ${errorMessage(error).replace(`${name}: `, '')}`);
  }
}
