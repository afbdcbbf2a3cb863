// When answers held: a lane for each answer and device, with zoom by wheel, pointer, buttons and keys.

import { isDate, number, reference, span, svg, when } from "./format.js";
import { t } from "./texts.js";

const ROW = 22;
const TOP = 22;
const SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];
const LEAST = 1e-6;

export class Timeline {
  constructor(place, choose) {
    this.place = place;
    this.choose = choose;
    this.length = null; // of what is seen; null: all of it
    this.end = null; // where what is seen ends; null: it follows the present
    this.lanes = [];
    this.state = null;
    place.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    place.addEventListener("keydown", (event) => this.key(event));
    place.addEventListener("pointerdown", (event) => this.drag(event));
    new ResizeObserver(() => this.draw()).observe(place);
  }

  show(state, lanes) {
    this.state = state;
    this.lanes = [...lanes].sort((one, other) => (one.text < other.text ? -1 : one.text > other.text ? 1 : 0));
    this.draw();
  }

  // --- what is seen

  all() {
    const starts = this.lanes.flatMap((lane) => lane.bars.map((bar) => bar[0] ?? bar[1])).filter((time) => time !== null);
    const ends = this.lanes.flatMap((lane) => lane.bars.map((bar) => bar[1])).filter((time) => time !== null);
    const last = Math.max(reference(this.state), ...(this.end === null ? [] : ends));
    const first = Math.min(last, ...starts);
    return Math.max(last - first, LEAST) * 1.03;
  }

  seen() {
    const length = this.length ?? this.all();
    const end = (this.end ?? reference(this.state)) + (this.end === null ? length * 0.02 : 0);
    return [end - length, end];
  }

  zoom(factor, at = null) {
    const [from, to] = this.seen();
    const pivot = at ?? (this.end === null ? to : (from + to) / 2);
    this.length = Math.max((to - from) * factor, LEAST);
    if (this.end !== null || at !== null) this.end = pivot + (to - pivot) * factor;
    if (this.end !== null && this.end >= reference(this.state)) this.end = null;
    this.draw();
  }

  move(part) {
    const [from, to] = this.seen();
    this.length = to - from;
    this.end = to + (to - from) * part;
    if (this.end >= reference(this.state)) this.end = null;
    this.draw();
  }

  reset() {
    this.length = this.end = null;
    this.draw();
  }

  follow() {
    this.end = null;
    this.draw();
  }

  act(name) {
    ({ in: () => this.zoom(0.5), out: () => this.zoom(2), all: () => this.reset(), now: () => this.follow() })[name]();
  }

