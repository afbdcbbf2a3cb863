"""`tidelog ingest`: write facts of outboxes to tables of Delta Lake or Iceberg, each fact exactly once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tidelog.commands.lake.access import access_of, add_access_options
from tidelog.commands.numbers import positive, seconds
from tidelog.commands.outcome import AWAY, DONE, say
from tidelog.commands.signals import noted_signals
from tidelog.connectors import lake
from tidelog.connectors.outbox.client import FORM
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from tidelog.connectors.lake.gateways.ingest import Ingestion


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    parser.add_argument(
        "--from",
        dest="sources",
        metavar="FROM",
        nargs="+",
        action="extend",
        default=[],
        help=f"outboxes: directories, or `{FORM}`",
    )
    parser.add_argument(
        "--from-file", metavar="FILE", help="a file with more of them, a line each; read again as it changes"
    )
    parser.add_argument(
        "--to",
        dest="tables",
        metavar="PLACE",
        required=True,
        help="where the tables are, or will be: DIR, s3://BUCKET/PATH or iceberg:CATALOG.NAMESPACE",
    )
    parser.add_argument("--once", action="store_true", help="end once all that is there now is written")
    parser.add_argument("--every", type=seconds, default=10.0, metavar="S", help="seconds between two batches (default 10)")
    parser.add_argument("--rows", type=positive, default=100_000, metavar="N", help="facts a batch (default 100000)")
    parser.add_argument(
        "--fields",
        action="append",
        default=[],
        metavar="F",
        help="the arguments of a predicate, such as 'hot(sensor: text, value: number)'",
    )
    parser.add_argument("--accept-gap", action="store_true", help="go on though tables lack facts that were acknowledged")
    parser.add_argument("--metrics", metavar="FILE", help="write metrics for Prometheus to FILE after each batch")
    parser.add_argument("--stats", action="store_true", help="print what was written to standard error at the end")
    add_access_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write tables until a signal asks to stop; with `--once` until there is nothing left of those that answer."""
    if not options.sources and options.from_file is None:
        raise SpecError("say which outboxes to ingest: `--from` or `--from-file`")
    fields = dict(map(lake.parse_declaration, options.fields))
    access = access_of(options)
    with noted_signals() as arrived:
        with lake.Ingestion(
            options.sources,
            options.tables,
            sources_file=options.from_file,
            metrics=options.metrics,
            rows=options.rows,
            fields=fields,
            access=access,
            accept_gap=options.accept_gap,
            tell=say,
        ) as ingestion:
            are_all = ingestion.run(every=options.every, once=options.once, is_stopped=lambda: bool(arrived))
        if options.stats:
            _tell(ingestion)
    if arrived:
        return 128 + arrived[0]
    return DONE if are_all else AWAY


def _tell(ingestion: Ingestion) -> None:
    say(f"batches: {ingestion.counts.batches}")
    say(f"facts: {ingestion.counts.facts}")
