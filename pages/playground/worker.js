// The worker: Python in WebAssembly, tidelog in it, and one run at a time.

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

self.onmessage = ({ data }) => {
  const begun = performance.now();
  const options = python.toPy({ emit: data.emit, lateness: data.lateness || "0", by: data.by, iso: data.iso });
  const outcome = running.run(data.program, data.facts, options);
  const told = outcome.toJs({ dict_converter: Object.fromEntries });
  outcome.destroy();
  options.destroy();
  self.postMessage({ ...told, seconds: (performance.now() - begun) / 1000 });
};
self.postMessage({ ready: true });
