// Configurations side by side.
import { isObject } from "./lines.mjs";

/** A tree of settings as one map from `a.b.c` to text. */
export function flatten(tree, prefix = "", into = new Map()) {
  if (!isObject(tree)) return into;
  for (const [key, value] of Object.entries(tree)) {
    if (isObject(value)) flatten(value, `${prefix}${key}.`, into);
    else if (value !== null && value !== undefined) into.set(prefix + key, Array.isArray(value) ? value.map(text).join(", ") : text(value));
  }
  return into;
}

// A 32-bit float written with the digits of a 64-bit one: 0.30000001192092896.
const text = value => (typeof value === "number" ? String(Number(value.toPrecision(7))) : typeof value === "string" ? value : JSON.stringify(value));

/** Everything that is known to decide a run. */
export function settings(about) {
  const all = flatten(about?.facts);
  for (const [key, name] of [["max_seconds", "bound in seconds"], ["max_positions", "bound in positions"]]) {
    if (about?.[key] != null) all.set(name, text(about[key]));
  }
  return flatten(about?.config, "", all);
}

/**
 * The settings of several runs: rows `{ key, values, differs }` in the order of the first run that has each.
 */
export function compare(all) {
  const keys = new Set(all.flatMap(settings => [...settings.keys()]));
  return [...keys].map(key => ({
    key,
    values: all.map(settings => settings.get(key)),
    differs: new Set(all.map(settings => settings.get(key))).size > 1,
  }));
}
