"""Parquet files for batch commands: read to the end, at whatever resolution their times need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from tidelog.connectors.sources.parquet_source import batches_of_file, layout_of_file, open_parquet
from tidelog.connectors.spec import Spec
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.refining import RefiningTimeline
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.frames.arrow import BATCH_ROWS
from tidelog.runtime.frames.reading import FrameReader


def read_refining(spec: Spec, schema: Schema, timeline: RefiningTimeline) -> Iterator[tuple[list[Record], RefiningTimeline]]:
    """The facts of a Parquet file, piece by piece, each with the timeline that it is encoded for, which becomes finer.

    DataError with its place for the first row that is no fact; ConnectorError where the file is damaged.
    """
    predicate = spec.predicate or PurePath(spec.path).stem
    file = open_parquet(spec.path)
    try:
        layout = layout_of_file(file, schema, predicate, spec.path, spec.dialect)
        reader = FrameReader(replace(schema, timeline=timeline), predicate, layout)
        for rows, numbers in batches_of_file(file, layout, spec.path, BATCH_ROWS):
            batch = reader.read(rows, spec.path, numbers)
            while timeline.is_too_coarse:
                timeline = timeline.refined()
                reader = FrameReader(replace(schema, timeline=timeline), predicate, layout)
                batch = reader.read(rows, spec.path, numbers)
            for rejected in batch.rejected:
                raise DataError(rejected.reason, rejected.place)
            yield batch.records, timeline
    finally:
        file.close()
