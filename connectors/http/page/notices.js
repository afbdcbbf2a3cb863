// Sound and notices of the browser, where somebody wants them, for alarms that nobody has acknowledged yet.

import { PRIORITIES } from "./alarms.js";
import { keep, kept, t } from "./texts.js";

const TONES = { critical: [880, 4], high: [740, 3], medium: [587, 2], low: [440, 1] }; // how high, and how often
const LENGTH = 0.18;

export class Notices {
  constructor(sound, notices, say) {
    this.buttons = { sound, notices };
    this.say = say;
    this.known = null; // those that were unacknowledged when the list was seen last
    this.context = null;
    sound.addEventListener("click", () => this.toggle("sound"));
    notices.addEventListener("click", () => this.toggle("notices"));
    for (const event of ["pointerdown", "keydown"]) window.addEventListener(event, () => this.wake(), { passive: true });
    this.show();
  }

  get isWanted() {
    return this.has("sound") || this.has("notices");
  }

  has(what) {
    return kept(`tidelog.${what}`) === "on";
  }

  show() {
    for (const [what, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", String(this.has(what)));
  }

  async toggle(what) {
    let isOn = !this.has(what);
    if (isOn && what === "notices") {
      isOn = "Notification" in window && (await Notification.requestPermission()) === "granted";
      if (!isOn) this.say(t("noticesDenied"));
    }
    keep(`tidelog.${what}`, isOn ? "on" : "off");
    this.show();
    if (isOn && what === "sound") this.ring("low");
  }

  /** A browser lets a page sound once somebody has touched it. */
  wake() {
    if (!this.has("sound")) return;
    this.context ??= new AudioContext();
    if (this.context.state === "suspended") this.context.resume();
  }

  reset() {
    this.known = null;
  }

  /** Takes the alarms that are open now. Those folded into another are not told of: their cause is. */
  take(items) {
    const open = items.filter((item) => item.state === "unacknowledged" && item.cause === null);
    const known = this.known;
    this.known = new Set(open.map((item) => `${item.id} ${item.begins}`));
    if (known === null) return;
    const fresh = open.filter((item) => !known.has(`${item.id} ${item.begins}`));
    if (!fresh.length) return;
    const worst = fresh.reduce((one, other) => (PRIORITIES.indexOf(other.priority) < PRIORITIES.indexOf(one.priority) ? other : one));
    if (this.has("sound")) this.ring(worst.priority);
    if (this.has("notices")) this.notify(fresh, worst);
  }

  notify(fresh, worst) {
    const title = fresh.length === 1 ? worst.text : t("newAlarms", { count: fresh.length });
    try {
      const notice = new Notification(title, { body: fresh.length === 1 ? t(worst.priority) : worst.text, tag: "tidelog" });
      notice.onclick = () => window.focus();
    } catch {
      // a phone's browser shows notices of installed pages alone
    }
  }

  ring(priority) {
    this.context ??= new AudioContext();
    const [high, often] = TONES[priority];
    for (let i = 0; i < often; i++) {
      const begin = this.context.currentTime + i * 1.6 * LENGTH;
      const [tone, loudness] = [this.context.createOscillator(), this.context.createGain()];
      tone.frequency.value = high;
      loudness.gain.setValueAtTime(0.2, begin);
      loudness.gain.exponentialRampToValueAtTime(0.001, begin + LENGTH);
      tone.connect(loudness).connect(this.context.destination);
      tone.start(begin);
      tone.stop(begin + LENGTH);
    }
  }
}
