// From lines to points: what can be drawn of runs, over what.
import { isObject } from "./lines.mjs";

/** Where a run stands and what a line is, rather than how well the run does. */
const PLACES = new Set(["kind", "step", "positions", "seconds", "lr", "lines", "gradient_norm"]);

/** What is counted rather than scored. */
const COUNTS = new Set(["count", "choices"]);

/** What numbers are called, in the order they are shown. `better` says which way is good, `share` that it is a part of one. */
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

/** The losses in the step lines of some runs. */
export function trainingKeys(runs) {
  const keys = new Set();
  for (const { lines } of runs) {
    for (const line of [lines.steps[0], lines.steps.at(-1)]) {
      for (const key in line) if (!PLACES.has(key) && typeof line[key] === "number") keys.add(key);
    }
  }
  return inOrder(keys);
}

/** The scores in the evaluations of some runs. */
export function scoreKeys(runs) {
  const keys = new Set();
  for (const { lines } of runs) {
    for (const group of Object.values(lines.evaluations.at(-1)?.groups ?? {})) {
      if (isObject(group)) for (const key in group) if (!COUNTS.has(key) && typeof group[key] === "number") keys.add(key);
    }
  }
  return inOrder(keys);
}

/** The groups of evaluations that can be drawn over time: all but rating bands. */
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

/** What a group is called to a reader. */
export function groupTitle(name) {
  const known = { all: "All positions", "ply>=10": "From ply 10 on", "depth>=50": "Searched to depth 50 or more" };
  return known[name] ?? name.replace(/^(pool|phase) /, "").replaceAll("-", " ").replace(/^./, letter => letter.toUpperCase());
}

/** `pool online 1200-1399` as a pool and the band's ratings. */
export function bandOf(name) {
  const match = /^pool (.+) (\d{3,4})-(\d{3,4})$/.exec(name);
  return match && { pool: match[1], from: Number(match[2]), to: Number(match[3]) };
}

/** Points `[x, y, marked]`, without those that are no numbers. */
const points = (lines, axis, value, marked = () => false) => {
  const found = [];
  for (const [i, line] of lines.entries()) {
    const x = line[axis], y = value(line, i);
    if (Number.isFinite(x) && Number.isFinite(y)) found.push([x, y, marked(line)]);
  }
  return found;
};

/** A number of the step lines over an axis; nothing if it is always zero, which a head that is not trained is. */
export function training(lines, key, axis) {
  const found = points(lines.steps, axis, line => line[key]);
  return found.some(([, y]) => y !== 0) ? found : [];
}

/** Positions a second between step lines. */
export function speed(lines, axis) {
  const { steps } = lines;
  return points(steps, axis, (line, i) => {
    const before = i ? steps[i - 1] : { positions: 0, seconds: 0 };
    const seconds = line.seconds - before.seconds;
    return seconds > 0 ? (line.positions - before.positions) / seconds : NaN;
  });
}

/** A score of held-out positions of a group over an axis. A point of an evaluation on many more or fewer positions is marked. */
export function heldOut(lines, group, key, axis) {
  const usual = lines.evaluations[0]?.groups[group]?.count;
  return points(lines.evaluations, axis, line => line.groups[group]?.[key], line => !sameSize(usual, line.groups[group].count));
}

/** Whether two numbers of positions are about the same, so that scores on them can be compared. */
const sameSize = (a, b) => a === b || (a < 1.5 * b && b < 1.5 * a);

/** A score of the last evaluation by rating, for the bands of a pool with enough positions. */
export function byRating(lines, pool, key, enough) {
  const found = [];
  for (const [name, score] of Object.entries(lines.evaluations.at(-1)?.groups ?? {})) {
    const band = bandOf(name);
    if (band?.pool === pool && score.count >= enough && Number.isFinite(score[key])) found.push([band.from, score[key]]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}

/** A running mean in which older points weigh less and less; `weight` is from 0 (none) to below 1. The start is not biased. */
export function smooth(points, weight) {
  let mean = 0, seen = 0;
  return points.map(([x, y]) => {
    mean = weight * mean + (1 - weight) * y;
    seen = weight * seen + (1 - weight);
    return [x, mean / seen];
  });
}

/** At most about `4 * columns` points with the same outline: of each column its first, lowest, highest and last. */
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
