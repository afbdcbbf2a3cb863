"""What a server says of a node, as a reading: its value as JSON, and its time; or why it counts for nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from asyncua.ua.uatypes import DataValue, LocalizedText, QualifiedName, StatusCode

from tidelog.connectors.field.opcua.mailbox import Reading

_OVERFLOW: Final = 0x0480
"""What a status has where the server's queue was too short: the info type of data values, and their bit for it."""
_UNCERTAIN: Final = 0x4000_0000
_BAD: Final = 0x8000_0000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_PLAIN: Final = (bool, int, str)
Stamp = Literal["source", "server", "arrival"]


class NodeValues:
    """Makes readings of a node's values. `stamp` says which time counts; `queue` is how many values its server keeps."""

    def __init__(self, name: str, node: str, stamp: Stamp, queue: int, now: Callable[[], float]) -> None:
        self.name, self.node = name, node
        self._stamp, self._queue, self._now = stamp, queue, now
        self.last: dict[str, Any] | None = None
        """What the last good value is told as; None where the last one was none."""
        self.told_at = 0.0
        self._wrong = ""

    def take(self, found: DataValue, *, is_first: bool) -> list[Reading]:
        """The readings of what came; the first after connecting is of now, since the node holds it now.

        What is wrong with a node is told once, until something else is.
        """
        now, code = self._now(), found.StatusCode or StatusCode()
        status = code.value
        if status & (_BAD | _UNCERTAIN):
            kind = "bad" if status & _BAD else "uncertain"
            return self._refused(now, f"its status is {kind}: {code.name}")
        if found.Value is None or found.Value.Value is None:
            return self._refused(now, "it holds nothing")
        value = found.Value.Value
        if value.__class__ not in _PLAIN:
            try:
                value = _as_json(value)
                msgspec.json.encode(value)
            except (TypeError, ValueError, OverflowError) as error:
                return self._refused(now, str(error) or f"it holds {type(value).__name__}, which is no JSON")
        held: dict[str, Any] = {"value": value}
        source = found.SourceTimestamp
        if source is not None:
            held["time"] = source.replace(tzinfo=UTC).isoformat()
        self._wrong, self.last, self.told_at = "", held, now
        readings = [Reading(self.name, now if is_first else self._time(found, now), held)]
        if status & _OVERFLOW == _OVERFLOW:
            reason = f"node `{self.node}`: the server's queue of {self._queue} was full, and values before this one are lost"
            readings.append(Reading(self.name, now, None, f"{reason}: set a longer `queue`, or a shorter `every`"))
        return readings

    def again(self) -> list[Reading]:
        """The last good value, as of now."""
        if self.last is None:
            return []
        self.told_at = self._now()
        return [Reading(self.name, self.told_at, self.last)]

    def is_same(self, found: DataValue) -> bool:
        """Whether what was asked for is what is known already, of the same time."""
        if (
            self.last is None
            or found.SourceTimestamp is None
            or not (found.StatusCode is None or found.StatusCode.is_good())
        ):
            return False
        return bool(found.SourceTimestamp.replace(tzinfo=UTC).isoformat() == self.last.get("time"))

    def refuse(self, reason: str) -> list[Reading]:
        """The node cannot be read at all."""
        return self._refused(self._now(), reason)

    def _refused(self, now: float, reason: str) -> list[Reading]:
        self.last = None
        if reason == self._wrong:
            return []
        self._wrong = reason
        return [Reading(self.name, now, None, f"node `{self.node}`: {reason}")]

    def _time(self, found: DataValue, now: float) -> float:
        stamp = found.SourceTimestamp if self._stamp == "source" else found.ServerTimestamp
        if self._stamp == "arrival" or stamp is None:
            return now
        moment: datetime = stamp.replace(tzinfo=UTC)  # the library's times are UTC, and do not say so
        return (moment - _EPOCH).total_seconds()


def _as_json(value: Any) -> Any:
    """A value as JSON holds it; ValueError and TypeError for one that it does not hold."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"it holds {value}, which is no number")
        return value
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).isoformat()
    if isinstance(value, LocalizedText):
        return value.Text
    if isinstance(value, QualifiedName):
        return value.Name
    if isinstance(value, UUID):
        return str(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise TypeError(f"it holds {type(value).__name__}, which is no JSON")
