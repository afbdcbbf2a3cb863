"""The notebook among the examples runs from its first cell to its last, and shows what it says."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "notebook" / "weather.ipynb"


def run_cells(namespace: dict[str, Any]) -> list[Any]:
    """Run the notebook's code; returns what each cell shows: the value of its last line."""
    notebook = json.loads(NOTEBOOK.read_text("utf-8"))
    assert notebook["nbformat"] == 4
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "a notebook is kept without what it shows"
            shown.append(_run("".join(cell["source"]), cell["id"], namespace))
    return shown


def _run(source: str, name: str, namespace: dict[str, Any]) -> Any:
    tree = ast.parse(source, name)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), namespace)  # noqa: S102 - the project's own notebook
    return eval(compile(ast.Expression(last.value), name, "eval"), namespace) if last is not None else None  # noqa: S307 - as above


@pytest.mark.slow
def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs, plans and pictures have what a notebook shows; a stream tells the spells that batch reasoning derives."""
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, Any] = {"__name__": "__notebook__"}
    shown = run_cells(names)
    html = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert sum(text.startswith("<svg") for text in html) == 3
    assert "weather.tide" in html[0]
    heat = {(row, lo, hi) for name, row, lo, hi in names["done"].facts() if name == "heat_spell"}
    assert heat
    encode = names["plan"].timeline.encode_interval
    assert {(item.row, *encode(item.interval)) for item in names["told"] if item.predicate == "heat_spell"} == heat
    assert len(names["spells"]) == len(heat)
    assert shown[-1] == ["temp row 1: `city` is null", "temp row 2: `fahrenheit` is null"]
