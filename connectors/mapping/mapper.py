"""Messages to facts, as a gateway's file says: each map that takes a message's topic makes facts of it.

What a map cannot read is rejected with its reason and costs nothing else: of ten readings in a payload nine still count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.connectors.formats.decoding import Decoder
from tidelog.connectors.formats.lines import RAW_LIMIT
from tidelog.connectors.mapping.fields import (
    ROOT,
    Get,
    Levels,
    converter,
    field_of,
    getter,
    member_of,
    path_finder,
    path_getter,
    read_members,
)
from tidelog.connectors.mapping.messages import Message
from tidelog.connectors.mapping.moments import arrival, written
from tidelog.connectors.mapping.paths import is_true
from tidelog.connectors.mapping.settings import FieldSettings, MapSettings
from tidelog.connectors.mapping.topics import TopicPattern
from tidelog.connectors.mapping.value_code import FieldSource, value_taker
from tidelog.plans.data.facts import PredicateSchema, Record, Row, Schema
from tidelog.plans.data.row_code import row_maker
from tidelog.plans.diagnostics.errors import DataError, SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.runtime.ports.interfaces import Batch, Part, Rejected

PayloadFormat = Literal["json", "text"]
MAX_ELEMENTS = 10_000
"""How many facts one message may become by one map."""


class Mapper(Protocol):
    """What makes facts of messages."""

    def batch(self, messages: Sequence[Message]) -> Batch:
        """The facts of these messages, in order, and what could not be read."""
        ...


class _Found(NamedTuple):
    """What becomes a batch, while it grows."""

    records: list[Record]
    places: list[str]
    parts: list[Part] | None
    rejected: list[Rejected]


_WRONG = (DataError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What is wrong with a message: what is said of it is found out where there is time for that."""
_Taking = tuple[str, "list[tuple[_Map, Levels]]"]
"""What a topic's messages are called in dead letters, and the maps that take them."""


class MapMapper:
    """Takes a message apart as maps say. With `by`, the field of that name says which device a fact comes from.

    SpecError for maps that do not fit the program.
    """

    def __init__(
        self, name: str, schema: Schema, maps: Sequence[MapSettings], *, format: PayloadFormat = "json", by: str = ""
    ) -> None:
        self._name = name
        self._maps = [_Map(schema, settings, by) for settings in maps]
        self._decode: Callable[[bytes], Any] = _text if format == "text" else msgspec.json.Decoder().decode
        self._is_divided = bool(by)
        self._by_topic: BoundedCache[str, _Taking] = BoundedCache(self._taking, lambda key, _: len(key))

    def batch(self, messages: Sequence[Message]) -> Batch:
        found = _Found([], [], [] if self._is_divided else None, [])
        plain = self._plain(messages)
        if plain is not None:
            place, one, levels = plain
            one.take_all(found, messages, self._decode, levels, place, self._add)
        else:
            for message in messages:
                self._add(found, message)
        return Batch(found.records, found.rejected, places=found.places, parts=found.parts)

    def _plain(self, messages: Sequence[Message]) -> tuple[str, _Map, Levels] | None:
        """The map that takes all of these, where they have one topic, and each becomes one fact: these are taken at once."""
        if len({message.topic for message in messages}) != 1:
            return None
        place, maps = self._by_topic[messages[0].topic]
        return (place, *maps[0]) if len(maps) == 1 and maps[0][0].is_plain else None

    def _add(self, found: _Found, message: Message) -> None:
        """Append what a message becomes."""
        place, maps = self._by_topic[message.topic]
        if not maps:
            _reject(found, message, place, "no map takes messages of this topic")
            return
        try:
            payload = self._decode(message.payload)
        except RecursionError:
            _reject(found, message, place, "the payload is nested too deeply")
            return
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            told = str(error).partition(" - at `$")[0]
            _reject(found, message, place, f'the payload is no JSON: {told}; for plain text say `format = "text"`')
            return
        for one, levels in maps:
            _take(found, message, place, one, payload, levels)

    def _taking(self, topic: str) -> _Taking:
        found = [(one, one.topic.match(topic)) for one in self._maps]
        return f"{self._name}:{topic}", [(one, levels) for one, levels in found if levels is not None]


