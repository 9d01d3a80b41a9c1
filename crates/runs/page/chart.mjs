// A chart with curves of several runs over a shared axis.
import { element, setText, shape } from "./dom.mjs";
import { nearest, outline, smooth } from "./series.mjs";
import { duration, range, scale, short } from "./scale.mjs";

const HEIGHT = 230, LEFT = 50, RIGHT = 10, TOP = 8, BOTTOM = 24;
/** Minimum length of a drag in pixels. */
const DRAG = 6;
/** Maximum number of curves for which unsmoothed data is drawn too. */
const RAW = 4;

export class Chart {
  /** `moved(x)` reports the cursor, `zoomed([x0, x1])` a selected range, or null for the whole range. */
  constructor(title, note, { moved, zoomed }) {
    this.title = title;
    this.moved = moved;
    this.zoomed = zoomed;
    this.caption = element("figcaption", {}, title, " ", element("small", {}, note));
    this.svg = shape("svg", { tabindex: 0, role: "img", height: HEIGHT });
    this.reading = element("div", { class: "tooltip", "aria-live": "polite", hidden: "" });
    this.figure = element("figure", { "aria-label": title }, this.caption, this.svg, this.reading);
    this.drag = null;
    this.x = null;
    this.listen();
  }

  /**
   * Draws `series`, a list of `{ run, points }`. `view` has the `kind` of scale, `smoothing`, `cut`, `zoom`, `format` of values and
   * `place`, the label of an x value.
   */
  draw(series, view) {
    this.view = view;
    const inside = ([x]) => !view.zoom || (x >= view.zoom[0] && x <= view.zoom[1]);
    this.series = series.map(({ run, points }) => {
      const smoothed = view.smoothing ? smooth(points, view.smoothing) : points;
      return { run, raw: view.smoothing ? points : null, points: smoothed, shown: smoothed.filter(inside) };
    });
    this.render();
  }

