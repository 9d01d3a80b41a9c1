// What the machine that serves the page has besides the page. A static host has nothing: it serves the file public/api/about,
// which says so, where `tabia serve` answers for itself.

/** What `api/about` says. */
export interface About {
  version: string;
  data: boolean;
  runs: boolean;
  arena: boolean;
  /** The networks it was started with, by their names under models/given/. */
  given: string[];
}

const NOTHING: About = { version: '', data: false, runs: false, arena: false, given: [] };
let asked: Promise<About> | undefined;

/** What the server has; nothing where there is no server. Asked once. */
export function about(): Promise<About> {
  asked ??= fetch(endpoint('about'), { cache: 'no-store' })
    .then(async (answer) => {
      if (!answer.ok) return NOTHING;
      const said: unknown = await answer.json();
      return typeof said === 'object' && said !== null ? { ...NOTHING, ...said } : NOTHING;
    })
    .catch(() => {
      // A server may be started later, or the connection come back.
      asked = undefined;
      return NOTHING;
    });
  return asked;
}

/** Asks the server a question; throws its own words where it refuses. */
export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(endpoint(path), { cache: 'no-store', ...(signal ? { signal } : {}) }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Error('the server does not answer; is `tabia serve` still running?');
  });
  const text = await answer.text();
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    throw new Error(`the server’s answer to ${path} (${answer.status}) cannot be read`);
  }
  if (!answer.ok) throw new Error(refusal(said) ?? `the server answered ${answer.status}`);
  return said as T;
}

function refusal(said: unknown): string | undefined {
  return typeof said === 'object' && said !== null && 'error' in said ? String(said.error) : undefined;
}

function endpoint(path: string): URL {
  return new URL(`api/${path}`, document.baseURI);
}
