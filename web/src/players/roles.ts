import type { BundledModel } from '../engine/protocol';
import type { ModelFacts } from '../wasm/tabia.js';

// Shared by the pages on which players are chosen.

/** The ratings that human-like players are trained for. */
export const RATINGS = { min: 600, max: 2600, default: 1500 };
/** The levels of `level:N`, by the original rules. */
export const CHALLENGE_LEVELS = ['Beginner', 'Novice', 'Intermediate', 'Advanced', 'Expert'];

/** How a network plays: from its policy head as a human or as Maia, with a one-ply search, or as the engine's evaluation. */
export type Role = 'human' | 'maia' | 'net' | 'engine';

export const ROLE_NAMES: Record<Role, string> = {
  human: 'Policy, at a rating',
  maia: 'Policy',
  net: 'Evaluation, one-ply search',
  engine: 'Evaluation in the engine',
};

/** The roles a network's heads allow, the most suitable first. */
export function rolesOf(facts: ModelFacts): Role[] {
  const policyRoles: Role[] = facts.plays ? (facts.rated ? ['human', 'maia'] : ['maia', 'human']) : [];
  const valueRoles: Role[] = facts.evaluates ? ['net', 'engine'] : [];
  return [...policyRoles, ...valueRoles];
}

/** The bundled networks a player spec needs. */
export function bundledModels(spec: string): BundledModel[] {
  // A human-like player may blend in a shallow engine search, which needs the evaluation network.
  if (/^human(,|$|:\w+=)/.test(spec)) return ['human', 'value'];
  // An adapter works on the bundled network.
  if (/^human:adapter\//.test(spec)) return ['human', 'value'];
  if (/^human:/.test(spec)) return ['value'];
  return /^engine(,|$)/.test(spec) && !/,eval=baseline(,|$)/.test(spec) ? ['value'] : [];
}
