// Unit tests of the page's modules. Run by `cargo test -p tabia-runs`, or `node --test crates/runs/tests/page.mjs`.
import assert from "node:assert/strict";
import test from "node:test";
import { compare, flatten, settings } from "../page/config.mjs";
import { embedded, fresh } from "../page/feed.mjs";
import { Lines } from "../page/lines.mjs";
import { facts, share, status } from "../page/list.mjs";
import { difference, duration, range, scale, score, short, ticks } from "../page/scale.mjs";
import { bandOf, byRating, groupNames, groupTitle, heldOut, nearest, outline, scoreKeys, smooth, speed, training, trainingKeys } from "../page/series.mjs";

const step = (n, more = {}) => JSON.stringify({ kind: "step", step: n, positions: 100 * n, seconds: n / 2, lr: 0.001, loss: 1 / n, value: 0, ...more });
const evaluation = (n, groups) => JSON.stringify({ kind: "evaluation", step: n, positions: 100 * n, seconds: n / 2, groups });
const read = (...lines) => {
  const made = new Lines();
  made.add(lines.map(line => `${line}\n`).join(""));
  return made;
};

test("invalid lines are counted, unknown kinds ignored, and a resumed run replaces later steps", () => {
  const lines = read(step(1), "{broken", "[1]", "", '{"kind":"later"}', '{"kind":"step"}', step(2), step(3), step(2, { loss: 7 }));
  assert.equal(lines.unreadable, 2);
  assert.deepEqual(lines.steps.map(line => [line.step, line.loss]), [[1, 1], [2, 7]]);
  assert.equal(lines.last.step, 2);
  assert.equal(lines.notFinite, false);
  assert.equal(read(step(1, { loss: null })).notFinite, true);
  assert.equal(read().last, undefined);
});

test("series skip gaps and untrained heads", () => {
  const lines = read(step(1), step(2, { loss: null }), step(3, { newer: 5 }));
  assert.deepEqual(training(lines, "loss", "positions").map(([x, y]) => [x, y]), [[100, 1], [300, 1 / 3]]);
  assert.deepEqual(training(lines, "value", "step"), []);
  assert.deepEqual(trainingKeys([{ lines }]), ["loss", "value", "newer"]);
  assert.deepEqual(speed(lines, "seconds").map(([, y]) => y), [200, 200, 200]);
});

test("held-out scores are grouped and outlying position counts marked", () => {
  const lines = read(
    evaluation(1, { all: { count: 100, top1: 0.4 }, "phase endgame": { count: 10, top1: 0.3 } }),
    evaluation(2, { all: { count: 800, choices: 40, top1: 0.5 }, "pool online 1200-1399": { count: 300, top1: 0.6 }, "pool online 0800-0999": { count: 3, top1: 0 } }),
  );
  assert.deepEqual(heldOut(lines, "all", "top1", "step"), [[1, 0.4, false], [2, 0.5, true]]);
  assert.deepEqual(groupNames([{ lines }]), ["all", "phase endgame"]);
  assert.deepEqual(scoreKeys([{ lines }]), ["top1"]);
  assert.deepEqual(byRating(lines, "online", "top1", 100), [[1200, 0.6]]);
  assert.deepEqual(bandOf("pool over-the-board 0800-0999"), { pool: "over-the-board", from: 800, to: 999 });
  assert.equal(bandOf("pool online"), null);
  assert.equal(groupTitle("pool over-the-board"), "Over the board");
});

test("smoothing is bias-corrected", () => {
  const flat = smooth([[0, 5], [1, 5], [2, 5]], 0.9);
  assert.ok(flat.every(([, y]) => Math.abs(y - 5) < 1e-12));
  const jump = smooth([...Array(50)].map((_, i) => [i, i < 25 ? 0 : 1]), 0.5);
  assert.ok(jump[25][1] > 0.4 && jump[25][1] < 0.6 && jump[49][1] > 0.99);
});

test("decimation keeps ends and extremes", () => {
  const points = [...Array(100_000)].map((_, i) => [i, i === 70_001 ? 99 : Math.sin(i)]);
  const kept = outline(points, 300);
  assert.ok(kept.length <= 4 * 301);
  assert.deepEqual([kept[0], kept.at(-1)], [points[0], points.at(-1)]);
  assert.ok(kept.some(([, y]) => y === 99));
  assert.deepEqual(kept.map(([x]) => x), kept.map(([x]) => x).sort((a, b) => a - b));
  assert.equal(outline(points.slice(0, 10), 300).length, 10);
});

