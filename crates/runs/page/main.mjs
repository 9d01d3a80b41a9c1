// State, controls and drawing of the page.
import { Chart, places } from "./chart.mjs";
import { byId, element, setText } from "./dom.mjs";
import { embedded, Feed } from "./feed.mjs";
import { RunList, status } from "./list.mjs";
import { about, bandOf, byRating, groupNames, groupTitle, heldOut, scoreKeys, speed, training, trainingKeys } from "./series.mjs";
import { score, short } from "./scale.mjs";
import { drawGroups, drawScores, drawSettings, ENOUGH } from "./tables.mjs";

/** Default and maximum number of runs drawn. */
const DEFAULT_RUNS = 8, MAX_RUNS = 40;
const SMOOTHING = "0.6";

/**
 * Starts the page in the elements of view.html. `data` are embedded runs, or null to follow those of the server. The choices
 * are kept in `chosen`, the query of the page's address; `remember(chosen)` is called when they change. Returns a function
 * that stops the page.
 */
export function open(data, chosen, remember) {
  const live = data === null;
  const runs = new Map(), charts = new Map(), sections = new Map();
  let feed = null, zoom = null, pending = false, shownOnce = false, stopped = false;

  const choice = (key, otherwise) => chosen.get(key) ?? otherwise;
  /** Defaults are left out of the address. */
  function choose(key, value, otherwise) {
    if (value === otherwise) chosen.delete(key);
    else chosen.set(key, value);
    remember(chosen);
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

  function selected() {
    choose("runs", drawn().map(run => encodeURIComponent(run.name)).join(",") || "-");
    feed?.poll();
    redraw();
  }

  const search = () => byId("find").value.trim().toLowerCase();
  const found = () => inOrder().filter(run => run.name.toLowerCase().includes(search()));

  function firstChoice() {
    const kept = chosen.get("runs")?.split(",").map(decodeURIComponent).filter(name => runs.has(name));
    if (kept?.length) select(new Set(kept));
    else if (chosen.get("runs") !== "-") select(new Set(inOrder().slice(0, live ? DEFAULT_RUNS : 2 * DEFAULT_RUNS).map(run => run.name)));
  }

  /** Redraws once before the next frame. */
  function redraw() {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      if (stopped) return;
      drawList();
      drawCharts();
      drawTables();
    });
  }

  const list = new RunList({
    chosen: (name, on) => {
      show(runs.get(name), on);
      selected();
    },
    pointed: name => { for (const { chart } of charts.values()) chart.mark(name !== null && runs.get(name)?.slot !== null ? name : null); },
  });

  function drawList() {
    const now = live ? feed?.now ?? Date.now() / 1000 : data.made;
    list.draw(inOrder(), search(), now, live);
    const all = [...runs.values()], running = all.filter(run => status(run, now, live).kind === "running").length;
    const shown = drawn().length;
    setText(byId("count"), `${shown} of ${all.length} shown${shown >= MAX_RUNS ? " (maximum)" : ""}`);
    if (live) setText(byId("source"), all.length ? `Live: ${all.length} ${all.length === 1 ? "run" : "runs"}, ${running || "none"} running` : "No runs yet. `tabia-lab train CONFIG --data SET` starts one, and it will appear here.");
    else setText(byId("source"), `As of ${new Date(data.made * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}`);
  }

  const hidden = () => new Set(choice("hide", "").split(",").filter(Boolean));

  /** Draws the charts of a section. Charts are created once and reused. */
  function drawSection(id, title, wanted, into, controls = []) {
    if (!sections.has(id)) {
      const grid = into ?? element("div", { class: "grid" });
      const section = into ? null : element("section", { "aria-label": title }, element("div", { class: "title-row" }, element("h2", {}, title), ...controls), grid);
      if (section) byId("charts").append(section);
      sections.set(id, { section, grid });
    }
    const { section, grid } = sections.get(id);
    const alive = new Set();
    for (const { key, title, note, series, view } of wanted) {
      const kept = series.filter(({ points }) => points.length), name = `${id}.${key}`;
      if (!kept.length || hidden().has(name)) continue;
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
      if (name.startsWith(`${id}.`) && !alive.has(name)) {
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

  const axis = () => (Object.hasOwn(places, choice("x")) ? choice("x") : "positions");
  const view = (key, more = {}) => {
    const { share, better } = about(key);
    return {
      kind: choice("y", "linear"), cut: choice("cut", "1") === "1", smoothing: 0, zoom, zoomable: true, fromZero: true, better,
      format: y => score(y, share), tick: y => (share ? `${Number((100 * y).toPrecision(4))}%` : short(y)),
      place: places[axis()].tick, said: places[axis()].said, ...more,
    };
  };
  const better = key => (about(key).better ? `${about(key).better} is better` : "");
  /** 0 is off. */
  const smoothing = () => Math.min(Math.max(Number(choice("smooth", SMOOTHING)) || 0, 0), 0.99);

  const groupChoice = element("select", { "aria-label": "Held-out positions" });
  const hollowNote = element("span", { class: "muted small" }, "○: evaluated on a very different number of positions");
  const empty = element("p", { class: "muted" });
  byId("charts").append(empty);
  const group = names => (names.includes(choice("group", "all")) ? choice("group", "all") : names[0]);

  function drawCharts() {
    const shown = drawn();
    const each = points => shown.map(run => ({ run, points: points(run.lines) }));
    const steps = { smoothing: smoothing() };
    const losses = trainingKeys(shown).map(key => ({
      key, title: about(key).title, note: better(key), series: each(lines => training(lines, key, axis())), view: view(key, steps),
    }));
    const names = groupNames(shown), held = group(names);
    options(groupChoice, names.map(name => [name, name.startsWith("pool ") ? `Pool: ${groupTitle(name)}` : name.startsWith("phase ") ? `Phase: ${groupTitle(name)}` : groupTitle(name)]), held);
    const scores = scoreKeys(shown).map(key => ({
      key, title: about(key).title, note: better(key), series: each(lines => heldOut(lines, held, key, axis())), view: view(key, { cut: false }),
    }));
    hollowNote.hidden = !scores.some(({ series }) => series.some(({ points }) => points.some(([, , marked]) => marked)));
    const pace = [
      { key: "lr", title: about("lr").title, note: "", series: each(lines => training(lines, "lr", axis())), view: view("lr", { cut: false, format: short }) },
      { key: "speed", title: about("speed").title, note: "including evaluations and checkpoints", series: each(lines => speed(lines, axis())), view: view("speed", { ...steps, format: y => short(Math.round(y)) }) },
      { key: "gradient_norm", title: about("gradient_norm").title, note: "before clipping", series: each(lines => training(lines, "gradient_norm", axis())), view: view("gradient_norm", steps) },
    ];
    drawSection("training", "Training", losses);
    drawSection("held-out", "Held out", scores, null, [groupChoice, hollowNote]);
    drawSection("pace", "Optimisation", pace);
    drawMetrics({ training: losses, "held-out": scores, pace });
    empty.hidden = charts.size > 0 || !runs.size;
    setText(empty, !shown.length ? "No run selected." : shown.every(run => run.loaded) ? "No metrics to show." : "Reading…");
  }

  /** Checkboxes of the charts that have data. */
  let metricsOf = "";
  function drawMetrics(all) {
    const entries = Object.entries(all).flatMap(([id, wanted]) => wanted.filter(({ series }) => series.some(({ points }) => points.length)).map(({ key, title }) => [`${id}.${key}`, title + (id === "held-out" ? " (held out)" : "")]));
    if (JSON.stringify(entries) === metricsOf) return;
    metricsOf = JSON.stringify(entries);
    byId("metrics").replaceChildren(...entries.map(([name, title]) => {
      const box = element("input", { type: "checkbox" });
      box.checked = !hidden().has(name);
      box.addEventListener("change", () => {
        const names = hidden();
        if (!names.delete(name)) names.add(name);
        choose("hide", [...names].join(","), "");
        redraw();
      });
      return element("label", { class: "switch" }, box, title);
    }));
  }

  /** Inputs of the tables, which are rebuilt only when these change, to keep the user's text selection. */
  let tablesOf = "";
  function drawTables() {
    const shown = drawn(), keys = scoreKeys(shown);
    const of = JSON.stringify([shown.map(run => [run.name, run.slot, run.lines.evaluations.at(-1)?.step, run.about !== null]), ["metric", "bands", "same", "y", "cut", "group"].map(key => choice(key))]);
    if (of === tablesOf) return;
    tablesOf = of;
    byId("scores-section").hidden = byId("last").hidden = keys.length === 0;
    if (keys.length) {
      drawScores(shown, keys, group(groupNames(shown)));
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
    target.hidden = pairs.length < 2;
  }

  function wire() {
    for (const input of document.querySelectorAll("input[name=axis]")) {
      input.checked = input.value === axis();
      input.addEventListener("change", () => {
        choose("x", input.value, "positions");
        zoomTo(null);
      });
    }
    const slider = byId("smoothing");
    slider.value = smoothing();
    const label = () => setText(byId("smoothing-value"), Number(slider.value) ? Number(slider.value).toFixed(2) : "off");
    label();
    slider.addEventListener("input", () => {
      choose("smooth", slider.value, SMOOTHING);
      label();
      redraw();
    });
    for (const [id, key, on, off, otherwise] of [["log", "y", "log", "linear", "linear"], ["outliers", "cut", "1", "0", "1"], ["bands", "bands", "1", "0", "0"], ["same", "same", "1", "0", "0"]]) {
      byId(id).checked = choice(key, otherwise) === on;
      byId(id).addEventListener("change", () => {
        choose(key, byId(id).checked ? on : off, otherwise);
        redraw();
      });
    }
    for (const [target, key, otherwise] of [[groupChoice, "group", "all"], [byId("metric"), "metric"]]) {
      target.addEventListener("change", () => {
        choose(key, target.value, otherwise);
        redraw();
      });
    }
    byId("find").addEventListener("input", drawList);
    byId("unzoom").addEventListener("click", () => zoomTo(null));
    const all = { newest: () => newestFirst(found()).slice(0, DEFAULT_RUNS), everything: found, none: () => [] };
    for (const [id, which] of Object.entries(all)) {
      byId(id).addEventListener("click", () => {
        select(new Set(which().map(run => run.name)));
        selected();
      });
    }
  }

  wire();
  if (live) {
    feed = new Feed(runs, {
      changed: any => {
        if (stopped) return;
        if (!shownOnce && runs.size) {
          shownOnce = true;
          firstChoice();
          feed.again = true;
        }
        if (any) redraw();
        else drawList();
      },
      failed: text => {
        if (stopped) return;
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
  return () => {
    stopped = true;
    feed?.stop();
    watchSize.disconnect();
  };
}
