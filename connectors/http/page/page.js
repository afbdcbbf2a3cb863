// The page: asks for the state once a second while it is seen, and shows what has changed. Where a program declares alarms
// it is a desk for these, and what is known of the run stands behind it.

import { Desk } from "./desk.js";
import { align, duration, element, number, rate, reference, span, when } from "./format.js";
import { Graph } from "./graph.js";
import { locale, switchLanguage, t } from "./texts.js";
import { Timeline } from "./timeline.js";

const INTERVAL = 1000;
const SECTIONS = ["now", "possible", "history", "sources", "actors", "letters", "rules", "write"];
const LATEST = 8; // so many last facts of a source are shown
const $ = (selector) => document.querySelector(selector);

const graph = new Graph($("#graph"));
const desk = new Desk(() => refresh());
const timeline = new Timeline($("#timeline"), (lane, bar) => explain(lane, bar));
const kept = { lanes: [], letters: [], lanesVersion: -1, lettersVersion: -1 };
let first = 0; // of what holds now, so many answers come before those that are shown
let program = new URLSearchParams(location.search).get("program");
let before = null;
let state = null;

// --- asking

// How this gateway stands beside the other one, of two.
function standbyOf(state) {
  const pair = state.standby;
  if (!pair) return null;
  const follows = pair.role === "follows";
  const name = (follows ? "follows" : "leads") + (pair.is_alone ? (follows ? "Behind" : "Alone") : "");
  const since = new Date(pair.since * 1000).toLocaleTimeString(locale, { hour12: false });
  return { follows, isBad: pair.is_alone, text: t(name, { epoch: pair.epoch, since, lag: pair.lag, seconds: pair.lag_seconds.toFixed(1) }) };
}

async function poll() {
  if (!document.hidden || desk.isWanted) await refresh();
  setTimeout(poll, state === null ? 300 : INTERVAL);
}

async function refresh() {
  try {
    await ask();
  } catch {
    lost();
    return;
  }
  try {
    show();
  } catch (error) {
    console.error(error);
  }
}

async function ask() {
  const asked = desk.isShown
    ? new URLSearchParams({ brief: "" })
    : new URLSearchParams({ lanes: kept.lanesVersion, letters: kept.lettersVersion, first });
  if (program !== null) asked.set("program", program);
  const answer = await fetch(`/api/state?${asked}`, { signal: AbortSignal.timeout(10000) });
  if (answer.status === 401) location.href = "/login";
  if (!answer.ok) throw new Error(`${answer.status}`);
  before = state;
  state = await answer.json();
  if (before !== null && before.program !== state.program) before = null;
  desk.take(state);
  if (state.steps === undefined) return;
  if (state.lanes !== undefined) kept.lanes = state.lanes;
  if (state.letters !== undefined) kept.letters = state.letters;
  [kept.lanesVersion, kept.lettersVersion] = [state.lanes_version, state.letters_version];
  await graph.load(state.program);
}

function lost() {
  const status = $("#status");
  status.className = "bad";
  status.textContent = state === null ? t("noConnection") : t("noConnectionSince", { time: when(state, state.now) });
  desk.lost();
}

// --- showing

function show() {
  head();
  desk.show();
  $("#run").hidden = desk.isShown;
  if (!desk.isShown && state.steps !== undefined) run();
}

function run() {
  timeline.state = state;
  list("#now", state.holding.rows.map(holding), (item) => item.key, nowRow);
  pager();
  $("#possible").hidden = state.possible.length === 0 && !("possible" in $("#possible").dataset);
  if (state.possible.length) $("#possible").dataset.possible = "";
  list("#possible", state.possible.map(possible), (item) => item.key, possibleRow);
  list("#sources", state.sources.map(source), (item) => item.name, sourceRow);
  $("#actors").hidden = state.actors.length === 0;
  list("#actors", state.actors.map(actor), (item) => `${item.island} ${item.shard}`, actorRow);
  list("#letters", kept.letters.map((item, i) => ({ ...item, key: `${item.at} ${item.place} ${i}` })), (item) => item.key, letterRow);
  list("#violations", state.violations, (item) => `${item.at} ${item.rule}`, violationRow);
  $("#violations").hidden = state.violated === 0;
  $("#letters .count").textContent = state.letters_version ? number(state.letters_version) : "";
  $("#history .count").textContent = lanesTold();
  $("#history .empty").hidden = kept.lanes.length > 0;
  $("#timeline").hidden = kept.lanes.length === 0;
  timeline.show(state, kept.lanes);
  graph.show(state);
  $("#write").hidden = !(state.writable && state.takes_posts);
  sections().forEach((section, i) => { section.querySelector("kbd").textContent = i + 1; });
}

