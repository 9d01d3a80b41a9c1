// Sources of runs: data embedded in the page, or a server that is polled.
import { Lines } from "./lines.mjs";

/** Polling interval in seconds, and its maximum while the server does not answer. */
const INTERVAL = 2, MAX_INTERVAL = 30;

/** Client state of a run. `slot` is its index among the colours, null while it is not drawn. */
export const fresh = name => ({ name, lines: new Lines(), about: null, loaded: false, slot: null, file: "", next: 0 });

/** Runs embedded in the page. */
export function embedded(data) {
  return data.runs.map(({ name, glance, about, metrics, unreadable }) => {
    const run = Object.assign(fresh(name), glance, { about, loaded: true });
    run.lines.add(metrics);
    run.lines.unreadable += unreadable;
    return run;
  });
}

/** Polls the server for the list of runs and for new lines of the runs that are drawn. */
export class Feed {
  /** `changed(redraw)` is called after each poll, `failed(text)` with an error message or null. */
  constructor(runs, { changed, failed }) {
    this.runs = runs;
    this.changed = changed;
    this.failed = failed;
    this.etag = null;
    this.interval = INTERVAL;
    this.timer = null;
    this.polling = false;
    this.again = false;
    this.stopped = false;
    this.resume = () => { if (!document.hidden && !this.stopped) this.poll(); };
    document.addEventListener("visibilitychange", this.resume);
  }

  /** Stops polling. */
  stop() {
    this.stopped = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.resume);
  }

  /** Polls now, and then periodically while the page is visible. */
  async poll() {
    if (this.polling) {
      this.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.polling = true;
    try {
      do {
        this.again = false;
        const listed = await this.list();
        const read = await this.read();
        this.changed(listed || read);
      } while (this.again);
      this.interval = INTERVAL;
      this.failed(null);
    } catch (error) {
      this.interval = Math.min(this.interval * 2, MAX_INTERVAL);
      this.failed(error instanceof TypeError ? "No answer from the server; the data shown may be outdated. Retrying." : error.message);
    }
    this.polling = false;
    if (!document.hidden && !this.stopped) this.timer = setTimeout(() => this.poll(), 1000 * this.interval);
  }

  async list() {
    const answer = await fetch("/api/runs", { headers: this.etag ? { "If-None-Match": this.etag } : {} });
    this.now = Date.parse(answer.headers.get("date")) / 1000 || undefined;
    if (answer.status === 304) return false;
    const { runs } = await body(answer).then(JSON.parse);
    this.etag = answer.headers.get("etag");
    const names = new Set(runs.map(run => run.name));
    for (const name of [...this.runs.keys()]) if (!names.has(name)) this.runs.delete(name);
    for (const { name, glance } of runs) {
      const run = this.runs.get(name) ?? fresh(name);
      // Resumed or restarted: the budget may have changed.
      if (run.started !== glance.started) run.about = null;
      Object.assign(run, glance, { file: run.file, listed: glance.file });
      this.runs.set(name, run);
    }
    return true;
  }

  /** Reads new lines of the runs that are drawn. */
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
      // The rest is an incomplete line.
      if (!moved || text === "") break;
    }
    return any;
  }
}

async function body(answer) {
  const text = await answer.text();
  if (!answer.ok) {
    let message = text.trim();
    try { message = JSON.parse(text).error; } catch { /* plain text */ }
    throw new Error(`Server error: ${message || answer.status}`);
  }
  return text;
}
