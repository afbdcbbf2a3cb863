// The page: what is chosen and typed, what came of it, and the link that holds it. Programs run in a worker, which can be stopped.

import { coloured } from "./colours.js";

const FIELDS = ["program", "facts", "emit", "lateness", "by", "iso"];
const field = Object.fromEntries(
  [...FIELDS, "recipe", "run", "stop", "share", "status", "answers", "messages", "picture", "problem", "colours", "hover"].map((name) => [
    name,
    document.getElementById(name),
  ]),
);
const PAUSE = 150; // milliseconds in which nothing is typed, before it is looked at; and in which the pointer rests
const TOLD = {
  run: show,
  look: (data) => data.program === field.program.value && mark(data.marks),
  hover: showHover,
};
let worker;
let recipes = [];
let marks = [];
let typed;
let resting;

function begin() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => (data.ready ? ready() : TOLD[data.task](data));
  worker.onerror = (event) => say(`Failed: ${event.message}`);
}

function ready() {
  field.run.disabled = false;
  say("Ready");
  run();
}

function say(text) {
  field.status.textContent = text;
}

function state() {
  return Object.fromEntries(FIELDS.map((name) => [name, name === "iso" ? field.iso.checked : field[name].value]));
}

function fill(values) {
  for (const name of FIELDS) {
    if (name === "iso") field.iso.checked = Boolean(values.iso);
    else field[name].value = String(values[name] ?? "");
  }
  mark([]);
}

function mark(found) {
  marks = found;
  const error = marks.find((item) => item.severity === "error");
  field.problem.hidden = !error;
  field.problem.textContent = error ? `Line ${error.line}: ${error.message}` : "";
  paint();
}

function paint() {
  field.colours.innerHTML = coloured(field.program.value, marks);
  follow();
}

function follow() {
  field.colours.style.height = `${field.program.offsetHeight}px`;
  field.colours.scrollTop = field.program.scrollTop;
  field.colours.scrollLeft = field.program.scrollLeft;
}

function changed() {
  mark([]); // what was said is of another text
  field.hover.hidden = true;
  clearTimeout(typed);
  typed = setTimeout(() => worker.postMessage({ task: "look", program: field.program.value }), PAUSE);
}

// Where in the program a point of the screen lies: all letters are of one width, and no line is broken.
function placeOf({ offsetX, offsetY }) {
  const style = getComputedStyle(field.program);
  const paper = document.createElement("canvas").getContext("2d");
  paper.font = style.font;
  const width = paper.measureText("0".repeat(100)).width / 100;
  const padding = parseFloat(style.paddingLeft);
  const lines = field.program.value.split("\n");
  const line = Math.floor((offsetY + field.program.scrollTop - padding) / parseFloat(style.lineHeight));
  const column = Math.floor((offsetX + field.program.scrollLeft - padding) / width);
  if (line < 0 || column < 0 || column >= (lines[line] ?? "").length) return undefined;
  return lines.slice(0, line).reduce((sum, text) => sum + text.length + 1, column);
}

function rest(event) {
  field.hover.hidden = true;
  clearTimeout(resting);
  const at = placeOf(event);
  if (at === undefined) return;
  field.hover.style.left = `${event.offsetX}px`;
  field.hover.style.top = `${event.offsetY + 20}px`;
  resting = setTimeout(() => worker.postMessage({ task: "hover", program: field.program.value, at }), 2 * PAUSE);
}

function showHover({ program, at, hover }) {
  if (program !== field.program.value) return;
  const wrong = marks.find((item) => item.start <= at && at < item.end);
  field.hover.textContent = [wrong?.message, hover?.text].filter(Boolean).join("\n\n");
  field.hover.hidden = !field.hover.textContent;
}

function leadTo() {
  const error = marks.find((item) => item.severity === "error");
  field.program.focus();
  field.program.setSelectionRange(error.start, error.end);
}

function run() {
  if (field.run.disabled) return;
  field.run.disabled = true;
  field.stop.disabled = false;
  say("Running…");
  worker.postMessage({ task: "run", ...state() });
}

function stop() {
  worker.terminate();
  field.run.disabled = field.stop.disabled = true;
  say("Stopped. Loading…");
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    if (!data.ready) return TOLD[data.task](data);
    field.run.disabled = false;
    say("Ready");
  };
}

function show({ answers, messages, picture, marks: found, seconds }) {
  mark(found);
  field.answers.textContent = answers;
  field.messages.textContent = messages;
  const height = /<svg[^>]* height="([\d.]+)"/.exec(picture)?.[1] ?? 40;
  field.picture.style.height = `${Math.ceil(Number(height)) + 8}px`;
  field.picture.srcdoc = `<body style="margin:0">${picture}`; // in a sandbox: a picture runs nothing
  field.run.disabled = false;
  field.stop.disabled = true;
  say(`Done in ${seconds.toFixed(2)} s`);
}

async function packed(text, kind) {
  const stream = new Blob([text]).stream().pipeThrough(kind);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function toFragment(values) {
  const bytes = await packed(JSON.stringify(values), new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#program=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

async function fromFragment(fragment) {
  const text = atob(fragment.slice("#program=".length).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await packed(Uint8Array.from(text, (char) => char.charCodeAt(0)), new DecompressionStream("deflate-raw"));
  return JSON.parse(new TextDecoder().decode(bytes));
}

async function share() {
  history.replaceState(null, "", await toFragment(state()));
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied");
  } catch {
    say("The link is in the address bar");
  }
}

function choose(name) {
  const recipe = recipes.find((item) => item.name === name) ?? recipes[0];
  field.recipe.value = recipe.name;
  fill(recipe);
}

async function load() {
  if (location.hash.startsWith("#program=")) {
    try {
      fill(await fromFragment(location.hash));
      field.recipe.value = "";
      return;
    } catch {
      field.messages.textContent = "The link is damaged: it holds no program that can be read.";
    }
  }
  choose(location.hash.replace("#recipe=", ""));
}

recipes = await (await fetch("recipes.json")).json();
field.recipe.append(...recipes.map((item) => new Option(item.title, item.name)));
await load();
field.recipe.onchange = () => {
  history.replaceState(null, "", `#recipe=${field.recipe.value}`);
  choose(field.recipe.value);
  run();
};
field.run.onclick = run;
field.stop.onclick = stop;
field.share.onclick = share;
field.problem.onclick = leadTo;
field.program.oninput = changed;
field.program.onscroll = follow;
field.program.onmousemove = rest;
field.program.onmouseleave = () => {
  field.hover.hidden = true;
  clearTimeout(resting);
};
new ResizeObserver(follow).observe(field.program);
window.onhashchange = async () => {
  await load();
  run();
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
begin();
