"""Where a program on Spark writes: SPEC as `run` knows it, where it can be, and `parquet:DIR` for one table a predicate."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tidelog.connectors.formatting import TimeFormatter
from tidelog.connectors.spark.places import is_remote
from tidelog.connectors.spec import open_sink, parse_spec
from tidelog.plans.errors import SpecError
from tidelog.plans.facts import Schema

_TABLES = re.compile(r"parquet(\+file)?:(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Lines:
    """One fact a line, in a format, to the file at `path`, or to standard output, where that is empty."""

    format: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Tables:
    """One table a predicate, in the folder at `path`, which may be a URI."""

    path: str


def parse_sinks(specs: Sequence[str], schema: Schema, *, iso: bool, is_stream: bool) -> list[Lines | Tables]:
    """The sinks of a run; SpecError where one cannot be, as a stream's file, or is there twice."""
    TimeFormatter(schema.timeline, iso)
    found = [_parse(spec, schema, iso, is_stream) for spec in specs]
    for place, sink in enumerate(found):
        if isinstance(sink, Tables) and sink in found[:place]:
            raise SpecError(f"tables are written to `{sink.path}` twice in one run")
    return found


def _parse(spec: str, schema: Schema, iso: bool, is_stream: bool) -> Lines | Tables:
    tables = _TABLES.match(spec)
    if tables:
        return Tables(_folder(spec, tables[2], is_file=tables[1] is not None))
    parsed = parse_spec(spec, allow_remote=True)
    if parsed.scheme not in ("-", "file"):
        raise SpecError(f"`{spec}`: what runs on Spark writes to `-`, to files and to `parquet:DIR`")
    if is_stream and parsed.scheme == "file":
        raise SpecError(
            f"`{spec}`: a stream writes to `-` and to `parquet:DIR`; after a crash a batch is told again, "
            "which a file cannot take back"
        )
    if parsed.path.endswith(".parquet") or os.path.isdir(parsed.path):
        raise SpecError(f"`{spec}`: tables go to a folder, which `parquet:DIR` names")
    open_sink(spec, schema, iso=iso)  # for what it refuses
    return Lines(parsed.format, parsed.path)


def _folder(spec: str, path: str, *, is_file: bool) -> str:
    if not path or "\0" in path:
        raise SpecError(f"`{spec}` names no folder: expected `parquet:DIR`")
    if is_remote(path) and not is_file:
        return path.rstrip("/")
    return parse_spec(path if path.startswith("file:") else f"file:{path}").path