def _take(found: _Found, message: Message, place: str, one: _Map, payload: Any, levels: Levels) -> None:
    """Append what one map makes of a message."""
    try:
        elements = one.elements(payload)
    except DataError as error:
        _reject(found, message, place, error.reason)
        return
    for element in elements:
        try:
            record = one.record(element, payload, levels, message)
        except DataError as error:
            _reject(found, message, place, error.reason)
            continue
        if record is not None:
            found.records.append(record)
            found.places.append(message.place or place)
            if found.parts is not None:
                found.parts.append(one.part(record[1]))


def _reject(found: _Found, message: Message, place: str, reason: str) -> None:
    found.rejected.append(Rejected(message.place or place, reason, message.payload[:RAW_LIMIT]))


class _Map:
    """One map, made ready for the program's schema."""

    def __init__(self, schema: Schema, settings: MapSettings, by: str) -> None:
        self.topic = TopicPattern.parse(settings.topic)
        known = _predicate(schema, settings.predicate)
        self._settings = settings
        self._predicate = settings.predicate
        fields = _fields(known, settings, self.topic.names)
        self._read = _members_read(settings, fields)
        types = dict(zip(known.fields, known.types, strict=False))
        self._take = value_taker([self._source_of(name, fields[name], types.get(name, "any")) for name in fields])
        self._by = list(fields).index(by) if by in fields else None
        self._make, self._check = row_maker(known), schema.check
        self._each = path_finder(settings.each) if settings.each else None
        self._when = path_getter(settings.when) if settings.when else None
        self._is_strict = settings.extra == "refuse"
        self._time = _time(schema, settings)
        self._arrival = arrival(schema.timeline) if isinstance(settings.time, str) else None
        self.is_plain = self._each is None and self._when is None and not self._is_strict
        """Whether each message becomes one fact, of whatever else it holds."""

    def take_all(
        self,
        found: _Found,
        messages: Sequence[Message],
        decode: Callable[[bytes], Any],
        levels: Levels,
        place: str,
        add: Callable[[_Found, Message], None],
    ) -> None:
        """Append the facts of messages of one topic. One with which something is wrong is handed to `add`."""
        records, take, make, predicate = found.records, self._take, self._make, self._predicate
        of_arrival, time, check = self._arrival, self._time, self._check
        at, point, begin = math.nan, 0, 0
        for i, message in enumerate(messages):
            try:
                payload = decode(message.payload)
                given = take(payload, payload, levels, message)
                row = make(given)
                if row is None:
                    row = check(predicate, given)
                if of_arrival is None:
                    point = time(payload, payload, levels, message)
                elif message.at != at:  # many come at one moment
                    at = message.at
                    point = of_arrival(at)
            except _WRONG:
                self._fill(found, messages[begin:i], place)
                add(found, message)
                begin = i + 1
            else:
                records.append((predicate, row, point, point))
        self._fill(found, messages[begin:], place)

    def _fill(self, found: _Found, messages: Sequence[Message], place: str) -> None:
        """Say of the last facts, one for each of these messages, where they come from, and of which device."""
        has_places = bool(messages) and bool(messages[0].place)
        found.places.extend([one.place for one in messages] if has_places else [place] * len(messages))
        if found.parts is not None:
            found.parts.extend([self.part(record[1]) for record in found.records[len(found.parts) :]])

    def _source_of(self, name: str, field: FieldSettings, kind: Any) -> FieldSource:
        get, convert = getter(field, name, self.topic.names, self._read), converter(field, name, kind)
        return FieldSource(name, get, convert, field.default, member_of(field), field.topic)

    def elements(self, payload: Any) -> Sequence[Any]:
        """The parts of a payload of which each becomes a fact (`each`); DataError where `each` names no array, or one that
        is too long."""
        if self._each is None:
            return (payload,)
        found = self._each(payload)
        if not isinstance(found, list):
            raise DataError(f"`each`: `{self._settings.each}` is no array")
        if len(found) > MAX_ELEMENTS:
            raise DataError(f"`each`: {len(found)} elements, more than {MAX_ELEMENTS}")
        return found

    def record(self, element: Any, payload: Any, levels: Levels, message: Message) -> Record | None:
        """The fact of an element; None where the condition `when` is not met. DataError says what is wrong."""
        if self._when is not None and not is_true(self._when(element, payload, levels, message)):
            return None
        given = self._take(element, payload, levels, message)
        if self._is_strict and element.__class__ is dict:
            self._refuse_extra(element)
        row = self._make(given)
        if row is None:  # the schema's own check says what is wrong, or makes it canonical
            row = self._check(self._predicate, given)
        time = self._time(element, payload, levels, message)
        return self._predicate, row, time, time

    def part(self, row: Row) -> Part:
        """Which device the fact comes from."""
        return None if self._by is None else row[self._by]

    def _refuse_extra(self, element: dict[str, Any]) -> None:
        for key in element:
            if key not in self._read:
                raise DataError(f"there is a member `{key}`, which no field reads{suggest(key, self._read)}")