// Sections that are shown: their numbers are the keys that lead to them.
function sections() {
  return desk.isShown ? [] : SECTIONS.map((name) => $(`#${name}`)).filter((section) => !section.hidden);
}

function head() {
  $("#name").textContent = state.program;
  if (state.alarms === null) document.title = state.holding?.count ? `(${state.holding.count}) ${state.program}` : state.program;
  const status = $("#status");
  const pair = standbyOf(state);
  const doubts = [["asideActors", [...new Set(state.aside)]], ["awayEnds", state.away]].filter(([, names]) => names.length);
  const told = doubts.map(([text, names]) => t(text, { names: names.join(", ") }));
  if (pair?.follows) told.splice(0, told.length, pair.text);
  else if (pair) told.unshift(pair.text);
  status.className = pair?.isBad || (doubts.length && !pair?.follows) ? "bad" : state.ready || pair?.follows ? "good" : "";
  status.textContent = !state.ready && !pair?.follows ? t("notReady") : told.join(" · ") || t("running");
  $("#sign-in").hidden = !state.locked;
  $("#sign-in").textContent = t(state.alarms === null ? "signInToWrite" : "signInToAct");
  const figures = [["time", state.present === null ? "–" : when(state, state.present)]];
  if (state.facts !== null) {
    const speed = before?.facts ? speedOf(state.facts.accepted - before.facts.accepted) : null;
    figures.push(["facts", `${number(state.facts.accepted)}${speed > 0 ? ` · ${rate(speed)}` : ""}`]);
    if (state.facts.late) figures.push(["late", number(state.facts.late), "bad"]);
  }
  const waiting = Object.values(state.queues).reduce((sum, each) => sum + each, 0);
  if (waiting) figures.push(["waiting", number(waiting)]);
  $("#figures").replaceChildren(...figures.map(([name, value, kind]) =>
    element("div", { class: kind ?? null }, element("dt", {}, t(name)), element("dd", {}, value))));
  programs();
}

function speedOf(more) {
  const seconds = state.now - before.now;
  return seconds > 0 ? more / seconds : null;
}

function programs() {
  const select = $("#programs");
  select.hidden = state.programs.length < 2;
  if (select.options.length !== state.programs.length) {
    select.replaceChildren(...state.programs.map((name) => element("option", { value: name }, name)));
  }
  if (document.activeElement !== select) select.value = state.program;
}

function list(section, items, key, fill) {
  const place = $(`${section} .rows`);
  align(place, items, key, fill);
  const empty = $(`${section} .empty`);
  if (empty !== null) empty.hidden = items.length > 0;
  const count = $(`${section} .count`);
  if (count !== null) count.textContent = items.length ? number(items.length) : "";
}

// Of what holds now there may be many pages.
function pager() {
  const { count, rows } = state.holding;
  first = state.holding.first;
  $("#now .count").textContent = count ? number(count) : "";
  $("#now .pages").hidden = count <= rows.length;
  $("#now .range").textContent = `${number(first + 1)}–${number(first + rows.length)}`;
  $("#earlier").disabled = first === 0;
  $("#later").disabled = first + rows.length >= count;
}

function turn(pages) {
  first = Math.max(0, first + pages * state.holding.size);
  refresh();
}

function lanesTold() {
  const [lanes, dropped] = [kept.lanes.length, state.lanes_dropped];
  if (!lanes) return "";
  const told = lanes === 1 ? t("oneLane") : t("lanes", { count: lanes });
  return `${told}${dropped ? t("lanesDropped", { count: number(dropped) }) : ""}`;
}

function holding({ bar, ...lane }) {
  const long = bar[0] === null ? "" : span(state, Math.max(0, reference(state) - bar[0]));
  return { key: lane.text, lane, bar, since: when(state, bar[0]), long };
}

