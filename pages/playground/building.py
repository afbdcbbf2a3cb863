"""The playground as a folder of static files: the page, Pyodide, tidelog, and the wheels that it needs."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import asdict
from pathlib import Path

from pages.playground.colours import colours
from pages.recipes import ROOT, recipes

HERE = Path(__file__).parent
PAGE = ("index.html", "page.css", "page.js", "colours.js", "worker.js", "running.py")
PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
DEPENDENCIES = ("lark", "msgspec", "tzdata")
"""What compiling and sessions import, and time zones, of which a browser's Python has none. The engine's anyio and trio are
not needed: a session has no tasks."""
_CARRIED = {".py", ".lark", ".json"}


def build_playground(pyodide: Path, wheels: Path, target: Path) -> None:
    """Write the playground to a folder; OSError or ValueError where Pyodide or a wheel is missing."""
    shutil.rmtree(target, ignore_errors=True)
    (target / "pyodide").mkdir(parents=True)
    for name in PAGE:
        shutil.copy(HERE / name, target)
    for name in PYODIDE:
        shutil.copy(pyodide / name, target / "pyodide")
    for name in DEPENDENCIES:
        shutil.copy(_wheel(wheels, name), target / f"{name}.whl")
    write_package(target / "tidelog.zip")
    (target / "colours.json").write_text(json.dumps(colours()), "utf-8")
    (target / "recipes.json").write_text(json.dumps([asdict(recipe) for recipe in recipes()]), "utf-8")


def _wheel(wheels: Path, name: str) -> Path:
    found = sorted(wheels.glob(f"{name}-*.whl"))
    if len(found) != 1:
        raise ValueError(f"{wheels}: expected one wheel of {name}, got {[path.name for path in found]}")
    return found[0]


def write_package(path: Path) -> None:
    """Write the files of the package `tidelog`, as a wheel has them, to a zip archive."""
    package = ROOT / "tidelog"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in (package, *(link.resolve() for link in package.iterdir() if link.is_symlink())):
            prefix = Path("tidelog") if folder == package else Path("tidelog", folder.name)
            for file in sorted(folder.rglob("*")):
                if file.suffix in _CARRIED and "spark" not in file.parts:
                    archive.write(file, prefix / file.relative_to(folder))
