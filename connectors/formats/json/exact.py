"""JSON lines read with every check and every reason: the decoder beside this module falls back to it for all but plain
lines."""

from __future__ import annotations

from typing import Any

from tidelog.connectors.formats.decoding import Admission
from tidelog.connectors.formats.json.documents import Document, Number, constant, kind, load
from tidelog.connectors.formats.json.flat import FlatForm
from tidelog.plans.data.actions import Action, action_record
from tidelog.plans.data.facts import PredicateSchema, Record, Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.declared.alarms import ACTIONS, ActionName
from tidelog.plans.tree.numerals import shorten

KEYS = ("predicate", "args", "time", "interval", "retract")
"""The keys of a fact in its plain form."""
_ACTION_KEYS = ("alarm", "args", "who", "comment", "via", "for")


class ExactJson:
    """Reads one JSON object as a fact; `read` raises DataError with the reason where it is none. Objects may be `flat`."""

    def __init__(
        self, schema: Schema, admission: Admission, reader: TimeReader, timeless: bool, flat: FlatForm | None = None
    ) -> None:
        self._flat = flat
        self._schema = schema
        self._admission = admission
        self._reader = reader
        self._timeless = timeless

    def read(self, line: bytes) -> tuple[Record, bool]:
        """The fact, and whether it is taken back (`"retract":true`)."""
        document = load(line)
        if not isinstance(document, dict):
            raise DataError(f"expected an object, got {kind(document)}")
        if self._flat is not None and self._flat.takes(document):
            return self._flat.read(document), False
        if _is_id(document.get("id")):
            del document["id"]
        is_retracted = isinstance(document.get("retract"), bool) and bool(document.pop("retract"))
        if (name := self._action(document)) is not None:
            return self._read_action(name, document), is_retracted
        if "predicate" in document:
            predicate, values = _plain_atom(document)
        else:
            predicate, values = self._keyed_atom(document)
        row = self._admission.row(predicate, values)
        return (predicate, row, *self._range(document)), is_retracted

    def _action(self, document: Document) -> ActionName | None:
        """What somebody does with an alarm, where the line says so: `{"acknowledge": {"alarm": …}, "time": 17}`."""
        if not self._schema.alarms:
            return None
        return next((name for name in ACTIONS if name in document and name not in self._schema.predicates), None)

    def _read_action(self, name: ActionName, document: Document) -> Record:
        if self._admission.only is not None:
            raise DataError(f"expected facts of `{self._admission.only}`, got `{name}`")
        for key in document:
            if key not in (name, "time"):
                raise DataError(f"unknown key `{shorten(key)}` beside `{name}`{suggest(key, [name, 'time'])}")
        time = document.get("time")
        if not isinstance(time, str):
            raise DataError("`time` is missing" if time is None else f"`time` must be a number or text, got {kind(time)}")
        return action_record(self._schema, self._reader, read_action(name, document[name]), time)

    def _range(self, document: Document) -> tuple[int, int]:
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
        if not isinstance(value, str) or isinstance(value, Number):
            raise DataError(f"`interval` must be text such as `[1,2)`, got {kind(value)}")
        return self._reader.read_interval(value)

    def _keyed_atom(self, document: Document) -> tuple[str, tuple[object, ...]]:
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

    def _unknown(self, name: str, document: Document) -> DataError:
        if name == "retract":
            return DataError(f"`retract` must be true or false, got {kind(document[name])}")
        if name == "args":
            return DataError("`args` stands beside `predicate`, which is missing")
        declared = [known for known, schema in self._schema.predicates.items() if schema.fields]
        near = suggest(name, declared if isinstance(document[name], dict) else [*KEYS, *declared])  # no key holds an object
        return DataError(f"`{shorten(name)}` is neither a key of a fact nor an input with named fields{near}")


def read_action(name: ActionName, told: object) -> Action:
    """What somebody does with an alarm, as JSON has it; DataError for what is none."""
    if not isinstance(told, dict):
        raise DataError(f'`{name}` must hold an object such as {{"alarm":…,"args":[…],"who":…}}, got {kind(told)}')
    for key in told:
        if key not in _ACTION_KEYS:
            raise DataError(f"`{name}` has no `{shorten(key)}`{suggest(key, _ACTION_KEYS)}")
    texts = {key: _text(name, key, told[key]) for key in ("alarm", "who", "comment", "via") if key in told}
    if "alarm" not in texts:
        raise DataError(f"`{name}` lacks `alarm`, the predicate of one")
    args: Any = told.get("args", [])
    if not isinstance(args, list | dict):
        raise DataError(f"`args` must be an array or an object, got {kind(args)}")
    given: Any = (
        {key: constant(value, f"`{key}`") for key, value in args.items()}
        if isinstance(args, dict)
        else [constant(value, f"argument {number}") for number, value in enumerate(args, 1)]
    )
    lasting = told.get("for")
    if lasting is not None and not isinstance(lasting, str):
        raise DataError(f"`for` must be text such as `2 h`, or a number, got {kind(lasting)}")
    return Action(name, texts["alarm"], given, texts.get("who", ""), texts.get("comment", ""), texts.get("via", ""), lasting)


def _text(name: str, key: str, value: object) -> str:
    if not isinstance(value, str) or isinstance(value, Number):
        raise DataError(f"`{key}` of `{name}` must be text, got {kind(value)}")
    return value


def _is_id(value: object) -> bool:
    """Whether this is the id of an answer, `["RUN",17]`, which tells a receiver what it has already."""
    return isinstance(value, list) and [type(item) for item in value] == [str, Number] and str(value[1]).isdigit()


def _plain_atom(document: Document) -> tuple[str, tuple[object, ...]]:
    """`{"predicate": "temp", "args": ["s1", 21.5], "time": 17}`; `args` may be left out where there are none."""
    if "retract" in document:
        raise DataError(f"`retract` must be true or false, got {kind(document['retract'])}")
    for key in document:
        if key not in KEYS:
            raise DataError(f"unknown key `{shorten(key)}`{suggest(key, KEYS)}")
    predicate, arguments = document["predicate"], document.get("args", [])
    if not isinstance(predicate, str) or isinstance(predicate, Number):
        raise DataError(f"`predicate` must be text, got {kind(predicate)}")
    if not predicate:
        raise DataError("`predicate` is empty")
    if not isinstance(arguments, list):
        raise DataError(f"`args` must be an array, got {kind(arguments)}")
    return predicate, tuple(constant(value, f"argument {i}") for i, value in enumerate(arguments, 1))


def _field_values(schema: PredicateSchema, members: object) -> tuple[object, ...]:
    if not isinstance(members, dict):
        raise DataError(f"`{schema.name}` must hold an object with its fields, got {kind(members)}")
    for key in members:
        if key not in schema.fields:
            raise DataError(f"`{schema.name}` has no field `{shorten(key)}`{suggest(key, schema.fields)}")
    for name in schema.fields:
        if name not in members:
            raise DataError(f"`{schema.name}` lacks its field `{name}`")
    return tuple(constant(members[name], f"`{name}`") for name in schema.fields)
