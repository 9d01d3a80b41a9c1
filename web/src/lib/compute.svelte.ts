import type { Compute, ComputeState } from '../engine/protocol';
import { load, oneOf, store } from './storage';

export const COMPUTE_NAMES: Record<Compute, string> = { automatic: 'Automatic', cpu: 'CPU', webgpu: 'WebGPU' };

let chosen = $state<Compute>(oneOf(load('compute'), ['automatic', 'cpu', 'webgpu'], 'automatic'));
let latest = $state.raw<ComputeState>();
// Engines live shorter than the page, so that they must not be kept alive here.
const listeners = new Set<WeakRef<(compute: Compute) => void>>();

/** What the visitor wants networks to be evaluated by. */
export function compute(): Compute {
  return chosen;
}

export function setCompute(next: Compute): void {
  chosen = next;
  latest = undefined;
  store('compute', next);
  for (const reference of listeners) {
    const listener = reference.deref();
    if (listener) listener(next);
    else listeners.delete(reference);
  }
}

/** Calls `listener` after each change, as long as something else refers to it. */
export function onComputeChange(listener: (compute: Compute) => void): void {
  listeners.add(new WeakRef(listener));
}

/** What a worker said last of where it evaluates a network. */
export function computeState(): ComputeState | undefined {
  return latest;
}

export function recordComputeState(state: ComputeState): void {
  latest = state;
}
