// Axis scales and number formatting.

/** Linear or logarithmic scale from `[low, high]` to `[from, to]`. A logarithmic scale needs `low > 0`. */
export function scale(kind, [low, high], [from, to]) {
  const log = kind === "log" && low > 0;
  const f = log ? x => Math.log10(Math.max(x, Number.MIN_VALUE)) : x => x, g = log ? x => 10 ** x : x => x;
  const a = f(low), span = f(high) - a || 1;
  const at = x => from + (to - from) * (f(x) - a) / span;
  at.back = place => g(a + span * (place - from) / (to - from));
  at.ticks = count => (log ? logTicks(low, high, count) : ticks(low, high, count));
  return at;
}

/** About `count` round numbers within `[low, high]`. */
export function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / Math.max(count, 1), size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map(factor => factor * size).find(step => step >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

function logTicks(low, high, count) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++) {
    for (const factor of [1, 2, 5]) found.push(Number((factor * 10 ** power).toPrecision(3)));
  }
  const inside = found.filter(x => x >= low * 0.999 && x <= high * 1.001);
  if (inside.length < 2) return ticks(low, high, count);
  const tens = inside.filter(x => /^1(e|0*$)|^0\.0*1$/.test(String(x)));
  const fewer = inside.length > 2 * count && tens.length > 1 ? tens : inside;
  return fewer.filter((_, i) => i % Math.ceil(fewer.length / (2 * count)) === 0);
}

/** Padded range of `values`; `cut` excludes outliers. */
export function range(values, { cut = false, log = false } = {}) {
  const sorted = Float64Array.from(values.filter(y => Number.isFinite(y) && (!log || y > 0))).sort();
  if (!sorted.length) return null;
  const at = share => sorted[Math.round((sorted.length - 1) * share)];
  let [low, high] = cut && sorted.length > 50 ? [at(0.002), at(0.98)] : [sorted[0], sorted.at(-1)];
  if (low === high) [low, high] = low === 0 ? [-1, 1] : [low - Math.abs(low) * 0.05, high + Math.abs(high) * 0.05];
  if (log) return [low / (high / low) ** 0.04, high * (high / low) ** 0.04];
  const room = (high - low) * 0.05;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

/** Formats a number with few digits: 93.9M, 0.00003 as 3e-5. */
export function short(x) {
  const size = Math.abs(x);
  if (!Number.isFinite(x)) return "–";
  for (const [unit, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= unit) return `${Number((x / (unit === 1e4 ? 1e3 : unit)).toPrecision(3))}${letter}`;
  }
  if (size > 0 && size < 1e-3) return x.toExponential(2).replace(/\.?0+e/, "e").replace("e-", "e−");
  return String(Number(x.toPrecision(4)));
}

/** Formats a score: four digits, or percent for fractions. */
export const score = (x, share) => (!Number.isFinite(x) ? "–" : share ? `${(100 * x).toFixed(1)}%` : Math.abs(x) < 1e-3 && x !== 0 ? short(x) : x.toFixed(4));

/** Formats a signed difference of scores. */
export function difference(x, share) {
  const text = share ? (100 * Math.abs(x)).toFixed(1) : Math.abs(x).toFixed(4);
  return Number(text) === 0 ? "±0" : (x < 0 ? "−" : "+") + text;
}

/** Formats seconds: 42 s, 13 min, 2 h 5 min. */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
