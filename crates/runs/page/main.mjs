// State, controls and drawing of the page.
import { Chart, places } from "./chart.mjs";
import { byId, element, setText } from "./dom.mjs";
import { embedded, Feed } from "./feed.mjs";
import { RunList, status } from "./list.mjs";
import { about, bandOf, byRating, groupNames, groupTitle, heldOut, scoreKeys, speed, training, trainingKeys } from "./series.mjs";
import { score, short } from "./scale.mjs";
import { drawGroups, drawSettings, ENOUGH } from "./tables.mjs";

/** Default and maximum number of runs drawn. */
const DEFAULT_RUNS = 8, MAX_RUNS = 40;

const data = JSON.parse(byId("data").textContent);
const live = data === null;
const runs = new Map();
const charts = new Map();
const sections = new Map();
let feed = null, zoom = null, pending = false, shownOnce = false;

// Choices are kept in the URL fragment, so that they survive a reload and can be shared.
const chosen = new URLSearchParams(location.hash.slice(1));
const choice = (key, otherwise) => chosen.get(key) ?? otherwise;
function choose(key, value) {
  if (value === null) chosen.delete(key);
  else chosen.set(key, value);
  try { history.replaceState(null, "", `#${chosen}`); } catch { /* not kept across reloads */ }
}

const drawn = () => [...runs.values()].filter(run => run.slot !== null).sort((a, b) => a.slot - b.slot);
const newestFirst = all => [...all].sort((a, b) => (b.standing === "running") - (a.standing === "running") || (b.modified ?? 0) - (a.modified ?? 0) || a.name.localeCompare(b.name));
const inOrder = () => (live ? newestFirst(runs.values()) : [...runs.values()]);

/** Shows or hides a run. A run keeps its colour while it is shown. */
function show(run, on) {
  if (on && run.slot === null) {
    const taken = new Set(drawn().map(run => run.slot));
    if (taken.size >= MAX_RUNS) return;
    run.slot = 0;
    while (taken.has(run.slot)) run.slot++;
  } else if (!on) run.slot = null;
}

function select(names) {
  for (const run of runs.values()) if (!names.has(run.name)) show(run, false);
  for (const run of inOrder()) if (names.has(run.name)) show(run, true);
}

function remember() {
  choose("runs", drawn().map(run => encodeURIComponent(run.name)).join(",") || "-");
  refresh();
}

const found = () => inOrder().filter(run => run.name.toLowerCase().includes(byId("find").value.trim().toLowerCase()));

function firstChoice() {
  const kept = chosen.get("runs")?.split(",").map(decodeURIComponent).filter(name => runs.has(name));
  if (kept?.length) select(new Set(kept));
  else if (chosen.get("runs") !== "-") select(new Set((live ? inOrder() : [...runs.values()]).slice(0, live ? DEFAULT_RUNS : 2 * DEFAULT_RUNS).map(run => run.name)));
}

/** Polls, and redraws once before the next frame. */
function refresh() {
  feed?.poll();
  redraw();
}
function redraw() {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    drawList();
    drawCharts();
    drawTables();
  });
}

const list = new RunList({
  chosen: (name, on) => {
    show(runs.get(name), on);
    remember();
  },
  pointed: name => { for (const { chart } of charts.values()) chart.mark(name !== null && runs.get(name)?.slot !== null ? name : null); },
});

function drawList() {
  const now = live ? feed?.now ?? Date.now() / 1000 : data.made;
  list.draw(inOrder(), byId("find").value.trim().toLowerCase(), now, live);
  const all = [...runs.values()], running = all.filter(run => status(run, now, live).kind === "running").length;
  const shown = drawn().length;
  setText(byId("count"), `${shown} of ${all.length} shown${shown >= MAX_RUNS ? " (maximum)" : ""}`);
  if (live) setText(byId("source"), all.length ? `Live: ${all.length} ${all.length === 1 ? "run" : "runs"}, ${running || "none"} running` : "No runs yet. `tabia-lab train CONFIG --data SET` starts one, and it will appear here.");
  else setText(byId("source"), `As of ${new Date(data.made * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`);
}

