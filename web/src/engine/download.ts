/** Fetches a file whole, telling how far it has come. The total is 0 where the server does not say. */
export async function download(url: string, onProgress: (loaded: number, total: number) => void): Promise<Uint8Array> {
  const response = await fetch(url).catch(() => {
    throw new Error(`${nameOf(url)} could not be fetched: no connection`);
  });
  if (!response.ok) throw new Error(`${nameOf(url)} could not be fetched: the server answered ${response.status}`);
  // A compressed answer's length is not that of what arrives here.
  const total = response.headers.has('Content-Encoding') ? 0 : Number(response.headers.get('Content-Length') ?? 0);
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  const parts: Uint8Array[] = [];
  let loaded = 0;
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    loaded += part.value.length;
    onProgress(loaded, Math.max(total, loaded));
  }
  const bytes = new Uint8Array(loaded);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

function nameOf(url: string): string {
  return url.split('/').pop() ?? url;
}
