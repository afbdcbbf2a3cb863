// The rules as a graph: the server draws it, and here each box gets its numbers.

import { duration, number, rate } from "./format.js";
import { t } from "./texts.js";

const SMALLEST = 0.75; // a graph that fits in at this scale is shown as a whole

export class Graph {
  constructor(place) {
    this.place = place;
    this.texts = new Map();
    this.program = null;
    this.before = null;
  }

  async load(program) {
    if (this.program === program) return;
    this.program = program;
    const answer = await fetch(`/api/graph?program=${encodeURIComponent(program)}`);
    if (!answer.ok) return;
    const drawn = new DOMParser().parseFromString(await answer.text(), "image/svg+xml").documentElement;
    this.place.replaceChildren(document.importNode(drawn, true));
    this.texts = new Map([...this.place.querySelectorAll("[data-box]")].map((box) => [box.dataset.box, box]));
    this.before = null;
    const isNearlyFitting = drawn.width.baseVal.value * SMALLEST < this.place.clientWidth;
    this.fit(isNearlyFitting);
  }

  fit(fits) {
    this.place.classList.toggle("fit", fits);
    document.querySelector("#fit").setAttribute("aria-pressed", String(fits));
  }

  show(state) {
    const before = this.before;
    this.before = state;
    const seconds = before === null ? 0 : state.now - before.now;
    const perSecond = (now, then) => (seconds > 0 && then !== undefined ? (now - then) / seconds : null);
    for (const [name, step] of Object.entries(state.steps)) {
      const then = before?.steps[name];
      const speed = perSecond(step.received, then?.received);
      const parts = [speed > 0 ? rate(speed) : "", step.rows === 1 ? t("oneRow") : t("rows", { count: number(step.rows) })];
      if (step.lag > 0) parts.push(t("behind", { time: state.unit === null ? number(step.lag) : duration(step.lag) }));
      this.fill(`step ${name}`, parts, speed > 0);
    }
    for (const [name, count] of Object.entries(state.told)) {
      const speed = perSecond(count, before?.told[name] ?? 0);
      this.fill(`output ${name}`, [speed > 0 ? rate(speed) : "", t("told", { count: number(count) })], false);
    }
  }

  fill(box, parts, isBusy) {
    const group = this.texts.get(box);
    if (group === undefined) return;
    group.classList.toggle("busy", isBusy);
    const text = group.querySelector(".tl-live");
    const told = parts.filter(Boolean).join(" · ");
    if (text.textContent !== told) text.textContent = told;
  }
}
