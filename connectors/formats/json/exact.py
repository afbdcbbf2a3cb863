"""JSON lines read with every check and every reason: the decoder beside this module falls back to it for all but plain
lines."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from tidelog.connectors.formats.decoding import Admission
from tidelog.connectors.formats.values import read_argument
from tidelog.plans.data.facts import PredicateSchema, Record, Schema, as_text
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.numerals import shorten

KEYS = ("predicate", "args", "time", "interval", "retract")
"""The keys of a fact in its plain form."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_KINDS = {dict: "an object", list: "an array", bool: "a boolean", str: "text", type(None): "null"}


class _Number(str):
    """A JSON number as it was written, so that 0.1 is exactly one tenth."""

    __slots__ = ()


class ExactJson:
    """Reads one JSON object as a fact; `read` raises DataError with the reason where it is none."""

    def __init__(self, schema: Schema, admission: Admission, reader: TimeReader, timeless: bool) -> None:
        self._schema = schema
        self._admission = admission
        self._reader = reader
        self._timeless = timeless

    def read(self, line: bytes) -> tuple[Record, bool]:
        """The fact, and whether it is taken back (`"retract":true`)."""
        document = load(line)
        if not isinstance(document, dict):
            raise DataError(f"expected an object, got {kind(document)}")
        if _is_id(document.get("id")):
            del document["id"]
        is_retracted = isinstance(document.get("retract"), bool) and bool(document.pop("retract"))
        if "predicate" in document:
            predicate, values = _plain_atom(document)
        else:
            predicate, values = self._keyed_atom(document)
        row = self._admission.row(predicate, values)
        return (predicate, row, *self._range(document)), is_retracted

    def _range(self, document: dict[str, object]) -> tuple[int, int]:
        given = [key for key in ("time", "interval") if key in document]
        if self._timeless:
            if given:
                raise DataError(f"a fact that holds at all times takes no `{given[0]}`")
            return NEG, POS
        if len(given) == 2:
            raise DataError("`time` and `interval` exclude each other")
        if not given:
            raise DataError("`time` or `interval` is missing")
        value = document[given[0]]
        if given[0] == "time":
            if not isinstance(value, str):
                raise DataError(f"`time` must be a number or text, got {kind(value)}")
            point = self._reader.read_point(value)
            return point, point
        if not isinstance(value, str) or isinstance(value, _Number):
            raise DataError(f"`interval` must be text such as `[1,2)`, got {kind(value)}")
        return self._reader.read_interval(value)

    def _keyed_atom(self, document: dict[str, object]) -> tuple[str, tuple[object, ...]]:
        """`{"temp": {"sensor": "s1", "value": 21.5}, "time": 17}`."""
        names = [key for key in document if key not in ("time", "interval")]
        if not names or (names[0] == "args" and "args" not in self._schema.predicates):
            raise DataError("`predicate` is missing")
        name = names[0]
        if len(names) > 1:
            unknown = next((key for key in names if key not in self._schema.predicates), None)
            if unknown is not None:
                raise self._unknown(unknown, document)
            raise DataError(f"one fact a line: got `{shorten(name)}` and `{shorten(names[1])}`")
        schema = self._schema.predicates.get(name)
        if schema is None or (schema.arity and not schema.fields):
            raise self._unknown(name, document)
        return name, _field_values(schema, document[name])

    def _unknown(self, name: str, document: dict[str, object]) -> DataError:
        if name == "retract":
            return DataError(f"`retract` must be true or false, got {kind(document[name])}")
        if name == "args":
            return DataError("`args` stands beside `predicate`, which is missing")
        declared = [known for known, schema in self._schema.predicates.items() if schema.fields]
        near = suggest(name, declared if isinstance(document[name], dict) else [*KEYS, *declared])  # no key holds an object
        return DataError(f"`{shorten(name)}` is neither a key of a fact nor an input with named fields{near}")


def _is_id(value: object) -> bool:
    """Whether this is the id of an answer, `["RUN",17]`, which tells a receiver what it has already."""
    return isinstance(value, list) and [type(item) for item in value] == [str, _Number] and str(value[1]).isdigit()


def _plain_atom(document: dict[str, object]) -> tuple[str, tuple[object, ...]]:
    """`{"predicate": "temp", "args": ["s1", 21.5], "time": 17}`; `args` may be left out where there are none."""
    if "retract" in document:
        raise DataError(f"`retract` must be true or false, got {kind(document['retract'])}")
    for key in document:
        if key not in KEYS:
            raise DataError(f"unknown key `{shorten(key)}`{suggest(key, KEYS)}")
    predicate, arguments = document["predicate"], document.get("args", [])
    if not isinstance(predicate, str) or isinstance(predicate, _Number):
        raise DataError(f"`predicate` must be text, got {kind(predicate)}")
    if not predicate:
        raise DataError("`predicate` is empty")
    if not isinstance(arguments, list):
        raise DataError(f"`args` must be an array, got {kind(arguments)}")
    return predicate, tuple(_constant(value, f"argument {i}") for i, value in enumerate(arguments, 1))


def _field_values(schema: PredicateSchema, members: object) -> tuple[object, ...]:
    if not isinstance(members, dict):
        raise DataError(f"`{schema.name}` must hold an object with its fields, got {kind(members)}")
    for key in members:
        if key not in schema.fields:
            raise DataError(f"`{schema.name}` has no field `{shorten(key)}`{suggest(key, schema.fields)}")
    for name in schema.fields:
        if name not in members:
            raise DataError(f"`{schema.name}` lacks its field `{name}`")
    return tuple(_constant(members[name], f"`{name}`") for name in schema.fields)


def _constant(value: object, what: str) -> object:
    if isinstance(value, _Number):
        return read_argument(str(value))
    if isinstance(value, bool | str):
        return value
    raise DataError(f"{what} must be text, a number or a boolean, got {kind(value)}")


def kind(value: object) -> str:
    """What a JSON value is, for a message."""
    return "a number" if isinstance(value, _Number) else _KINDS.get(type(value), type(value).__name__)


def load(line: bytes) -> object:
    """A JSON document, its numbers as written; DataError for anything that is not strict JSON, or too deep."""
    text = as_text(line)
    try:
        document: object = json.loads(
            text, object_pairs_hook=_unique, parse_int=_Number, parse_float=_Number, parse_constant=_refuse
        )
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise DataError(f"not valid JSON at column {error.colno}: {reason}") from None
    except UnicodeEncodeError:
        raise DataError("text holds half a surrogate pair") from None
    except RecursionError:
        raise DataError("not a fact: nested too deeply") from None
    return document


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DataError(f"key `{shorten(twice).encode('utf-8', 'replace').decode()}` stands twice")
    return members


def _refuse(text: str) -> NoReturn:
    raise DataError(f"`{text}` is not a JSON number")
