"""What `run` and `ask` share: facts from sources through a plan to sinks, until they end or a signal asks to stop."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from tidelog.commands.given import add_facts, named_facts, say_empty, say_unusable
from tidelog.commands.numbers import number_of_bytes, positive, seconds
from tidelog.commands.outcome import BAD, DONE, add_max_state, count, say, show_diagnostics
from tidelog.commands.progress import INTERVAL, Progress
from tidelog.commands.signals import GRACE, GentleStopping, gently_stopped
from tidelog.commands.streams.durable import CHECK, add_state_options, show_changes, state_of
from tidelog.commands.streams.ends import client_limits, show_ends
from tidelog.commands.streams.http import Served
from tidelog.commands.streams.overlap import check_overlap
from tidelog.commands.streams.spreading import spread_of
from tidelog.commands.streams.statistics import show_statistics
from tidelog.commands.streams.unused import unused_note
from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.files.folders import parse_sources
from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.formats.framing import MAX_LINE
from tidelog.connectors.opening import open_sink, open_source
from tidelog.connectors.outbox.spec import is_outbox
from tidelog.connectors.sinks.dead_letters import DeadLetterWriter
from tidelog.connectors.spec import parse_spec
from tidelog.connectors.transport.acceptor import MAX_CLIENTS
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.stopping import Stopped
from tidelog.plans.plan.plan import AggregateShape, Plan
from tidelog.runtime.actors.causes import first_cause
from tidelog.runtime.actors.clock import Clock, read_max_ahead
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.intake import MAX_LEAD
from tidelog.runtime.network.state_bound import MAX_STATE
from tidelog.runtime.ports.collecting import collect_seldom
from tidelog.runtime.ports.interfaces import Measured, Recorded, Sink
from tidelog.runtime.running.runner import Runner
from tidelog.runtime.running.settings import RunSettings
from tidelog.runtime.sessions.settings import Settings

if TYPE_CHECKING:
    from tidelog.runtime.running.history import HistoryRunner


def add_stream_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where facts come from, where answers go, and what is expected of the stream."""
    add_facts(parser, "`-`, standard input")
    parser.add_argument("--out", dest="sinks", action="append", metavar="SPEC", help="where answers go (default -)")
    parser.add_argument("--lateness", default="0", metavar="D", help="how late facts may come (default 0)")
    parser.add_argument("--max-ahead", metavar="D", help="refuse a fact further than D ahead (`none`: never)")
    parser.add_argument("--start", metavar="T", help="when the stream starts (default: with its first fact)")
    parser.add_argument("--dead-letter", metavar="F", help="where records go that cannot be used (default: standard error)")
    parser.add_argument("--clock", metavar="D", help="let time move with the clock, too: facts come at most D behind it")
    parser.add_argument(
        "--at-end",
        choices=("finish", "stop"),
        default="finish",
        help="decide all when the sources end, or claim nothing about later times (default finish)",
    )
    parser.add_argument("--iso", action="store_true", help="write times as ISO-8601, where the program declares a unit")
    parser.add_argument(
        "--max-lead",
        type=positive,
        default=MAX_LEAD,
        metavar="N",
        help="read no source that is N facts ahead of the slowest",
    )
    parser.add_argument("--idle-after", type=seconds, metavar="S", help="ignore a source that is silent for S seconds")
    parser.add_argument("--allow-remote", action="store_true", help="let sources and sinks listen beyond this machine")
    parser.add_argument(
        "--max-clients", type=positive, default=MAX_CLIENTS, metavar="N", help="serve N clients at once, where it listens"
    )
    parser.add_argument(
        "--client-timeout",
        type=seconds,
        metavar="S",
        help="leave a client that is silent for S seconds (default: if it is full)",
    )
    parser.add_argument("--max-line", type=number_of_bytes, default=MAX_LINE, metavar="N", help="the longest line, in bytes")
    add_max_state(parser, MAX_STATE)
    parser.add_argument("--backend", choices=("trio", "asyncio"), default="trio", help="the event loop (default trio)")
    parser.add_argument("--stats", action="store_true", help="print what was done and stored, on standard error")
    add_state_options(parser)


