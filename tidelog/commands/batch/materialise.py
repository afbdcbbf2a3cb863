"""`tidelog materialise`: print everything that follows from a program and facts, the facts included."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tidelog.commands.batch.asked_outputs import read_outputs
from tidelog.commands.batch.facts import (
    add_batch_arguments,
    add_iso,
    go_on,
    load,
    load_batch_plan,
    parse_facts,
    say_inconsistent,
    write_lines,
)
from tidelog.commands.numbers import whole
from tidelog.commands.outcome import BAD, DONE, count, say
from tidelog.commands.progress import Progress
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, format_atom
from tidelog.plans.data.refining import read_exactly
from tidelog.plans.data.repeating import both_ways, going_on
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.data.times import TimeReader
from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import DataError, EndlessError, SpecError
from tidelog.runtime.batch.decisions.relevance import predicates_read, refined, relevant_part
from tidelog.runtime.batch.demand.restricting import Asked, restricted
from tidelog.runtime.batch.materialisation import Materialisation


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    add_batch_arguments(parser)
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="P",
        help="derive and print what this needs alone: a predicate, or rows of it, such as 'alarm(hall, _)'",
    )
    parser.add_argument("--until", metavar="T", help="derive nothing beyond this time")
    parser.add_argument("--rounds", type=whole, metavar="K", help="apply the rules K times (default: until nothing is new)")
    parser.add_argument(
        "--strategy",
        choices=("naive", "seminaive", "optimised"),
        default="seminaive",
        help="how a round is computed; what follows is the same (default seminaive)",
    )
    parser.add_argument("--stats", action="store_true", help="print what was done, on standard error")
    add_iso(parser)
    parser.set_defaults(run=run)


@uncollected()  # rows and coverage hold no circles: looking for them among millions is all cost
def run(options: argparse.Namespace) -> int:
    """Materialise, and print what holds, sorted by text; BAD, and nothing printed, where a constraint is violated."""
    with Progress() as progress:
        plan = load_batch_plan(options.program)
        TimeFormatter(plan.timeline, options.iso)  # a program without a unit is told before its facts are read
        specs = parse_facts(options)
        outputs = read_outputs(plan, options.output)
        part = relevant_part(plan, *(item.predicate for item in outputs)) if outputs else plan
        only = predicates_read(part, *(item.predicate for item in outputs)) if outputs else None
        loader = load(plan, _timeline(plan, options.until), specs, progress, only, is_strict=options.strict)
        done = _loaded(refined(part, loader.timeline), loader.drain(), outputs, options)
        _go_on(done, progress, options.rounds, has_end=options.until is not None)
        progress.clear()
        if options.stats:
            _show_statistics(done)
        times = TimeFormatter(done.plan.timeline, options.iso)
        if done.violation() is not None:
            say_inconsistent(done.violation(), times)
            return BAD
        write_lines(sorted(_texts(done, times, outputs)))
        return DONE


def _loaded(
    plan: BatchPlan, records: Iterable[Record], outputs: Sequence[Asked], options: argparse.Namespace
) -> Materialisation:
    """The materialisation with its facts; where outputs are asked for, with those that they need."""
    if outputs:
        part = restricted(plan, list(records), *outputs)
        plan, records = part.plan, part.records
    done = Materialisation(plan, options.strategy, options.until, options.max_state)
    done.load(records)
    return done


def _go_on(done: Materialisation, progress: Progress, rounds: int | None, *, has_end: bool) -> None:
    try:
        go_on(done, progress, rounds)
    except DataError as error:  # it has left the times that the timeline can hold
        raise DataError(f"{error.reason}: use --until") from None
    except EndlessError as error:
        ends = "--rounds (a number)" if has_end else "--until (a time) or --rounds (a number)"
        raise EndlessError(error.predicates, error.rounds, f"give it an end with {ends}") from None


def _timeline(plan: BatchPlan, until: str | None) -> Timeline:
    """The plan's timeline, fine enough for `--until`; SpecError where that is no time."""
    if until is None:
        return plan.timeline
    try:
        _, timeline = read_exactly(plan.timeline, lambda timeline: TimeReader(timeline).last(until))
    except DataError as error:
        raise SpecError(f"--until: {error}") from error
    return replace(plan.timeline, resolution=timeline.resolution)


def _texts(done: Materialisation, times: TimeFormatter, outputs: Sequence[Asked]) -> Iterator[str]:
    if outputs:
        told = (record for record in done.facts() if any(item.has(*record[:2]) for item in outputs))
        yield from (f"{format_atom(name, row)}@{times.at(lo, hi)}" for name, row, lo, hi in told)
    else:
        yield from done.texts(times.at)
    repeating = (
        fact for fact in done.repeating() if not outputs or any(item.has(fact.predicate, fact.row) for item in outputs)
    )
    for fact, way in both_ways(repeating):
        text = f"{format_atom(fact.predicate, fact.row)}@{times.at(fact.lo, fact.hi)}"
        yield text + going_on(times.length(abs(fact.period)), way)


def _show_statistics(done: Materialisation) -> None:
    """Rounds, what each brought, and how much work it was."""
    statistics = done.statistics()
    work = f"{count(statistics.evaluations, 'evaluation')}, {count(statistics.discarded, 'rule')} discarded"
    columns = f", {statistics.in_columns} in columns" if statistics.in_columns else ""
    say(f"{count(statistics.rounds, 'round')}{columns}; {work}")
    first = statistics.rounds - len(statistics.facts) + 1
    for number, new in enumerate(statistics.facts, first):
        say(f"round {number}: {count(new, 'new range')}")
