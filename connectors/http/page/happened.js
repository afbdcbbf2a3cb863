// What became of alarms, and who did what; and the figures of the desk.

import { timeOf } from "./alarms.js";
import { align, duration, element, number, when } from "./format.js";
import { t } from "./texts.js";

const AT_ONCE = 100;

export class Happened {
  /** The entries of all alarms, or of the one with this `id`, in a list; `more` asks for earlier ones. */
  constructor(place, more = null) {
    this.place = place;
    this.more = more;
    this.size = AT_ONCE;
    this.asked = 0;
    more?.addEventListener("click", () => {
      this.size += AT_ONCE;
      this.load();
    });
  }

  async load(state = this.state, id = this.id) {
    [this.state, this.id] = [state, id];
    const asked = ++this.asked;
    const query = new URLSearchParams({ program: state.program, size: this.size, ...(id === undefined ? {} : { id }) });
    let told;
    try {
      const answer = await fetch(`/alarms/history?${query}`);
      if (!answer.ok) throw new Error(`${answer.status}`);
      told = await answer.json();
    } catch {
      told = null;
    }
    if (asked !== this.asked) return; // there is a later answer
    if (told === null) {
      this.place.replaceChildren(element("li", { class: "error" }, t("noConnection")));
      return;
    }
    const same = new Map();
    const items = told.entries.map((entry) => {
      const key = JSON.stringify(entry);
      same.set(key, (same.get(key) ?? 0) + 1);
      return { ...entry, key: `${key} ${same.get(key)}`, at: when(state, timeOf(entry.time)), end: entry.until === undefined ? "" : when(state, timeOf(entry.until)), isOne: id !== undefined };
    });
    if (!items.length) this.place.replaceChildren(element("li", { class: "empty", "data-key": "" }, t("noEntries")));
    else align(this.place, items, (item) => item.key, entryRow);
    if (this.more !== null) this.more.hidden = told.count <= items.length;
  }
}

function entryRow(item) {
  const what = { began: "beganEntry", ended: "endedEntry", corrected: "correctedEntry" }[item.what] ?? `done${item.what}`;
  const by = item.who ? ` ${t("by", { who: item.who })}` : "";
  const until = item.end ? ` ${t("until", { time: item.end })}` : "";
  return element("li", { class: item.who ? "deed" : item.what },
    element("span", { class: "at" }, item.at),
    element("span", { class: "what" }, item.isOne ? "" : element("b", {}, item.text), item.isOne ? "" : " ",
      element("span", {}, `${t(what)}${by}${until}`),
      item.comment ? element("q", { class: "below" }, item.comment) : ""),
    item.via ? element("span", { class: "aside" }, item.via) : "");
}

const TIMES = ["since", "until", "known_since", "begins", "ends"];
const BESIDE_TEXT = ["id", "alarm", "args"]; // of an alarm in a table, which is told by its text

/** The figures, whichever there are: numbers by their names, lists as tables. */
export async function showFigures(place, state) {
  let told = {};
  try {
    const answer = await fetch(`/alarms/figures?${new URLSearchParams({ program: state.program })}`);
    if (answer.ok) told = await answer.json();
  } catch {
    // as if there were none
  }
  const found = Object.keys(told).length > 0;
  place.replaceChildren(found ? figures(told, state) : element("p", { class: "empty" }, t("noFigures")));
}

function figures(told, state) {
  return element("dl", { class: "known" }, ...Object.entries(told).flatMap(([name, value]) =>
    [element("dt", {}, named(name)), element("dd", {}, shown(name, value, state))]));
}

function shown(name, value, state) {
  if (value === null) return "–";
  if (TIMES.includes(name)) return when(state, timeOf(value));
  if (name.endsWith("share")) return `${number(100 * value)} %`;
  if (name.endsWith("seconds")) return duration(value);
  if (typeof value === "number") return number(value);
  if (Array.isArray(value)) return value.length ? table(value, state) : "–";
  return typeof value === "object" ? figures(value, state) : String(value);
}

function table(rows, state) {
  if (rows.some((each) => each === null || typeof each !== "object")) return rows.join(", ");
  const names = [...new Set(rows.flatMap((each) => Object.keys(each)))];
  const columns = names.includes("text") ? names.filter((name) => !BESIDE_TEXT.includes(name)) : names;
  return element("table", {}, element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, named(name))))),
    element("tbody", {}, ...rows.map((each) => element("tr", {}, ...columns.map((name) => element("td", {}, shown(name, each[name] ?? null, state)))))));
}

/** What a figure is called; one that has no text yet, by its name. */
function named(name) {
  const known = t(`figure_${name}`);
  return known === `figure_${name}` ? name.replaceAll("_", " ") : known;
}
