// One alarm, with all that is known of it and may be done with it: beside the list, or below it on a phone.

import { actions, timeOf } from "./alarms.js";
import { element, when } from "./format.js";
import { Happened } from "./happened.js";
import { showReason } from "./reasons.js";
import { badge } from "./rows.js";
import { t } from "./texts.js";

const $ = (selector) => document.querySelector(selector);

export class Details {
  /** `act(action, item)` does something, `open(id)` shows another alarm. */
  constructor({ act, open }) {
    this.act = act;
    this.open = open;
    this.dialog = $("#alarm");
    this.id = null;
    this.text = "";
    this.happened = new Happened(this.dialog.querySelector(".entries"));
    this.reason = this.dialog.querySelector(".reason");
    this.reason.querySelector(".show").addEventListener("click", () => this.why());
    this.dialog.addEventListener("close", () => { this.id = null; });
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // beside it
    });
  }

  /** Shows an alarm, where it is open, as `found` tells: `item`, `error`, `isOnItsWay` and `causes`, alarms by their ids. */
  show(id, found, state) {
    [this.id, this.state, this.text] = [id, state, ""];
    this.reason.querySelector(".told").replaceChildren();
    this.reason.querySelector(".show").hidden = !state.explains;
    this.update(found, state);
    this.happened.place.replaceChildren();
    this.happened.load(state, id);
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.scrollTop = 0;
    $("#alarm-title").focus();
  }

  why() {
    if (this.id === null || !this.state.explains) return;
    this.reason.querySelector(".show").hidden = true;
    showReason(this.reason.querySelector(".told"), this.id, this.state);
  }

  /** Brings what is shown up to date; `found` without an item says that the alarm is not open any more. */
  update(found, state) {
    this.state = state;
    const { item, error, isOnItsWay, cause, role } = found;
    const text = JSON.stringify([item, error, isOnItsWay, cause?.text, role]);
    if (text === this.text) return;
    const isFirst = this.text === "";
    this.text = text;
    if (!isFirst) this.happened.load(state, this.id);
    const acts = this.dialog.querySelector(".acts");
    const focused = acts.contains(document.activeElement) ? document.activeElement.dataset.action : null;
    const failed = this.dialog.querySelector(".error");
    failed.hidden = !error;
    failed.textContent = error ?? "";
    if (item === null) {
      acts.replaceChildren(element("p", { class: "note", role: "status" }, t("gone")));
      this.dialog.querySelector(".known").replaceChildren();
      if (focused !== null) $("#alarm-title").focus();
      return;
    }
    $("#alarm-title").replaceChildren(badge(item.priority), ` ${item.text}`);
    acts.replaceChildren(...actions(item, role).map((action) => element("button",
      { type: "button", class: action === "acknowledge" ? "large first" : "large", "data-action": action, disabled: isOnItsWay, onclick: () => this.act(action, item) }, t(action))));
    if (focused !== null) (acts.querySelector(`[data-action=${focused}]:enabled`) ?? $("#alarm-title")).focus();
    this.dialog.querySelector(".known").replaceChildren(...this.known(item, isOnItsWay, cause));
  }

  known(item, isOnItsWay, cause) {
    const { state } = this;
    const rows = [
      [t("state"), `${t(item.state)}${isOnItsWay ? ` (${t("doing")})` : ""}`], [t("priority"), t(item.priority)],
      [t("begins"), when(state, item.since)], [t("ends"), when(state, item.over)], [t("rule"), item.alarm],
      ...item.args.map((value, i) => [item.known.fields[i] ?? `${i + 1}`, String(value)]),
      [t("acknowledgedBy"), this.deeds(item.acknowledged)], [t("comments"), this.deeds(item.comments)],
      [t("shelvedBy"), this.deeds(item.shelved, item.until === null ? "" : t("until", { time: when(state, item.until) }))],
      [t("removedBy"), this.deeds(item.removed)], [t("suppressedByDesign"), item.suppressed ? t("yes") : ""],
      [t("foldedInto"), cause ? element("button", { type: "button", class: "link", onclick: () => this.open(cause.id) }, cause.text) : ""],
    ];
    return rows.filter(([, value]) => value !== "" && value !== null).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
  }

  deeds(deeds, more = "") {
    if (!deeds.length) return "";
    return element("ul", {}, ...deeds.map((deed) => element("li", {}, t("byAt", { who: deed.who, time: deed.time === null ? t("doing") : when(this.state, timeOf(deed.time)) }),
      more ? ` ${more}` : "", deed.comment ? element("q", { class: "below" }, deed.comment) : "")));
  }
}
