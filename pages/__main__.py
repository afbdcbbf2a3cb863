"""What the site needs beside its documents: `python -m pages sources`, and `playground`, and `film` in its place."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from pages.playground.building import build_playground
from pages.recipes import ROOT, put, write_recipes

BUILD = ROOT / "build"
_MADE = {
    "shortstop": ("examples/shortstop/generate.py", "--seconds", "60", "--vehicles", "6"),
    "cooling": ("examples/cooling/generate.py", "--ticks", "40"),
}
"""The facts of examples that make them up, and how they are made."""


def main() -> None:
    """Write what the commands of docs/pictures/commands read, the playground's folder, or the film of the gateway's page."""
    parser = argparse.ArgumentParser(prog="python -m pages", description="Build parts of the site.")
    parser.add_argument("part", choices=("sources", "playground", "film"))
    match parser.parse_args().part:
        case "playground":
            build_playground(BUILD / "npm" / "node_modules" / "pyodide", BUILD / "wheels", BUILD / "site" / "playground")
        case "film":
            from pages.film.shooting import make_film  # noqa: PLC0415 - needs a browser, which the others do not

            make_film(ROOT / "docs" / "pictures")
        case _:
            write_sources(BUILD / "recipes")


def write_sources(folder: Path) -> None:
    """Write the recipes' programs and facts, and the facts of the examples that make them up."""
    write_recipes(folder)
    for name, command in _MADE.items():
        made = subprocess.run([sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, check=True)
        put(folder / f"example-{name}.txt", made.stdout)


if __name__ == "__main__":
    main()
