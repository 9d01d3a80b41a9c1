// Where runs come from: written into the page, or a server that is asked again and again.
import { Lines } from "./lines.mjs";

/** Seconds between questions; more while the server does not answer. */
const PATIENCE = 2, MOST_PATIENCE = 30;

/** A run as the page knows it. `slot` is its place among the colours, null while it is not drawn. */
export const fresh = name => ({ name, lines: new Lines(), about: null, loaded: false, slot: null, file: "", next: 0 });

/** The runs written into the page. */
export function written(data) {
  return data.runs.map(({ name, glance, about, metrics, unreadable }) => {
    const run = Object.assign(fresh(name), glance, { about, loaded: true });
    run.lines.add(metrics);
    run.lines.unreadable += unreadable;
    return run;
  });
}

/** Asks a server: the list when it changed, and of the runs that are drawn the lines that are new. */
export class Feed {
  /** `changed(redraw)` is told after each answer; `trouble(text)` what is wrong, or null. */
  constructor(runs, { changed, trouble }) {
    this.runs = runs;
    this.changed = changed;
    this.trouble = trouble;
    this.tag = null;
    this.pause = PATIENCE;
    this.timer = null;
    this.asking = false;
    this.again = false;
    this.stopped = false;
    this.seen = () => { if (!document.hidden && !this.stopped) this.ask(); };
    document.addEventListener("visibilitychange", this.seen);
  }

  /** Asks no more. */
  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
  }

  /** Asks now, and then every few seconds while the page can be seen. */
  async ask() {
    if (this.asking) {
      this.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.asking = true;
    try {
      do {
        this.again = false;
        const listed = await this.list();
        const read = await this.read();
        this.changed(listed || read);
      } while (this.again);
      this.pause = PATIENCE;
      this.trouble(null);
    } catch (error) {
      this.pause = Math.min(this.pause * 2, MOST_PATIENCE);
      this.trouble(error instanceof TypeError ? "The server does not answer; what is shown may be old. Trying again." : error.message);
    }
    this.asking = false;
    if (!document.hidden && !this.stopped) this.timer = setTimeout(() => this.ask(), 1000 * this.pause);
  }

  async list() {
    const answer = await fetch("/api/runs", { headers: this.tag ? { "If-None-Match": this.tag } : {} });
    this.now = Date.parse(answer.headers.get("date")) / 1000 || undefined;
    if (answer.status === 304) return false;
    const { runs } = await body(answer).then(JSON.parse);
    this.tag = answer.headers.get("etag");
    const names = new Set(runs.map(run => run.name));
    for (const name of [...this.runs.keys()]) if (!names.has(name)) this.runs.delete(name);
    for (const { name, glance } of runs) {
      const run = this.runs.get(name) ?? fresh(name);
      // Continued or begun anew: its bounds may be others.
      if (run.started !== glance.started) run.about = null;
      Object.assign(run, glance, { file: run.file, listed: glance.file });
      this.runs.set(name, run);
    }
    return true;
  }

  /** Reads what is new of the runs that are drawn. */
  async read() {
    const wanted = [...this.runs.values()].filter(run => run.slot !== null);
    const read = await Promise.all(wanted.map(run => this.readRun(run)));
    return read.some(Boolean);
  }

  async readRun(run) {
    const name = encodeURIComponent(run.name);
    let any = false;
    if (!run.about) {
      run.about = JSON.parse(await body(await fetch(`/api/runs/about?run=${name}`)));
      any = true;
    }
    while (!run.loaded || run.file !== run.listed || run.next < run.bytes) {
      const answer = await fetch(`/api/runs/metrics?run=${name}&from=${run.next}&file=${encodeURIComponent(run.file)}`);
      const text = await body(answer), number = header => Number(answer.headers.get(header));
      if (number("tabia-from") === 0) run.lines = new Lines();
      run.lines.add(text);
      run.lines.unreadable += number("tabia-unreadable");
      const moved = number("tabia-next") > run.next || run.file !== answer.headers.get("tabia-file");
      [run.file, run.next, run.loaded] = [answer.headers.get("tabia-file"), number("tabia-next"), true];
      run.listed = run.file;
      any ||= text !== "" || moved;
      // What is left is a line that is being written.
      if (!moved || text === "") break;
    }
    return any;
  }
}

async function body(answer) {
  const text = await answer.text();
  if (!answer.ok) {
    let message = text.trim();
    try { message = JSON.parse(text).error; } catch { /* it was plain text */ }
    throw new Error(`The server says: ${message || answer.status}`);
  }
  return text;
}
