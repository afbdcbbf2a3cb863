// The desk: the alarms of a program, what people do with them, and what of all that is shown, as the address tells.

import { Acting } from "./acting.js";
import { actions, filterOf, foreseen, GROUPS, hashOf, lines, may, PRIORITIES, read, SORTS, STATES } from "./alarms.js";
import { Details } from "./details.js";
import { duration, element, number, reference, span, when } from "./format.js";
import { Happened, showFigures } from "./happened.js";
import { Notices } from "./notices.js";
import { badge, row, Rows } from "./rows.js";
import { t } from "./texts.js";

const MOST = 10000; // so many alarms are asked for
const PAUSE = 300; // so many milliseconds lie between two lists at the least, whatever happens,
const LONG_PAUSE = 1000; // and between long ones
const MANY = 300; // alarms, in a long list
const LONG = 60; // after so many seconds away the page says what has happened
const BULK = ["acknowledge", "comment", "shelve", "unshelve", "remove", "restore"];
const $ = (selector) => document.querySelector(selector);

export class Desk {
  /** `refresh` asks for the state of the run. */
  constructor(refresh) {
    this.refresh = refresh;
    this.filter = filterOf(location.hash);
    this.toggled = new Set();
    this.acting = new Acting({ changed: (id, alarm) => this.answered(id, alarm), told: (...all) => this.summary(...all) });
    this.details = new Details({ act: (action, item) => this.act(action, [item]), open: (id) => this.open(id) });
    this.notices = new Notices($("#sound"), $("#notices"), (text) => this.say(text));
    this.rows = new Rows($("#rows"), { fill: (line) => this.told(line), make: row, live: (line, made) => this.age(line, made) });
    this.happened = new Happened($("#entries"), $("#more-entries"));
    this.reset();
    this.hands();
    this.controls();
  }

  /** Another program is shown. */
  reset() {
    this.state = null;
    this.raw = new Map();
    this.declared = {};
    this.items = [];
    this.tag = null;
    this.shown = null; // the tag of the list that is drawn
    this.seenAt = null;
    this.back = "";
    this.chosen = new Set();
    this.cursor = null;
    this.isAsking = false;
    this.deafen();
    this.notices.reset();
  }

  get isShown() {
    return this.state !== null && this.state.alarms !== null && this.filter.view !== "run";
  }

  /** Whether the page has to look for news while it is not seen. */
  get isWanted() {
    return this.state !== null && this.state.alarms !== null && this.notices.isWanted;
  }

  get count() {
    return this.items.filter((item) => item.state === "unacknowledged" || item.state === "returned_unacknowledged").length;
  }

  // --- news

  take(state) {
    this.state = state;
    if (state.alarms === null) {
      this.deafen();
      return;
    }
    this.acting.user = state.user;
    this.acting.program = state.program;
    if (state.alarms !== this.tag) this.ask();
    else this.fresh();
    this.listen();
  }

  /** The stream of answers rings whenever an alarm begins or ends; what else changes is seen with the next state. */
  listen() {
    const names = Object.keys(this.declared);
    const isQuiet = document.hidden && !this.isWanted;
    if (isQuiet || this.bell !== null || !names.length) return;
    const asked = new URLSearchParams({ program: this.state.program });
    for (const name of names) asked.append("name", name);
    const bell = new EventSource(`/events?${asked}`);
    this.bell = bell;
    bell.onmessage = () => this.ask();
    bell.addEventListener("missed", () => this.ask());
    bell.onerror = () => {
      if (bell.readyState === EventSource.CLOSED) setTimeout(() => { if (this.bell === bell) this.bell = null; }, 30000);
    };
  }

  deafen() {
    this.bell?.close();
    this.bell = null;
  }

  seen() {
    if (document.hidden && !this.isWanted) this.deafen();
  }

  async ask() {
    if (this.isAsking) {
      this.isRung = true;
      return;
    }
    this.isAsking = true;
    const { program } = this.state;
    do {
      this.isRung = false;
      await this.load(program);
      await new Promise((done) => setTimeout(done, this.raw.size > MANY ? LONG_PAUSE : PAUSE));
    } while (this.isRung && this.state?.program === program);
    if (this.state?.program === program) this.isAsking = false;
  }

