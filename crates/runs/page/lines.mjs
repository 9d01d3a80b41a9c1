// A run's metrics, line by line.

/** The lines of one `metrics.jsonl`, of the kinds that can be drawn. Whatever is odd is counted and left out. */
export class Lines {
  constructor() {
    this.steps = [];
    this.evaluations = [];
    this.unreadable = 0;
  }

  /** Takes in whole lines. */
  add(text) {
    for (const line of text.split("\n")) {
      if (!line.trim()) continue;
      const value = parsed(line);
      if (!value) this.unreadable++;
      else if (value.kind === "step") insert(this.steps, value);
      else if (value.kind === "evaluation" && isObject(value.groups)) insert(this.evaluations, value);
    }
  }

  /** The line written last, if any. */
  get last() {
    const step = this.steps.at(-1), evaluation = this.evaluations.at(-1);
    return !step || (evaluation && evaluation.step >= step.step) ? evaluation : step;
  }

  /** Whether a loss was written that is no number. */
  get notFinite() {
    const last = this.steps.at(-1);
    return last !== undefined && "loss" in last && !Number.isFinite(last.loss);
  }
}

export const isObject = value => typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(line) {
  try {
    const value = JSON.parse(line);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** Keeps the order of steps, should a run have gone back. */
function insert(lines, line) {
  if (!Number.isFinite(line.step)) return;
  while (lines.length && lines.at(-1).step >= line.step) lines.pop();
  lines.push(line);
}
