"""Flat objects of JSON as facts of one predicate, `{"sensor": "s1", "value": 21.5, "time": 17}`: rows with named cells."""

from __future__ import annotations

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.connectors.formats.decoding import Admission
from tidelog.connectors.formats.json.documents import Document, constant, kind
from tidelog.plans.data.dialect import OURS, Dialect
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.header import Columns, read_columns
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError

_WHAT = "the object"


class FlatForm:
    """Reads flat objects, whose members are the columns that CSV has.

    Where a dialect says what members are called, all objects are flat. Else those are that have no other form of a fact.
    """

    def __init__(self, schema: Schema, predicate: str, admission: Admission, reader: TimeReader, dialect: Dialect) -> None:
        self._schema, self._predicate, self._admission, self._reader = schema, predicate, admission, reader
        self._dialect = dialect
        known = schema.predicates.get(predicate)
        self._fields = known.fields if known else ()
        self._is_ordered = bool(self._fields or dialect.columns or (known and not known.arity))
        self._columns: BoundedCache[tuple[str, ...], Columns] = BoundedCache(self._read_columns, _length)

    def takes(self, document: Document) -> bool:
        """Whether this object is flat."""
        if self._dialect != OURS:
            return True
        others = {"predicate", "args", "interval", self._predicate}.difference(self._fields)
        return others.isdisjoint(document) and not any(isinstance(value, dict) for value in document.values())

    def read(self, document: Document) -> Record:
        """The fact of a flat object; DataError where it is none."""
        names = tuple(document)
        columns = self._columns[names]
        row = tuple(constant(document[names[place]], f"`{names[place]}`") for place, _ in columns.arguments)
        places = columns.bounds or (columns.time or 0,)
        times = [_time(document[names[place]], names[place]) for place in places]
        if len(times) == 2:
            lo, hi = self._reader.read_ends(*times)
        else:
            lo = hi = self._reader.read_point(times[0])
        return self._predicate, self._admission.row(self._predicate, row), lo, hi

    def _read_columns(self, names: tuple[str, ...]) -> Columns:
        columns = read_columns(self._schema, self._predicate, names, what=_WHAT, dialect=self._dialect)
        if not self._is_ordered:
            hint = "declare them, or say `columns=FIELD:MEMBER,…`"
            raise DataError(f"`{self._predicate}` has no named fields, and members of an object are in no order: {hint}")
        return columns


def _time(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"`{name}` must be a number or text, got {kind(value)}")
    return str(value)


def _length(names: tuple[str, ...], _: object) -> int:
    return sum(map(len, names))
