// Converts metrics lines to series of points.
import { isObject } from "./lines.mjs";

/** Keys of step lines that are not losses. */
const NOT_LOSSES = new Set(["kind", "step", "positions", "seconds", "lr", "lines", "gradient_norm"]);

/** Keys of evaluations that are counts, not scores. */
const COUNTS = new Set(["count", "choices"]);

/** Titles of known metrics in display order. `better` is the direction of improvement; `share` marks fractions. */
const KNOWN = {
  loss: { title: "Loss", better: "lower" },
  policy: { title: "Move loss", better: "lower" },
  top1: { title: "Top-1", better: "higher", share: true },
  top5: { title: "Top-5", better: "higher", share: true },
  promotion: { title: "Promotion loss", better: "lower" },
  outcome: { title: "Result loss", better: "lower" },
  think: { title: "Think time loss", better: "lower" },
  value: { title: "Value loss", better: "lower" },
  value_error: { title: "Value error", better: "lower" },
  value_correlation: { title: "Value correlation", better: "higher" },
  value_sign: { title: "Better side named", better: "higher", share: true },
  best_move: { title: "Best move chosen", better: "higher", share: true },
  move_loss_cp: { title: "Centipawns lost a move", better: "lower" },
  lr: { title: "Learning rate" },
  speed: { title: "Positions/s", better: "higher" },
  gradient_norm: { title: "Gradient norm" },
};

export const about = key => KNOWN[key] ?? { title: key.replaceAll("_", " ") };

const inOrder = keys => {
  const order = Object.keys(KNOWN), place = key => (order.indexOf(key) + order.length + 1) % (order.length + 1);
  return [...keys].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
};

/** Losses in the step lines of runs. */
export function trainingKeys(runs) {
  const keys = new Set();
  for (const { lines } of runs) {
    for (const line of [lines.steps[0], lines.steps.at(-1)]) {
      for (const key in line) if (!NOT_LOSSES.has(key) && typeof line[key] === "number") keys.add(key);
    }
  }
  return inOrder(keys);
}

/** Scores in the last evaluations of runs. */
export function scoreKeys(runs) {
  const keys = new Set();
  for (const { lines } of runs) {
    for (const group of Object.values(lines.evaluations.at(-1)?.groups ?? {})) {
      if (isObject(group)) for (const key in group) if (!COUNTS.has(key) && typeof group[key] === "number") keys.add(key);
    }
  }
  return inOrder(keys);
}

/** Evaluation groups that are drawn over time: all except rating bands. */
export function groupNames(runs) {
  const names = new Set();
  for (const { lines } of runs) {
    for (const evaluation of lines.evaluations) {
      for (const name in evaluation.groups) if (!bandOf(name)) names.add(name);
    }
  }
  const first = ["all", "ply>=10", "depth>=50"];
  const place = name => (first.indexOf(name) + first.length + 1) % (first.length + 1);
  return [...names].sort((a, b) => place(a) - place(b) || a.localeCompare(b));
}

/** Display name of a group. */
export function groupTitle(name) {
  const known = { all: "All positions", "ply>=10": "From ply 10 on", "depth>=50": "Searched to depth 50 or more" };
  return known[name] ?? name.replace(/^(pool|phase) /, "").replaceAll("-", " ").replace(/^./, letter => letter.toUpperCase());
}

/** Parses `pool online 1200-1399` into pool and rating range. */
export function bandOf(name) {
  const match = /^pool (.+) (\d{3,4})-(\d{3,4})$/.exec(name);
  return match && { pool: match[1], from: Number(match[2]), to: Number(match[3]) };
}

/** Points `[x, y, marked]` with finite coordinates. */
const points = (lines, axis, value, marked = () => false) => {
  const found = [];
  for (const [i, line] of lines.entries()) {
    const x = line[axis], y = value(line, i);
    if (Number.isFinite(x) && Number.isFinite(y)) found.push([x, y, marked(line)]);
  }
  return found;
};

/** A step metric over an axis; empty if always zero, as for heads that are not trained. */
export function training(lines, key, axis) {
  const found = points(lines.steps, axis, line => line[key]);
  return found.some(([, y]) => y !== 0) ? found : [];
}

/** Positions per second between step lines. */
export function speed(lines, axis) {
  const { steps } = lines;
  return points(steps, axis, (line, i) => {
    const before = i ? steps[i - 1] : { positions: 0, seconds: 0 };
    const seconds = line.seconds - before.seconds;
    return seconds > 0 ? (line.positions - before.positions) / seconds : NaN;
  });
}

/** A held-out score of a group over an axis. Evaluations on a very different number of positions are marked. */
export function heldOut(lines, group, key, axis) {
  const usual = lines.evaluations[0]?.groups[group]?.count;
  return points(lines.evaluations, axis, line => line.groups[group]?.[key], line => !sameSize(usual, line.groups[group].count));
}

/** Whether two position counts are close enough to compare their scores. */
const sameSize = (a, b) => a === b || (a < 1.5 * b && b < 1.5 * a);

/** A score of the last evaluation by rating, for bands of a pool with at least `enough` positions. */
export function byRating(lines, pool, key, enough) {
  const found = [];
  for (const [name, score] of Object.entries(lines.evaluations.at(-1)?.groups ?? {})) {
    const band = bandOf(name);
    if (band?.pool === pool && score.count >= enough && Number.isFinite(score[key])) found.push([band.from, score[key]]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}

/** Bias-corrected exponential moving average; `0 <= weight < 1`. */
export function smooth(points, weight) {
  let mean = 0, seen = 0;
  return points.map(([x, y]) => {
    mean = weight * mean + (1 - weight) * y;
    seen = weight * seen + (1 - weight);
    return [x, mean / seen];
  });
}

/** Decimates to about `4 * columns` points: first, lowest, highest and last of each column. */
export function outline(points, columns) {
  if (points.length <= 4 * columns) return points;
  const [first] = points[0], width = (points.at(-1)[0] - first) / columns || 1;
  const kept = [];
  for (let start = 0; start < points.length;) {
    const column = Math.floor((points[start][0] - first) / width);
    let end = start, low = start, high = start;
    for (; end < points.length && Math.floor((points[end][0] - first) / width) === column; end++) {
      if (points[end][1] < points[low][1]) low = end;
      if (points[end][1] > points[high][1]) high = end;
    }
    for (const i of [...new Set([start, low, high, end - 1])].sort((a, b) => a - b)) kept.push(points[i]);
    start = end;
  }
  return kept;
}

/** The index of the point nearest to `x`. */
export function nearest(points, x) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][0] < x) low = middle + 1;
    else high = middle;
  }
  return low > 0 && x - points[low - 1][0] < points[low][0] - x ? low - 1 : low;
}
