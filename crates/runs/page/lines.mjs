// A run's metrics, line by line.

/** Step and evaluation lines of a `metrics.jsonl`. Invalid lines are counted and skipped. */
export class Lines {
  constructor() {
    this.steps = [];
    this.evaluations = [];
    this.unreadable = 0;
  }

  /** Adds complete lines. */
  add(text) {
    for (const line of text.split("\n")) {
      if (!line.trim()) continue;
      const value = parsed(line);
      if (!value) this.unreadable++;
      else if (value.kind === "step") insert(this.steps, value);
      else if (value.kind === "evaluation" && isObject(value.groups)) insert(this.evaluations, value);
    }
  }

  /** The last line, if any. */
  get last() {
    const step = this.steps.at(-1), evaluation = this.evaluations.at(-1);
    return !step || (evaluation && evaluation.step >= step.step) ? evaluation : step;
  }

  /** Whether the last loss is not finite. */
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

/** Appends a line and drops lines of the same or later steps: a resumed run goes back to its checkpoint. */
function insert(lines, line) {
  if (!Number.isFinite(line.step)) return;
  while (lines.length && lines.at(-1).step >= line.step) lines.pop();
  lines.push(line);
}
