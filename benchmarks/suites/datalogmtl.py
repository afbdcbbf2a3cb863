"""Runs the data sets of two papers on DatalogMTL: what follows is materialised, and compared where a suite says it.

`magic-sets` says of a program which facts follow from its data and which do not, and, of the smaller data, when a fact
first and last holds. `dredmtl` takes facts away from its data and gives them back. It says of no fact whether it follows,
and tidelog materialises anew, so what is compared is that the same follows in the end as in the beginning.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.suites import meteor
from benchmarks.suites.sources import SuiteError
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.operators.stores.coverage import Coverage, subtract
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Fact, Record, Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.runtime.batch.materialisation import Materialisation

MOST_FACTS = 20_000
"""Larger data are left out unless they are asked for."""
_MAGIC, _DRED = "suite_magic_sets", "suite_dredmtl"


@dataclass(frozen=True, slots=True)
class Case:
    """A program and its data, and what is said to follow: `summaries`, `entailed`, and what does not."""

    name: str
    program: Path
    data: Path
    summaries: tuple[meteor.Summary, ...] = ()
    entailed: tuple[str, ...] = ()
    not_entailed: tuple[str, ...] = ()
    changed: tuple[Path, ...] = ()
    """Facts that are taken away, and given back."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a materialisation costs in seconds, CPU time, and what it has found."""

    facts: int
    seconds: float
    done: Materialisation


def magic_sets(root: Path) -> Iterator[Case]:
    """The cases of the magic sets: a folder each for LUBM, iTemporal and the weather, with data of several sizes."""
    for folder in sorted(path.parent for path in root.glob("*/*_programs")):
        name = folder.name
        programs = sorted((folder / f"{name}_programs").glob("*.txt"))
        if len(programs) != 1:
            raise SuiteError(f"{folder / f'{name}_programs'}: expected one program, found {len(programs)}")
        asked = {kind: _asked(folder, kind) for kind in ("entailed", "not_entailed")}
        for data in sorted((folder / f"{name}_data").iterdir()):
            if data.is_dir() or data.suffix == ".txt":
                size = data.stem.removeprefix(f"{name}_")
                files = sorted((folder / "query_results").glob(f"*_{size}_*.txt"))
                said = tuple(summary for path in files for summary in meteor.read_summaries(path))
                queries = [tuple(asked[kind].get(data.name, ())) for kind in ("entailed", "not_entailed")]
                yield Case(f"{name} {size}", programs[0], data, said, queries[0], queries[1])


def _asked(folder: Path, kind: str) -> Mapping[str, list[str]]:
    """By the name of the data, the facts of the scripts that ask for those of one kind."""
    found: dict[str, list[str]] = {}
    for script in sorted(folder.glob(f"*_query_{kind}.py")):
        data, queries = meteor.read_queries(script)
        found.setdefault(data, []).extend(queries)
    return found


def dredmtl(root: Path) -> Iterator[Case]:
    """The cases of DRedMTL: the data, the program of the same name, and the facts that change."""
    for data in sorted((root / "data" / "original_e").iterdir()):
        if data.is_dir() or data.suffix == ".txt":
            name = data.stem.partition("_")[0]
            changed = sorted((root / "data" / "delta_e" / name).glob(f"{data.stem}_*.txt"))
            yield Case(data.stem, root / "programs" / f"{name}.txt", data, changed=tuple(changed))


def run_magic_sets(folder: Path, only: str = "", most: int = MOST_FACTS) -> list[Figure]:
    """Each case with up to so many facts and `only` in its name; SuiteError where there is none."""
    figures = []
    for case, plan, records in _chosen(magic_sets(folder), only, most):
        ran = materialise(plan, records)
        differing = [*differing_queries(case, ran.done), *differing_summaries(case, ran.done)]
        for told in differing:
            print(f"{case.name}: {told}")
        figures += _costs(_MAGIC, case.name, plan, records, ran)
        said = len(case.entailed) + len(case.not_entailed) + len(case.summaries)
        figures.append(Figure(_MAGIC, f"{case.name}, answers that differ, of {said:,}", len(differing), target=0))
    return _some(figures, folder, only, most)


def run_dredmtl(folder: Path, only: str = "", most: int = MOST_FACTS) -> list[Figure]:
    """Each case with up to so many facts and `only` in its name, and each of its changes; SuiteError where there is none."""
    figures = []
    for case, plan, records in _chosen(dredmtl(folder), only, most):
        whole = materialise(plan, records)
        figures += _costs(_DRED, case.name, plan, records, whole)
        for path in case.changed:
            changed = _records(plan, path.read_text("utf-8").splitlines(), str(path))
            rest = without(records, changed)
            name = f"{case.name} without {path.stem.removeprefix(f'{case.name}_')}"
            figures.append(_speed(_DRED, name, materialise(plan, rest)))
            back = materialise(plan, [*rest, *without(records, rest)])
            differing = len(set(whole.done.facts()) ^ set(back.done.facts()))
            figures.append(Figure(_DRED, f"{name} and given back, facts that differ", differing, target=0))
    return _some(figures, folder, only, most)


