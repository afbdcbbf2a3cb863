// Why an alarm holds: the rules as text, and the values that it rests on as small charts. Nothing is drawn between two values.

import { element, number, svg, when } from "./format.js";
import { t } from "./texts.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [560, 120, 54, 10, 10, 22];
const MOST_SERIES = 6;

/** Fills a place with the reason of an alarm. */
export async function showReason(place, id, state) {
  place.replaceChildren(element("p", {}, t("loading")));
  let told;
  try {
    const answer = await fetch(`/api/why?${new URLSearchParams({ program: state.program, alarm: id })}`);
    told = await answer.json();
  } catch {
    told = { error: t("noConnection") };
  }
  if (told.error !== undefined) {
    place.replaceChildren(element("p", { class: "error", role: "alert" }, told.error));
    return;
  }
  place.replaceChildren(...charts(told.values, state), element("pre", { tabindex: 0 }, told.text), told.note ? element("p", { class: "note" }, told.note) : "");
}

function charts({ series, begin, left_out: leftOut }, state) {
  if (!series.length) return [];
  const shown = series.slice(0, MOST_SERIES);
  const times = shown.flatMap((each) => each.points.flatMap(([lo, hi]) => [lo, hi])).filter((time) => time !== null);
  const bounds = [Math.min(begin ?? Infinity, ...times), Math.max(begin ?? -Infinity, ...times)];
  const found = [element("h3", {}, t("values")), ...shown.map((each) => chart(each, begin, bounds, state))];
  if (series.length > shown.length) found.push(element("p", { class: "note" }, t("seriesLeftOut", { count: series.length - shown.length })));
  if (leftOut) found.push(element("p", { class: "note" }, t("valuesLeftOut", { count: number(leftOut) })));
  return found;
}

/** A dot for a value at one time, a line for one that holds for a while; a dashed line where the alarm began. */
function chart({ name, points }, begin, [first, last], state) {
  const values = points.map((point) => point[2]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [low, high] = least === most ? [least - 1, most + 1] : [least, most];
  const x = (time) => LEFT + (last > first ? (time - first) / (last - first) : 0.5) * (WIDTH - LEFT - RIGHT);
  const y = (value) => TOP + (1 - (value - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);
  const label = t("valuesLabel", { name, count: points.length, least: number(least), most: number(most), last: number(values.at(-1)) });
  const drawn = svg("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  for (const value of new Set([least, most])) {
    drawn.append(svg("line", { class: "rule", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)));
  }
  if (begin !== null) drawn.append(svg("line", { class: "begin", x1: x(begin), x2: x(begin), y1: TOP - 6, y2: HEIGHT - BOTTOM + 4 }));
  for (const [lo, hi, value] of points) {
    const [from, to] = [x(lo ?? first), x(hi ?? last)];
    const title = svg("title", {}, `${number(value)} · ${lo === null ? "−∞" : when(state, lo)}${hi === lo ? "" : ` – ${hi === null ? "∞" : when(state, hi)}`}`);
    drawn.append(to - from < 2
      ? svg("circle", { class: "value", cx: from, cy: y(value), r: 3 }, title)
      : svg("line", { class: "value", x1: from, x2: to, y1: y(value), y2: y(value) }, title));
  }
  if (Number.isFinite(first)) drawn.append(svg("text", { x: LEFT, y: HEIGHT - 6 }, when(state, first)));
  if (last > first) drawn.append(svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 6, "text-anchor": "end" }, when(state, last)));
  return element("figure", {}, element("figcaption", {}, name), drawn);
}
