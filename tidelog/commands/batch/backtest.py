"""`tidelog backtest`: two programs over the same history, and what one tells and the other does not."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.commands.batch.backtest_reports import json_report, sweep_report, text_report
from tidelog.commands.batch.facts import parse_facts
from tidelog.commands.batch.sweeping import Sweep, parse_sweep
from tidelog.commands.given import DeadLetters, add_facts, say_empty
from tidelog.commands.numbers import whole
from tidelog.commands.outcome import DONE, load_plan, say, show_diagnostics, write_out
from tidelog.commands.progress import Progress
from tidelog.commands.sizes import add_memory
from tidelog.commands.streams.statistics import show_steps
from tidelog.connectors.files.batch_files import BatchLoader
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.spec import Spec
from tidelog.plans.compiling.deriving import plans_of
from tidelog.plans.data.facts import Fact, Schema
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Rejected

if TYPE_CHECKING:
    from tidelog.operators.columns.batch import Batch
    from tidelog.operators.columns.pool import Pool
    from tidelog.operators.operator import OperatorStatistics
    from tidelog.runtime.columns.backtest import Backtest, Backtesting
    from tidelog.runtime.frames.columns import Array, ColumnBatch

SHOWN = 20
"""So many intervals that only one program tells are shown of each output, unless told otherwise."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument("old", metavar="OLD", help="the file of the program as it is")
    parser.add_argument("new", metavar="NEW", help="the file of the program as it is to be")
    add_facts(parser, "none, which is an error")
    parser.add_argument(
        "--labels", metavar="FILE", help="when each output should have told: facts of outputs, with or without arguments"
    )
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="run NEW with each value of a parameter: `70..95:1` (from, to, step) or `70,75,80`",
    )
    parser.add_argument("--flap", metavar="D", help="an interval that begins within D of the last end is a flap (5 min)")
    parser.add_argument("--lateness", default="0", metavar="D", help="how late facts may come (default 0)")
    parser.add_argument("--start", metavar="T", help="when the stream starts (default: with its first fact)")
    parser.add_argument(
        "--show", type=whole, default=SHOWN, metavar="N", help=f"show N intervals of each difference (default {SHOWN})"
    )
    add_memory(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to tell it (default text)")
    parser.add_argument("--picture", metavar="FILE", help="draw what both tell, and where they differ, as SVG")
    parser.add_argument("--stats", action="store_true", help="print what each step did and took, on standard error")
    parser.add_argument("--iso", action="store_true", help="write times as ISO-8601, where the program declares a unit")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run both programs over the history, and print how what they tell differs."""
    if options.picture is not None and options.sets:
        raise SpecError("--picture: a picture is of two programs: leave `--set` out")
    specs = _specs(options)
    old, sweep = load_plan(options.old), parse_sweep(options.sets)
    news = _candidates(options.new, sweep)
    for plan in (old, news[0]):
        show_diagnostics(plan.warnings, plan.name, plan.program.text)
    with Progress() as progress:
        told, labels, letters = _told(options, [old, *news], specs, progress)
    letters.close()
    if options.stats:
        _show_statistics(told, [old, *news], letters)
    times = TimeFormatter(old.timeline, options.iso)
    flap = _flap(options, old.timeline)
    if sweep is None:
        found = told.compare(1, labels, flap)
        if options.picture is not None:
            _draw(found, options.picture)
        write_out(json_report(found, times) if options.format == "json" else text_report(found, times, options.show))
        return DONE
    compared = [told.compare(number, labels, flap) for number in range(1, len(news) + 1)]
    write_out(sweep_report(sweep, compared, times, options.format))
    return DONE


def _draw(found: Backtest, path: str) -> None:
    try:
        found.plot().save(path)
    except OSError as error:
        raise SpecError(f"cannot write `{path}`: {os.strerror(error.errno or 0)}") from error


def _specs(options: argparse.Namespace) -> list[Spec]:
    found = parse_facts(options)
    if not found:
        raise SpecError("no history to read: name its files, or folders of files, behind the programs")
    return found


def _candidates(path: str, sweep: Sweep | None) -> list[Plan]:
    if sweep is None:
        return [load_plan(path)]
    return plans_of(lambda values: load_plan(path, parameters=values), list(sweep))


def _told(
    options: argparse.Namespace, plans: Sequence[Plan], specs: Sequence[Spec], progress: Progress
) -> tuple[Backtesting, Mapping[str, Batch], DeadLetters]:
    """What the programs tell, and the labels."""
    from tidelog.connectors.files.history_files import open_history  # noqa: PLC0415 - only a backtest needs NumPy
    from tidelog.operators.columns.pool import Pool  # noqa: PLC0415 - as above
    from tidelog.runtime.columns.backtest import Backtesting, shared_schema  # noqa: PLC0415 - as above
    from tidelog.runtime.columns.memory import Memory, usual_memory  # noqa: PLC0415 - as above
    from tidelog.runtime.columns.stretches import LONG_STRETCH, STRETCH, Stretches, blocks_of  # noqa: PLC0415 - as above

    schema, pool, letters = shared_schema(plans[0], plans[1]), Pool(), DeadLetters(progress, is_strict=options.strict)
    reader = TimeReader(schema.timeline)
    start = None if options.start is None else _time("--start", options.start, reader.point)
    lateness = _time("--lateness", options.lateness, reader.duration)
    labels = {} if options.labels is None else _labels(options.labels, plans, schema, pool)
    memory = Memory(options.memory or usual_memory())
    told = Backtesting(plans, pool, start, memory)
    rows = memory.rows(schema, LONG_STRETCH if len(plans) > 2 else STRETCH)
    say_empty(specs)
    progress.expect(spec.path for spec in specs)

    def rows_of(spec: Spec) -> Iterator[ColumnBatch]:
        for batch in open_history(spec, schema, pool, rows=rows, on_read=progress.note):
            for rejected in batch.rejected:
                letters(rejected)
            yield batch

    def refuse(batch: ColumnBatch, places: Array, earliest: Array) -> None:
        for place, least in zip(places.tolist(), earliest.tolist(), strict=True):
            reason = f"late: what begins before {schema.timeline.format_point(least)} can no longer come"
            letters(Rejected(batch.place(place), reason, b""))

    stretches = Stretches(
        schema.timeline,
        [blocks_of(rows_of(spec)) for spec in specs],
        pool,
        lateness,
        refuse,
        rows,
        follows_time=any(plan.follows_time for plan in plans),
    )
    for stretch in stretches:
        told.count(stretches.held())
        told.take(stretch)
        progress.rows(told.rows)
    return told, labels, letters


def _show_statistics(told: Backtesting, plans: Sequence[Plan], letters: DeadLetters) -> None:
    """The steps of each program; of candidates, what all of them did together."""
    say(f"facts: {told.rows} accepted; {letters.number} rejected in all")
    say(f"steps of the old program, and what the new one shares with it: {plans[0].name}")
    show_steps(told.statistics(0), plans[0].timeline)
    steps: dict[str, OperatorStatistics] = {}
    for number in range(1, len(plans)):
        for name, step in told.statistics(number).items():
            steps[name] = steps[name].plus(step) if name in steps else step
    say(f"other steps of the new one: {plans[1].name}" if steps else "the new program has no other steps")
    show_steps(steps, plans[0].timeline)


def _time(name: str, text: str, read: Callable[[str], int]) -> int:
    try:
        return read(text)
    except DataError as error:
        raise SpecError(f"{name}: {error}") from error


def _labels(path: str, plans: Sequence[Plan], schema: Schema, pool: Pool) -> dict[str, Batch]:
    """Labels by output; DataError with its place for the first that cannot be read, or is of no output."""
    from tidelog.operators.columns.batch import batch_of  # noqa: PLC0415 - as above

    loader = BatchLoader(Schema(schema.timeline))
    loader.load(path)
    if loader.timeline != schema.timeline:
        raise SpecError(f"--labels: times of `{Path(path).name}` are finer than those of the program")
    outputs = dict.fromkeys(name for plan in plans for name in plan.outputs)
    found: dict[str, list[Fact]] = {}
    for name, row, lo, hi in loader.drain():
        if name not in outputs:
            raise SpecError(f"--labels: the programs have no output `{name}`{suggest(name, outputs)}")
        found.setdefault(name, []).append((row, lo, hi))
    return {name: batch_of(facts, len(facts[0][0]), pool) for name, facts in found.items()}


def _flap(options: argparse.Namespace, timeline: Timeline) -> int:
    from tidelog.runtime.columns.backtest import usual_flap  # noqa: PLC0415 - as above

    if options.flap is None:
        return usual_flap(timeline)
    return _time("--flap", options.flap, TimeReader(timeline).duration)