test("nearest finds the closest point", () => {
  const points = [[0], [10], [20]];
  assert.deepEqual([-5, 4, 6, 14, 16, 99].map(x => nearest(points, x)), [0, 0, 1, 1, 2, 2]);
});

test("ticks are round and scales invertible", () => {
  assert.deepEqual(ticks(0, 93.9e6, 4), [0, 25e6, 50e6, 75e6]);
  assert.deepEqual(ticks(1, 1, 4), [1]);
  for (const kind of ["linear", "log"]) {
    const at = scale(kind, [0.01, 3], [230, 8]);
    assert.ok(Math.abs(at.back(at(0.5)) - 0.5) < 1e-9);
    assert.ok(at.ticks(5).length >= 2 && at.ticks(5).every(y => y >= 0.0099 && y <= 3.01));
  }
  // A range with zero falls back to a linear scale.
  assert.equal(scale("log", [0, 10], [0, 100])(5), 50);
  const spiky = [...Array(100)].map((_, i) => (i ? 1 + i / 1000 : 1e9));
  assert.ok(range(spiky, { cut: true })[1] < 2 && range(spiky)[1] > 1e8);
  assert.equal(range([NaN, 0], { log: true }), null);
});

test("numbers are formatted", () => {
  assert.deepEqual([93896704, 12345, 1234, 0.00003, 0, 0.75, NaN].map(short), ["93.9M", "12.3k", "1234", "3e−5", "0", "0.75", "–"]);
  assert.deepEqual([score(0.5594, true), score(1.30679), score(undefined)], ["55.9%", "1.3068", "–"]);
  assert.deepEqual([difference(-0.004, true), difference(0.25), difference(0.0001, true)], ["−0.4", "+0.2500", "±0"]);
  assert.deepEqual([42, 792, 7500].map(duration), ["42 s", "13 min", "2 h 5 min"]);
});

test("settings are compared by key", () => {
  const one = settings({ facts: { seed: 1, data: ["a", "b"], init: null }, max_seconds: 600, config: { optimiser: { lr: 0.003000000026077032 }, net: { kind: "human" } } });
  const two = settings({ facts: { seed: 2 }, config: { optimiser: { lr: 0.003 }, net: { kind: "human" } } });
  assert.equal(one.get("optimiser.lr"), "0.003");
  assert.deepEqual(compare([one, two]).filter(row => row.differs).map(row => [row.key, ...row.values]),
    [["seed", "1", "2"], ["data", "a, b", undefined], ["max seconds", "600", undefined]]);
  assert.equal(flatten(null).size, 0);
  assert.equal(settings(null).size, 0);
});

test("status text", () => {
  const run = (more, ...lines) => Object.assign(fresh("x"), { loaded: true, lines: read(...lines), modified: 1_000_000 }, more);
  const text = (run, now = 1000, live = true) => status(run, now, live).text;
  const running = run({ standing: "running", about: { max_seconds: 10 } }, step(10));
  assert.equal(share(running), 0.5);
  assert.equal(text(running), "running at 50%, about 5 s left");
  assert.equal(text(running, 1300), "running at 50%, about 5 s left, last line 5 min ago");
  assert.equal(text(running, 1000, false), "was running at 50%, about 5 s left");
  assert.equal(text(run({ standing: "complete" })), "complete");
  assert.match(text(run({ standing: "broken-off" })), /^interrupted/);
  assert.equal(status(run({ standing: "unknown" }, step(1, { loss: null })), 1000, true).kind, "failed");
  assert.equal(status(run({ standing: "unknown" }, step(1)), 1000, true).kind, "running");
  assert.equal(status(run({ standing: "unknown" }, step(1)), 9000, true).kind, "unknown");
  assert.equal(facts(run({})), "no metrics yet");
  assert.match(facts(run({}, step(2), "{")), /^200 positions · 2 steps · 1 s · 200\/s · loss 0\.5000 · 1 unreadable line$/);
});

test("embedded runs are read", () => {
  const [run] = embedded({ runs: [{ name: "a", glance: { standing: "complete", modified: 1 }, about: { config: {} }, metrics: `${step(1)}\n`, unreadable: 2 }] });
  assert.deepEqual([run.name, run.standing, run.loaded, run.slot, run.lines.steps.length, run.lines.unreadable], ["a", "complete", true, null, 1, 2]);
});
