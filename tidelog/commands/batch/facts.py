"""What `materialise`, `entails` and `consistent` share: facts of files into a materialisation, and answers out of it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from tidelog.commands.given import DeadLetters, add_facts, named_facts, say_empty
from tidelog.commands.outcome import add_max_state, say, show_diagnostics, write_out
from tidelog.commands.progress import Progress
from tidelog.commands.streams.unused import unused_note
from tidelog.compiling import compile_batch_path
from tidelog.connectors.files.batch_files import BatchLoader, parse_batch_specs
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.spec import Spec
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.batch.decisions.decision import METHODS
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.network.state_bound import MAX_STATE_IN_BATCH
from tidelog.runtime.ports.collecting import collect_seldom

_WRITTEN_AT_ONCE = 4096


def add_batch_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every batch command takes: a program, and where its facts are."""
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    add_facts(parser, "those of the program alone")
    add_max_state(parser, MAX_STATE_IN_BATCH)


def load_batch_plan(path: str) -> BatchPlan:
    """The plan of a program's file, its warnings shown; SpecError where the file cannot be read."""
    try:
        plan = compile_batch_path(path, undeclared=Fraction(0))
    except OSError as error:
        raise SpecError(f"cannot read `{path}`: {os.strerror(error.errno or 0)}") from error
    show_diagnostics(plan.warnings, plan.name, plan.program.text)
    return plan


def parse_facts(options: argparse.Namespace) -> list[Spec]:
    """The SPECs of a command line, each of which can be read to its end; SpecError for any other."""
    parsed = parse_batch_specs(named_facts(options))
    if sum(spec.scheme == "-" for spec in parsed) > 1:
        raise SpecError("standard input can be read once only")
    return parsed


def load(
    plan: BatchPlan,
    timeline: Timeline,
    specs: Sequence[Spec],
    progress: Progress,
    only: frozenset[str] | None = None,
    *,
    is_strict: bool,
) -> BatchLoader:
    """The facts of some inputs, at least as fine as `timeline`.

    What cannot be read is said, and counted; DataError where `is_strict`.
    """
    collect_seldom()
    letters = DeadLetters(progress, is_strict=is_strict)
    schema = replace(plan.schema, timeline=timeline)
    loader = BatchLoader(schema, only=only, on_rejected=letters)
    read_all(loader, specs, progress)
    letters.close()
    collect_seldom()  # what has been read stays: it is not looked at again
    known = {*plan.schema.predicates, *(only or ())}
    unused = {name: number for name, number in loader.facts.passed_names.items() if name not in known}
    if note := unused_note(sum(unused.values()), unused, plan.schema):
        progress.clear()
        say(f"note: {note}")
    return loader


def read_all(loader: BatchLoader, specs: Sequence[Spec], progress: Progress) -> None:
    """Read some inputs to their ends, and show how far that is."""

    def show(number: int) -> None:
        progress.note(number)
        progress.rows(len(loader.facts) + loader.facts.passed)

    say_empty(specs)
    progress.expect(spec.path for spec in specs)
    for spec in specs:
        loader.load(spec, show)


def go_on(
    done: Materialisation, progress: Progress, rounds: int | None = None, decided: Callable[[], bool] = lambda: False
) -> None:
    """Run a materialisation, as its `run` does, and show its rounds."""

    def is_decided() -> bool:
        progress.round(done)
        return decided()

    done.run(rounds, is_decided)


def write_lines(lines: Iterable[str]) -> None:
    """Write answers to standard output, many at once; ConnectorError where that cannot be."""
    waiting: list[str] = []
    for line in lines:
        waiting.append(line)
        if len(waiting) == _WRITTEN_AT_ONCE:
            write_out("\n".join(waiting) + "\n")
            waiting = []
    if waiting:
        write_out("\n".join(waiting) + "\n")


def say_inconsistent(violation: Violation | None, times: TimeFormatter) -> None:
    """Say which constraint is violated, where and when; or that only materialisation tells."""
    told = "there is no model" if violation is None else violation.told(times.at(violation.lo, violation.hi))
    say(f"inconsistent: {told}")


def add_iso(parser: argparse.ArgumentParser) -> None:
    """Add `--iso`, as streams have it."""
    parser.add_argument("--iso", action="store_true", help="write times as ISO-8601, where the program declares a unit")


def add_method(parser: argparse.ArgumentParser) -> None:
    """Add `--method` of what decides."""
    parser.add_argument("--method", choices=METHODS, default="auto", help="how to decide it (default auto)")
