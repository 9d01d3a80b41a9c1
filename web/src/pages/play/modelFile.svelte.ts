import type { EngineClient } from '../../engine/client';
import { ModelFiles, openModelFile, type ModelFile } from '../../engine/modelFile.svelte';
import { RATINGS, type Role } from '../../players/roles';
import { FILE_MODEL, opponentSpec } from './opponent';

/** The open model file. Only one is kept, under a fixed name in specs. */
let current = $state.raw<ModelFile & { fileName: string }>();

export const modelFiles = new ModelFiles();

export function modelFile(): typeof current {
  return current;
}

/** Opens a model file, with its vocab.npy if there is one, as an opponent. Throws if it cannot play. */
export async function openModel(engine: EngineClient, files: Iterable<File>): Promise<NonNullable<typeof current>> {
  return modelFiles.open(files, async (file, vocabulary) => {
    const spec = (role: Role) => opponentSpec({ kind: 'file', file: file.name, role, rating: RATINGS.default, pick: 'sample' });
    const opened = await openModelFile(engine, FILE_MODEL, file, spec, vocabulary);
    current = { ...opened, fileName: file.name };
    return current;
  });
}
