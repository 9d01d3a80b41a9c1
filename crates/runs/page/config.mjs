// Comparison of configurations.
import { isObject } from "./lines.mjs";

/** Flattens a tree of settings into a map from `a.b.c` to text. */
export function flatten(tree, prefix = "", into = new Map()) {
  if (!isObject(tree)) return into;
  for (const [key, value] of Object.entries(tree)) {
    if (isObject(value)) flatten(value, `${prefix}${key}.`, into);
    else if (value !== null && value !== undefined) into.set(prefix + key, Array.isArray(value) ? value.map(text).join(", ") : text(value));
  }
  return into;
}

// Rounds 32-bit floats written with 64-bit digits, such as 0.30000001192092896.
const text = value => (typeof value === "number" ? String(Number(value.toPrecision(7))) : typeof value === "string" ? value : JSON.stringify(value));

/** All known settings of a run. */
export function settings(about) {
  const all = flatten(about?.facts);
  for (const [key, name] of [["max_seconds", "max seconds"], ["max_positions", "max positions"]]) {
    if (about?.[key] != null) all.set(name, text(about[key]));
  }
  return flatten(about?.config, "", all);
}

/** Settings of several runs as rows `{ key, values, differs }`, in order of first appearance. */
export function compare(all) {
  const keys = new Set(all.flatMap(settings => [...settings.keys()]));
  return [...keys].map(key => ({
    key,
    values: all.map(settings => settings.get(key)),
    differs: new Set(all.map(settings => settings.get(key))).size > 1,
  }));
}
