import { compileModule } from '../../engine/wasm';
import type { StoredImport } from '../database';
import type { LibraryMethod, LibraryMethods, LibraryReply, LibraryRequest } from './protocol';

type Result<M extends LibraryMethod> = Awaited<ReturnType<LibraryMethods[M]>>;

/** What was not done because the browser's storage is full. */
export class StorageFull extends Error {}

interface Pending {
  resolve: (result: never) => void;
  reject: (error: Error) => void;
}

/** The page's side of the worker that holds the player's games. */
export class LibraryClient {
  onImported: (state: StoredImport) => void = () => {};
  #worker: Worker;
  #pending = new Map<number, Pending>();
  #nextId = 1;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.onmessage = (message: MessageEvent<LibraryReply>) => this.#receive(message.data);
    worker.onerror = (event) => {
      event.preventDefault();
      for (const { reject } of this.#pending.values()) reject(new Error(event.message || 'the code for games could not be loaded'));
      this.#pending.clear();
    };
  }

  static async start(): Promise<LibraryClient> {
    const module = await compileModule('bundled');
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
    worker.postMessage({ kind: 'start', module } satisfies LibraryRequest);
    return new LibraryClient(worker);
  }

  call<M extends LibraryMethod>(method: M, ...args: Parameters<LibraryMethods[M]>): Promise<Result<M>> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as Pending['resolve'], reject });
      this.#worker.postMessage({ kind: 'call', id, method, args } satisfies LibraryRequest);
    });
  }

  #receive(reply: LibraryReply): void {
    if (reply.kind === 'imported') return this.onImported(reply.state);
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (reply.kind === 'done') pending?.resolve(reply.result as never);
    else pending?.reject(reply.full ? new StorageFull(reply.error) : new Error(reply.error));
  }
}
