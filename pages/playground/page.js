// The page: what is chosen and typed, what came of it, and the link that holds it. Programs run in a worker, which can be stopped.

const FIELDS = ["program", "facts", "emit", "lateness", "by", "iso"];
const field = Object.fromEntries(
  [...FIELDS, "recipe", "run", "stop", "share", "status", "answers", "messages", "picture"].map((name) => [
    name,
    document.getElementById(name),
  ]),
);
let worker;
let recipes = [];

function begin() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => (data.ready ? ready() : show(data));
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
}

function run() {
  if (field.run.disabled) return;
  field.run.disabled = true;
  field.stop.disabled = false;
  say("Running…");
  worker.postMessage(state());
}

function stop() {
  worker.terminate();
  field.run.disabled = field.stop.disabled = true;
  say("Stopped. Loading…");
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    if (!data.ready) return show(data);
    field.run.disabled = false;
    say("Ready");
  };
}

function show({ answers, messages, picture, seconds }) {
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
window.onhashchange = async () => {
  await load();
  run();
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
begin();