def _predicate(schema: Schema, name: str) -> PredicateSchema:
    """What the program says of the predicate; SpecError where data may not hold it."""
    try:
        known = schema.admit(name)
    except DataError as error:
        raise SpecError(error.reason) from None
    if known is None:
        inputs = [item.name for item in schema.predicates.values() if item.accepts_input]
        raise SpecError(f"the program reads no predicate `{name}`{suggest(name, inputs)}")
    return known


def _fields(known: PredicateSchema, settings: MapSettings, levels: Mapping[str, int]) -> dict[str, FieldSettings]:
    """A setting for each argument, in order: of a field that is not told, the level or the member of its name."""
    if not known.fields:
        if len(settings.fields) != known.arity:
            told = f"`{known.name}` takes {known.arity} arguments, got {len(settings.fields)} fields"
            raise SpecError(f"{told}; declare the input to name them, such as `input {known.name}(sensor, value).`")
        return {name: field_of(given) for name, given in settings.fields.items()}
    for name in settings.fields:
        if name not in known.fields:
            raise SpecError(f"`{known.name}` has no field `{name}`{suggest(name, known.fields)}")
    by_name = {
        name: FieldSettings(topic=name) if name in levels else FieldSettings(path=f'"{name}"') for name in known.fields
    }
    return {name: field_of(settings.fields.get(name, by_name[name])) for name in known.fields}


def unread_levels(schema: Schema, settings: MapSettings) -> list[str]:
    """The named levels of a map's topic that no field reads; SpecError as for `MapMapper`."""
    names = TopicPattern.parse(settings.topic).names
    fields = _fields(_predicate(schema, settings.predicate), settings, names)
    read = {field.topic for field in fields.values()}
    return [name for name in names if name not in read]


def _members_read(settings: MapSettings, fields: Mapping[str, FieldSettings]) -> frozenset[str]:
    paths = [field.path for field in fields.values()] + [settings.when]
    paths += [settings.time.path] if not isinstance(settings.time, str) else []
    return frozenset(name for path in paths if path for name in read_members(path))


def _time(schema: Schema, settings: MapSettings) -> Get:
    """What gives the encoded time of a fact."""
    given = settings.time
    if isinstance(given, str):
        of_arrival = arrival(schema.timeline)
        return lambda element, payload, levels, message: of_arrival(message.at)
    if (given.path is None) == (given.property is None):
        raise SpecError("the time comes from one of `path` and `property`, or is `arrival`")
    get = getter(FieldSettings(path=given.path, property=given.property), "time", {}, frozenset())
    read = written(schema.timeline, given.format)

    def find(element: Any, payload: Any, levels: Levels, message: Message) -> int:
        try:
            return read(get(element, payload, levels, message))
        except DataError as error:
            raise DataError(f"time: {error.reason}") from None

    return find


class LineMapper:
    """Takes each payload as lines of facts, in one of the formats of `run`."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def batch(self, messages: Sequence[Message]) -> Batch:
        found, places = Batch(), list[str]()
        for message in messages:
            decoded = self._decoder.for_stream(f"{self._decoder.name}:{message.topic}").decode(
                message.payload.splitlines(), 1
            )
            found.records += decoded.records
            found.rejected += decoded.rejected
            places += decoded.places or ()
        found.places = places
        return found


def _text(payload: bytes) -> str:
    return payload.decode()


__all__ = ["ROOT", "LineMapper", "MapMapper", "Mapper", "PayloadFormat"]
