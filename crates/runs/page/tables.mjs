// Tables of the last evaluation and of the configurations.
import { compare, settings } from "./config.mjs";
import { byId, element, setText } from "./dom.mjs";
import { about, bandOf, groupNames, groupTitle } from "./series.mjs";
import { difference, score, short } from "./scale.mjs";

/** Groups with fewer positions are greyed out. */
export const ENOUGH = 100;

const last = run => run.lines.evaluations.at(-1);

const head = (first, runs) => element("thead", {}, element("tr", {}, element("th", { scope: "col" }, first),
  ...runs.map(run => element("th", { scope: "col" }, element("span", { class: `key c${run.slot % 8}` }, "●\u00a0"), run.name))));

/** Fills the table of all scores of a group, one row per run. */
export function drawScores(runs, keys, group) {
  setText(byId("scores-section").querySelector("small"), groupTitle(group));
  const head = element("tr", {}, ...["Run", ...keys.map(key => about(key).title)].map(title => element("th", { scope: "col" }, title)));
  const rows = runs.map(run => element("tr", {}, element("th", { scope: "row" }, run.name),
    ...keys.map(key => element("td", {}, score(last(run)?.groups[group]?.[key], about(key).share)))));
  byId("scores").replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
}

/** Fills the table of groups with a score of every run. */
export function drawGroups(runs, key, showBands) {
  const table = byId("groups"), { share, better } = about(key);
  const evaluated = runs.filter(run => Object.values(last(run)?.groups ?? {}).some(group => Number.isFinite(group?.[key])));
  const body = element("tbody");
  const row = (name, title, kind) => {
    const groups = evaluated.map(run => last(run).groups[name]);
    if (!groups.some(group => Number.isFinite(group?.[key]))) return;
    const values = groups.map(group => group?.[key]);
    const sure = values.filter((value, i) => Number.isFinite(value) && groups[i].count >= ENOUGH);
    const best = better && sure.length > 1 ? Math[better === "higher" ? "max" : "min"](...sure) : null;
    const cells = groups.map((group, i) => {
      const value = values[i], cell = element("td", {}, score(value, share));
      if (value === best && group.count >= ENOUGH) cell.classList.add("best");
      if (group?.count < ENOUGH) cell.classList.add("few");
      if (group) cell.title = `${group.count} positions`;
      if (i > 0 && Number.isFinite(value) && Number.isFinite(values[0])) cell.append(element("small", {}, difference(value - values[0], share)));
      return cell;
    });
    const counts = groups.map(group => group?.count ?? 0);
    body.append(element("tr", { class: kind }, element("th", { scope: "row" }, title), ...cells, element("td", {}, short(Math.max(...counts)))));
  };
  const part = title => body.append(element("tr", { class: "part" }, element("th", { scope: "rowgroup" }, title), ...evaluated.map(() => element("td")), element("td")));
  const names = groupNames(evaluated.map(run => ({ lines: { evaluations: [last(run)] } })));
  const bands = new Set(evaluated.flatMap(run => Object.keys(last(run).groups)).filter(bandOf));
  for (const name of names.filter(name => !/^(pool|phase) /.test(name))) row(name, groupTitle(name));
  const phases = ["phase opening", "phase middlegame", "phase endgame"].filter(name => names.includes(name));
  if (phases.length) part("Phase");
  for (const name of phases) row(name, groupTitle(name));
  const pools = names.filter(name => name.startsWith("pool "));
  if (pools.length) part("Pool");
  for (const name of pools) {
    row(name, groupTitle(name));
    if (showBands) for (const band of [...bands].filter(band => bandOf(band).pool === name.slice(5)).sort()) row(band, `${bandOf(band).from}–${bandOf(band).to}`, "inner");
  }
  const heading = head("", evaluated);
  heading.firstChild.append(element("th", { scope: "col" }, "positions"));
  table.replaceChildren(heading, body);
  const without = runs.length - evaluated.length;
  byId("groups-note").textContent = [
    evaluated.length > 1 ? `Small numbers are differences to ${evaluated[0].name}; the best score of each row is bold.` : "",
    `All groups except all positions exclude the first ten plies; scores on fewer than ${ENOUGH} positions are grey.`,
    without ? `${without} ${without === 1 ? "run does" : "runs do"} not have this score.` : "",
  ].join(" ").trim();
}

/** Fills the table of configurations; returns whether any setting is known. */
export function drawSettings(all, showSame) {
  const runs = all.filter(run => settings(run.about).size > 0);
  const rows = compare(runs.map(run => settings(run.about)));
  const shown = rows.filter(row => row.differs || showSame || runs.length === 1);
  const body = element("tbody");
  for (const { key, values } of shown) {
    body.append(element("tr", {}, element("th", { scope: "row" }, key), ...values.map(value => element("td", {}, value ?? "–"))));
  }
  byId("settings").replaceChildren(...(shown.length ? [head("", runs), body] : []));
  byId("settings").parentElement.hidden = shown.length === 0;
  const unknown = all.filter(run => !runs.includes(run)).map(run => run.name);
  byId("settings-note").textContent = [
    rows.length && !shown.length ? `All ${rows.length} known settings are equal.` : "",
    unknown.length ? `No configuration found for ${unknown.join(", ")}.` : "",
  ].join(" ").trim();
  return rows.length > 0;
}
