// The worker: Python in WebAssembly, tidelog in it, and one task at a time: a run, a look at what is typed, what stands at a place.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const python = await loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href });
for (const [file, format] of [
  ["lark.whl", "wheel"],
  ["msgspec.whl", "wheel"],
  ["tzdata.whl", "wheel"],
  ["tidelog.zip", "zip"],
]) {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`cannot load ${file}: ${response.status}`);
  const where = format === "zip" ? { extractDir: "/lib/playground" } : {};
  python.unpackArchive(await response.arrayBuffer(), format, where);
}
python.FS.mkdirTree("/lib/playground");
python.FS.writeFile("/lib/playground/running.py", await (await fetch("running.py")).text());
python.runPython("import sys; sys.path.insert(0, '/lib/playground')");
const running = python.pyimport("running");

function told(outcome) {
  if (!outcome?.toJs) return outcome;
  const plain = outcome.toJs({ dict_converter: Object.fromEntries });
  outcome.destroy();
  return plain;
}

function run(data) {
  const begun = performance.now();
  const options = python.toPy({ emit: data.emit, lateness: data.lateness || "0", by: data.by, iso: data.iso });
  const outcome = told(running.run(data.program, data.facts, options));
  options.destroy();
  return { ...outcome, seconds: (performance.now() - begun) / 1000 };
}

const TASKS = {
  run,
  look: ({ program }) => ({ program, marks: told(running.look(program)) }),
  hover: ({ program, at }) => ({ program, at, hover: told(running.hover(program, at)) }),
};
self.onmessage = ({ data }) => self.postMessage({ task: data.task, ...TASKS[data.task](data) });
self.postMessage({ ready: true });
