import type { EngineClient } from '../../engine/client';
import { openModelFile, type ModelFile } from '../../engine/modelFile';
import { RATINGS } from '../../players/roles';
import { FILE_MODEL, opponentSpec } from './opponent';

/** The open model file. Only one is kept, under a fixed name in specs. */
let current = $state.raw<ModelFile & { fileName: string }>();

export function modelFile(): typeof current {
  return current;
}

/** Opens a model file as an opponent. Throws if it cannot play. */
export async function openModel(engine: EngineClient, file: File): Promise<NonNullable<typeof current>> {
  const opened = await openModelFile(engine, FILE_MODEL, file, (role) =>
    opponentSpec({ kind: 'file', file: file.name, role, rating: RATINGS.default, pick: 'sample' }),
  );
  current = { ...opened, fileName: file.name };
  return current;
}