  async load(program) {
    const answered = this.acting.answered;
    let told;
    try {
      const answer = await fetch(`/alarms?${new URLSearchParams({ program, size: MOST })}`, {
        headers: this.tag === null ? {} : { "if-none-match": `"${this.tag}"` }, signal: AbortSignal.timeout(20000),
      });
      if (answer.status === 304) this.fresh();
      if (!answer.ok) return;
      told = await answer.json();
    } catch {
      return; // the state tells that there is no connection
    }
    if (this.state?.program !== program) return;
    if (answered !== this.acting.answered) this.isRung = true; // it may not have what was answered meanwhile
    else this.put(told);
  }

  put(told) {
    const before = this.raw;
    if (Object.keys(this.declared).join() !== Object.keys(told.declared).join()) this.deafen(); // it rings for other names now
    this.declared = told.declared;
    this.raw = new Map(told.alarms.map((alarm) => [alarm.id, read(alarm, told.declared)]));
    this.tag = told.tag;
    if (this.seenAt !== null && Date.now() / 1000 - this.seenAt > LONG) this.tellBack(before);
    this.fresh();
    this.notices.take([...this.raw.values()]);
    if (this.filter.view === "history") this.happened.load(this.state);
    this.changed();
  }

  /** What is shown is what the server has now. */
  fresh() {
    this.seenAt = Date.now() / 1000;
    this.isLost = false;
  }

  tellBack(before) {
    const came = [...this.raw.keys()].filter((id) => !before.has(id)).length;
    const went = [...before.keys()].filter((id) => !this.raw.has(id)).length;
    this.back = t("bannerBack", { time: duration(Date.now() / 1000 - this.seenAt), came: number(came), went: number(went) });
  }

  lost() {
    this.isLost = true;
    if (this.isShown) this.banner();
  }

  answered(id, alarm) {
    if (id !== undefined && alarm === null) this.raw.delete(id);
    else if (id !== undefined) this.raw.set(id, read(alarm, this.declared));
    if (id !== undefined) this.isRung = true;
    this.soon();
  }

  summary(done, failed, action) {
    const told = { done: number(done), failed: number(failed), all: number(done + failed) };
    if (failed) this.say(t("someFailed", told));
    else this.say(t("allDone", { count: number(done), action: t(`done${action}`) }));
    this.refresh();
  }

  /** Of many answers that come at once, one is drawn. */
  soon() {
    if (this.isDue) return;
    this.isDue = true;
    setTimeout(() => {
      this.isDue = false;
      this.changed();
    }, this.raw.size > MANY ? PAUSE : 0);
  }

  changed() {
    this.items = [];
    for (const item of this.raw.values()) {
      const flight = this.acting.flights.get(item.id);
      const seen = flight === undefined ? item : foreseen(item, flight);
      if (seen !== null) this.items.push(seen);
    }
    this.known = new Map(this.items.map((item) => [item.id, item]));
    for (const id of this.chosen) if (!this.known.has(id)) this.chosen.delete(id);
    this.shown = null;
    if (this.state !== null) this.show();
  }