/** The arguments of an answer, with their names where the output has some. */
function named({ row, fields }) {
  return row.map((value, i) => (fields[i] ? `${fields[i]} ${value}` : value)).join(", ");
}

function nowRow(item) {
  return element("li", {},
    element("span", { class: "what" }, element("b", {}, item.lane.name), " ", named(item.lane)),
    element("span", { class: "aside since" }, item.since && t("since", { time: item.since })),
    element("span", { class: "aside long" }, element("b", {}, item.long)),
    state.explains ? element("button", { type: "button", "aria-label": t("whyOf", { what: item.lane.text }), onclick: () => explain(item.lane, item.bar) }, t("why")) : "");
}

function possible(item) {
  const at = item.time === null ? "" : when(state, item.time);
  const told = item.left === null ? t("noDeadline") : t("left", { time: span(state, Math.max(0, item.left)) });
  return { ...item, key: `${item.query} ${item.answer} ${at}`, at, told };
}

function possibleRow(item, was) {
  const [has, lacks] = [item.evidence.length + item.more_evidence, item.hypotheses.length + item.more_hypotheses];
  const premises = element("div", { class: "premises" },
    ...item.evidence.map((text) => element("div", { class: "has" }, text)),
    item.more_evidence ? element("div", { class: "has" }, t("andMore", { count: item.more_evidence })) : "",
    ...item.hypotheses.map((text) => element("div", { class: "lacks" }, text)),
    item.more_hypotheses ? element("div", { class: "lacks" }, t("andMore", { count: item.more_hypotheses })) : "",
    ...item.where.map((text) => element("div", {}, t("where", { text }))));
  return element("details", { class: "folded", open: was?.open ?? false },
    element("summary", {},
      element("span", { class: "what" }, element("b", {}, item.query), ` ${item.answer}`),
      item.at ? element("span", { class: "aside" }, t("atTime", { time: item.at })) : "",
      element("span", { class: "aside" }, element("progress", { max: has + lacks, value: has, "aria-label": t("evidence") }), ` ${t("evidenceOf", { has, all: has + lacks })}`),
      element("span", { class: "aside left" }, item.told)),
    premises);
}

function source(item) {
  const then = before?.sources?.find((each) => each.name === item.name);
  const speed = then ? speedOf(item.facts - then.facts) : null;
  const last = item.last.slice(0, LATEST).map((each) => ({ ...each, silence: t("ago", { time: duration(each.silence) }) }));
  return { ...item, last, speed: speed > 0 ? rate(speed) : "", silence: item.silence === null ? null : duration(item.silence) };
}

function sourceRow(item, was) {
  const dead = Object.entries(item.dead).map(([why, count]) => `${number(count)} ${why}`).join(", ");
  const state_ = { counts: "", silent: t("silent"), idle: t("idle"), ended: t("ended") }[item.state];
  const lag = item.lag === null ? "" : ` · ${t("behind", { time: span(state, item.lag) })}`;
  const summary = element("summary", {},
    element("span", { class: "what" }, element("b", {}, item.name), state_ ? element("span", { class: "state" }, ` ${state_}`) : "",
      item.last.length ? element("span", { class: "below" }, item.last[0].text) : "",
      dead ? element("span", { class: "below bad" }, dead) : ""),
    element("span", { class: "aside" }, `${number(item.facts)}${item.speed ? ` · ${item.speed}` : ""}${lag}`),
    item.silence === null ? "" : element("span", { class: "aside" }, t("ago", { time: item.silence })));
  const rows = item.last.map((each) => element("tr", {}, element("td", {}, each.text), element("td", {}, when(state, each.at)), element("td", {}, each.silence)));
  return element("details", { class: "folded source", open: was?.open ?? false }, summary, element("table", {}, element("tbody", {}, ...rows)));
}

