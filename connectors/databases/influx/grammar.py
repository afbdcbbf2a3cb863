"""One line of InfluxDB's line protocol, by its grammar: `measurement,tag=value field=1.5,other=3i 1556813561098000000`.

A backslash stands before a comma, a space, or, in names and tags, an equals sign that is meant as such; within the quotes of
a text before a quote and a backslash. Anywhere else it is a backslash. Spaces divide measurement and tags, fields, and time.
"""

from __future__ import annotations

import math
import re
from typing import Final, Literal, NamedTuple

from tidelog.connectors.formats.cache import BoundedCache
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.tree.numerals import shorten

Precision = Literal["ns", "us", "ms", "s", "m", "h"]
"""In which units a time counts since 1970."""
NANOSECONDS: Final[dict[Precision, int]] = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
TIME = "time"
"""What the time of a point is called, so that no tag and no field is."""
MOST_TIME = 2**63 - 1
"""The last nanosecond that a point can have; there are as many before 1970, and one more."""

FieldValue = str | int | float | bool

# No repetition gives back what it has taken: a backslash that belongs to what stands behind it is never read as one alone.
_NAME = r"(?>\\[,= ]|[^,= ])++"
_TAG = rf",({_NAME})=({_NAME})"
_VALUE = r'(?>"(?>\\.|[^"\\])*+"|[^,= "]++)'
_FIELD = rf"({_NAME})=({_VALUE})"
_LINE = re.compile(
    r"(?P<measurement>(?>\\[, ]|[^, ])++)"
    rf"(?P<tags>(?:{_TAG})*+) ++(?P<fields>{_FIELD}(?:,{_FIELD})*+)(?: ++(?P<time>-?\d++))? *+",
    re.ASCII | re.DOTALL,
)
_HEAD = re.compile(r"(?>\\[, ]|[^, ])++")
_TAGS = re.compile(_TAG)
_FIELDS = re.compile(rf"{_FIELD},?", re.DOTALL)
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"(-?\d+)([iu])", re.ASCII)
_TRUTH: Final = {text: truth for truth in (True, False) for text in (str(truth), str(truth).lower(), str(truth).upper())}
_TRUTH.update({"t": True, "T": True, "f": False, "F": False})
_ESCAPED = re.compile(r"\\([,= ])")
_QUOTED = re.compile(r'\\(["\\])')
_BOUNDS: Final = {"i": (-(2**63), 2**63 - 1), "u": (0, 2**64 - 1)}
_ONE_FIELD = re.compile(_FIELD, re.ASCII | re.DOTALL)
_FIELD_NAME = re.compile(rf"({_NAME})=")


_BEFORE: Final = frozenset(bytes([one]) for one in b"# \t\n\r\v\f") | {b""}
"""With what a line begins that may be no point."""


class Point(NamedTuple):
    """A line: its measurement, its tags, its fields, and its time in nanoseconds since 1970, None where it has none."""

    measurement: str
    tags: dict[str, str]
    fields: dict[str, FieldValue]
    time: int | None


class PointReader:
    """Reads lines; what comes before the fields is kept, as it repeats. `precision` is what times count in.

    >>> PointReader().read(b'cpu,host=a\\\\ b load=0.5,up=t,note="say \\\\"hi\\\\"",n=3i 1000')
    Point(measurement='cpu', tags={'host': 'a b'}, fields={'load': 0.5, 'up': True, 'note': 'say "hi"', 'n': 3}, time=1000)
    """

    def __init__(self, precision: Precision = "ns") -> None:
        self._scale = NANOSECONDS[precision]
        self._heads: BoundedCache[str, tuple[str, dict[str, str]]] = BoundedCache(_head, lambda key, _: len(key))

    def read(self, line: bytes) -> Point:
        """The point of a line that is neither empty nor a comment; DataError where it is none."""
        try:
            text = line.decode().lstrip(" \t")
        except UnicodeDecodeError:
            raise DataError("the line is not UTF-8") from None
        found = _LINE.fullmatch(text)
        if found is None:
            raise DataError(_wrong(text))
        measurement, tags = self._heads[text[: found.end("tags")]]
        told, time = found["fields"], found["time"]
        fields: dict[str, FieldValue] = {}
        for one in _FIELDS.finditer(told):
            name = _plain(one[1])
            if name in fields:
                raise DataError(f"duplicate field `{shorten(name)}`")
            if name in tags:
                raise DataError(f"`{shorten(name)}` is a tag and a field: name one of them otherwise")
            fields[name] = _value(one[2], name)
        if TIME in fields:
            raise DataError("a field is called `time`, which is the name of a point's time")
        return Point(measurement, tags, fields, None if time is None else self._moment(time))

    def _moment(self, text: str) -> int:
        if len(text) <= 20:
            time = int(text) * self._scale
            if -MOST_TIME - 1 <= time <= MOST_TIME:
                return time
        raise DataError(f"bad timestamp: {shorten(text)} is beyond what 64 bits of nanoseconds hold")


