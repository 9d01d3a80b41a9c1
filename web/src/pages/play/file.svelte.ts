import type { EngineClient } from '../../engine/client';
import { wrongSize } from '../../engine/largest';
import type { ModelFacts } from '../../wasm/tabia.js';
import { FILE_MODEL, rolesOf, specOf, type Role } from './opponent';

/** A model file the visitor has given. It is read by the worker and goes nowhere else. */
export interface HeldFile {
  name: string;
  facts: ModelFacts;
  /** How it can play, the most fitting first; never empty. */
  roles: Role[];
}

let held = $state.raw<HeldFile>();

export function heldFile(): HeldFile | undefined {
  return held;
}

/** Opens a model file for playing. Throws a sentence for the visitor if it cannot play. */
export async function holdFile(engine: EngineClient, file: File): Promise<HeldFile> {
  const wrong = wrongSize(file);
  if (wrong) throw new Error(`${file.name} is ${wrong}.`);
  const facts = await engine.add(FILE_MODEL, file).catch((error: Error) => {
    throw new Error(`${file.name} cannot be read as a chess model: ${error.message.replace(/^file: /, '')}`);
  });
  const roles: Role[] = [];
  let problem = 'it has neither a move head nor a value head';
  for (const role of rolesOf(facts)) {
    try {
      await engine.call('describe', specOf({ kind: 'file', file: file.name, role, rating: 1500, pick: 'sample' }));
      roles.push(role);
    } catch (error) {
      problem = (error as Error).message;
    }
  }
  if (!roles.length) throw new Error(`${file.name} cannot play: ${problem}`);
  held = { name: file.name, facts, roles };
  return held;
}
