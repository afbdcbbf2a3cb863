"""`tidelog spark run`: a program on Spark, over history or as a stream. Here is what is asked for, and what is refused."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

from tidelog.commands.given import add_facts, named_facts
from tidelog.commands.help_pages import page
from tidelog.commands.lake.access import access_of, add_access_options
from tidelog.commands.numbers import positive, seconds
from tidelog.commands.outcome import load_plan, say, show_diagnostics
from tidelog.commands.sizes import age_or_size
from tidelog.commands.spark.settings import settings_of
from tidelog.commands.streams.overlap import check_overlap
from tidelog.connectors import spark
from tidelog.connectors.lake.places import is_remote, local_path
from tidelog.connectors.outbox.client import FORM
from tidelog.connectors.spark.cluster.connect import refuse_connect
from tidelog.connectors.spark.places import held_alone
from tidelog.connectors.spark.running.clock import Clock
from tidelog.connectors.spark.running.inputs.locations import FILES, Input, check_streamed, parse_input
from tidelog.connectors.spark.running.inputs.outboxes import check_outboxes, gone_from
from tidelog.connectors.spark.running.job import Job, job_of, shared, stream_buckets
from tidelog.connectors.spark.running.outputs.sinks import Lines, Tables, parse_sinks
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.diagnostics.systems import need_posix
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import StageMode

_LEAST_BUCKETS = 4
"""What history has by default, or more on many cores: each is a task of its own, and holds what its operators keep."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to those of `tidelog spark`."""
    help = "run a program over history, or, with --checkpoint, as a stream"
    parser = commands.add_parser("run", help=help, **page("spark run", help))
    parser.add_argument("program", metavar="PROGRAM", help="the file of the program")
    add_facts(parser, "none, which is an error", "files, folders, globs, outboxes, topics")
    parser.add_argument(
        "--out", dest="sinks", action="append", metavar="SPEC", help="where answers go, such as `parquet:DIR` (default -)"
    )
    parser.add_argument(
        "--emit",
        choices=("intervals", "final", "changes", "points"),
        help="how answers are told (default: final over history, intervals on a stream)",
    )
    parser.add_argument("--start", metavar="T", help="when the stream starts (default, over history: with its first fact)")
    parser.add_argument("--buckets", type=positive, metavar="N", help="how many sessions a stage has, each for some keys")
    parser.add_argument("--cores", type=positive, metavar="N", help="cores of this machine (default: all)")
    parser.add_argument("--master", metavar="URL", help="the cluster to run on (default: this machine)")
    parser.add_argument("--dead-letter", metavar="F", help="where records go that cannot be used (default: standard error)")
    parser.add_argument(
        "--skip-damaged", action="store_true", help="name damaged Parquet files as dead letters, and go on without them"
    )
    parser.add_argument("--iso", action="store_true", help="write times as ISO-8601, where the program declares a unit")
    parser.add_argument("--stats", action="store_true", help="print what was counted, on standard error")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="K=V",
        help="a setting of Spark's, such as spark.executor.memory=4g",
    )
    parser.add_argument("--packages", metavar="G:A:V,…", help="what Spark fetches by Maven, such as a file system's jars")
    parser.add_argument(
        "--archives",
        metavar="FILE[#NAME]",
        help="a packed environment (venv-pack, conda-pack): workers run its Python",
    )
    parser.add_argument("--ui", action="store_true", help="show Spark's own page while it runs, and say where")
    parser.add_argument(
        "--classes", metavar="FILE", help="an archive of Java's classes, for a faster start: it is made if it is not there"
    )
    parser.add_argument("--log", default=os.devnull, metavar="FILE", help="where Spark's own log goes (default: nowhere)")
    stream = parser.add_argument_group("as a stream")
    stream.add_argument("--checkpoint", metavar="DIR", help="where Spark keeps how far it has come, and the state")
    stream.add_argument("--lateness", metavar="D", help="how late facts may come (default 0)")
    stream.add_argument("--every", type=seconds, metavar="S", help="seconds between two batches (default 1)")
    stream.add_argument("--once", action="store_true", help="end once all that is there is told")
    stream.add_argument("--files", type=positive, metavar="N", help=f"files a batch takes of each input (default {FILES})")
    stream.add_argument(
        "--reload",
        choices=("refuse", "drop", "check"),
        help="where the program has changed: refuse to go on if state is lost, drop it, or only say what would become of it "
        "(default refuse)",
    )
    stream.add_argument(
        "--keep", type=age_or_size, metavar="D", help="keep what was read for `7d`, so that it fills the state of a new rule"
    )
    add_access_options(parser.add_argument_group(f"of gateways, `--in outbox:{FORM}`"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run a program on Spark: over history to its end, as a stream until a signal asks to stop; returns the exit code."""
    need_posix("cannot run on Spark")
    check_options(options)
    plan = load_plan(options.program)
    job, lateness = job_for(plan, options)
    parsed = [parse_input(spec, number) for number, spec in enumerate(named_facts(options))]
    inputs = [replace(item, skips_damaged=options.skip_damaged) for item in parsed]
    if options.checkpoint is not None:
        for item in inputs:
            check_streamed(item)
    check_files(plan, inputs, options)
    check_predicates(plan, inputs)
    check_outboxes(inputs, access_of(options), plan.timeline)
    show_diagnostics(plan.warnings, plan.name, plan.program.text)
    for number, rule in shared(job).items():
        say(f"warning: stage {number} runs in one session, on one core, because of {rule}")
    if options.checkpoint is None:
        for line in gone_from(inputs, access_of(options)):
            say(f"warning: {line}")
    spark.check_requirements()
    with _alone(options.checkpoint):
        start: Callable[..., int] = import_module("tidelog.commands.spark.start").start  # now that PySpark is there
        return start(plan, job, inputs, lateness, options)


def _alone(checkpoint: str | None) -> AbstractContextManager[None]:
    """The checkpoint as that of this process alone, where that can be told."""
    if checkpoint is None or is_remote(checkpoint):
        return nullcontext()
    return held_alone(local_path(checkpoint), "checkpoint")


def check_options(options: argparse.Namespace) -> None:
    """SpecError for options that do not go together."""
    settings_of(options)
    refuse_connect("`tidelog spark run`", options.master)
    if not named_facts(options):
        raise SpecError("no facts to read: name files, folders or outboxes behind the program")
    if options.emit == "points":
        why = "tells what holds at the time points of all inputs, which no session alone sees"
        raise SpecError(f"`--emit points` {why}: use `tidelog run`")
    if options.cores is not None and options.master is not None:
        raise SpecError("`--cores` are those of this machine: with `--master`, the cluster's own settings tell them")
    if options.classes is not None and not (options.master or "local").startswith("local"):
        raise SpecError("`--classes` is for a Spark on this machine, and `--master` names a cluster: leave one of them away")
    if options.archives is not None and (options.master or "local").startswith("local"):
        raise SpecError("`--archives` brings Python to the workers of a cluster: name it by `--master`")
    for name in ("log", "dead_letter"):
        path = getattr(options, name)
        if path is not None and is_remote(path):
            raise SpecError(f"`--{name.replace('_', '-')}` is a file of this machine, got `{path}`")
    if options.checkpoint is not None:
        _check_checkpoint(options.checkpoint, options.master)
        return
    for name, why in (
        ("lateness", "over history nothing is late"),
        ("every", "history is read once"),
        ("once", "history is read once anyway"),
        ("files", "history is read as a whole"),
        ("reload", "over history no program was there before"),
        ("keep", "over history no other program follows"),
    ):
        if getattr(options, name) not in (None, False):
            raise SpecError(f"`--{name}` is for streams, which have a `--checkpoint`: {why}")


def _check_checkpoint(path: str, master: str | None) -> None:
    """SpecError where it names nothing, or a folder that the workers of a cluster do not see."""
    if not path or "\0" in path:
        raise SpecError("`--checkpoint` names no folder")
    if master is not None and not master.startswith("local") and "://" not in path:
        raise SpecError(
            f"`--checkpoint` `{path}` is a folder of this machine, and `--master` a cluster: name a folder that "
            "all of it shares, by its URI, such as `s3a://BUCKET/PATH`, or `file:///PATH` where it is mounted everywhere"
        )


def check_predicates(plan: Plan, inputs: Sequence[Input]) -> None:
    """SpecError for an input whose rows are all of a predicate that the program does not have."""
    known = plan.schema.predicates
    for item in inputs:
        if item.format in ("csv", "parquet", "table") and item.predicate is not None and item.predicate not in known:
            near = suggest(item.predicate, known)
            help = "" if near else ": say whose rows they are, such as `?predicate=NAME`"
            raise SpecError(
                f"the program has no predicate `{item.predicate}`, of which `{item.path}` holds facts{near}{help}"
            )


def job_for(plan: Plan, options: argparse.Namespace) -> tuple[Job, int]:
    """What is run, and how late facts may come (encoded).

    ProgramError where the program has no stages, SpecError for times that are none, or a start that a stream must be told.
    """
    times = TimeReader(plan.timeline)
    start = None if options.start is None else _encoded("--start", options.start, times.point)
    lateness = _encoded("--lateness", options.lateness or "0", times.duration)
    is_stream = options.checkpoint is not None
    if lateness > Clock.of(plan.timeline).limit:
        raise SpecError(f"--lateness: `{options.lateness}` is longer than Spark can look back")
    job = job_of(plan, _buckets(plan, options), emit=_emit(options), start=start, keep=_keep(options))
    if is_stream and start is None and any(stage.needs_start for stage in job.stages):
        raise SpecError("`--start` is needed: windows are clipped where the stream starts, which no session alone sees")
    return job, lateness


def _keep(options: argparse.Namespace) -> float | None:
    if options.keep is not None and options.keep.seconds is None:
        raise SpecError("`--keep` on Spark is a time, such as `7d`: each session keeps its own part, and none knows of all")
    return None if options.keep is None else float(options.keep.seconds)


def _encoded(name: str, text: str, read: Callable[[str], int]) -> int:
    try:
        return read(text)
    except DataError as error:
        raise SpecError(f"{name}: {error}") from error


def _emit(options: argparse.Namespace) -> StageMode:
    mode: StageMode | None = options.emit  # `points` was refused
    return mode or ("final" if options.checkpoint is None else "intervals")


def _buckets(plan: Plan, options: argparse.Namespace) -> int:
    cores = options.cores or os.cpu_count() or 1
    default = max(_LEAST_BUCKETS, 2 * cores) if options.checkpoint is None else stream_buckets(plan)
    return int(options.buckets or default)


def check_files(plan: Plan, inputs: Sequence[Input], options: argparse.Namespace) -> None:
    """SpecError where what is written is, or lies in, what is read, or the other way round."""
    program = Path(options.program)
    read = [local_path(item.path) for item in inputs if item.format not in ("table", "kafka") and not is_remote(item.path)]
    stated = [str(program), *(str(program.parent / item.path) for item in plan.backgrounds)]
    sinks = parse_sinks(options.sinks or ["-"], plan.schema, iso=options.iso, is_stream=options.checkpoint is not None)
    if options.emit == "changes" and any(isinstance(sink, Tables) for sink in sinks):
        raise SpecError("`--emit changes` is told in lines: a table holds facts, and what has only begun is none yet")
    if plan.questions and not any(isinstance(sink, Lines) and sink.format == "jsonl" for sink in sinks):
        raise SpecError("what `ask` answers is told in JSON lines alone: add a sink of such, as `--out -`")
    lines = [f"file:{sink.path}" for sink in sinks if isinstance(sink, Lines) and sink.path]
    check_overlap([*read, *stated], lines, options.dead_letter)
    folders = [sink.path for sink in sinks if sink.path and not (isinstance(sink, Tables) and sink.format == "iceberg")]
    paths = folders + [path for path in (options.dead_letter, options.checkpoint) if path]
    for path in paths:
        if not is_remote(path):
            _check_apart(path, read)


def _check_apart(path: str, read: Sequence[str]) -> None:
    written = os.path.realpath(local_path(path))
    for each in read:
        other = os.path.realpath(each)
        if _lies_in(written, other) or _lies_in(other, written) or _is_among(written, other):
            raise SpecError(f"`{path}` is written, and `{each}` read, in one run: keep them apart")


def _is_among(path: str, read: str) -> bool:
    """Whether a glob finds it, or it is the same folder; of files and devices, `check_overlap` has told."""
    return fnmatch(path, read) if set(read) & set("*?[") else path == read and os.path.isdir(path)


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))
