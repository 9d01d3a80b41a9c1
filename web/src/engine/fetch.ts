/** Downloads a file, reporting progress. The total is 0 if the server does not send it. */
export async function fetchBytes(url: string, onProgress: (loaded: number, total: number) => void): Promise<Uint8Array> {
  const name = url.split('/').pop() ?? url;
  const response = await fetch(url).catch(() => {
    throw new Error(`cannot download ${name}: no connection`);
  });
  if (!response.ok) throw new Error(`cannot download ${name}: the server answered with status ${response.status}`);
  if (!response.body) return new Uint8Array(await response.arrayBuffer());
  // Of a compressed response, Content-Length is the compressed size.
  const total = response.headers.has('Content-Encoding') ? 0 : Number(response.headers.get('Content-Length') ?? 0);
  let loaded = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      loaded += chunk.length;
      onProgress(loaded, Math.max(total, loaded));
      controller.enqueue(chunk);
    },
  });
  return new Uint8Array(await new Response(response.body.pipeThrough(counter)).arrayBuffer());
}
