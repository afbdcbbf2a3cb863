// What people do with alarms: asked for where something is missing, sent, shown at once, and corrected by the answer.

import { lengthOf, shelves } from "./alarms.js";
import { element, number } from "./format.js";
import { keep, kept, t } from "./texts.js";

const WHO = "tidelog.who";
const AT_ONCE = 4; // so many are on their way at once: a browser has six connections, and the list needs one
const TRIES = 20; // so often one is sent again that the server had no place for
const $ = (selector) => document.querySelector(selector);

export class Acting {
  /** `told(done, failed, action)` is called when all of some actions are answered, `changed(id, alarm)` for each that is. */
  constructor({ changed, told }) {
    this.changed = changed;
    this.told = told;
    this.user = { name: "", role: "view" };
    this.flights = new Map(); // what is on its way, by the alarm's id
    this.errors = new Map(); // what went wrong last, by the alarm's id
    this.answered = 0;
    this.program = "";
    $("#ask .cancel").addEventListener("click", () => $("#ask").close());
  }

  get who() {
    return this.user.name || kept(WHO) || "";
  }

  /** Asks for what an action lacks, and does it with these alarms. `unable` is with how many more it cannot be done, and
   *  `reference` what time it is. */
  async act(action, items, unable, state, reference) {
    const fields = [];
    if (!this.who) fields.push(nameField());
    if (action === "shelve") {
      const longest = Math.min(...items.map((item) => item.known.longest));
      fields.push(...lengthFields(longest, state.unit !== null, unable));
    }
    if (action !== "acknowledge" && action !== "unshelve") fields.push(commentField(action === "comment"));
    const asked = fields.length ? await ask(t(action), told(items), fields, t(action)) : {};
    if (asked === null) return;
    if (asked.who) keep(WHO, asked.who.trim());
    const lasting = asked.for === undefined ? null : state.unit === null ? Number(asked.for) : asked.for;
    const until = lasting === null ? null : reference + lengthOf(lasting);
    await this.send(action, items, { comment: (asked.comment ?? "").trim(), lasting, until });
  }

  async askName() {
    const asked = await ask(t("yourName"), t("whoWhy"), [nameField(kept(WHO) ?? "")], t("ok"));
    if (asked !== null) keep(WHO, asked.who.trim());
  }

  async send(action, items, { comment, lasting, until }) {
    const waiting = items.filter((item) => !this.flights.has(item.id));
    const body = { comment, ...(this.user.name ? {} : { who: this.who }), ...(lasting === null ? {} : { for: lasting }) };
    for (const item of waiting) {
      this.errors.delete(item.id);
      this.flights.set(item.id, { action, who: this.who, comment, until });
    }
    this.changed();
    const all = waiting.length;
    let failed = 0;
    const one = async () => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
        const { error, alarm } = await this.post(action, item.id, body);
        this.flights.delete(item.id);
        this.answered += 1;
        if (error !== undefined) {
          failed += 1;
          this.errors.set(item.id, t("failed", { action: t(action), error }));
          this.changed();
        } else this.changed(item.id, alarm);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    if (all) this.told(all - failed, failed, action);
  }

  async post(action, id, body) {
    const where = `/alarms/${id}/${action}?${new URLSearchParams({ program: this.program })}`;
    for (let tries = 0; ; tries++) {
      let answer, said;
      try {
        answer = await fetch(where, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
        said = await answer.json();
      } catch {
        return { error: t("lost") };
      }
      if (answer.ok) return said;
      if (answer.status === 401) return { error: t("needsSignIn") };
      if (answer.status !== 429 || tries >= TRIES) return { error: said.error ?? String(answer.status) };
      await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get("retry-after") ?? 1)));
    }
  }
}

const told = (items) => (items.length === 1 ? items[0].text : t("ofAlarms", { count: number(items.length) }));

// --- asking

/** What is filled in, by the names of the fields; null where it is cancelled. */
function ask(title, of, fields, does) {
  const dialog = $("#ask");
  const form = dialog.querySelector("form");
  $("#ask-title").textContent = title;
  dialog.querySelector(".of").textContent = of;
  dialog.querySelector(".fields").replaceChildren(...fields);
  dialog.querySelector("[type=submit]").textContent = does;
  return new Promise((answer) => {
    let filled = null;
    form.onsubmit = (event) => {
      event.preventDefault();
      filled = Object.fromEntries(new FormData(form));
      dialog.close();
    };
    dialog.addEventListener("close", () => answer(filled), { once: true });
    dialog.showModal();
    form.querySelector("input:not([type=radio]), textarea, input:checked")?.focus();
  });
}

function nameField(value = "") {
  return element("label", { class: "field" }, t("yourName"),
    element("input", { name: "who", value, required: true, maxlength: 200, autocomplete: "name", pattern: ".*\\S.*" }));
}

function commentField(isNeeded) {
  return element("label", { class: "field" }, t(isNeeded ? "commentNeeded" : "commentOptional"),
    element("textarea", { name: "comment", rows: 2, maxlength: 2000, required: isNeeded }));
}

function lengthFields(longest, hasUnit, unable) {
  const lengths = shelves(longest, hasUnit);
  const usual = Math.max(0, lengths.findIndex((each) => lengthOf(each) >= 3600));
  const choices = lengths.map((each, i) => element("label", { class: "choice" },
    element("input", { type: "radio", name: "for", value: each, checked: i === usual, required: true }), element("span", {}, String(each))));
  return [
    element("fieldset", { class: "choices" }, element("legend", {}, t("howLong")), ...choices),
    unable ? element("p", { class: "note" }, t("cannotShelve", { count: unable })) : "",
  ].filter(Boolean);
}