def stream(
    plan: Plan,
    options: argparse.Namespace,
    settings: Settings,
    make: Callable[..., Runner | HistoryRunner] = Runner,
    more_sinks: Sequence[Sink] = (),
) -> int:
    """Run a plan over the sources of the options until they end, or until a signal asks to stop; returns the exit code.

    `settings` are those that only one command has options for; `make` makes of plan, sources, sinks and all settings what
    runs; `more_sinks` are those that the options do not open.
    """
    logging.basicConfig(handlers=[_SayingHandler()], format="%(message)s", level=logging.WARNING)
    show_diagnostics(plan.warnings, plan.name, plan.program.text)
    _check_times(plan, options)
    sinks = [spec for spec in options.sinks or () if not is_outbox(spec)] if options.sinks else ["-"]
    _check_files(plan, options, sinks)
    _check_formats(plan, sinks, getattr(options, "emit", ""), is_durable=options.state is not None)
    collect_seldom()
    with gently_stopped() as stopping:
        run = _Run(plan, options, settings, make, sinks, stopping)
        run.sinks += more_sinks
        try:
            with state_of(options) as run.state:
                return anyio.run(run.check if options.reload == CHECK else run.main, backend=options.backend)
        except BaseExceptionGroup as group:
            cause = first_cause(group)
        if isinstance(cause, Stopped):
            run.say_notes()
            if run.state:
                say("note: what was taken since the last commit is not stored: the next run takes it again")
        raise cause


class _SayingHandler(logging.Handler):
    """Says what is logged, a line a record."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


class _Run:
    """One run of the engine: its ends, its signals, and what is said at the end."""

    def __init__(
        self,
        plan: Plan,
        options: argparse.Namespace,
        settings: Settings,
        make: Callable[..., Runner | HistoryRunner],
        sinks: Sequence[str],
        stopping: GentleStopping,
    ) -> None:
        self._plan, self._options, self._settings, self._stopping = plan, options, settings, stopping
        self._maker = make
        self._engine: Runner | HistoryRunner | None = None
        self.state: dict[str, Any] = {}
        self._times = TimeFormatter(plan.timeline, options.iso)
        schema, remote, clients = plan.schema, options.allow_remote, client_limits(options)
        self._served = None if getattr(options, "http", None) is None else Served(plan, options)
        specs = parse_sources(named_facts(options) or ([] if self._served else ["-"]), allow_remote=remote)
        retracts = bool(getattr(options, "corrections", False))
        self._sources = [
            open_source(spec, schema, allow_remote=remote, max_line=options.max_line, clients=clients, retracts=retracts)
            for spec in specs
        ]
        self._sources += self._served.sources if self._served else []
        self.sinks: list[Sink] = [
            open_sink(spec, schema, iso=options.iso, allow_remote=remote, clients=clients, outputs=plan.told)
            for spec in sinks
        ]
        if [spec.scheme for spec in specs].count("-") > 1:
            raise SpecError("standard input can be read once only")
        say_empty(specs)

    async def check(self) -> int:
        """Say what would become of the state, and run nothing."""
        return show_changes(await self._make(None).changes())

    def _make(self, letters: DeadLetterWriter | None) -> Runner | HistoryRunner:
        options, watch = self._options, None if self._served is None else self._served.watch
        settings = replace(
            self._settings,
            lateness=options.lateness,
            start=options.start,
            max_ahead=read_max_ahead(options.max_ahead),
            max_lead=options.max_lead,
            max_state=options.max_state,
            remember=max(self._settings.remember, 0 if watch is None else over_http.KEPT_FACTS),
        )
        run = RunSettings(
            idle_after=options.idle_after,
            at_end=options.at_end,
            clock=options.clock,
            dead_letters=letters,
            on_violation=self._show_violation,
            corrections=bool(getattr(options, "corrections", False)),
            observer=watch,
            held=watch is not None,
            **spread_of(options),
            **self.state,
        )
        return self._maker(self._plan, self._sources, self.sinks, settings, run)

    async def main(self) -> int:
        async with AsyncExitStack() as stack:
            letters = await stack.enter_async_context(
                DeadLetterWriter(self._options.dead_letter, append=self._options.state is not None)
            )
            self._engine = engine = self._make(letters)
            engine.write_times(self._times)
            self._note_recorded()
            self._stopping.is_storing = lambda: engine.is_storing
            if self._served is not None and isinstance(engine, Runner):
                await stack.enter_async_context(self._served.beside(engine, is_durable=bool(self.state)))
            await stack.enter_async_context(self._beside(engine))
            try:
                await engine.run()
            finally:
                is_certain = show_ends([*self._sources, *self.sinks], engine, self._options.stats)
        return self._close(engine, is_certain)

    @asynccontextmanager
    async def _beside(self, engine: Runner | HistoryRunner) -> AsyncIterator[None]:
        """What runs beside the engine, and ends with it: signals and progress."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, engine)
            tasks.start_soon(self._show_progress, engine)
            yield
            tasks.cancel_scope.cancel()

    async def _show_progress(self, engine: Runner | HistoryRunner) -> None:
        """Show how far files have been read, until cancelled; nothing where not all that is read has a size."""
        with Progress() as progress:
            while progress.is_shown:
                await anyio.sleep(INTERVAL / 4)
                files = [source for source in self._sources if isinstance(source, Measured)]
                sizes = [file.size for file in files if file.size is not None]
                if len(sizes) == len(self._sources):
                    progress.stand(sum(file.position for file in files), sum(sizes))
                    intake = engine.intake_statistics()
                    progress.rows(intake.accepted + intake.unused)

    async def _listen(self, engine: Runner | HistoryRunner) -> None:
        """The first signal stops the engine cleanly, if it listens."""
        await self._stopping.wait()
        engine.stop(GRACE)

    def _show_violation(self, violation: Violation) -> None:
        say(violation.told(self._times.at(violation.lo, violation.hi)))
        if self._served is not None:
            self._served.watch.violated(violation)

    def _note_recorded(self) -> None:
        """Say that with `--clock` files are read first, by their own times."""
        if self._options.clock is None:
            return
        recorded = [isinstance(source, Recorded) and source.is_recorded for source in self._sources]
        if all(recorded):
            say("note: `--clock` changes nothing: all facts are read from files, which have an end")
        elif any(recorded):
            say("note: `--clock` counts once all files have been read")

    def _close(self, engine: Runner | HistoryRunner, is_certain: bool) -> int:
        for line in engine.unfinished():
            say(f"note: {line}")
        self.say_notes()
        if self._options.stats:
            show_statistics(engine)
        if self._stopping.number is not None:
            return 128 + self._stopping.number
        is_well = (
            is_certain and not engine.statistics().violations and not (isinstance(engine, Runner) and engine.set_aside())
        )
        return DONE if is_well and not (self._options.strict and engine.rejected) else BAD

    def say_notes(self) -> None:
        """Say which facts were of no use."""
        if self._engine is None:
            return
        intake = self._engine.intake_statistics()
        if note := unused_note(intake.unused, intake.unused_names, self._plan.schema):
            say(f"note: {note}")
        if self._engine.rejected:
            say_unusable(self._engine.rejected, is_strict=self._options.strict)
        self._say_failed(self._engine)
        if intake.held:
            say(f"note: {count(intake.held, 'first fact')} held: no other has come that agrees on the time")

    def _say_failed(self, engine: Runner | HistoryRunner) -> None:
        """Say which aggregates had no value: what was no number, or a result beyond all numbers."""
        steps = engine.statistics().steps
        for step in self._plan.steps:
            failed = steps[step.id].failed_evaluations if step.id in steps else 0
            if isinstance(step.shape, AggregateShape) and failed:
                what = "text where a number was wanted, or a result beyond what a number can be"
                say(f"note: {count(failed, 'value')} passed over by an aggregate ({what}): {step.source}")


