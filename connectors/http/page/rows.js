// The list of alarms: of thousands only those in sight are there. Each line has the same height, so that places are known.

import { element, svg } from "./format.js";
import { t } from "./texts.js";

const BEYOND = 12; // so many lines are there above and below what is in sight
const SHAPES = {
  critical: "M10 0 20 10 10 20 0 10Z", high: "M10 1 20 19H0Z", medium: "M1 1H19V19H1Z",
  low: "M10 0A10 10 0 0 1 10 20A10 10 0 0 1 10 0Z",
};

/** A priority as a shape with its letter, so that it is told by more than a colour. */
export function badge(priority) {
  const letter = t(priority)[0].toUpperCase();
  const text = svg("text", { x: 10, y: priority === "high" ? 17 : 14.5, "text-anchor": "middle" }, letter);
  return svg("svg", { class: `badge ${priority}`, viewBox: "0 0 20 20", role: "img", "aria-label": t(priority) }, svg("path", { d: SHAPES[priority] }), text);
}

export class Rows {
  /** `fill(line)` tells a line as plain data, `make(told)` its element, `live(line, element)` updates what changes by itself. */
  constructor(place, { fill, make, live }) {
    this.place = place;
    this.fill = fill;
    this.make = make;
    this.live = live;
    this.lines = [];
    this.there = new Map();
    this.isDue = false;
    const later = () => this.soon();
    window.addEventListener("scroll", later, { passive: true });
    window.addEventListener("resize", later, { passive: true });
  }

  get height() {
    return window.matchMedia("(max-width: 760px)").matches ? 84 : 46;
  }

  soon() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }

  show(lines) {
    this.lines = lines;
    this.draw();
  }

  draw() {
    if (this.place.offsetParent === null) return;
    const height = this.height;
    const above = -this.place.getBoundingClientRect().top;
    const first = Math.max(0, Math.min(this.lines.length, Math.floor(above / height)) - BEYOND);
    const last = Math.min(this.lines.length, Math.ceil((above + window.innerHeight) / height) + BEYOND);
    this.place.style.height = `${this.lines.length * height}px`;
    this.place.style.paddingTop = `${first * height}px`;
    this.align(this.lines.slice(first, Math.max(first, last)), first);
  }

  align(lines, first) {
    const gone = new Map(this.there);
    let before = null;
    lines.forEach((line, i) => {
      const told = this.fill(line);
      const text = JSON.stringify(told);
      let row = this.there.get(line.key);
      gone.delete(line.key);
      if (row === undefined || row.text !== text) row = this.replace(line.key, row, told, text);
      this.live(line, row.made);
      row.made.setAttribute("aria-rowindex", first + i + 2);
      const next = before === null ? this.place.firstChild : before.nextSibling;
      if (row.made !== next) this.place.insertBefore(row.made, next);
      before = row.made;
    });
    for (const [key, row] of gone) {
      row.made.remove();
      this.there.delete(key);
    }
  }

  /** Another element for a line; where the old one had the focus, so has the new one, at the same place. */
  replace(key, old, told, text) {
    const row = { made: this.make(told), text };
    this.there.set(key, row);
    if (old !== undefined) {
      const focused = old.made.contains(document.activeElement) ? document.activeElement : null;
      old.made.replaceWith(row.made);
      if (focused !== null) (row.made.querySelector(`[data-do="${focused.dataset.do}"]`) ?? row.made).focus({ preventScroll: true });
    }
    return row;
  }

  /** What changes by itself, of the lines that are there. */
  tick() {
    for (const line of this.lines) {
      const row = this.there.get(line.key);
      if (row !== undefined) this.live(line, row.made);
    }
  }

  /** Brings a line into sight, and the focus to it. */
  focus(key) {
    const at = this.lines.findIndex((line) => line.key === key);
    if (at < 0) return;
    const header = document.querySelector("header").getBoundingClientRect().bottom;
    const top = this.place.getBoundingClientRect().top + at * this.height;
    if (top < header) window.scrollBy(0, top - header - this.height);
    else if (top + 2 * this.height > window.innerHeight) window.scrollBy(0, top + 2 * this.height - window.innerHeight);
    this.draw();
    this.there.get(key)?.made.focus({ preventScroll: true });
  }
}

/** The parts of a line, and what they are called for those who hear them. */
export function row(told) {
  return told.kind === "group" ? groupRow(told) : alarmRow(told);
}

function groupRow(told) {
  const label = t(told.isOpen ? "fold" : "unfold", { count: told.count, text: told.name });
  return element("div", { class: "alarm group", role: "row", tabindex: told.isCursor ? 0 : -1, "data-key": told.key, "data-do": "row" },
    cell("pick", pick(told)),
    cell("priority", badge(told.priority)),
    cell("what", element("button", { type: "button", class: "unfold", "data-do": "fold", "aria-expanded": String(told.isOpen), "aria-label": label },
      `${told.isOpen ? "▾" : "▸"} ${told.name || "–"}`)),
    cell("count", t("groupCount", { open: told.open, count: told.count })));
}

function alarmRow(told) {
  const kinds = ["alarm", told.priority, told.state, told.isOnItsWay ? "doing" : "", told.level ? "below-cause" : ""].filter(Boolean).join(" ");
  const unfold = told.count
    ? element("button", { type: "button", class: "unfold", "data-do": "fold", "aria-expanded": String(told.isOpen), "aria-label": t(told.isOpen ? "fold" : "unfold", { count: told.count, text: told.text }) },
      `${told.isOpen ? "▾" : "▸"} ${told.count}`)
    : told.folded ? element("span", { title: t("foldedIn", { count: told.folded }) }, `+${told.folded}`) : "";
  return element("div", { class: kinds, role: "row", tabindex: told.isCursor ? 0 : -1, "data-key": told.key, "data-do": "row", "aria-label": told.label, "aria-selected": String(told.isChosen), "aria-busy": told.isOnItsWay ? "true" : null },
    cell("pick", pick(told)),
    cell("priority", badge(told.priority)),
    cell("what", element("b", {}, told.text), told.error
      ? element("span", { class: "below error", role: "alert" }, told.error)
      : element("span", { class: "below" }, told.below)),
    cell("fold", unfold),
    cell("state", element("span", { class: "mark", "aria-hidden": "true" }, MARKS[told.state]), ` ${told.stateText}`),
    element("span", { class: "age", role: "gridcell", title: told.since }),
    cell("does",
      told.canAcknowledge ? element("button", { type: "button", class: "first", "data-do": "acknowledge", "aria-label": t("acknowledgeOf", { text: told.text }) }, t("acknowledgeShort")) : "",
      element("button", { type: "button", "data-do": "open", "aria-label": t("moreOf", { text: told.text }), "aria-haspopup": "dialog" }, "…")));
}

const MARKS = { unacknowledged: "●", returned_unacknowledged: "◐", acknowledged: "✓", shelved: "⏸", suppressed: "⊘", out_of_service: "✕" };

function pick(told) {
  const box = element("input", { type: "checkbox", "data-do": "pick", "aria-label": t("select", { text: told.text ?? told.name }) });
  box.checked = told.isChosen;
  return element("label", {}, box);
}

function cell(name, ...children) {
  return element("span", { class: name, role: "gridcell" }, ...children);
}
