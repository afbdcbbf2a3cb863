// Alarms as the desk shows them: with what is on its way, filtered, sorted, and folded into groups. Nothing of the page here.

export const PRIORITIES = ["critical", "high", "medium", "low"];
export const STATES = ["unacknowledged", "returned_unacknowledged", "acknowledged", "shelved", "suppressed", "out_of_service"];
export const SHOWN = STATES.slice(0, 3); // unless told otherwise
export const GROUPS = ["cause", "place", "rule", "none"];
export const SORTS = ["urgency", "priority", "state", "newest", "oldest"];
const HIDDEN = new Set(STATES.slice(3));
const OPERATING = ["acknowledge", "comment", "shelve", "unshelve"];
const ROLES = ["view", "operate", "configure"];

/** A time as the server writes it, as a number: seconds where it is a date, otherwise the program's own. */
export function timeOf(told) {
  if (told === null || told === undefined) return null;
  if (typeof told === "number") return told;
  const [, above, below] = /^(-?\d+)\/(\d+)$/.exec(told) ?? [];
  if (below !== undefined) return Number(above) / Number(below);
  const number = Number(told);
  return Number.isNaN(number) ? Date.parse(told) / 1000 : number;
}

/** An alarm with what is worked out once: its times as numbers, its place, and the words by which it is found. */
export function read(raw, declared) {
  const known = declared[raw.alarm] ?? { fields: [], longest: null, latched: false };
  const args = raw.args.map(String);
  const said = [...raw.acknowledged, ...raw.comments, ...raw.shelved, ...raw.removed].flatMap((deed) => [deed.who, deed.comment]);
  return {
    ...raw, known, since: timeOf(raw.begins), over: timeOf(raw.ends), until: timeOf(raw.shelved_until), place: args[0] ?? "",
    atom: `${raw.alarm}${args.length ? `(${args.join(", ")})` : ""}`,
    words: [raw.text, raw.alarm, ...args, ...said].join("\n").toLowerCase(),
  };
}

/** What may be done with an alarm by somebody of this role. */
export function actions(item, role) {
  const found = [];
  if (item.state === "unacknowledged" || item.state === "returned_unacknowledged") found.push("acknowledge");
  found.push("comment");
  if (item.shelved.length) found.push("unshelve");
  else if (item.known.longest !== null && item.state !== "out_of_service") found.push("shelve");
  found.push(item.state === "out_of_service" ? "restore" : "remove");
  return found.filter((action) => may(action, role));
}

export function may(action, role) {
  return ROLES.indexOf(role) >= ROLES.indexOf(OPERATING.includes(action) ? "operate" : "configure");
}

/** An alarm as it will be once an action is done; null where it is normal then. The server's answer corrects it. */
export function foreseen(item, { action, who, comment, until }) {
  const deed = { who, comment, via: "", time: null };
  switch (action) {
    case "acknowledge":
      if (item.state === "returned_unacknowledged") return null;
      return { ...item, state: "acknowledged", acknowledged: [...item.acknowledged, deed] };
    case "comment":
      return { ...item, comments: [...item.comments, deed] };
    case "shelve":
      return { ...item, state: item.state === "out_of_service" ? item.state : "shelved", shelved: [...item.shelved, deed], until };
    case "remove":
      return { ...item, state: "out_of_service", removed: [...item.removed, deed] };
    case "unshelve":
      return back({ ...item, shelved: [], until: null });
    default:
      return back({ ...item, removed: [] });
  }
}

function back(item) {
  if (item.removed.length) return { ...item, state: "out_of_service" };
  if (item.shelved.length) return { ...item, state: "shelved" };
  if (item.suppressed) return { ...item, state: "suppressed" };
  return item.since === null ? null : { ...item, state: "unacknowledged", acknowledged: [] };
}

// --- what is shown

export function filtered(items, filter) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const [states, priorities] = [new Set(filter.states), new Set(filter.priorities)];
  return items.filter((item) =>
    states.has(item.state) && (priorities.size === 0 || priorities.has(item.priority)) && words.every((word) => item.words.includes(word)));
}

const BY = {
  priority: (one, other) => rank(one) - rank(other),
  state: (one, other) => STATES.indexOf(one.state) - STATES.indexOf(other.state),
  newest: (one, other) => (other.since ?? -Infinity) - (one.since ?? -Infinity) || 0,
  oldest: (one, other) => (one.since ?? Infinity) - (other.since ?? Infinity) || 0,
};
BY.urgency = (one, other) =>
  HIDDEN.has(one.state) - HIDDEN.has(other.state) || BY.priority(one, other)
  || (one.state === "acknowledged") - (other.state === "acknowledged") || BY.newest(one, other);