/** Draws the charts of a section. Charts are created once and reused. */
function drawSection(id, title, wanted, into, controls = []) {
  if (!sections.has(id)) {
    const grid = into ?? element("div", { class: "grid" });
    const section = into ? null : element("section", { "aria-label": title }, element("div", { class: "bar" }, element("h2", {}, title), ...controls), grid);
    if (section) byId("charts").append(section);
    sections.set(id, { section, grid });
  }
  const { section, grid } = sections.get(id);
  const alive = new Set();
  for (const { key, title, note, series, view } of wanted) {
    const kept = series.filter(({ points }) => points.length);
    if (!kept.length) continue;
    const name = `${id} ${key}`;
    alive.add(name);
    if (!charts.has(name)) {
      const zoomable = view.zoomable;
      const chart = new Chart(title, note, {
        moved: (from, x) => { for (const other of charts.values()) if (other.zoomable === zoomable && (zoomable || other.chart === from)) other.chart.point(x, other.chart === from); },
        zoomed: range => { if (zoomable) zoomTo(range); },
      });
      grid.append(chart.figure);
      watchSize.observe(chart.figure);
      charts.set(name, { chart, zoomable });
    }
    const { chart } = charts.get(name);
    chart.describe(note);
    chart.draw(kept, view);
  }
  for (const [name, { chart }] of charts) {
    if (name.startsWith(`${id} `) && !alive.has(name)) {
      watchSize.unobserve(chart.figure);
      chart.figure.remove();
      charts.delete(name);
    }
  }
  if (section) section.hidden = alive.size === 0;
}

const watchSize = new ResizeObserver(entries => {
  for (const { target } of entries) for (const { chart } of charts.values()) if (chart.figure === target && chart.view && target.clientWidth !== chart.width) {
    chart.width = target.clientWidth;
    chart.render();
  }
});

function zoomTo(range) {
  zoom = range;
  byId("unzoom").hidden = range === null;
  redraw();
}

const axis = () => choice("x", "positions");
const view = (key, more = {}) => {
  const { share, better } = about(key);
  return {
    kind: choice("y", "linear"), cut: choice("cut", "1") === "1", smoothing: 0, zoom, zoomable: true, fromZero: true, better,
    format: y => score(y, share), tick: y => (share ? `${Number((100 * y).toPrecision(4))}%` : short(y)),
    place: places[axis()].tick, said: places[axis()].said, ...more,
  };
};
const better = key => (about(key).better ? `${about(key).better} is better` : "");

const groupChoice = element("select", { id: "group" });
const groupLabel = element("label", {}, "of ", groupChoice);
const hollowNote = element("span", { class: "quiet" }, "○: evaluated on a very different number of positions");

function drawCharts() {
  const shown = drawn(), smoothing = Number(choice("smooth", "0.6"));
  const each = points => shown.map(run => ({ run, points: points(run.lines) }));
  drawSection("training", "Training", trainingKeys(shown).map(key => ({
    key, title: about(key).title, note: better(key), series: each(lines => training(lines, key, axis())), view: view(key, { smoothing }),
  })));
  const names = groupNames(shown);
  const group = names.includes(choice("group", "all")) ? choice("group", "all") : names[0];
  options(groupChoice, names.map(name => [name, name.startsWith("pool ") ? `Pool: ${groupTitle(name)}` : name.startsWith("phase ") ? `Phase: ${groupTitle(name)}` : groupTitle(name)]), group);
  const scores = scoreKeys(shown).map(key => ({
    key, title: about(key).title, note: better(key), series: each(lines => heldOut(lines, group, key, axis())), view: view(key, { cut: false }),
  }));
  drawSection("held-out", "Held out", scores, null, [groupLabel, hollowNote]);
  hollowNote.hidden = !scores.some(({ series }) => series.some(({ points }) => points.some(([, , marked]) => marked)));
  drawSection("pace", "Speed", [
    { key: "lr", title: about("lr").title, note: "", series: each(lines => training(lines, "lr", axis())), view: view("lr", { cut: false, format: short }) },
    { key: "speed", title: about("speed").title, note: "including evaluations and checkpoints", series: each(lines => speed(lines, axis())), view: view("speed", { smoothing, format: y => short(Math.round(y)) }) },
    { key: "gradient", title: about("gradient_norm").title, note: "before clipping", series: each(lines => training(lines, "gradient_norm", axis())), view: view("gradient_norm", { smoothing }) },
  ]);
  if (!sections.has("empty")) {
    const empty = element("p", { class: "quiet" });
    byId("charts").prepend(empty);
    sections.set("empty", { section: empty });
  }
  const { section } = sections.get("empty");
  section.hidden = charts.size > 0;
  setText(section, !runs.size ? "" : !shown.length ? "Select a run." : shown.every(run => run.loaded) ? "These runs have no metrics yet." : "Reading…");
}