  // --- hands

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2), 0: () => this.reset(),
      ArrowLeft: () => this.move(-0.25), ArrowRight: () => this.move(0.25), n: () => this.follow(),
    };
    const act = acts[event.key];
    if (act === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY)) return; // the page scrolls
    event.preventDefault();
    if (event.ctrlKey) this.zoom(Math.exp(event.deltaY / 300), this.time(event.clientX));
    else this.move((event.deltaX || event.deltaY) / 600);
  }

  drag(event) {
    if (event.target.closest(".bar, .lane-name") || event.button !== 0) return;
    const [from, to] = this.seen();
    const begin = event.clientX;
    const width = this.width - this.left;
    const move = (moved) => {
      if (Math.abs(moved.clientX - begin) < 3 && this.end === null) return;
      this.length = to - from;
      this.end = Math.min(to - ((moved.clientX - begin) / width) * (to - from), reference(this.state));
      this.draw();
    };
    const stop = () => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", stop);
      window.removeEventListener("pointercancel", stop);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop);
    window.addEventListener("pointercancel", stop);
  }

  time(clientX) {
    const [from, to] = this.seen();
    const x = clientX - this.place.getBoundingClientRect().left - this.left;
    return from + (Math.max(0, x) / (this.width - this.left)) * (to - from);
  }

  // --- the picture

  draw() {
    if (this.state === null) return;
    this.width = Math.max(this.place.clientWidth, 200);
    const isNarrow = this.width < 560;
    this.left = isNarrow ? 0 : Math.min(260, 24 + 7 * Math.max(6, ...this.lanes.map((lane) => lane.text.length)));
    const row = isNarrow ? ROW + 14 : ROW;
    const height = TOP + row * this.lanes.length + 4;
    const drawn = svg("svg", { viewBox: `0 0 ${this.width} ${height}`, height, role: "img", "aria-label": this.told() });
    const [from, to] = this.seen();
    const x = (time) => this.left + ((time - from) / (to - from)) * (this.width - this.left);
    this.axis(drawn, from, to, x, height);
    this.lanes.forEach((lane, i) => this.lane(drawn, lane, TOP + row * i, row, isNarrow, x));
    const present = x(reference(this.state));
    if (present <= this.width) drawn.append(svg("line", { class: "present", x1: present, x2: present, y1: TOP - 4, y2: height }));
    this.place.replaceChildren(drawn);
  }

  told() {
    return t("lanesLabel", { count: this.lanes.length, names: this.lanes.slice(0, 20).map((lane) => lane.text).join(", ") });
  }

  axis(drawn, from, to, x, height) {
    for (const time of ticks(this.state, from, to, Math.max(2, Math.floor((this.width - this.left) / 110)))) {
      const place = x(time);
      drawn.append(svg("line", { class: "rule", x1: place, x2: place, y1: TOP - 4, y2: height }));
      const anchor = place > this.width - 34 ? "end" : place < this.left + 34 ? "start" : "middle";
      drawn.append(svg("text", { x: place, y: 12, "text-anchor": anchor }, label(this.state, time, to - from)));
    }
  }

  lane(drawn, lane, top, row, isNarrow, x) {
    const bottom = top + row;
    drawn.append(svg("line", { class: "rule", x1: 0, x2: this.width, y1: bottom, y2: bottom }));
    const shown = lane.text.length > 36 ? `${lane.text.slice(0, 35)}…` : lane.text;
    drawn.append(svg("text", { class: "lane-name", x: 0, y: isNarrow ? top + 13 : top + 15 }, svg("title", {}, lane.text), shown));
    const y = isNarrow ? top + 18 : top + 5;
    for (const bar of lane.bars) {
      const begin = Math.max(bar[0] === null ? this.left : x(bar[0]), this.left);
      const isOn = bar[1] === null || this.isOn(bar);
      const end = Math.min(bar[1] === null ? x(reference(this.state)) : x(bar[1] + this.state.tick), this.width);
      if (end < this.left || begin > this.width) continue;
      const rect = svg("rect", { class: isOn ? "bar on" : "bar", x: begin, y, width: Math.max(end - begin, 2), height: 12, rx: 1 });
      rect.append(svg("title", {}, this.title(lane, bar)));
      rect.addEventListener("click", () => this.choose(lane, bar));
      drawn.append(rect);
    }
  }

  isOn(bar) {
    const present = this.state.present;
    return present !== null && bar[0] !== null && bar[0] <= present && (bar[1] === null || present <= bar[1]);
  }

  title(lane, bar) {
    const end = bar[1] === null ? t("laneOn") : t("laneTo", { time: when(this.state, bar[1]) });
    const length = bar[0] === null ? "" : `, ${span(this.state, (bar[1] ?? reference(this.state)) - bar[0])}`;
    return `${lane.text}\n${t("laneFrom", { begin: when(this.state, bar[0]), end })}${length}`;
  }
}

function ticks(state, from, to, most) {
  const rough = Math.max((to - from) / most, state.tick);
  const dates = isDate(state, to);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = (dates ? SECONDS.find((each) => each >= rough) : undefined) ?? [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const zone = dates ? new Date(to * 1000).getTimezoneOffset() * 60 : 0;
  const found = [];
  for (let time = Math.ceil((from - zone) / step) * step + zone; time <= to && found.length < 50; time += step) found.push(time);
  return found;
}

function label(state, time, length) {
  if (!isDate(state, time)) return number(time);
  const date = new Date(time * 1000);
  const two = (value) => String(value).padStart(2, "0");
  if (length > 172800) return `${date.getDate()}.${date.getMonth() + 1}. ${two(date.getHours())}:${two(date.getMinutes())}`;
  const seconds = length < 900 ? `:${two(date.getSeconds())}` : "";
  return `${two(date.getHours())}:${two(date.getMinutes())}${seconds}`;
}
