"""Parquet files for batch commands: read to the end, at whatever resolution their times need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath

from tidelog.connectors.sources.parquet_source import batches_of_file, layout_of_file, open_parquet
from tidelog.connectors.spec import Spec
from tidelog.plans.data.facts import Schema
from tidelog.plans.data.refining import RefiningTimeline
from tidelog.runtime.frames.arrow import BATCH_ROWS
from tidelog.runtime.frames.reading import FrameReader
from tidelog.runtime.ports.interfaces import Batch


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of a file as facts, the timeline that they are encoded for, and how many of the file's bytes they are."""

    batch: Batch
    timeline: RefiningTimeline
    size: int


def read_refining(spec: Spec, schema: Schema, timeline: RefiningTimeline) -> Iterator[Piece]:
    """The facts of a Parquet file, piece by piece, at a timeline that becomes finer; ConnectorError where it is damaged."""
    predicate = spec.predicate or PurePath(spec.path).stem
    file = open_parquet(spec.path)
    try:
        size = os.stat(spec.path).st_size / max(1, file.metadata.num_rows)
        layout = layout_of_file(file, schema, predicate, spec.path, spec.dialect)
        reader = FrameReader(replace(schema, timeline=timeline), predicate, layout)
        for rows, numbers in batches_of_file(file, layout, spec.path, BATCH_ROWS):
            batch = reader.read(rows, spec.path, numbers)
            while timeline.is_too_coarse:
                timeline = timeline.refined()
                reader = FrameReader(replace(schema, timeline=timeline), predicate, layout)
                batch = reader.read(rows, spec.path, numbers)
            yield Piece(batch, timeline, int(numbers.stop * size) - int(numbers.start * size))
    finally:
        file.close()
