"""Points to facts: each is a message whose topic is the measurement, and whose JSON has tags, fields, and `time`.

    room,site=north celsius=21.5,open=false 1764000000000000000
    room  {"site":"north","celsius":21.5,"open":false,"time":1764000000000000000}

`time` is in nanoseconds since 1970. A point without a time gets that at which it came.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from tidelog.connectors.databases.influx.grammar import NANOSECONDS, TIME, Point, PointReader, Precision, is_point
from tidelog.connectors.formats.cache import BoundedCache
from tidelog.connectors.formats.framing import LineReader
from tidelog.connectors.formats.lines import RAW_LIMIT, LineFramer
from tidelog.connectors.mapping.mapper import Mapper
from tidelog.connectors.mapping.messages import NO_PROPERTIES, Message
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.plans.diagnostics.errors import DataError
from tidelog.runtime.ports.interfaces import Batch, Part, Rejected

_encode = msgspec.json.Encoder().encode


class Points:
    """Makes facts of lines for one source. What `others` says becomes of points whose measurement no map takes."""

    def __init__(
        self,
        name: str,
        mapper: Mapper,
        maps: Sequence[MapSettings],
        *,
        others: Literal["refuse", "ignore"] = "refuse",
        now: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self._mapper, self._now = mapper, now
        self._readers: dict[Precision, PointReader] = {}
        patterns = [TopicPattern.parse(one.topic) for one in maps]
        self._takes: BoundedCache[str, bool] = BoundedCache(
            lambda measurement: others == "refuse" or any(one.match(measurement) is not None for one in patterns),
            lambda key, _: len(key),
        )
        self.on_messages: Callable[[Sequence[Message]], None] | None = None

    def decoder(self, precision: Precision = "ns", name: str = "") -> PointDecoder:
        """What makes facts of the lines of a stream."""
        reader = self._readers.setdefault(precision, PointReader(precision))
        return PointDecoder(self, reader, name or self.name)

    def batch(self, lines: Sequence[bytes], first: int, reader: PointReader, stream: str) -> Batch:
        """The facts of these lines, the first of which has this number; what is wrong is told with its line."""
        moment, messages, wrong = self._now(), list[Message](), list[Rejected]()
        read, takes = reader.read, self._takes
        for number, line in enumerate(lines, first):
            if not is_point(line):
                continue
            try:
                point = read(line)
                if takes[point.measurement]:
                    messages.append(_message(point, moment, f"{stream}:{number}"))
            except DataError as error:
                wrong.append(Rejected(f"{stream}:{number}", error.reason, line[:RAW_LIMIT]))
        if messages and self.on_messages is not None:
            self.on_messages(messages)
        found = self._mapper.batch(messages)
        if found.rejected:
            topics = {message.place: message.topic for message in messages}
            for one in found.rejected:
                line = lines[_number(one) - first][:RAW_LIMIT]
                wrong.append(Rejected(one.place, f"{topics[one.place]}: {one.reason}", line))
            wrong.sort(key=_number)
        found.rejected = wrong
        return found


def _number(letter: Rejected) -> int:
    """Of the line that it is about."""
    return int(letter.place.rpartition(":")[2])


def _message(point: Point, moment: float, place: str) -> Message:
    at = int(moment * NANOSECONDS["s"]) if point.time is None else point.time
    payload = _encode({**point.tags, **point.fields, TIME: at})
    return Message(point.measurement, payload, moment, False, NO_PROPERTIES, place)


class PointDecoder:
    """The lines of one stream: a decoder like those of other formats, for files, pipes, and bodies of requests."""

    header: bytes | None = None
    framer = LineFramer

    def __init__(self, points: Points, reader: PointReader, name: str) -> None:
        self.name = name
        self._points, self._reader = points, reader

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        """The facts of these lines."""
        return self._points.batch(lines, first_line, self._reader, self.name)

    def for_stream(self, name: str) -> PointDecoder:
        """The same for another stream."""
        return PointDecoder(self._points, self._reader, name)


def read_datagram(points: Points, data: bytes, precision: Precision) -> Batch:
    """The facts of the lines in a datagram."""
    reader = LineReader(points.decoder(precision))
    batch = reader.feed(data)
    return joined([batch, reader.finish()])


def joined(batches: Sequence[Batch]) -> Batch:
    """Batches as one, in their order."""
    whole, places = Batch(), list[str]()
    parts: list[Part] = []
    for batch in batches:
        whole.records += batch.records
        whole.rejected += batch.rejected
        places += batch.places or ()
        parts += batch.parts or ()
    whole.places = places
    whole.parts = parts if len(parts) == len(whole.records) and parts else None
    return whole
