"""`tidelog plot`: draw what follows from a program and facts, the facts included, as a timeline."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter

from tidelog.commands.batch.facts import (
    add_batch_arguments,
    go_on,
    load,
    load_batch_plan,
    parse_facts,
    read_all,
    say_inconsistent,
)
from tidelog.commands.given import DeadLetters
from tidelog.commands.numbers import positive
from tidelog.commands.outcome import BAD, DONE, load_plan, show_diagnostics, write_out
from tidelog.commands.progress import Progress
from tidelog.commands.rules.plot_columns import OnlyByRowsError, Seen, plan_in_columns
from tidelog.commands.rules.plot_window import needed_by_rows, needed_of
from tidelog.connectors.files.batch_files import BatchLoader
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.spec import Spec
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import DataError, ProgramError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.explaining.showing.plots import PlotOptions, encoded_ends, plot
from tidelog.plans.explaining.showing.timelines import MOST_ROWS
from tidelog.plans.pictures.picture import Picture
from tidelog.plans.pictures.timeline import WIDTH
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.batch.decisions.relevance import refined
from tidelog.runtime.batch.materialisation import Materialisation
from tidelog.runtime.sessions.session import Session


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    add_batch_arguments(parser)
    parser.add_argument("--out", metavar="FILE", help="where the picture goes, as SVG (default: standard output)")
    parser.add_argument(
        "--predicate", dest="predicates", action="append", metavar="P", help="draw this one, in this order (default: all)"
    )
    parser.add_argument("--begin", metavar="T", help="when the picture begins (default: with the first fact)")
    parser.add_argument("--end", metavar="T", help="when the picture ends (default: with the last fact)")
    parser.add_argument("--until", metavar="T", help="derive nothing beyond this time")
    parser.add_argument(
        "--rows",
        type=positive,
        default=MOST_ROWS,
        metavar="N",
        help=f"rows, or scales, of each predicate at most (default {MOST_ROWS})",
    )
    parser.add_argument("--width", type=positive, default=WIDTH, metavar="N", help=f"pixels (default {WIDTH})")
    parser.add_argument(
        "--theme",
        choices=("auto", "light", "dark"),
        default="auto",
        help="the colours: those that the reader's screen asks for, or these (default auto)",
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="what stands above the picture")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Derive what follows, and draw it; BAD, with what is known by then, where a constraint is violated."""
    specs = parse_facts(options)
    try:
        plan = load_batch_plan(options.program)
    except ProgramError as error:
        return _run_as_stream(options, specs, error)
    if options.until is None and (columns := plan_in_columns(options.program, specs)) is not None:
        with suppress(OnlyByRowsError):
            return _run_in_columns(options, columns, specs)
    with Progress() as progress:
        loader = load(plan, plan.timeline, specs, progress, is_strict=options.strict)
        done = Materialisation(refined(plan, loader.timeline), "seminaive", options.until, options.max_state)
        needed = needed_by_rows(options, specs, loader.timeline)
        done.load(fact for fact in loader.drain() if needed.meets(*fact[2:]))
        go_on(done, progress)
        progress.clear()
    _write(options, lambda predicates, how: done.plot(predicates, **how), done.plan)
    if done.violation() is None:
        return DONE
    say_inconsistent(done.violation(), TimeFormatter(done.plan.timeline))
    return BAD


def _run_in_columns(options: argparse.Namespace, plan: Plan, specs: Sequence[Spec]) -> int:
    """The same over many facts, of which only those become rows that the picture shows."""
    _check_predicates(options, plan)
    needed = needed_of(options, plan)
    with Progress() as progress:
        progress.expect(spec.path for spec in specs)
        seen = Seen(plan, options.max_state)
        seen.read(specs, needed, progress)

    def draw(predicates: Sequence[str] | None, how: PlotOptions) -> Picture:
        return plot(seen.records(*encoded_ends(plan.schema, how)), plan.schema, plan.program, predicates, **how)

    _write(options, draw, plan)
    return DONE


def _run_as_stream(options: argparse.Namespace, specs: Sequence[Spec], error: ProgramError) -> int:
    """The same by a session, for what only streams have, such as tuple windows; ProgramError where neither can take it."""
    try:
        plan = load_plan(options.program)
    except ProgramError:
        raise error from None
    if options.until is not None:
        raise SpecError("--until is for programs that batch reasoning can take: `--end` tells where the picture ends")
    show_diagnostics(plan.warnings, plan.name, plan.program.text)
    with Progress() as progress:
        letters = DeadLetters(progress, is_strict=options.strict)
        loader = BatchLoader(plan.schema, on_rejected=letters)
        read_all(loader, specs, progress)
        letters.close()
    facts = sorted(loader.drain(), key=itemgetter(2))
    records = [*facts, *_answers(plan, facts, options.max_state)]
    _write(options, lambda predicates, how: plot(records, plan.schema, plan.program, predicates, **how), plan)
    return DONE


def _answers(plan: Plan, facts: Sequence[Record], max_state: int) -> list[Record]:
    session = Session(plan, emit="final", max_state=max_state)
    session.push_records(facts)
    session.finish()
    return session.pull_records()


def _check_predicates(options: argparse.Namespace, plan: Plan | BatchPlan) -> None:
    for name in options.predicates or ():
        if name not in plan.schema.predicates:
            raise SpecError(f"--predicate: the program has no `{name}`{suggest(name, plan.schema.predicates)}")


def _write(
    options: argparse.Namespace, draw: Callable[[Sequence[str] | None, PlotOptions], Picture], plan: Plan | BatchPlan
) -> None:
    """Draw what the options ask for, and write it; SpecError where they make no picture."""
    _check_predicates(options, plan)
    how = PlotOptions(
        begin=options.begin,
        end=options.end,
        rows=options.rows,
        width=options.width,
        theme=options.theme,
        title=options.title,
    )
    try:
        picture = draw(options.predicates, how)
    except (DataError, ValueError) as error:
        raise SpecError(str(error)) from error
    if options.out is None:
        write_out(picture.svg)
        return
    try:
        picture.save(options.out)
    except OSError as error:
        raise SpecError(f"cannot write `{options.out}`: {os.strerror(error.errno or 0)}") from error
