"""Where a program on Spark writes: SPEC as `run` knows it, where it can be, and for one table a predicate `parquet:DIR`,
`delta:DIR` and `iceberg:CATALOG.NAMESPACE`; or a topic of Kafka."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.lake.places import is_remote, uri_of
from tidelog.connectors.opening import open_sink
from tidelog.connectors.spark.running.kafka import Topics, is_kafka, parse_topics
from tidelog.connectors.spec import parse_spec
from tidelog.plans.data.facts import Schema
from tidelog.plans.diagnostics.errors import SpecError

_TABLES = re.compile(r"(parquet|delta)(\+file)?:(.*)\Z", re.DOTALL)
_ICEBERG = re.compile(r"iceberg:(.*)\Z", re.DOTALL)
_NAMESPACE = re.compile(r"\w+(?:\.[^.`\0]+)+")


@dataclass(frozen=True, slots=True)
class Lines:
    """One fact a line, in a format, to the file at `path`, or to standard output, where that is empty."""

    format: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Tables:
    """One table a predicate, in the folder at `path`, which may be a URI; of Iceberg `path` is `CATALOG.NAMESPACE`."""

    path: str
    format: Literal["parquet", "delta", "iceberg"] = "parquet"

    @property
    def place(self) -> str:
        """What tells these tables from all others."""
        if self.format == "iceberg":
            return f"iceberg:{self.path}"
        return uri_of(self.path) if self.format == "parquet" else f"delta:{uri_of(self.path)}"


@dataclass(frozen=True, slots=True)
class Records:
    """One fact a record, to a topic of Kafka."""

    topics: Topics

    @property
    def path(self) -> str:
        """It is nowhere in a file system."""
        return ""


AnySink = Lines | Tables | Records


def parse_sinks(specs: Sequence[str], schema: Schema, *, iso: bool, is_stream: bool) -> list[AnySink]:
    """The sinks of a run; SpecError where one cannot be, as a stream's file, or is there twice."""
    TimeFormatter(schema.timeline, iso)
    found = [_parse(spec, schema, iso, is_stream) for spec in specs]
    for place, sink in enumerate(found):
        if isinstance(sink, Tables) and sink in found[:place]:
            raise SpecError(f"tables are written to `{sink.path}` twice in one run")
    folders = [sink.path for sink in found if isinstance(sink, Tables) and sink.format != "iceberg"]
    for place, path in enumerate(folders):
        if uri_of(path) in map(uri_of, folders[:place]):
            raise SpecError(f"`{path}` would hold tables of two formats: choose another folder")
    return found


def _parse(spec: str, schema: Schema, iso: bool, is_stream: bool) -> AnySink:
    if is_kafka(spec):
        return Records(parse_topics(spec, written=True))
    tables = _TABLES.match(spec)
    if tables:
        form = cast(Literal["parquet", "delta"], tables[1])
        return Tables(_folder(spec, tables[3], is_file=tables[2] is not None), form)
    iceberg = _ICEBERG.match(spec)
    if iceberg:
        if _NAMESPACE.fullmatch(iceberg[1]) is None:
            raise SpecError(f"`{spec}`: expected `iceberg:CATALOG.NAMESPACE`, such as `iceberg:lake.plant`")
        return Tables(iceberg[1], "iceberg")
    parsed = parse_spec(spec, allow_remote=True)
    if parsed.scheme not in ("-", "file"):
        raise SpecError(
            f"`{spec}`: what runs on Spark writes to `-`, to files, to tables, such as `parquet:DIR`, and to topics of Kafka"
        )
    if is_stream and parsed.scheme == "file":
        raise SpecError(
            f"`{spec}`: a stream writes to `-`, to tables, such as `parquet:DIR`, and to topics of Kafka; after a crash a "
            "batch is told again, which a file cannot take back"
        )
    if parsed.path.endswith(".parquet") or os.path.isdir(parsed.path):
        raise SpecError(f"`{spec}`: tables go to a folder, which `parquet:DIR` names")
    open_sink(spec, schema, iso=iso)  # for what it refuses
    return Lines(parsed.format, parsed.path)


def _folder(spec: str, path: str, *, is_file: bool) -> str:
    if not path or "\0" in path:
        raise SpecError(f"`{spec}` names no folder: expected `{spec.partition(':')[0]}:DIR`")
    if is_remote(path) and not is_file:
        return path.rstrip("/")
    return parse_spec(path if path.startswith("file:") else f"file:{path}").path
