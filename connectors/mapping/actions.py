"""Messages by which people act on alarms, such as `{"acknowledge": {"alarm": "hot", "args": ["north"], "who": "anna"}}`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tidelog.connectors.formats.json.documents import kind, load
from tidelog.connectors.formats.json.exact import read_action
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.moments import arrival
from tidelog.plans.data.actions import action_record
from tidelog.plans.data.facts import Record, Row, Schema
from tidelog.plans.data.timeline import NEG
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.declared.alarms import ACTIONS, ActionName
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.ports.interfaces import Batch, Rejected

_MOST: Final = 10_000
"""Of how many alarms it is known when a shelf was ended last."""


class ActionMapper:
    """Takes each payload as what somebody does with an alarm, at its `time`, or when it came; `kind` is that of the source.

    What ends a shelf, and a new one without a time behind it, come in this order. SpecError for a program without alarms, or
    without a unit.
    """

    def __init__(self, name: str, schema: Schema, kind: str) -> None:
        if not schema.alarms:
            raise SpecError('`format = "actions"` is for a program that declares alarms')
        self._name, self._schema, self._kind = name, schema, kind
        self._times, self._came = TimeReader(schema.timeline), arrival(schema.timeline)
        self._ended: dict[tuple[str, Row], int] = {}

    def batch(self, messages: Sequence[Message]) -> Batch:
        found, places = Batch(), list[str]()
        for message in messages:
            place = f"{self._name}:{message.topic}"
            try:
                found.records.append(self._record(message))
            except DataError as error:
                found.rejected.append(Rejected(place, error.reason, message.payload[:RAW_LIMIT]))
            else:
                places.append(place)
        found.places = places
        found.watermark = NEG  # what people do says nothing of the time of other facts
        return found

    def _record(self, message: Message) -> Record:
        document = load(message.payload)
        if not isinstance(document, dict):
            raise DataError(f"expected an object, got {kind(document)}")
        name, time = _name_of(document), document.get("time")
        if time is not None and not isinstance(time, str):
            raise DataError(f"`time` must be a number or text, got {kind(time)}")
        action = read_action(name, document[name])
        if action.via:
            raise DataError("`via` is not for the message to say")
        action = replace(action, via=f"{self._kind} {message.topic}")
        if time is not None:
            return action_record(self._schema, self._times, action, time)
        timeline, point = self._schema.timeline, self._came(message.at)
        row = action_record(self._schema, self._times, action, timeline.decode_point(point))[1]
        key = action.alarm, row[: len(self._schema.alarms[action.alarm].fields)]
        if name in ("unshelve", "restore"):
            self._ended[key] = point
            if len(self._ended) > _MOST:
                del self._ended[next(iter(self._ended))]
        elif name in ("shelve", "remove"):  # at one time the end counts
            point = max(point, self._ended.get(key, NEG) + (1 if timeline.is_integer else 2))
        return action_record(self._schema, self._times, action, timeline.decode_point(point))


def _name_of(document: dict[str, object]) -> ActionName:
    """What is done; DataError where that is not one thing."""
    names = [name for name in ACTIONS if name in document]
    for key in document:
        if key not in (*names, "time"):
            raise DataError(f"`{shorten(key)}` is no action{suggest(key, [*ACTIONS, 'time'])}")
    if len(names) != 1:
        raise DataError(f"one action a message: {', '.join(ACTIONS)}")
    return names[0]
