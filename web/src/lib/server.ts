// The API of `tabia serve`. A static host serves the file public/api/about instead, which says that nothing is available.

/** The answer to `api/about`. */
interface About {
  version: string;
  data: boolean;
  runs: boolean;
  arena: boolean;
  /** The networks passed on the command line, by their names under models/given/. */
  given: string[];
}

const NO_SERVER: About = { version: '', data: false, runs: false, arena: false, given: [] };
let about: Promise<About> | undefined;

/** What the server offers; nothing on a static host. Requested once. */
export function serverAbout(): Promise<About> {
  about ??= fetch(apiUrl('about'), { cache: 'no-store' })
    .then(async (response) => (response.ok ? { ...NO_SERVER, ...((await response.json()) as Partial<About>) } : NO_SERVER))
    .catch(() => {
      // A server may be started later, or the connection come back.
      about = undefined;
      return NO_SERVER;
    });
  return about;
}

/** Requests JSON from the server; throws the server's own message if it refuses. */
export async function fetchJson<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(apiUrl(path), { cache: 'no-store', ...(signal ? { signal } : {}) }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Error('no response from the server; is `tabia serve` still running?');
  });
  const body = (await response.json().catch(() => {
    throw new Error(`invalid response from the server to ${path} (status ${response.status})`);
  })) as { error?: unknown } | null;
  if (!response.ok) throw new Error(body?.error ? String(body.error) : `the server answered with status ${response.status}`);
  return body as T;
}

export function apiUrl(path: string): URL {
  return new URL(`api/${path}`, document.baseURI);
}
