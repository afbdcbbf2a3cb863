"""What the data sets for DatalogMTL are written in: MeTeoR's forms of facts and rules, and what is said to follow of them.

tidelog reads MeTeoR's rules and text facts as they stand. What else there is: arrows for operators, a folder with a CSV
file for each predicate (the last two columns are the interval, both ends included), lists of facts in the scripts of an
experiment, and summaries with the first and the last time of a fact.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tidelog.compiling import compile_batch
from tidelog.connectors.files.batch_files import BatchLoader
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.runtime.batch.decisions.relevance import refined

_ARROWS = {"[-]": "Boxminus", "[+]": "Boxplus", "<->": "Diamondminus", "<+>": "Diamondplus"}
_SUMMARY = re.compile(r"(?P<atom>.+?) => Min Interval: (?P<first>\S+), Max Interval: (?P<last>\S+)")


@dataclass(frozen=True, slots=True)
class Summary:
    """A fact that follows, and the first and the last time of it, as written."""

    atom: str
    first: str
    last: str


def read_program(path: Path) -> str:
    """The rules of a file, as tidelog reads them."""
    text = path.read_text("utf-8")
    for arrow, word in _ARROWS.items():
        text = text.replace(arrow, word)
    return text


def load(program: str, data: Path) -> tuple[BatchPlan, list[Record]]:
    """The plan of a program, and the facts of it from a file or a folder, at a resolution of a millionth, or as they need.

    Facts of predicates that no rule mentions are left out.
    """
    plan = compile_batch(program)
    loader = BatchLoader(plan.schema, only=frozenset(plan.schema.predicates))
    if data.is_dir():
        with TemporaryDirectory() as work:
            text = Path(work) / "facts.txt"
            text.write_text("".join(f"{line}\n" for line in _facts_of_folder(data)), "utf-8")
            loader.load(f"file:{text}")
    else:
        loader.load(f"file:{data}")
    return refined(plan, loader.timeline), list(loader.drain())


def _facts_of_folder(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.reader(file)
            next(lines, None)
            for values in lines:
                if len(values) < 2:
                    raise ValueError(
                        f"{path}:{lines.line_num}: expected constants and two times, found `{','.join(values)}`"
                    )
                *row, begin, end = values
                atom = f"{path.stem}({','.join(row)})" if row else path.stem
                yield f"{atom}@[{begin},{end}]"


def read_queries(script: Path) -> tuple[str, list[str]]:
    """The name of the data that a script asks, and its facts; the script is read, and not run."""
    found: dict[str, object] = {}
    for statement in ast.parse(script.read_text("utf-8"), str(script)).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            if name in ("datapath", "query_list"):
                found[name] = _literal(statement.value)
    data, queries = found.get("datapath"), found.get("query_list")
    if not isinstance(data, str) or not isinstance(queries, list):
        raise ValueError(f"{script}: expected a text `datapath` and a list `query_list`")
    return Path(data).name, [str(query) for query in queries]


def _literal(value: ast.expr) -> object:
    """A literal; a formatted text without anything to format is one, too."""
    if isinstance(value, ast.JoinedStr) and all(isinstance(part, ast.Constant) for part in value.values):
        return "".join(str(part.value) for part in value.values if isinstance(part, ast.Constant))
    return ast.literal_eval(value)


def read_summaries(path: Path) -> list[Summary]:
    """What a file of summaries says, line by line; ValueError for a line that says something else."""
    lines = path.read_text("utf-8").splitlines()[1:]  # behind a heading
    found = []
    for number, line in enumerate(lines, 2):
        matched = _SUMMARY.fullmatch(line.strip())
        if matched is None:
            raise ValueError(f"{path}:{number}: expected `FACT => Min Interval: T, Max Interval: T`, found `{line}`")
        found.append(Summary(**matched.groupdict()))
    return found