def _check_times(plan: Plan, options: argparse.Namespace) -> None:
    """Say what is wrong with times among the options as a mistake in usage, before anything is opened."""
    times = TimeReader(plan.timeline)
    for name, text, read in (
        ("--lateness", options.lateness, times.duration),
        ("--max-ahead", read_max_ahead(options.max_ahead), times.duration),
        ("--start", options.start, times.point),
        ("--clock", options.clock, lambda text: Clock(plan.timeline, text, time.time)),
    ):
        try:
            if text is not None:
                read(text)
        except DataError as error:
            raise SpecError(f"{name}: {error}") from error


def _check_files(plan: Plan, options: argparse.Namespace, sinks: Sequence[str]) -> None:
    """Refuse to overwrite what is read: the inputs, the program, its background."""
    inputs = [spec.path for spec in parse_sources(named_facts(options), allow_remote=True) if spec.path]
    folder = Path(options.program).parent
    background = [str(folder / item.path) for item in plan.backgrounds]
    check_overlap([*inputs, options.program, *background], sinks, options.dead_letter)


def _check_formats(plan: Plan, sinks: Sequence[str], emit: str, *, is_durable: bool) -> None:
    """Refuse to ask where no answer could be written: text facts and tables have no form for hypothetical answers.

    Nor have tables one for changes.
    """
    formats = {parse_spec(spec, allow_remote=True).format for spec in sinks}
    if plan.questions and formats and formats <= {"facts", "parquet", "csv"}:
        raise SpecError("text facts and tables leave out what `ask` answers: add a sink of JSON lines, such as `--out -`")
    if is_durable and formats & {"parquet", "csv"}:
        raise SpecError("`--state`: tables cannot be gone on with after a restart: use a file, or an outbox")
    if emit == "changes" and formats & {"parquet", "csv"}:
        raise SpecError("tables hold facts, and what has only begun is none: use `--emit intervals` or `final`")
