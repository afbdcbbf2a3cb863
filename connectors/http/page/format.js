// How times and numbers are written. Times are seconds since 1970 where the program has a unit, otherwise its own numbers.

import { language, locale } from "./texts.js";

const YEAR_1973 = 1e8;
// Made once: each takes a hundred times as long as what it is for.
const TIME = new Intl.DateTimeFormat(locale, { hour: "numeric", minute: "numeric", second: "numeric", hour12: false });
const DAY = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short" });
const NUMBER = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });

export const isDate = (state, value) => state.unit !== null && Math.abs(value) > YEAR_1973;

export function when(state, value) {
  if (value === null) return "";
  if (!isDate(state, value)) return number(value);
  const date = new Date(value * 1000);
  const isToday = date.toDateString() === new Date(state.now * 1000).toDateString();
  return isToday ? TIME.format(date) : `${DAY.format(date)} ${TIME.format(date)}`;
}

export function span(state, length) {
  return state.unit === null ? number(length) : duration(length);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "";
  const sign = seconds < 0 ? "−" : "";
  const s = Math.abs(seconds);
  if (s < 9.95) return `${sign}${s < 0.05 ? 0 : s.toFixed(1)} s`;
  if (s < 119.5) return `${sign}${Math.round(s)} s`;
  if (s < 7200) return `${sign}${Math.round(s / 60)} min`;
  if (s < 172800) return `${sign}${Math.round(s / 3600)} h`;
  return `${sign}${Math.round(s / 86400)} d`;
}

export function number(value) {
  return NUMBER.format(value);
}

export function rate(value) {
  if (value === null) return "";
  if (value > 0 && value < 0.1) return "<0.1/s";
  return `${value < 10 ? value.toFixed(1).replace(/\.0$/, "") : number(Math.round(value))}/s`;
}

// What "now" means: the machine's clock, unless the stream is that of another day; without a unit, the stream's latest time.
export function reference(state) {
  if (state.present === null) return state.unit === null ? 0 : state.now;
  return state.unit !== null && Math.abs(state.now - state.present) < 86400 ? state.now : state.present;
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  set(made, attributes);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
}

// Brings the children of a list into line with items, by key, so that focus and what is unfolded stay.
export function align(list, items, key, fill) {
  const there = new Map([...list.children].map((child) => [child.dataset.key, child]));
  let last = null;
  for (const item of items) {
    const name = key(item);
    let child = there.get(name);
    there.delete(name);
    const text = JSON.stringify(item);
    if (child === undefined || child.dataset.text !== text) {
      const made = fill(item, child);
      made.dataset.key = name;
      made.dataset.text = text;
      if (child !== undefined && child !== made) {
        const isFocused = child.contains(document.activeElement);
        child.replaceWith(made);
        if (isFocused) made.querySelector("button, summary")?.focus();
      }
      child = made;
    }
    const next = last === null ? list.firstChild : last.nextSibling;
    if (child !== next) list.insertBefore(child, next);
    last = child;
  }
  for (const child of there.values()) child.remove();
}