def _chosen(cases: Iterable[Case], only: str, most: int) -> Iterator[tuple[Case, BatchPlan, list[Record]]]:
    try:
        for case in cases:
            if only in case.name and _size(case.data) <= most:
                yield case, *meteor.load(meteor.read_program(case.program), case.data)
    except (OSError, ValueError, TidelogError) as error:
        raise SuiteError(str(error)) from error


def _size(data: Path) -> int:
    """How many lines there are, which is about how many facts."""
    files = [data] if data.is_file() else sorted(data.glob("*.csv"))
    total = 0
    for path in files:
        with path.open("rb") as file:
            total += sum(1 for _ in file)
    return total


def _some(figures: list[Figure], folder: Path, only: str, most: int) -> list[Figure]:
    if not figures:
        raise SuiteError(
            f"no data with `{only}` in their name and up to {most:,} facts lie below {folder}; see --most-facts"
        )
    return figures


def materialise(plan: BatchPlan, records: Iterable[Record]) -> Run:
    """Derive all that follows."""
    given = list(records)
    gc.collect()
    begin = time.process_time()
    done = Materialisation(plan)
    done.load(given)
    done.run()
    return Run(len(given), time.process_time() - begin, done)


def _costs(benchmark: str, name: str, plan: BatchPlan, records: list[Record], ran: Run) -> list[Figure]:
    gc.collect()
    tracemalloc.start()
    try:
        materialise(plan, records)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return [_speed(benchmark, name, ran), Figure(benchmark, f"{name}, peak memory", peak / 1e6, "MB")]


def _speed(benchmark: str, name: str, ran: Run) -> Figure:
    return Figure(benchmark, f"{name}, {ran.facts:,} facts, facts a second", ran.facts / ran.seconds)


def differing_queries(case: Case, done: Materialisation) -> Iterator[str]:
    """What is said of single facts, and is otherwise."""
    for queries, expected in ((case.entailed, True), (case.not_entailed, False)):
        for query, record in zip(queries, _records(done.plan, queries, case.name), strict=True):
            if done.holds(record) != expected:
                yield f"{query}: expected {'that it follows' if expected else 'that it does not follow'}"


def differing_summaries(case: Case, done: Materialisation) -> Iterator[str]:
    """Where a fact does not hold at the first or the last time that is said, or holds beyond them."""
    ends = _ends(done)
    for summary in case.summaries:
        first, last = _records(done.plan, [f"{summary.atom}@{end}" for end in (summary.first, summary.last)], case.name)
        lo, hi = ends.get(first[:2], (None, None))
        if not (done.holds(first) and done.holds(last)):
            yield f"{summary.atom}: expected that it holds at {summary.first} and at {summary.last}"
        elif (lo is not None and lo < first[2]) or (hi is not None and hi > last[3]):
            yield f"{summary.atom}: expected that it holds from {summary.first} to {summary.last}, it holds beyond"


def _ends(done: Materialisation) -> dict[tuple[str, Row], tuple[int | None, int | None]]:
    """Of each fact the first and the last time; None where it has none: the suite says how far it looked."""
    ends: dict[tuple[str, Row], tuple[int, int]] = {}
    for predicate, row, lo, hi in done.facts():
        low, high = ends.get((predicate, row), (lo, hi))
        ends[predicate, row] = min(low, lo), max(high, hi)
    for fact in done.repeating():
        low, high = ends.get((fact.predicate, fact.row), (fact.lo, fact.hi))
        ends[fact.predicate, fact.row] = (low, POS) if fact.period > 0 else (NEG, high)
    return {fact: (None if low <= NEG else low, None if high >= POS else high) for fact, (low, high) in ends.items()}


def _records(plan: BatchPlan, facts: Iterable[str], place: str) -> list[Record]:
    """Facts as records; SuiteError for one that cannot be read."""
    batch = TextDecoder(plan.schema, place).decode([fact.encode() for fact in facts if fact.strip()], 1)
    for rejected in batch.rejected:
        raise SuiteError(f"{rejected.place}: {rejected.reason}")
    return list(batch.records)


def without(records: Iterable[Record], away: Iterable[Record]) -> list[Record]:
    """Facts without the times of others."""
    taken = Coverage()
    taken.insert(((predicate, *row), lo, hi) for predicate, row, lo, hi in away)
    left: list[Fact] = []
    for predicate, row, lo, hi in records:
        key = (predicate, *row)
        subtract(taken.bounds(key), key, lo, hi, left)
    return [(str(key[0]), key[1:], lo, hi) for key, lo, hi in left]