  render() {
    const width = Math.max(this.figure.clientWidth - 24, 200);
    const { view } = this;
    // Data with values <= 0 falls back to a linear scale.
    const log = view.kind === "log" && this.series.every(({ shown }) => shown.every(([, y]) => y > 0));
    const xs = this.series.flatMap(({ shown }) => (shown.length ? [shown[0][0], shown.at(-1)[0]] : []));
    const ys = range(this.series.flatMap(({ shown }) => shown.map(([, y]) => y)), { cut: view.cut, log });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.replaceChildren();
    this.marks = shape("g");
    if (!ys) {
      this.X = null;
      this.svg.append(shape("text", { x: width / 2, y: HEIGHT / 2, "text-anchor": "middle" }, "no data in this range"));
      return;
    }
    const [x0, x1] = view.zoom ?? [view.fromZero ? Math.min(0, ...xs) : Math.min(...xs), Math.max(...xs)];
    this.X = scale("linear", [x0, x1 > x0 ? x1 : x0 + 1], [LEFT, width - RIGHT]);
    this.Y = scale(log ? "log" : "linear", ys, [HEIGHT - BOTTOM, TOP]);
    for (const y of this.Y.ticks(5)) {
      this.svg.append(shape("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: this.Y(y), y2: this.Y(y) }),
        shape("text", { x: LEFT - 6, y: this.Y(y) + 4, "text-anchor": "end" }, view.tick(y)));
    }
    for (const x of this.X.ticks(Math.max(2, Math.floor(width / 90)))) {
      this.svg.append(shape("text", { x: this.X(x), y: HEIGHT - 7, "text-anchor": "middle" }, view.place(x)));
    }
    const clip = `clip-${this.title.replace(/[^a-z0-9]/gi, "-")}`;
    this.svg.append(shape("clipPath", { id: clip }, shape("rect", { x: LEFT - 4, y: 0, width: width - LEFT - RIGHT + 8, height: HEIGHT - BOTTOM + 3 })));
    const curves = shape("g", { "clip-path": `url(#${clip})` });
    for (const { run, raw, points } of this.series) {
      if (raw && this.series.length <= RAW) curves.append(this.curve(run, raw, width, "curve raw"));
      curves.append(this.curve(run, points, width, "curve"));
      if (points.length <= 40) {
        for (const [x, y, marked] of points) {
          curves.append(shape("circle", { class: `dot c${run.slot % 8}${marked ? " hollow" : ""}`, cx: this.X(x), cy: this.Y(y), r: 3.2 }));
        }
      }
    }
    this.svg.append(curves, this.marks);
    this.svg.setAttribute("aria-label", this.summary());
    if (this.x !== null) this.point(this.x, !this.reading.hidden);
  }

  curve(run, points, width, kind) {
    const zoom = this.view.zoom, from = zoom ? Math.max(nearest(points, zoom[0]) - 1, 0) : 0;
    const to = zoom ? nearest(points, zoom[1]) + 2 : points.length;
    const path = outline(points.slice(from, to), width).map(([x, y], i) => `${i ? "L" : "M"}${this.X(x).toFixed(1)} ${this.Y(y).toFixed(1)}`).join("");
    const dash = kind === "curve" ? `d${Math.floor(run.slot / 8) % 4}` : "";
    return shape("path", { class: `${kind} c${run.slot % 8} ${dash}`, d: path, "data-run": run.name });
  }

  summary() {
    const ends = this.series.filter(({ shown }) => shown.length).map(({ run, shown }) => `${run.name} ends at ${this.view.format(shown.at(-1)[1])}`);
    return `${this.title}: ${ends.slice(0, 8).join("; ")}. Arrow keys read values.`;
  }

  /** Shows the values at `x`; with `full` also as text. */
  point(x, full) {
    this.x = x;
    this.marks.replaceChildren();
    this.reading.hidden = true;
    if (x === null || !this.X) return;
    const rows = [];
    for (const { run, shown } of this.series) {
      if (!shown.length) continue;
      const [at, y] = shown[nearest(shown, x)];
      // Skip runs that ended before x.
      if (x > shown.at(-1)[0] * 1.02 && at < x) continue;
      this.marks.append(shape("circle", { class: `dot c${run.slot % 8}`, cx: this.X(at), cy: Math.max(this.Y(y), 2), r: 4 }));
      rows.push([run, y]);
    }
    const place = this.X(x);
    this.marks.prepend(shape("line", { class: "cursor", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
    if (!full || !rows.length) return;
    const better = this.view.better === "higher" ? -1 : 1;
    rows.sort((a, b) => better * (a[1] - b[1]));
    const table = element("table");
    for (const [run, y] of rows.slice(0, 12)) {
      table.append(element("tr", {}, element("td", { class: `key c${run.slot % 8}` }, "●"), element("td", { class: "name" }, run.name), element("td", {}, this.view.format(y))));
    }
    this.reading.replaceChildren(element("div", {}, this.view.said(x)), table);
    if (rows.length > 12) this.reading.append(element("div", {}, `and ${rows.length - 12} more`));
    this.reading.hidden = false;
    const figure = this.figure.clientWidth, share = place / (figure || 1);
    this.reading.style.top = `${TOP + 34}px`;
    this.reading.style.left = share < 0.5 ? `${place + 24}px` : "auto";
    this.reading.style.right = share < 0.5 ? "auto" : `${figure - place + 4}px`;
  }

  /** Highlights the curves of one run. */
  mark(name) {
    this.svg.classList.toggle("dim", name !== null);
    for (const path of this.svg.querySelectorAll("path.curve")) path.classList.toggle("marked", path.dataset.run === name);
  }

  listen() {
    const { svg } = this;
    const at = event => {
      const box = svg.getBoundingClientRect(), [low, high] = this.bounds();
      return Math.min(Math.max(this.X.back(event.clientX - box.left), low), high);
    };
    svg.addEventListener("pointerdown", event => {
      if (this.X && event.pointerType === "mouse" && event.button === 0) this.drag = { from: at(event), pixel: event.clientX };
    });
    svg.addEventListener("pointermove", event => {
      if (!this.X) return;
      this.moved(this, at(event));
      if (this.drag && Math.abs(event.clientX - this.drag.pixel) > DRAG) {
        const [a, b] = [this.X(this.drag.from), this.X(at(event))].sort((a, b) => a - b);
        this.marks.prepend(shape("rect", { class: "range", x: a, width: b - a, y: TOP, height: HEIGHT - BOTTOM - TOP }));
        svg.setPointerCapture(event.pointerId);
      }
    });
    svg.addEventListener("pointerup", event => {
      if (this.X && this.drag && Math.abs(event.clientX - this.drag.pixel) > DRAG) this.zoomed([this.drag.from, at(event)].sort((a, b) => a - b));
      this.drag = null;
    });
    svg.addEventListener("pointercancel", () => { this.drag = null; });
    svg.addEventListener("pointerleave", () => { if (!this.drag) this.moved(this, null); });
    svg.addEventListener("blur", () => this.moved(this, null));
    svg.addEventListener("dblclick", () => this.zoomed(null));
    svg.addEventListener("keydown", event => this.key(event));
  }

  /** Range of the x axis. */
  bounds() {
    return [this.X.back(LEFT), this.X.back(Number(this.svg.getAttribute("viewBox").split(" ")[2]) - RIGHT)];
  }

  key(event) {
    if (!this.X || event.ctrlKey || event.metaKey || event.altKey) return;
    const [low, high] = this.bounds(), width = high - low, x = this.x ?? high;
    const step = width / (event.shiftKey ? 8 : 60);
    const moves = { ArrowLeft: x - step, ArrowRight: x + step, Home: low, End: high };
    if (event.key in moves) this.moved(this, Math.min(Math.max(moves[event.key], low), high));
    else if (event.key === "+" || event.key === "=") this.zoomed([Math.max(x - width / 4, low), Math.min(x + width / 4, high)]);
    else if (event.key === "-" || event.key === "Escape") {
      this.moved(this, null);
      this.zoomed(null);
    } else return;
    event.preventDefault();
  }

  describe(note) {
    setText(this.caption.lastChild, note);
  }
}

const seconds = x => (x < 100 ? `${short(x)} s` : duration(x));

/** Formatting of x values by axis. */
export const places = {
  positions: { tick: short, said: x => `${short(x)} positions` },
  seconds: { tick: seconds, said: seconds },
  step: { tick: short, said: x => `step ${Math.round(x)}` },
  rating: { tick: x => String(Math.round(x)), said: x => `rating ${Math.floor(x / 200 + 0.5) * 200} to ${Math.floor(x / 200 + 0.5) * 200 + 199}` },
};
