"""Arguments out of Arrow columns: as constants of rules, a whole column at once; what cannot be one is told with its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tidelog.plans.data.facts import TYPE_TESTS, as_text, format_constant
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import MAX_INTEGER, canonical, read_number, shorten
from tidelog.plans.tree.syntax import FieldType, Value
from tidelog.runtime.frames.arrow import pa, pc, plain, values_of
from tidelog.runtime.frames.layout import ValueKind

Problems = dict[int, str]
"""What is wrong, by the number of the row in its batch; of several reasons the first."""

_TESTED: tuple[tuple[FieldType, tuple[ValueKind, ...]], ...] = (
    ("integer", ("float", "decimal", "json")),
    ("boolean", ("text", "json")),
    ("number", ("json",)),
)
"""The declared types that a column's own type does not promise."""
_decode_json = msgspec.json.Decoder(str | int | float | bool).decode


class ValueReader:
    """Reads the column of one argument of a predicate."""

    def __init__(self, predicate: str, name: str, kind: ValueKind, declared: FieldType) -> None:
        self._predicate, self.name, self.kind, self.type = predicate, name, kind, declared
        self.is_tested = any(declared == type_ and kind in kinds for type_, kinds in _TESTED)

    def read(self, array: Any, problems: Problems) -> Sequence[Value]:
        """The constants of a column, with anything in the rows that have `problems`."""
        array = plain(array)
        values = self._values(array, problems)
        for i in nulls(array):
            problems.setdefault(i, f"`{self.name}` is null")
        if self.is_tested:
            self._test(values, problems)
        return values

    def _values(self, array: Any, problems: Problems) -> Sequence[Value]:
        if pa.types.is_null(array.type):
            return [""] * len(array)
        if self.kind == "text":
            return _texts(array, problems, self.name)
        if self.kind == "integer":
            return self._integers(array, problems)
        if self.kind == "float":
            return self._floats(array, problems)
        if self.kind == "boolean":
            return ["true" if value else "false" for value in array.to_pylist()]
        return self._each(values_of(array), _read_stored if self.kind == "json" else _read_decimal, problems)

    def _integers(self, array: Any, problems: Problems) -> Sequence[Value]:
        values: list[int] = array.to_pylist()
        if pa.types.is_uint64(array.type) or pa.types.is_int64(array.type):
            least, most = pc.min_max(array).as_py().values()
            if least is not None and max(-least, most) >= MAX_INTEGER:
                return self._each(values, canonical, problems)
        return values

    def _floats(self, array: Any, problems: Problems) -> Sequence[Value]:
        array = array.cast(pa.float64())
        for i in pc.indices_nonzero(pc.invert(pc.is_finite(array)).fill_null(False)).to_pylist():
            problems.setdefault(i, f"`{self.name}` is {array[i].as_py()}: a number must be finite")
        values: list[Any] = array.to_pylist()
        return [value if value is None or not value.is_integer() else canonical(value) for value in values]

    def _each(self, values: Sequence[Any], read: Callable[[Any], Value], problems: Problems) -> list[Value]:
        found: list[Value] = []
        for i, value in enumerate(values):
            try:
                found.append("" if value is None else read(value))
            except DataError as error:
                problems.setdefault(i, f"`{self.name}`: {error.reason}")
                found.append("")
        return found

    def _test(self, values: Sequence[Value], problems: Problems) -> None:
        is_of_type = TYPE_TESTS[self.type]
        for i, value in enumerate(values):
            if not is_of_type(value) and i not in problems:
                got = format_constant(value)
                problems[i] = f"`{self._predicate}` expects {self.type} for `{self.name}`, got {got}"


def nulls(array: Any) -> list[int]:
    """The numbers of the rows in which a column has nothing."""
    found: list[int] = pc.indices_nonzero(array.is_null()).to_pylist() if array.null_count else []
    return found


def _texts(array: Any, problems: Problems, name: str) -> list[str]:
    """The texts of a column: one that is there more than once is one object."""
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    words = values_of(array.dictionary)
    texts = ["" if number is None else words[number] for number in array.indices.to_pylist()]
    for i, text in enumerate(texts if bytes in map(type, words) else ()):
        try:
            as_text(text)
        except DataError as error:
            problems.setdefault(i, f"`{name}` is {error.reason}")
            texts[i] = ""
    return texts


def _read_decimal(value: Any) -> Value:
    return read_number(str(value))


def _read_stored(text: str | bytes) -> Value:
    """An argument of a field of type `any`; as it is where it is no JSON, for then it was stored as one of type `text`."""
    text = as_text(text)
    try:
        return read_json(text)
    except DataError:
        return text


def read_json(text: str | bytes) -> Value:
    """What a text of JSON says; DataError where that is no argument."""
    text = as_text(text)
    try:
        value = _decode_json(text)
    except msgspec.MsgspecError:
        raise DataError(f"`{shorten(text)}` is no argument in JSON") from None
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else canonical(value)
