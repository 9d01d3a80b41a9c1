// The list of runs: which are drawn, and how each stands.
import { byId, element, say, shape } from "./dom.mjs";
import { duration, score, short } from "./scale.mjs";

const SIGNS = { running: "▶", complete: "✓", stopped: "■", failed: "✕", "broken-off": "!", unknown: "·" };
/** A run that says nothing for so long, in seconds, is worth a word. */
const SILENCE = 60;

/** How a run stands: `{ kind, text }`. `now` is in seconds since 1970; `live` is false in a page that was made at some moment. */
export function standing(run, now, live) {
  const silent = run.modified ? now - run.modified / 1000 : NaN;
  const ago = silent > SILENCE ? `, last line ${duration(silent)} ago` : "";
  switch (run.standing) {
    case "running": return { kind: "running", text: live ? `going on${progress(run)}${ago}` : `was going on${progress(run)}` };
    case "complete": return { kind: "complete", text: "complete" };
    case "stopped": return { kind: "stopped", text: `stopped${progress(run)}; --resume continues it` };
    case "failed": return { kind: "failed", text: `failed${progress(run)}` };
    case "broken-off": return { kind: "broken-off", text: `broke off${progress(run)}: killed, or a copy` };
  }
  if (run.lines.notFinite) return { kind: "failed", text: "failed: its loss is not a number" };
  if (live && silent <= SILENCE) return { kind: "running", text: "going on, it seems" };
  const date = run.modified ? `, last line ${new Date(run.modified).toLocaleString([], { dateStyle: "short", timeStyle: "short" })}` : "";
  return { kind: "unknown", text: `ended, it seems${date}` };
}

/** The share of a run that is over, if its bound is known. */
export function share(run) {
  const last = run.lines.last, { max_seconds, max_positions } = run.about ?? {};
  const shares = [last?.seconds / max_seconds, last?.positions / max_positions].filter(Number.isFinite);
  return shares.length ? Math.min(Math.max(...shares), 1) : null;
}

function progress(run) {
  const over = share(run);
  if (over === null) return "";
  const left = run.standing === "running" && over > 0.02 ? `, about ${duration(run.lines.last.seconds * (1 / over - 1))} left` : "";
  return ` at ${Math.floor(100 * over)}%${left}`;
}

/** What a run came to, in a few words. */
export function facts(run) {
  const { last, steps, evaluations, unreadable } = run.lines;
  if (!run.loaded) return run.bytes ? `${short(run.bytes)}B of metrics` : "no metrics yet";
  if (!last) return "no metrics yet";
  const words = [`${short(last.positions)} positions`, `${short(last.step)} steps`, duration(last.seconds)];
  if (last.seconds > 0) words.push(`${short(Math.round(last.positions / last.seconds))}/s`);
  const loss = steps.at(-1)?.loss, all = evaluations.at(-1)?.groups.all;
  if (Number.isFinite(loss)) words.push(`loss ${score(loss)}`);
  if (Number.isFinite(all?.top1)) words.push(`top-1 ${score(all.top1, true)}`);
  else if (Number.isFinite(all?.value_error)) words.push(`value error ${score(all.value_error)}`);
  if (unreadable) words.push(`${unreadable} unreadable ${unreadable === 1 ? "line" : "lines"}`);
  return words.join(" · ");
}

/** The rows of the list. Rows stay the same elements, so that the keyboard's place is not lost when numbers change. */
export class RunList {
  constructor({ chosen, pointed }) {
    this.chosen = chosen;
    this.pointed = pointed;
    this.rows = new Map();
  }

  draw(runs, wanted, now, live) {
    const list = byId("runs");
    for (const [name, row] of this.rows) {
      if (!runs.some(run => run.name === name)) {
        row.item.remove();
        this.rows.delete(name);
      }
    }
    runs.forEach((run, i) => {
      const row = this.rows.get(run.name) ?? this.add(run);
      if (list.children[i] !== row.item) list.insertBefore(row.item, list.children[i] ?? null);
      row.item.hidden = !run.name.toLowerCase().includes(wanted);
      row.box.checked = run.slot !== null;
      row.swatch.setAttribute("class", run.slot === null ? "" : `c${run.slot % 8} d${Math.floor(run.slot / 8) % 4}`);
      row.swatch.parentElement.setAttribute("visibility", run.slot === null ? "hidden" : "visible");
      const { kind, text } = standing(run, now, live);
      row.state.className = `state ${kind}`;
      say(row.state, `${SIGNS[kind]} ${text}`);
      say(row.facts, facts(run));
      row.message.hidden = !run.message;
      say(row.message, run.message ?? "");
    });
  }

  add(run) {
    const box = element("input", { type: "checkbox" }), swatch = shape("line", { x1: 0, x2: 26, y1: 5, y2: 5 });
    const state = element("span", { class: "state" }), facts = element("span", { class: "facts" }), message = element("span", { class: "message", hidden: "" });
    const label = element("label", {}, box, shape("svg", { class: "swatch", viewBox: "0 0 26 10", "aria-hidden": "true" }, swatch), element("span", {}, run.name));
    const item = element("li", {}, label, state, facts, message);
    box.addEventListener("change", () => this.chosen(run.name, box.checked));
    for (const event of ["pointerenter", "focusin"]) item.addEventListener(event, () => this.pointed(run.name));
    for (const event of ["pointerleave", "focusout"]) item.addEventListener(event, () => this.pointed(null));
    const row = { item, box, swatch, state, facts, message };
    this.rows.set(run.name, row);
    return row;
  }
}
