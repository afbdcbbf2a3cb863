"""What makes facts of the messages of sources, whatever brings them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tidelog.connectors.formats.formats import make_decoder
from tidelog.connectors.mapping.actions import ActionMapper
from tidelog.connectors.mapping.mapper import LineMapper, MapMapper, Mapper
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.gateway.kinds.settings import EndSettings, TakesMessages
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan


def tag_of(end: EndSettings) -> str:
    """The name of an end's kind: what stands behind `type`."""
    return str(getattr(end, "__struct_config__").tag)  # noqa: B009 - a protocol has no such attribute


def mapper(source: TakesMessages, plan: Plan) -> Mapper:
    """What makes facts of a source's messages; SpecError where its maps do not fit the program."""
    if source.format == "actions":
        if source.map or source.by:
            raise SpecError('`map` and `by` take payloads apart, and `format = "actions"` says what they are')
        return ActionMapper(source.name, plan.schema, tag_of(source))
    if source.format in ("facts", "jsonl"):
        if source.map:
            raise SpecError(f'`map` takes payloads apart, and `format = "{source.format}"` says that they are facts already')
        return LineMapper(make_decoder(source.format, plan.schema.without_actions(), source.name, None))
    if not source.map:
        raise SpecError('it says nothing of how messages become facts: give a `[[source.map]]`, or `format = "jsonl"`')
    kind: Literal["text", "json"] = "text" if source.format == "text" else "json"
    return MapMapper(source.name, plan.schema.without_actions(), source.map, format=kind, by=source.by)


def topics(source: TakesMessages) -> list[str]:
    """The topics that are subscribed to: those told, where the kind has such, or those of the maps."""
    told: Sequence[str] = getattr(source, "topics", ())
    found = [TopicPattern.parse(text).filter for text in told or [one.topic for one in source.map]]
    if not found:
        raise SpecError("it says no `topics`, and has no maps that do")
    return found
