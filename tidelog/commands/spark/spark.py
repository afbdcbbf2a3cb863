"""`tidelog spark`: what is done with Spark. `ingest` writes facts of outboxes to tables; `run` has a module of its own."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress

from tidelog.commands.help_pages import page
from tidelog.commands.numbers import positive, seconds
from tidelog.commands.outcome import AWAY, DONE, say
from tidelog.commands.signals import noted_signals
from tidelog.commands.spark import run as spark_run
from tidelog.commands.spark.access import access_of, add_access_options
from tidelog.connectors import spark
from tidelog.connectors.outbox.client import FORM
from tidelog.connectors.spark.places import is_remote
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.systems import need_posix


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    subcommands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_ingest(subcommands)
    spark_run.add_parser(subcommands)


def _add_ingest(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help = "write the facts of outboxes to Parquet tables, each exactly once"
    parser = commands.add_parser("ingest", help=help, **page("spark ingest", help))
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="FROM",
        nargs="+",
        action="extend",
        required=True,
        help=f"outboxes: directories, or `{FORM}`",
    )
    parser.add_argument("--to", dest="tables", metavar="DIR", required=True, help="where the tables are, or will be")
    parser.add_argument("--checkpoint", metavar="DIR", required=True, help="where Spark keeps how far it has come")
    parser.add_argument("--once", action="store_true", help="end once all that is there now is written")
    parser.add_argument("--every", type=seconds, default=10.0, metavar="S", help="seconds between two batches (default 10)")
    parser.add_argument("--rows", type=positive, default=100_000, metavar="N", help="facts a batch (default 100000)")
    parser.add_argument("--cores", type=positive, default=os.cpu_count() or 1, metavar="N", help="default: all")
    parser.add_argument(
        "--fields",
        action="append",
        default=[],
        metavar="F",
        help="the arguments of a predicate, such as 'hot(sensor: text, value: number)'",
    )
    add_access_options(parser)
    parser.add_argument("--log", default=os.devnull, metavar="FILE", help="where Spark's own log goes (default: nowhere)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write tables until a signal asks to stop; with `--once` until there is nothing left of those that answer."""
    need_posix("cannot run on Spark")
    if is_remote(options.log):
        raise SpecError(f"`--log` is a file of this machine, got `{options.log}`")
    spark.check_requirements()
    fields = dict(map(spark.parse_declaration, options.fields))
    access = access_of(options)
    with spark.Ingestion(
        options.sources, options.tables, options.checkpoint, rows=options.rows, fields=fields, access=access, tell=say
    ) as ingestion:
        try:
            session = spark.spark_session("tidelog ingest", cores=options.cores, log=options.log)
        except OSError as error:
            raise SpecError(f"cannot write `{options.log}`: {error.strerror}") from error
        with noted_signals() as arrived:
            try:
                are_all = ingestion.run(session, every=options.every, once=options.once, is_stopped=lambda: bool(arrived))
            finally:
                with suppress(Exception):  # it may have ended before us, and what is written is written
                    session.stop()
    if arrived:
        return 128 + arrived[0]
    return DONE if are_all else AWAY