const NAMES = new Intl.Collator(undefined, { numeric: true });

const rank = (item) => PRIORITIES.indexOf(item.priority);

export function sorted(items, sort) {
  return [...items].sort((one, other) => BY[sort](one, other) || BY.urgency(one, other) || NAMES.compare(one.atom, other.atom));
}

/** The lines of the list. What is folded stands below its cause, or below the head of its group, where that is unfolded.
 *  `toggled` has the keys of those that are not as they are at first: causes folded, groups unfolded. */
export function lines(items, filter, toggled) {
  const all = sorted(filtered(items, filter), filter.sort);
  if (filter.group === "none") return all.map((item) => line(item));
  return filter.group === "cause" ? byCause(all, toggled) : byName(all, filter.group, toggled);
}

function line(item, level = 0, below = [], isOpen = false) {
  return { key: item.id, kind: "alarm", item, level, below, isOpen };
}

function byCause(all, toggled) {
  const known = new Map(all.map((item) => [item.id, item]));
  const below = new Map();
  const roots = [];
  for (const item of all) {
    const root = causeOf(item, known);
    if (root === item) roots.push(item);
    else below.set(root.id, [...(below.get(root.id) ?? []), item]);
  }
  return roots.flatMap((item) => {
    const folded = below.get(item.id) ?? [];
    const isOpen = folded.length > 0 && toggled.has(item.id);
    return [line(item, 0, folded, isOpen), ...(isOpen ? folded.map((each) => line(each, 1)) : [])];
  });
}

/** The alarm below which one is folded: its cause, or that one's, as far as they are shown; itself where there is none. */
function causeOf(item, known) {
  const seen = new Set([item.id]);
  let found = item;
  for (let next = known.get(found.cause); next !== undefined; next = known.get(found.cause)) {
    if (seen.has(next.id)) return item;
    seen.add(next.id);
    found = next;
  }
  return found;
}

function byName(all, group, toggled) {
  const groups = new Map();
  for (const item of all) {
    const name = group === "place" ? item.place : item.alarm;
    if (groups.has(name)) groups.get(name).push(item);
    else groups.set(name, [item]);
  }
  return [...groups].flatMap(([name, below]) => {
    const key = `${group} ${name}`;
    const isOpen = !toggled.has(key);
    return [{ key, kind: "group", name, below, isOpen, level: 0 }, ...(isOpen ? below.map((each) => line(each, 1)) : [])];
  });
}

// --- the address

export function filterOf(hash) {
  const told = new URLSearchParams(hash.replace(/^#/, ""));
  const list = (name, known) => (told.get(name) ?? "").split(",").filter((each) => known.includes(each));
  const one = (name, known) => (known.includes(told.get(name)) ? told.get(name) : known[0]);
  const isAll = told.get("state") === "all";
  const states = isAll ? STATES : list("state", STATES);
  return {
    view: one("view", ["alarms", "history", "figures", "run"]), text: told.get("q") ?? "", states: states.length ? states : SHOWN,
    priorities: list("priority", PRIORITIES), group: one("group", GROUPS), sort: one("sort", SORTS),
  };
}

export function hashOf(filter) {
  const told = new URLSearchParams();
  if (filter.view !== "alarms") told.set("view", filter.view);
  if (filter.text) told.set("q", filter.text);
  const states = STATES.filter((each) => filter.states.includes(each));
  if (states.length === STATES.length) told.set("state", "all");
  else if (states.join() !== SHOWN.join()) told.set("state", states.join());
  if (filter.priorities.length) told.set("priority", PRIORITIES.filter((each) => filter.priorities.includes(each)).join());
  if (filter.group !== GROUPS[0]) told.set("group", filter.group);
  if (filter.sort !== SORTS[0]) told.set("sort", filter.sort);
  const text = told.toString().replaceAll("%2C", ",");
  return text ? `#${text}` : "";
}

// --- shelves

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
const LENGTHS = [300, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800];

/** How long alarms may be shelved, as they are asked for: common lengths, and the longest that all of them allow. */
export function shelves(longest, hasUnit) {
  if (!hasUnit) return [...new Set([longest / 4, longest / 2, longest].map((each) => Math.max(Math.floor(each), Math.min(1, longest))))];
  const below = LENGTHS.filter((each) => each < longest);
  return [...below.slice(-7), longest].map(lengthText);
}

export function lengthText(seconds) {
  const [unit, size] = UNITS.find(([, each]) => seconds >= each && Number.isInteger(seconds / each)) ?? ["s", 1];
  return `${seconds / size} ${unit}`;
}

export function lengthOf(text) {
  if (typeof text === "number") return text;
  const [number, unit] = text.split(" ");
  return Number(number) * Object.fromEntries(UNITS)[unit];
}
