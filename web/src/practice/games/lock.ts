/**
 * Runs a task while no other tab holds the lock; waits for it, or with `ifAvailable` resolves to undefined if it is held. Pages
 * from hosts without HTTPS have no locks: there the task runs at once, and at worst two tabs do the same work.
 */
export async function withLock<T>(name: string, options: { ifAvailable: true } | { signal?: AbortSignal }, task: () => Promise<T>): Promise<T | undefined> {
  if (!('locks' in navigator)) return task();
  if ('ifAvailable' in options) return navigator.locks.request(name, options, (lock) => (lock ? task() : undefined));
  return navigator.locks.request(name, options.signal ? { signal: options.signal } : {}, task);
}