/** What of an actor is shown, so that a row is drawn anew only where it differs. */
function actor(item) {
  const then = before?.actors?.find((each) => each.island === item.island && each.shard === item.shard && each.process === item.process);
  const seconds = then ? state.now - before.now : 0;
  const share = seconds > 0 ? Math.min(1, Math.max(0, (item.seconds - then.seconds) / seconds)) : null;
  const speed = then ? speedOf(item.facts - then.facts) : null;
  const shards = state.actors.filter((each) => each.island === item.island).length;
  const waits = item.aside ? t("setAside", { why: item.aside }) : { "": "", facts: t("facts") }[item.waits_for] ?? item.waits_for;
  return {
    island: item.island, shard: item.shard, name: shards > 1 ? `${item.name} ${item.shard + 1}/${shards}` : item.name, bad: item.aside !== "",
    cells: [`${item.process}`, `${number(item.facts)}${speed > 0 ? ` · ${rate(speed)}` : ""}`, number(item.inbox), number(item.rows),
      share === null ? "" : `${Math.round(100 * share)} %`, number(item.restarts), item.frontier === null ? "–" : when(state, item.frontier), waits],
  };
}

function actorRow(item) {
  return element("tr", { class: item.bad ? "bad" : null }, element("th", { scope: "row" }, item.name), ...item.cells.map((text) => element("td", {}, text)));
}

function letterRow(item) {
  return element("li", {},
    element("span", { class: "what" }, item.raw, element("span", { class: "below" }, `${item.place}: ${item.reason}`)),
    element("span", { class: "aside" }, new Date(item.at * 1000).toLocaleTimeString(locale, { hour12: false })));
}

function violationRow(item) {
  return element("li", {}, element("span", { class: "what" }, element("b", {}, item.facts.join(", ")), element("span", { class: "below mono" }, item.rule)),
    element("span", { class: "aside" }, when(state, item.time)));
}

// --- why

async function explain(lane, bar) {
  if (!state.explains) return;
  const dialog = $("#why");
  $("#why-title").textContent = t("whyOf", { what: lane.text });
  dialog.querySelector("pre").textContent = "…";
  dialog.querySelector(".note").textContent = "";
  dialog.querySelector("details").hidden = true;
  if (!dialog.open) dialog.showModal();
  const asked = new URLSearchParams({ program: state.program, name: lane.name, row: lane.raw, range: bar[3] });
  try {
    const answer = await fetch(`/api/why?${asked}`);
    const told = await answer.json();
    dialog.querySelector("pre").textContent = told.text ?? told.error;
    dialog.querySelector(".note").textContent = told.note ?? "";
    if (told.svg) {
      dialog.querySelector("img").src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(told.svg)}`;
      dialog.querySelector("details").hidden = false;
    }
  } catch {
    dialog.querySelector("pre").textContent = t("noConnection");
  }
}

// --- hands

$("#programs").addEventListener("change", (event) => {
  program = event.target.value;
  history.replaceState(null, "", `?program=${encodeURIComponent(program)}`);
  kept.lanesVersion = kept.lettersVersion = -1;
  first = 0;
  desk.reset();
  refresh();
});

$("#language").addEventListener("click", switchLanguage);

for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => timeline.act(button.dataset.zoom));
}

$("#earlier").addEventListener("click", () => turn(-1));
$("#later").addEventListener("click", () => turn(1));

$("#fit").addEventListener("click", () => graph.fit(!graph.place.classList.contains("fit")));

$("#write form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const output = $("#write output");
  try {
    const answer = await fetch(`/ingest?wait=taken&program=${encodeURIComponent(state.program)}`, {
      method: "POST", headers: { "content-type": "application/x-ndjson" }, body: $("#fact").value,
    });
    const told = await answer.json();
    output.textContent = told.errors ? told.errors[0].reason : told.error ?? t("taken", { count: told.accepted });
  } catch {
    output.textContent = t("noConnection");
  }
});

document.addEventListener("keydown", (event) => {
  const isWriting = event.target.closest("input, textarea, select, dialog") !== null;
  if (isWriting || event.ctrlKey || event.metaKey || event.altKey) return;
  const section = sections()[Number(event.key) - 1];
  if (section === undefined) return;
  event.preventDefault();
  section.scrollIntoView({ block: "start" });
  (section.querySelector(".rows button, .rows summary, [tabindex='0'], textarea") ?? section).focus({ preventScroll: true });
});

document.addEventListener("visibilitychange", () => {
  desk.seen();
  if (!document.hidden) refresh();
});

poll();
