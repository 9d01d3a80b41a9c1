// The list of runs: selection and status.
import { byId, element, setText, shape } from "./dom.mjs";
import { duration, score, short } from "./scale.mjs";

const SIGNS = { running: "▶", complete: "✓", stopped: "■", failed: "✕", "broken-off": "!", unknown: "·" };
/** Seconds without a new line after which the age of the last line is shown. */
const SILENCE = 60;

/** Status of a run: `{ kind, text }`. `now` is Unix time; `live` is false in a standalone page. */
export function status(run, now, live) {
  const silent = run.modified ? now - run.modified / 1000 : NaN;
  const ago = silent > SILENCE ? `, last line ${duration(silent)} ago` : "";
  switch (run.standing) {
    case "running": return { kind: "running", text: live ? `running${progress(run)}${ago}` : `was running${progress(run)}` };
    case "complete": return { kind: "complete", text: "complete" };
    case "stopped": return { kind: "stopped", text: `stopped${progress(run)}; continue with --resume` };
    case "failed": return { kind: "failed", text: `failed${progress(run)}` };
    case "broken-off": return { kind: "broken-off", text: `interrupted${progress(run)}: killed, or a copy of a running run` };
  }
  if (run.lines.notFinite) return { kind: "failed", text: "failed: loss is not finite" };
  if (live && silent <= SILENCE) return { kind: "running", text: "probably running" };
  const date = run.modified ? `, last line ${new Date(run.modified).toLocaleString([], { dateStyle: "short", timeStyle: "short" })}` : "";
  return { kind: "unknown", text: `probably ended${date}` };
}

/** Completed fraction of a run, or null if its budget is unknown. */
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

/** Key figures of a run as text. */
export function facts(run) {
  const { last, steps, evaluations, unreadable } = run.lines;
  if (!run.loaded) return run.bytes ? `${short(run.bytes)}B of metrics` : "no metrics yet";
  if (!last) return "no metrics yet";
  const parts = [`${short(last.positions)} positions`, `${short(last.step)} steps`, duration(last.seconds)];
  if (last.seconds > 0) parts.push(`${short(Math.round(last.positions / last.seconds))}/s`);
  const loss = steps.at(-1)?.loss, all = evaluations.at(-1)?.groups.all;
  if (Number.isFinite(loss)) parts.push(`loss ${score(loss)}`);
  if (Number.isFinite(all?.top1)) parts.push(`top-1 ${score(all.top1, true)}`);
  else if (Number.isFinite(all?.value_error)) parts.push(`value error ${score(all.value_error)}`);
  if (unreadable) parts.push(`${unreadable} unreadable ${unreadable === 1 ? "line" : "lines"}`);
  return parts.join(" · ");
}

/** Rows of the list. Elements are reused so that keyboard focus survives updates. */
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
      const { kind, text } = status(run, now, live);
      row.state.className = `state ${kind}`;
      setText(row.state, `${SIGNS[kind]} ${text}`);
      setText(row.facts, facts(run));
      row.message.hidden = !run.message;
      setText(row.message, run.message ?? "");
    });
  }

  add(run) {
    const box = element("input", { type: "checkbox" }), swatch = shape("line", { x1: 0, x2: 26, y1: 5, y2: 5 });
    const state = element("span", { class: "state" }), facts = element("span", { class: "muted numbers" }), message = element("span", { class: "problem", hidden: "" });
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