/** Inputs of the tables, which are rebuilt only when these change, to keep the user's text selection. */
let tablesOf = "";
function drawTables() {
  const shown = drawn(), keys = scoreKeys(shown);
  const of = JSON.stringify([shown.map(run => [run.name, run.slot, run.lines.evaluations.at(-1)?.step, run.about !== null]), choice("metric"), choice("bands"), choice("same"), choice("y"), choice("cut")]);
  if (of === tablesOf) return;
  tablesOf = of;
  byId("last").hidden = keys.length === 0;
  if (keys.length) {
    const key = keys.includes(choice("metric")) ? choice("metric") : ["top1", "value_error"].find(key => keys.includes(key)) ?? keys[0];
    options(byId("metric"), keys.map(key => [key, about(key).title]), key);
    drawGroups(shown, key, choice("bands", "0") === "1");
    const pools = new Set(shown.flatMap(run => Object.keys(run.lines.evaluations.at(-1)?.groups ?? {})).map(name => bandOf(name)?.pool).filter(Boolean));
    drawSection("rating", "By rating", [...pools].sort().map(pool => ({
      key: pool, title: `${groupTitle(pool)}, by rating`, note: about(key).title,
      series: shown.map(run => ({ run, points: byRating(run.lines, pool, key, ENOUGH) })).filter(({ points }) => points.length > 1),
      view: view(key, { cut: false, zoom: null, zoomable: false, fromZero: false, place: places.rating.tick, said: places.rating.said }),
    })), byId("by-rating"));
  } else drawSection("rating", "By rating", [], byId("by-rating"));
  byId("config").hidden = !drawSettings(shown, choice("same", "0") === "1");
}

function options(target, pairs, value) {
  const same = target.options.length === pairs.length && pairs.every(([key], i) => target.options[i].value === key);
  if (!same) target.replaceChildren(...pairs.map(([key, title]) => element("option", { value: key }, title)));
  target.value = value ?? "";
}

function wire() {
  for (const [name, key, otherwise] of [["axis", "x", "positions"], ["scale", "y", "linear"]]) {
    for (const input of document.querySelectorAll(`input[name=${name}]`)) {
      input.checked = input.value === choice(key, otherwise);
      input.addEventListener("change", () => {
        choose(key, input.value);
        if (key === "x") zoomTo(null);
        redraw();
      });
    }
  }
  const smoothing = byId("smoothing");
  smoothing.value = choice("smooth", "0.6");
  const said = () => setText(byId("smoothing-value"), Number(smoothing.value) ? Number(smoothing.value).toFixed(2) : "off");
  said();
  smoothing.addEventListener("input", () => {
    choose("smooth", smoothing.value);
    said();
    redraw();
  });
  for (const [id, key, otherwise] of [["outliers", "cut", "1"], ["bands", "bands", "0"], ["same", "same", "0"]]) {
    byId(id).checked = choice(key, otherwise) === "1";
    byId(id).addEventListener("change", () => {
      choose(key, byId(id).checked ? "1" : "0");
      redraw();
    });
  }
  for (const [target, key] of [[groupChoice, "group"], [byId("metric"), "metric"]]) {
    target.addEventListener("change", () => {
      choose(key, target.value);
      redraw();
    });
  }
  byId("find").addEventListener("input", drawList);
  byId("unzoom").addEventListener("click", () => zoomTo(null));
  const all = { newest: () => newestFirst(found()).slice(0, DEFAULT_RUNS), everything: found, none: () => [] };
  for (const [id, which] of Object.entries(all)) {
    byId(id).addEventListener("click", () => {
      select(new Set(which().map(run => run.name)));
      remember();
    });
  }
}

wire();
if (live) {
  feed = new Feed(runs, {
    changed: any => {
      if (!shownOnce && runs.size) {
        shownOnce = true;
        firstChoice();
        feed.again = true;
      }
      if (any) redraw();
      else drawList();
    },
    failed: text => {
      byId("error").hidden = text === null;
      setText(byId("error"), text ?? "");
    },
  });
  feed.poll();
} else {
  for (const run of embedded(data)) runs.set(run.name, run);
  firstChoice();
  redraw();
}
