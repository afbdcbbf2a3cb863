"""`tidelog tables`: keep tables of Delta Lake and Iceberg up, and take over those of older versions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.commands.help_pages import page
from tidelog.commands.numbers import positive, whole
from tidelog.commands.outcome import DONE, say
from tidelog.connectors import lake
from tidelog.plans.diagnostics.errors import SpecError

if TYPE_CHECKING:
    from tidelog.connectors.lake.tables import Lake


_OPTIMIZE = "make few large files of many small ones"
_VACUUM = "take away files that no newer version needs"
_DELETE = "forget rows, for example those of a device"
_TAKE_OVER = "copy tables of an older version of tidelog into new ones"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes to its parser."""
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    optimize = commands.add_parser("optimize", help=_OPTIMIZE, **page("tables optimize", _OPTIMIZE))
    _add_tables(optimize)
    optimize.add_argument("--megabytes", type=positive, default=128, metavar="N", help="of a file, about (default 128)")
    optimize.set_defaults(run=run_optimize)
    vacuum = commands.add_parser("vacuum", help=_VACUUM, **page("tables vacuum", _VACUUM))
    _add_tables(vacuum)
    vacuum.add_argument(
        "--hours",
        type=whole,
        default=168,
        metavar="N",
        help="how long older versions stay readable (default 168); 0 where nothing else uses the tables",
    )
    vacuum.set_defaults(run=run_vacuum)
    delete = commands.add_parser("delete", help=_DELETE, **page("tables delete", _DELETE))
    _add_tables(delete)
    delete.add_argument(
        "--where",
        dest="wheres",
        metavar="CONDITIONS",
        action="append",
        required=True,
        help="which rows, such as \"node = 'gw7' and sensor = 's1'\"; several mean the rows of each",
    )
    delete.add_argument("--dry-run", action="store_true", help="only tell how many rows these are")
    delete.set_defaults(run=run_delete)
    take_over = commands.add_parser("take-over", help=_TAKE_OVER, **page("tables take-over", _TAKE_OVER))
    take_over.add_argument("old", metavar="OLD", help="where the old tables are: DIR or s3://BUCKET/PATH")
    take_over.add_argument("--to", dest="tables", metavar="PLACE", required=True, help="where the new ones are, or will be")
    take_over.set_defaults(run=run_take_over)


def _add_tables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tables", metavar="PLACE", help="where the tables are: DIR, s3://BUCKET/PATH or iceberg:CATALOG.NAMESPACE"
    )
    parser.add_argument("predicates", metavar="PREDICATE", nargs="*", help="which of them (default: all)")


def run_optimize(options: argparse.Namespace) -> int:
    """Compact tables."""
    found, predicates = _opened(options.tables, options.predicates)
    for predicate in predicates:
        if table := found.open(predicate):
            done = lake.compact(table, options.megabytes << 20)
            say(f"{predicate}: {done.added} files in the place of {done.removed}")
    return DONE


def run_vacuum(options: argparse.Namespace) -> int:
    """Clear tables of files that are needed no more."""
    found, predicates = _opened(options.tables, options.predicates)
    for predicate in predicates:
        if table := found.open(predicate):
            say(f"{predicate}: {lake.vacuum(table, options.hours)} files taken away")
    return DONE


def run_delete(options: argparse.Namespace) -> int:
    """Delete rows, each table in one commit; SpecError before anything is deleted where a condition fits none."""
    wheres = list(map(lake.parse_conditions, options.wheres))
    found, predicates = _opened(options.tables, options.predicates)
    tables = {predicate: table for predicate in predicates if (table := found.open(predicate)) is not None}
    unknown: dict[str, SpecError] = {}
    for predicate, table in tables.items():
        try:
            lake.mask_of(wheres, table.schema())
        except lake.Unknown as error:
            unknown[predicate] = error
    if unknown and (options.predicates or len(unknown) == len(tables)):
        name, why = next(iter(unknown.items()))
        raise SpecError(f"cannot delete rows of `{name}`: {why}")
    for predicate, table in tables.items():
        if predicate in unknown:
            say(f"{predicate}: left as it is: {unknown[predicate]}")
            continue
        done = lake.delete(table, wheres, is_tried=options.dry_run)
        told = "would be deleted" if options.dry_run else "deleted"
        say(f"{predicate}: {done.rows} rows {told}, from {done.files} files")
    return DONE


def run_take_over(options: argparse.Namespace) -> int:
    """Copy old tables."""
    for predicate, rows in lake.take_over(options.old, options.tables).items():
        say(f"{predicate}: {rows} rows taken over")
    return DONE


def _opened(place: str, predicates: Sequence[str]) -> tuple[Lake, list[str]]:
    """The tables, and of which predicates; SpecError where one of them, or all, are missing."""
    found = lake.open_lake(place)
    known = found.predicates()
    if not known:
        raise SpecError(f"there are no tables in `{place}`")
    for name in predicates:
        if name not in known:
            raise SpecError(f"`{place}` holds no table of `{name}`; there are {', '.join(f'`{each}`' for each in known)}")
    return found, list(predicates or known)
