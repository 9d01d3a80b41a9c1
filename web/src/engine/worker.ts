import * as tabia from '../wasm/tabia.js';
import { Accelerator } from './accelerator';
import { fetchBytes } from './fetch';
import { Engine, type EngineMethod, type FailureCause, type Pace, type Reply, type Request, type StreamKind, type Streams } from './protocol';

// Runs one wasm engine, or helps one. Calls are answered in order; streams yield between steps, so that calls and stops get through.

const PGN_GAMES_PER_STEP = 250;
const FILE_CHUNK_BYTES = 1 << 20;
/** The calls that evaluate networks, and may be repeated. */
const EVALUATING: ReadonlySet<EngineMethod> = new Set(['choose', 'human'] as const);
/** The streams with a step that evaluates networks first, and may be repeated. */
const REPEATABLE: ReadonlySet<StreamKind> = new Set(['coverage'] as const);

/** Exists only in workers, and TypeScript declares it only in their library. */
declare class FileReaderSync {
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

let engine: Engine | undefined;
let accelerator: Accelerator | undefined;
let timed = false;
const running = new Map<number, RunningStream>();

interface RunningStream {
  stopped: boolean;
  pace: Pace;
  /** Ends the wait for the next step. */
  wake: () => void;
  /** The result if the stream were stopped now. */
  snapshot: () => unknown;
}

self.addEventListener('message', (message: MessageEvent<Request>) => {
  const request = message.data;
  if (request.kind === 'start') {
    timed = request.timed;
    const { memory } = tabia.initSync({ module: request.module });
    engine = new Engine(request.seed);
    engine.chooseKernels();
    if (request.shares) reply({ kind: 'memory', memory });
    accelerator = new Accelerator(engine, request.compute, (state) => reply({ kind: 'compute', state }));
  } else if (request.kind === 'help') {
    tabia.initSync(request);
    tabia.help();
  } else if (request.kind === 'compute') {
    accelerator?.choose(request.compute);
  } else if (request.kind === 'stop' || request.kind === 'pace') {
    const stream = running.get(request.id);
    if (!stream) return;
    if (request.kind === 'stop') stream.stopped = true;
    else stream.pace = request.pace;
    stream.wake();
  } else void answer(request);
});

type AnsweredRequest = Exclude<Request, { kind: 'start' | 'help' | 'compute' | 'stop' | 'pace' }>;

async function answer(request: AnsweredRequest): Promise<void> {
  const { id } = request;
  try {
    if (!engine) throw new Error('the engine has not been started');
    reply({ kind: 'done', id, result: await perform(engine, request) });
  } catch (error) {
    reply({ kind: 'failed', id, error: error instanceof Error ? error.message : String(error), cause: causeOf(error) });
  } finally {
    running.delete(id);
  }
}

function causeOf(error: unknown): FailureCause {
  // After a trap the module's memory is in an undefined state.
  if (error instanceof WebAssembly.RuntimeError) return 'crash';
  return error instanceof Error && error.name === 'NoRuntime' ? 'no-runtime' : null;
}

async function perform(engine: Engine, request: AnsweredRequest): Promise<unknown> {
  const { id } = request;
  switch (request.kind) {
    case 'fetch': {
      const bytes = await fetchBytes(request.url, (loaded, total) => reply({ kind: 'progress', id, loaded, total }));
      const facts = time(`addModel ${request.name}`, () => engine.addModel(request.name, bytes));
      accelerator?.added(request.name, () => fetchBytes(request.url, () => {}));
      return facts;
    }
    case 'read': {
      const bytes = new Uint8Array(await request.file.arrayBuffer());
      const vocabulary = await request.vocabulary?.arrayBuffer();
      const facts = time(`addModel ${request.name}`, () => engine.addModel(request.name, bytes, vocabulary && new Uint8Array(vocabulary)));
      accelerator?.added(request.name, async () => new Uint8Array(await request.file.arrayBuffer()));
      return facts;
    }
    case 'call': {
      const method = engine[request.method] as (...args: unknown[]) => unknown;
      // The first argument is the player or network.
      const [about] = request.args;
      const what = `${request.method}${typeof about === 'string' ? ` ${about}` : ''}`;
      const task = () => time(what, () => method.apply(engine, request.args));
      if (request.method === 'removeModel') accelerator?.removed(String(about));
      if (!accelerator || !EVALUATING.has(request.method)) return task();
      const result = await accelerator.run(task);
      // Not before the first answer, which the visitor waits for.
      void accelerator.consider();
      return result;
    }
    case 'snapshot': {
      const stream = running.get(request.of);
      if (!stream) throw new Error('nothing is running');
      return stream.snapshot();
    }
    case 'stream':
      return runStream(engine, id, request.stream, request.args, request.pace);
  }
}

async function runStream(engine: Engine, id: number, kind: StreamKind, args: unknown[], pace: Pace): Promise<unknown> {
  const state: RunningStream = { stopped: false, pace, wake: () => {}, snapshot: () => null };
  running.set(id, state);
  const emit = (event: unknown) => reply({ kind: 'event', id, event });
  /** Calls `step` until it returns false or the stream is stopped. */
  const repeat = async (step: () => boolean) => {
    const once = () => time(kind, step);
    const elsewhere = REPEATABLE.has(kind) ? accelerator : undefined;
    while (!state.stopped && (elsewhere ? await elsewhere.run(once) : once())) {
      // The steps to come would slow down the race.
      await elsewhere?.consider();
      await nextStep(state);
    }
  };
  switch (kind) {
    case 'analysis': {
      const [game, lines, seconds, slices] = args as Streams['analysis']['args'];
      let left = slices;
      await repeat(() => {
        emit({ thought: engine.analyse(game, lines, seconds), threads: engine.threads() });
        return --left > 0;
      });
      return null;
    }
    case 'review': {
      const review = new tabia.Review(engine, ...(args as Streams['review']['args']));
      emit({ total: review.total() });
      let done = false;
      await repeat(() => {
        const moves = review.step();
        for (const move of moves) emit(move);
        done = moves.length === 0;
        return !done;
      });
      const summary = done ? review.summary() : null;
      review.free();
      return summary;
    }
    case 'difficulty': {
      const search = new tabia.DifficultySearch(engine, ...(args as Streams['difficulty']['args']));
      await repeat(() => search.step());
      const result = search.result() ?? null;
      search.free();
      return result;
    }
    case 'gameReview': {
      const task = new tabia.GameReviewTask(engine, ...(args as Streams['gameReview']['args']));
      await repeat(() => {
        const more = task.step();
        if (more) emit(null);
        return more;
      });
      const result = state.stopped ? null : task.result();
      task.free();
      return result;
    }
    case 'coverage': {
      const coverage = new tabia.RepertoireCoverage(engine, ...(args as Streams['coverage']['args']));
      await repeat(() => {
        const step = coverage.step();
        emit(step);
        return !step.done;
      });
      coverage.free();
      return null;
    }
    case 'pgn': {
      const [file] = args as Streams['pgn']['args'];
      const scan = new tabia.PgnScan(chunksOf(file));
      await repeat(() => {
        const part = scan.step(PGN_GAMES_PER_STEP);
        emit(part);
        return !part.done;
      });
      scan.free();
      return null;
    }
    case 'puzzles': {
      const [file, seed] = args as Streams['puzzles']['args'];
      const scan = new tabia.PuzzleScan(chunksOf(file), seed);
      await repeat(() => {
        const part = scan.step();
        emit(part);
        return !part.done;
      });
      const result = { text: scan.text() };
      scan.free();
      return result;
    }
    case 'names': {
      const [file, least] = args as Streams['names']['args'];
      const players = new tabia.PlayerNames(chunksOf(file));
      await repeat(() => players.step(PGN_GAMES_PER_STEP));
      const names = players.names(least);
      players.free();
      return names;
    }
    case 'adapter': {
      const [model, file, player, name, newest, moves] = args as Streams['adapter']['args'];
      const learning = new tabia.AdapterLearning(engine, model, chunksOf(file), player, name, newest, moves);
      await repeat(() => {
        const event = learning.step();
        emit(event);
        return event.stage !== 'done';
      });
      const json = learning.json() ?? null;
      learning.free();
      return json;
    }
    case 'match': {
      const match = new tabia.Match(engine, ...(args as Streams['match']['args']));
      state.snapshot = () => ({ results: match.results(), pgn: match.pgn(), json: match.json() });
      await repeat(() => {
        // Who looks at every move looks at one game.
        const { paused, delay } = state.pace;
        const events = paused || delay > 0 ? [match.step()] : match.stepTogether();
        for (const event of events) emit(event);
        if (events.some(({ kind }) => kind === 'game-end')) emit({ kind: 'results', results: match.results() });
        return events.every(({ kind }) => kind !== 'done');
      });
      const result = state.snapshot();
      match.free();
      return result;
    }
    case 'challenge': {
      const challenge = new tabia.Challenge(engine, ...(args as Streams['challenge']['args']));
      await repeat(() => {
        const event = challenge.step();
        emit(event);
        return event.kind !== 'done';
      });
      const result = { scorecard: challenge.scorecard() };
      challenge.free();
      return result;
    }
  }
}

/** A function that returns the next bytes of a file, at most so many. Workers may block on reading. */
function chunksOf(file: Blob): (max: number) => Uint8Array {
  const reader = new FileReaderSync();
  let offset = 0;
  let chunk = new Uint8Array();
  return (max) => {
    if (chunk.length === 0) {
      chunk = new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + FILE_CHUNK_BYTES)));
      offset += chunk.length;
    }
    const bytes = chunk.subarray(0, max);
    chunk = chunk.subarray(max);
    return bytes;
  };
}

/** Runs a task and reports its time if the page wants timings. */
function time<T>(what: string, task: () => T): T {
  const began = performance.now();
  const result = task();
  if (timed) reply({ kind: 'timing', what, ms: performance.now() - began });
  return result;
}

function reply(message: Reply): void {
  self.postMessage(message);
}

/** Waits until a stream may take its next step. */
async function nextStep(state: RunningStream): Promise<void> {
  const since = performance.now();
  for (;;) {
    const { paused, delay, step } = state.pace;
    const left = since + delay - performance.now();
    if (step) state.pace = { paused, delay };
    if (state.stopped || step || (!paused && left <= 0)) break;
    await new Promise<void>((resolve) => {
      state.wake = resolve;
      if (!paused) setTimeout(resolve, left);
    });
  }
  await yieldToEventLoop();
}

const channel = new MessageChannel();
const resumed: (() => void)[] = [];
channel.port1.onmessage = () => resumed.shift()?.();

/** Lets pending messages be handled. Unlike timers, messages are not throttled. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    resumed.push(resolve);
    channel.port2.postMessage(null);
  });
}