  say(text) {
    const said = $("#said");
    said.textContent = text;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { said.textContent = ""; }, 6000);
  }

  // --- showing

  show() {
    const has = this.state.alarms !== null;
    $("#views").hidden = !has;
    $("#desk").hidden = !this.isShown;
    if (!has) return;
    for (const each of document.querySelectorAll("#views [data-view]")) {
      if (each.dataset.view === this.filter.view) each.setAttribute("aria-current", "page");
      else each.removeAttribute("aria-current");
    }
    const { count } = this;
    $("#views .count").textContent = count ? number(count) : "";
    document.title = count ? `(${count}) ${this.state.program}` : this.state.program;
    if (!this.isShown) return;
    for (const each of document.querySelectorAll("#desk > [data-view]")) each.hidden = each.dataset.view !== this.filter.view;
    this.banner();
    if (this.filter.view !== "alarms") $("#chosen").hidden = true;
    if (this.filter.view === "alarms") {
      if (this.shown !== this.tag || this.tag === null) this.list();
      else this.rows.tick();
    }
    if (this.details.id !== null) this.details.update(this.found(this.details.id), this.state);
    this.who();
  }

  list() {
    this.shown = this.tag;
    const all = lines(this.items, this.filter, this.toggled);
    this.all = new Map(all.map((line) => [line.key, line]));
    if (!this.all.has(this.cursor)) this.cursor = all[0]?.key ?? null;
    const shown = all.reduce((sum, line) => sum + (line.kind === "alarm" ? 1 : 0) + (line.isOpen ? 0 : line.below.length), 0);
    $("#shown").textContent = shown === this.items.length ? number(shown) : `${number(shown)} / ${number(this.items.length)}`;
    $("#list").setAttribute("aria-rowcount", all.length + 1);
    $("#list").hidden = all.length === 0;
    $("#none").hidden = all.length > 0 || this.tag === null;
    $("#none span").textContent = t(this.items.length ? "noMatch" : "noAlarms");
    $("#unfilter").hidden = this.items.length === 0;
    this.counts();
    this.choice(all);
    this.rows.show(all);
  }

  /** A line as plain data, from which its element is made; another element is made where it differs. */
  told(line) {
    const ids = this.idsOf(line);
    const isChosen = ids.length > 0 && ids.every((id) => this.chosen.has(id));
    const isCursor = line.key === this.cursor;
    if (line.kind === "group") {
      const open = line.below.filter((item) => item.state === "unacknowledged" || item.state === "returned_unacknowledged").length;
      const priority = PRIORITIES.find((each) => line.below.some((item) => item.priority === each));
      return { kind: "group", key: line.key, name: line.name, count: line.below.length, open, priority, isOpen: line.isOpen, isChosen, isCursor };
    }
    const { item } = line;
    const stateText = this.stateText(item);
    return {
      kind: "alarm", key: line.key, text: item.text, priority: item.priority, state: item.state, level: line.level, stateText,
      since: when(this.state, item.since), label: `${t(item.priority)}: ${item.text}, ${stateText}`, below: this.below(item), isOnItsWay: this.acting.flights.has(item.id),
      error: this.acting.errors.get(item.id) ?? "", count: line.below.length, folded: item.folded, isOpen: line.isOpen, isChosen, isCursor,
      canAcknowledge: actions(item, this.state.user.role).includes("acknowledge"),
    };
  }

  stateText(item) {
    const last = { acknowledged: item.acknowledged, shelved: item.shelved, out_of_service: item.removed }[item.state]?.at(-1);
    const until = item.state === "shelved" && item.until !== null ? ` ${t("until", { time: when(this.state, item.until) })}` : "";
    return `${t(item.state)}${until}${last ? ` ${t("by", { who: last.who })}` : ""}`;
  }

  below(item) {
    const deed = [...item.acknowledged, ...item.shelved, ...item.removed, ...item.comments].filter((each) => each.comment).at(-1);
    return `${item.atom}${deed ? ` · ${deed.who}: ${deed.comment}` : ""}`;
  }

  age(line, made) {
    if (line.kind !== "alarm") return;
    const { since, over } = line.item;
    const told = since === null ? "" : span(this.state, Math.max(0, (over ?? reference(this.state)) - since));
    const place = made.querySelector(".age");
    if (place.textContent !== told) place.textContent = told;
  }

  banner() {
    const parts = [];
    if (this.isLost) parts.push(element("span", { class: "bad" }, t("bannerLost", { time: this.seenAt === null ? "–" : when({ ...this.state, unit: 1, now: Date.now() / 1000 }, this.seenAt) })));
    if (this.state.aside.length) parts.push(element("span", { class: "bad" }, t("asideActors", { names: [...new Set(this.state.aside)].join(", ") })));
    if (this.state.away.length) parts.push(element("span", { class: "bad" }, t("bannerAway", { names: this.state.away.join(", ") })));
    for (const [name, text] of [["shelved", "bannerShelved"], ["suppressed", "bannerSuppressed"], ["out_of_service", "bannerOut"]]) {
      const count = this.items.filter((item) => item.state === name).length;
      if (count) parts.push(element("button", { type: "button", "data-state": name, onclick: () => this.to({ view: "alarms", states: [name], priorities: [], text: "" }) }, t(text, { count: number(count) })));
    }
    if (this.back) parts.push(element("span", {}, this.back, " ", element("button", { type: "button", class: "dismiss", onclick: () => { this.back = ""; this.banner(); } }, t("dismiss"))));
    const text = parts.map((part) => part.textContent).join("\n");
    if (this.bannerText === text) return;
    this.bannerText = text;
    $("#banner").replaceChildren(...parts);
  }

  who() {
    const button = $("#who");
    const { name, role } = this.state.user;
    button.hidden = role === "view";
    button.disabled = name !== "";
    const told = this.acting.who ? t("actAs", { who: this.acting.who }) : t("noName");
    if (button.textContent !== told) button.textContent = told;
  }

  choice(all) {
    const ids = new Set(all.flatMap((line) => this.idsOf(line)));
    for (const id of this.chosen) if (!ids.has(id)) this.chosen.delete(id); // nobody acts on what is not shown
    const items = [...this.chosen].map((id) => this.known.get(id));
    $("#chosen").hidden = items.length === 0;
    $("#all").checked = ids.size > 0 && [...ids].every((id) => this.chosen.has(id));
    $("#all").indeterminate = !$("#all").checked && items.length > 0;
    if (!items.length) return;
    $("#chosen b").textContent = t("selected", { count: number(items.length) });
    const possible = BULK.filter((action) => items.some((item) => actions(item, this.state.user.role).includes(action)));
    const place = $("#chosen .acts");
    if (place.dataset.actions === possible.join()) return;
    place.dataset.actions = possible.join();
    place.replaceChildren(...possible.map((action) => element("button",
      { type: "button", "data-action": action, class: action === "acknowledge" ? "large first" : "large", onclick: () => this.actChosen(action) }, t(action))));
  }

  // --- what it is filtered by

  controls() {
    const option = (names, prefix) => names.map((name) => element("option", { value: name }, t(`${prefix}${name[0].toUpperCase()}${name.slice(1)}`)));
    $("#group").replaceChildren(...option(GROUPS, "group"));
    $("#sort").replaceChildren(...option(SORTS, "sort"));
    const chip = (kind, name, ...inside) => element("button", { type: "button", [`data-${kind}`]: name, onclick: () => this.toggle(kind, name) }, ...inside, " ", element("span", { class: "count" }));
    $("#states").replaceChildren(...STATES.map((name) => chip("state", name, t(name))));
    $("#priorities").replaceChildren(...PRIORITIES.map((name) => chip("priority", name, badge(name), ` ${t(name)}`)));
    this.fields();
  }

  fields() {
    if ($("#search").value !== this.filter.text) $("#search").value = this.filter.text;
    [$("#group").value, $("#sort").value] = [this.filter.group, this.filter.sort];
    for (const each of document.querySelectorAll("#states button")) each.setAttribute("aria-pressed", String(this.filter.states.includes(each.dataset.state)));
    for (const each of document.querySelectorAll("#priorities button")) each.setAttribute("aria-pressed", String(this.filter.priorities.includes(each.dataset.priority)));
  }

  counts() {
    const counts = new Map();
    for (const item of this.items) for (const name of [item.state, item.priority]) counts.set(name, (counts.get(name) ?? 0) + 1);
    for (const each of document.querySelectorAll("#states button, #priorities button")) {
      each.querySelector(".count").textContent = number(counts.get(each.dataset.state ?? each.dataset.priority) ?? 0);
    }
  }

  toggle(kind, name) {
    const field = kind === "state" ? "states" : "priorities";
    const told = this.filter[field];
    this.to({ [field]: told.includes(name) ? told.filter((each) => each !== name) : [...told, name] });
  }

  /** Other filters, or another view; the address tells of them. */
  to(change) {
    const filter = filterOf(hashOf({ ...this.filter, ...change }));
    const isView = filter.view !== this.filter.view;
    history[isView ? "pushState" : "replaceState"](null, "", `${location.pathname}${location.search}${hashOf(filter)}`);
    this.turn(filter);
  }

  turn(filter) {
    const isView = filter.view !== this.filter.view;
    this.filter = filter;
    this.fields();
    this.shown = null;
    if (this.state === null) return;
    this.show();
    if (!isView) return;
    if (filter.view === "history") this.happened.load(this.state);
    if (filter.view === "figures") showFigures($("#alarm-figures"), this.state);
    this.refresh();
  }

  // --- doing

  idsOf(line) {
    const own = line.kind === "alarm" ? [line.item.id] : [];
    return line.isOpen && line.kind === "alarm" ? own : [...own, ...line.below.map((item) => item.id)];
  }

  act(action, items) {
    const able = items.filter((item) => item !== undefined && actions(item, this.state.user.role).includes(action));
    if (able.length) return this.acting.act(action, able, items.length - able.length, this.state, reference(this.state));
    if (!may(action, this.state.user.role)) this.say(t("needsSignIn"));
    return undefined;
  }

  async actChosen(action) {
    await this.act(action, [...this.chosen].map((id) => this.known.get(id)));
    for (const id of this.chosen) if (!this.acting.errors.has(id)) this.chosen.delete(id);
    this.changed();
  }

  /** What a key is for: all that are selected, or the one at the cursor. */
  actKey(action) {
    if (this.chosen.size) this.actChosen(action);
    else this.act(action, [this.known.get(this.cursor)]);
  }

  open(id) {
    if (this.known.has(id)) this.details.show(id, this.found(id), this.state);
  }

  found(id) {
    const item = this.known.get(id) ?? null;
    return {
      item, error: this.acting.errors.get(id) ?? "", isOnItsWay: this.acting.flights.has(id),
      cause: item === null ? undefined : this.known.get(item.cause), role: this.state.user.role,
    };
  }

  pick(line) {
    const ids = this.idsOf(line);
    const isChosen = ids.every((id) => this.chosen.has(id));
    for (const id of ids) this.chosen[isChosen ? "delete" : "add"](id);
    this.list();
  }

  pickAll() {
    const ids = [...this.all.values()].flatMap((line) => this.idsOf(line));
    if (ids.every((id) => this.chosen.has(id))) this.chosen.clear();
    else for (const id of ids) this.chosen.add(id);
    this.list();
  }

  unfold(line, wanted = !line.isOpen) {
    if (wanted === line.isOpen || !line.below.length) return;
    if (this.toggled.has(line.key)) this.toggled.delete(line.key);
    else this.toggled.add(line.key);
    this.list();
  }

  move(step) {
    const keys = [...this.all.keys()];
    const at = keys.indexOf(this.cursor);
    const isThere = document.activeElement?.closest?.("#rows .alarm") !== null;
    this.cursor = keys[Math.max(0, Math.min(keys.length - 1, isThere || step < 0 ? at + step : at))] ?? null;
    this.rows.draw();
    this.rows.focus(this.cursor);
  }

  // --- hands

  hands() {
    for (const each of document.querySelectorAll("#views [data-view]")) each.addEventListener("click", () => this.to({ view: each.dataset.view }));
    window.addEventListener("hashchange", () => this.turn(filterOf(location.hash)));
    window.addEventListener("popstate", () => this.turn(filterOf(location.hash)));
    $("#search").addEventListener("input", (event) => this.to({ text: event.target.value }));
    $("#search").addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "ArrowDown") this.rows.focus(this.cursor);
    });
    $("#group").addEventListener("change", (event) => this.to({ group: event.target.value }));
    $("#sort").addEventListener("change", (event) => this.to({ sort: event.target.value }));
    $("#unfilter").addEventListener("click", () => this.to({ states: STATES, priorities: [], text: "" }));
    $("#all").addEventListener("change", () => this.pickAll());
    $("#clear").addEventListener("click", () => { this.chosen.clear(); this.list(); });
    $("#who").addEventListener("click", async () => { await this.acting.askName(); this.who(); });
    $("#help").addEventListener("click", () => $("#key-list").showModal());
    $("#rows").addEventListener("click", (event) => this.click(event));
    document.addEventListener("keydown", (event) => this.key(event));
  }

  click(event) {
    const line = this.all.get(event.target.closest("[data-key]")?.dataset.key);
    const does = event.target.closest("[data-do]")?.dataset.do;
    if (line === undefined || (does === "row" && event.target.closest(".pick") !== null)) return;
    this.cursor = line.key;
    if (does === "pick") this.pick(line);
    else if (does === "fold" || line.kind === "group") this.unfold(line);
    else if (does === "acknowledge") this.act("acknowledge", [line.item]);
    else this.open(line.item.id);
  }

  key(event) {
    if (!this.isShown || this.filter.view !== "alarms" || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target.closest("dialog:not([open])") === null ? event.target : document.body; // it was closed just now
    const isSearching = target === $("#search");
    if (target.closest("dialog, select, textarea") || (target.closest("input:not([type=checkbox])") && !(isSearching && event.key === "Escape"))) return;
    const isButton = target.closest("button, [type=checkbox]") !== null;
    const line = this.all?.get(this.cursor);
    const keys = {
      j: () => this.move(1), ArrowDown: () => this.move(1), k: () => this.move(-1), ArrowUp: () => this.move(-1),
      Enter: isButton ? undefined : () => (line?.kind === "group" ? this.unfold(line) : this.open(this.cursor)),
      a: () => this.actKey("acknowledge"), c: () => this.actKey("comment"), s: () => this.actKey("shelve"),
      x: () => line && this.pick(line), X: () => this.pickAll(),
      ArrowRight: () => line && this.unfold(line, true), ArrowLeft: () => line && this.unfold(line, false),
      w: () => { this.open(this.cursor); this.details.why(); },
      "/": () => $("#search").focus(), "?": () => $("#key-list").showModal(),
      Escape: () => { this.chosen.clear(); this.to({ text: "" }); if (isSearching) this.rows.focus(this.cursor); },
    };
    if (!Object.hasOwn(keys, event.key) || keys[event.key] === undefined) return;
    event.preventDefault();
    keys[event.key]();
  }
}