def is_point(line: bytes) -> bool:
    """Whether a line should be a point: it is neither empty nor a comment."""
    if line[:1] not in _BEFORE:  # nearly each
        return True
    stripped = line.lstrip(b" \t")
    return bool(stripped.strip()) and stripped[:1] != b"#"


def _head(text: str) -> tuple[str, dict[str, str]]:
    """The measurement and the tags."""
    head = _HEAD.match(text)
    end = 0 if head is None else head.end()
    tags: dict[str, str] = {}
    for one in _TAGS.finditer(text, end):
        name = _plain(one[1])
        if name in tags:
            raise DataError(f"duplicate tag `{shorten(name)}`")
        tags[name] = _plain(one[2])
    if TIME in tags:
        raise DataError("a tag is called `time`, which is the name of a point's time")
    return _plain_measurement(text[:end]), tags


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _plain_measurement(text: str) -> str:
    return text.replace("\\,", ",").replace("\\ ", " ") if "\\" in text else text


def _value(text: str, name: str) -> FieldValue:
    if text[0] == '"':
        text = text[1:-1]
        return _QUOTED.sub(r"\1", text) if "\\" in text else text
    if (truth := _TRUTH.get(text)) is not None:
        return truth
    if found := _WHOLE.fullmatch(text) if text[-1] in "iu" else None:
        lowest, highest = _BOUNDS[found[2]]
        if len(found[1]) <= 20 and lowest <= (whole := int(found[1])) <= highest and (found[2] == "i" or text[0] != "-"):
            return whole
    elif _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number):
            return number
    else:
        raise DataError(f"field `{shorten(name)}`: {shorten(text)} is no number, no truth value, and no text in quotes")
    raise DataError(f"field `{shorten(name)}`: {shorten(text)} is beyond 64 bits")


def _wrong(text: str) -> str:
    """Why this is no line, by the first thing that is wrong."""
    head = _HEAD.match(text)
    if head is None:
        return "missing measurement"
    at = head.end()
    while text[at : at + 1] == ",":
        found = _TAGS.match(text, at)
        if found is None:
            return "bad tag: expected `,name=value`, with a backslash before `,`, `=` and a space that belong to one"
        at = found.end()
    if text[at : at + 1] not in (" ", ""):
        return "bad tag: expected a space, or `,name=value`"
    at = len(text) - len(text[at:].lstrip(" "))
    if at == len(text):
        return "missing fields"
    while True:
        found = _ONE_FIELD.match(text, at)
        if found is None:
            return _wrong_field(text[at:])
        at = found.end()
        if text[at : at + 1] != ",":
            break
        at += 1
    rest = text[at:]
    if rest[:1] != " ":
        return f"bad field: expected a comma or a space before `{shorten(rest)}`"
    return f"bad timestamp: {shorten(rest.strip(' '))}"


def _wrong_field(rest: str) -> str:
    name = _FIELD_NAME.match(rest)
    if name is None:
        return f"bad field: expected `name=value`, got `{shorten(rest)}`"
    value = rest[name.end() :]
    if value[:1] == '"':
        return f"field `{shorten(_plain(name[1]))}`: unbalanced quotes"
    return f"field `{shorten(_plain(name[1]))}`: missing value"
