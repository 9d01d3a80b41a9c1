import * as tabia from '../wasm/tabia.js';
import type { MatchSetup, Studio } from '../wasm/tabia.js';
import { download } from './download';
import type { Pace, Reply, Request, StreamKind, Streams } from './protocol';

// One studio. Calls are answered as they come; streams give way between steps, so that calls and stops get through.

/** Games looked at between two words to the page. */
const GAMES_A_STEP = 250;
/** Bytes read from a file at a time. */
const PIECE = 1 << 20;

/** Only workers have it, and only their types. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

let studio: Studio | undefined;
const running = new Map<number, Running>();

/** A stream on its way. `wake` ends its wait for the next step. */
interface Running {
  stopped: boolean;
  pace: Pace;
  wake: () => void;
  /** What it would end with if it ended now. */
  soFar: () => unknown;
}

self.addEventListener('message', (message: MessageEvent<Request>) => {
  const request = message.data;
  if (request.kind === 'start') {
    tabia.initSync({ module: request.module });
    studio = new tabia.Studio(request.seed);
    studio.chooseKernels();
  } else if (request.kind === 'stop') {
    const stream = running.get(request.id);
    if (stream) stream.stopped = true;
    stream?.wake();
  } else if (request.kind === 'pace') {
    const stream = running.get(request.id);
    if (stream) stream.pace = request.pace;
    stream?.wake();
  } else void answer(request);
});

/** What is answered. */
type Question = Exclude<Request, { kind: 'start' | 'stop' | 'pace' }>;

async function answer(request: Question): Promise<void> {
  const { id } = request;
  try {
    if (!studio) throw new Error('the engine has not been started');
    reply({ kind: 'done', id, result: await perform(studio, request) });
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    // After a trap the module's memory cannot be trusted.
    const broken = error instanceof WebAssembly.RuntimeError;
    reply({ kind: 'failed', id, problem, broken });
  } finally {
    running.delete(id);
  }
}

async function perform(studio: Studio, request: Question): Promise<unknown> {
  const { id } = request;
  switch (request.kind) {
    case 'fetch': {
      const bytes = await download(request.url, (loaded, total) => reply({ kind: 'progress', id, loaded, total }));
      return studio.addModel(request.name, bytes);
    }
    case 'read':
      return studio.addModel(request.name, new Uint8Array(await request.file.arrayBuffer()));
    case 'call': {
      const method = studio[request.method] as (...args: unknown[]) => unknown;
      return method.apply(studio, request.args);
    }
    case 'so-far': {
      const stream = running.get(request.of);
      if (!stream) throw new Error('it is over');
      return stream.soFar();
    }
    case 'stream':
      return stream(studio, id, request.stream, request.args, request.pace);
  }
}

async function stream(studio: Studio, id: number, kind: StreamKind, args: unknown[], pace: Pace): Promise<unknown> {
  const state: Running = { stopped: false, pace, wake: () => {}, soFar: () => null };
  running.set(id, state);
  const tell = (event: unknown) => reply({ kind: 'event', id, event });
  /** Steps until a step says it was the last, or the page has had enough. */
  const steps = async (step: () => boolean) => {
    while (!state.stopped && step()) await turn(state);
  };
  switch (kind) {
    case 'analysis': {
      const [game, lines, seconds, slices] = args as Streams['analysis']['args'];
      let left = slices;
      await steps(() => {
        tell(studio.analyse(game, lines, seconds));
        return --left > 0;
      });
      return null;
    }
    case 'review': {
      const review = new tabia.Review(studio, ...(args as Streams['review']['args']));
      tell({ total: review.total() });
      await steps(() => {
        const move = review.step();
        if (move) tell(move);
        return move !== undefined;
      });
      review.free();
      return null;
    }
    case 'pgn': {
      const [file] = args as Streams['pgn']['args'];
      const scan = new tabia.PgnScan(bytesOf(file));
      await steps(() => {
        const part = scan.step(GAMES_A_STEP);
        tell(part);
        return !part.done;
      });
      scan.free();
      return null;
    }
    case 'match': {
      const match = new tabia.Match(studio, ...(args as [MatchSetup]));
      state.soFar = () => ({ results: match.results(), pgn: match.pgn(), json: match.json() });
      await steps(() => {
        const event = match.step();
        tell(event);
        if (event.kind === 'game-end') tell({ kind: 'results', results: match.results() });
        return event.kind !== 'done';
      });
      const end = state.soFar();
      match.free();
      return end;
    }
    case 'challenge': {
      const challenge = new tabia.Challenge(studio, ...(args as Streams['challenge']['args']));
      await steps(() => {
        const event = challenge.step();
        tell(event);
        return event.kind !== 'done';
      });
      const end = { scorecard: challenge.scorecard(), text: challenge.text() };
      challenge.free();
      return end;
    }
  }
}

/** Gives out a file piece by piece. Workers may wait for a disk. */
function bytesOf(file: Blob): (most: number) => Uint8Array {
  const reader = new FileReaderSync();
  let at = 0;
  let piece = new Uint8Array();
  return (most) => {
    if (piece.length === 0) {
      piece = new Uint8Array(reader.readAsArrayBuffer(file.slice(at, at + PIECE)));
      at += piece.length;
    }
    const given = piece.subarray(0, most);
    piece = piece.subarray(most);
    return given;
  };
}

function reply(message: Reply): void {
  self.postMessage(message);
}

/** Waits until a stream may take its next step. */
async function turn(state: Running): Promise<void> {
  const since = performance.now();
  for (;;) {
    const { paused, delay } = state.pace;
    const left = since + delay - performance.now();
    if (state.stopped || (!paused && left <= 0)) break;
    await new Promise<void>((resolve) => {
      state.wake = resolve;
      if (!paused) setTimeout(resolve, left);
    });
  }
  await breath();
}

const lungs = new MessageChannel();
const breathing: (() => void)[] = [];
lungs.port1.onmessage = () => breathing.shift()?.();

/** Lets waiting messages in. A message to oneself is not slowed down as timers are. */
function breath(): Promise<void> {
  return new Promise((resolve) => {
    breathing.push(resolve);
    lungs.port2.postMessage(null);
  });
}
