"""Facts as tests write them: as text, `alarm(hall)@3`, or with the names of arguments, as JSON lines and tables of TOML have
them, `{"alarm":{"room":"hall"},"time":3}`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.runtime.ports.interfaces import Batch

_TIMES = ("time", "interval", "begins", "ends")


def is_object(line: str) -> bool:
    """Whether a line is an object, with names, and no text."""
    return line.lstrip().startswith("{")


class FactReader:
    """Reads facts line by line; with `opens_all`, of every predicate, as is expected of what rules derive."""

    def __init__(self, schema: Schema, path: str, *, opens_all: bool = False) -> None:
        known = dict(schema.predicates)
        named = replace(schema, predicates={name: replace(item, accepts_input=True) for name, item in known.items()})
        untyped = Schema(schema.timeline, {name: PredicateSchema(name, item.arity) for name, item in known.items()})
        self._schema = schema
        self._objects = JsonDecoder(named if opens_all else schema, path, None)
        self._texts = TextDecoder(untyped if opens_all else schema, path)
        self._timeless = TextDecoder(untyped if opens_all else schema, path, timeless=True)

    def read(self, line: str, number: int, at: int | None = None) -> Batch:
        """The fact of a line. One without a time is one `at` this time, where that is given."""
        if is_object(line):
            return self._objects.decode([self._with_time(line, at).encode()], number)
        has_time = "@" in line.partition("%")[0].rpartition(")")[2]
        decoder = self._texts if has_time or at is None else self._timeless
        return decoder.decode([line.encode()], number)

    def _with_time(self, line: str, at: int | None) -> str:
        """An object with a time; of a change that begins and may end, with the interval between."""
        try:
            read: Any = json.loads(line)
        except ValueError:
            return line  # the decoder says what is wrong with it
        if not isinstance(read, dict):
            return line
        if "begins" in read:
            begin, end = str(read.pop("begins")), str(read.pop("ends", "inf)"))
            read["interval"] = f"{'' if begin[0] == '(' else '['}{begin},{end}{'' if end[-1] == ')' else ']'}"
        elif at is not None and not read.keys() & {"time", "interval"}:
            read["time"] = self._schema.timeline.format_point(at)
        else:
            return line
        return json.dumps(read)


def is_open(line: str) -> bool:
    """Whether an object is a change that has no end yet."""
    try:
        read = json.loads(line)
    except ValueError:
        return False
    return isinstance(read, dict) and "begins" in read and "ends" not in read
