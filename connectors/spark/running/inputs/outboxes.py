"""Outboxes that a program on Spark reads: where they are, and how their times are those of the program."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import msgspec

from tidelog.connectors.lake.gateways.origins import Access, Origin, place_of, read_schemas
from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.connectors.spark.running.inputs.locations import Input
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

logger = logging.getLogger("tidelog")


def origin_of(item: Input, access: Access) -> Origin:
    """The outbox that an input is."""
    return Origin(place_of(item.path), access)


def check_outboxes(inputs: Sequence[Input], access: Access, timeline: Timeline) -> None:
    """Look at all outboxes among these inputs: SpecError where one is not there, is named twice, has the name of another,
    holds changes, or counts time in a way that is not that of the program; ConnectorError where one cannot be read."""
    origins = [origin_of(item, access) for item in inputs if item.format == "outbox"]
    for origin, schema in zip(origins, read_schemas(origins), strict=True):
        schema.check_facts(origin.place)
        scale_of(schema, timeline, origin.place)


def gone_from(inputs: Sequence[Input], access: Access) -> Iterator[str]:
    """One line for each outbox, read as history, whose first facts have been removed already."""
    for item in inputs:
        if item.format == "outbox":
            with origin_of(item, access).open() as reader:
                first = reader.first()
            if first > 1:
                yield f"`outbox:{item.path}` begins with fact {first}: those before are acknowledged, and gone"


def scale_of(schema: OutboxSchema, timeline: Timeline, place: str) -> Fraction:
    """How many units of the program's time one of an outbox's is; SpecError where only one of them says what its unit is.

    >>> scale_of(OutboxSchema("gw1", "", "integer", "60", {}), Timeline(unit=Fraction(1, 2)), "gw1")
    Fraction(120, 1)
    """
    if schema.unit is None and timeline.unit is None:
        return Fraction(1)
    if schema.unit is None:
        raise SpecError(
            f"outbox `{place}` does not say what its unit of time is, and that of the program is {timeline.unit} s"
        )
    if timeline.unit is None:
        need = "declare one, such as `timeline integer, unit 1 s`"
        raise SpecError(f"outbox `{place}` counts time in units of {schema.unit} s, and the program has none: {need}")
    return Fraction(schema.unit) / timeline.unit


class _Source(msgspec.Struct):
    endOffset: Any = None


class _Progress(msgspec.Struct):
    sources: list[_Source]


def acknowledge(inputs: Sequence[Input], access: Access, progress: str) -> None:
    """Let go what a stream has read that came to its end: `progress` is what Spark tells of its last batch, as JSON.

    Spark acknowledges a batch when the next one begins: an outbox that is full would wait for that for ever. Where a gateway
    is out of reach, the next acknowledgement covers this one.
    """
    ends: dict[str, int] = {}
    for source in msgspec.json.decode(progress, type=_Progress).sources:
        if isinstance(source.endOffset, dict):
            ends |= source.endOffset
    for item in inputs:
        if item.format == "outbox":
            _acknowledge_in(origin_of(item, access), ends)


def _acknowledge_in(origin: Origin, ends: dict[str, int]) -> None:
    try:
        with origin.open() as reader:
            reader.acknowledge(ends.get(reader.schema().identity, 0))
    except ConnectorError as error:
        if not origin.is_remote:
            raise
        logger.warning("%s", error)
