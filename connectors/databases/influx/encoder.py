"""Answers to points: a line where an answer begins, and one where it has ended.

Without a template the measurement is the answer's predicate, its arguments that are texts are tags, and all others fields,
beside `active`: true from the begin on, and false behind the end. What is told again is the same point, and takes its place.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tidelog.connectors.databases.influx.grammar import MOST_TIME, NANOSECONDS, TIME
from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.moments import NEEDS_UNIT
from tidelog.connectors.mapping.templates import NOBODY, AnswerValues, check_name, shown
from tidelog.connectors.sinks.choosing import Choice
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

Scalar = str | int | float | bool
ACTIVE = "active"
"""What stands for whether the answer holds from the point's time on."""
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_OF_ENDS = {ACTIVE, "state", "ends"}
_IN_NAMES = re.compile(r"[,= ]")
_LEAST, _MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class PointTexts:
    """Templates of points, in which `{name}` stands for what an answer has of that name.

    Without `tags` they are the arguments that are texts, and without `fields` all others, and `active`.
    """

    measurement: str = "{predicate}"
    tags: Mapping[str, str] | None = None
    fields: Mapping[str, Scalar] | None = None


class PointEncoder:
    """Writes answers as points. SpecError for a name that no answer has, and for a program without a unit of time.

    Where no field has `{active}`, `{state}` or `{ends}`, an end says nothing new, and is not written. `about` says more of
    answers.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        outputs: Iterable[str],
        texts: PointTexts | None = None,
        iso: bool = False,
        choice: Choice | None = None,
        about: About = NOBODY,
    ) -> None:
        timeline = schema.timeline
        if timeline.unit is None:
            raise SpecError(NEEDS_UNIT)
        self._schema, self._is_integer = schema, timeline.is_integer
        tick = timeline.unit if timeline.is_integer else timeline.unit * timeline.resolution / 2
        self._tick: Fraction = tick * NANOSECONDS["s"]
        texts = PointTexts() if texts is None else texts
        measurement, tags, fields = texts.measurement, texts.tags, texts.fields
        self._measurement, self._tags, self._fields = measurement, tags, fields
        self._choice = Choice() if choice is None else choice
        told = [measurement, *(tags or {}).values(), *(fields or {}).values()]
        names = [name for text in told if isinstance(text, str) for name in _PLACE.findall(text)]
        outputs = list(outputs)
        for name in names:
            if name != ACTIVE:
                check_name(name, schema, outputs, about)
        for name in [*(tags or {}), *(fields or {})]:
            if name == TIME or not name or "\n" in name or name.endswith("\\"):
                raise SpecError(f"`{name}` is no name of a tag or a field")
        if fields is not None and not fields:
            raise SpecError("a point has at least one field: name some, or leave out `fields`")
        if both := sorted({*(tags or {})} & {*(fields or {})}):
            raise SpecError(f"`{both[0]}` is a tag and a field: name one of them otherwise")
        self._tells_ends = fields is None or any(
            _OF_ENDS & {*_PLACE.findall(text)} for text in fields.values() if isinstance(text, str)
        )
        self._by_template = AnswerValues(schema, names, iso=iso, about=about)
        self._by_default: dict[str, tuple[AnswerValues, list[str]]] = {}

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        """The points of these answers, each with its newline. ValueError where one has none."""
        return b"".join([b"".join([line + b"\n" for line in self.lines(answer)]) for answer in answers])

    def lines(self, told: AnyAnswer) -> list[bytes]:
        """The points of an answer; none where nothing is told of it. ValueError where it cannot be one."""
        answer = self._choice(told)
        if answer is None:
            return []
        if isinstance(answer, HypotheticalAnswer):
            raise ValueError("what is known of an answer to a question is no point")
        _, _, lo, hi = answer
        if lo <= NEG:
            raise ValueError("it has no begin, and a point has a time")
        is_end = isinstance(answer, ChangeRecord) and answer.has_ended
        lines = [] if is_end else [self._line(answer, self._time(lo), is_active=True)]
        if hi < POS and self._tells_ends:
            lines.append(self._line(answer, self._behind(hi), is_active=False))
        return lines

    def _line(self, answer: Record | ChangeRecord, time: int, *, is_active: bool) -> bytes:
        active = {ACTIVE: is_active}
        given: dict[str, Any] = {**active, **self._by_template.of(answer)}
        own = self._of_own(answer) if self._tags is None or self._fields is None else {}
        texts = [name for name, value in own.items() if isinstance(value, str)]
        integers = self._integers(answer[0])
        tags = {name: own[name] for name in texts} if self._tags is None else _filled(self._tags, given)
        if self._fields is None:
            fields = {name: value for name, value in own.items() if name not in texts and name not in tags} | active
            if ACTIVE in own:
                raise ValueError("an argument is called `active`, as the field that says whether it holds: name `fields`")
        else:
            fields = _filled(self._fields, given)
        whole = {name for name in fields if self._fields is None and name in integers}
        whole |= {name for name, text in (self._fields or {}).items() if _name_of(text) in integers or type(text) is int}
        head = [_name(_text(self._measurement, given), _MEASURED)]
        head += [f"{_name(key)}={_name(value)}" for key, value in sorted(tags.items()) if value not in (None, "")]
        held = [f"{_name(key)}={_value(value, key in whole)}" for key, value in fields.items() if value is not None]
        if not held:
            raise ValueError("none of its fields has a value")
        return f"{','.join(head)} {','.join(held)} {time}".encode()

    def _of_own(self, answer: Record | ChangeRecord) -> dict[str, Any]:
        """The arguments of an answer by their names."""
        name = answer[0]
        if name not in self._by_default:
            known = self._schema.predicates.get(name)
            names = list(known.fields) if known is not None else []
            names = names or [f"arg{i}" for i in range(1, len(answer[1]) + 1)]
            self._by_default[name] = AnswerValues(self._schema, names, iso=False), names
        values, names = self._by_default[name]
        found = values.of(answer)
        return {one: found[one] for one in names if one in found}

    def _integers(self, predicate: str) -> frozenset[str]:
        """The arguments that the program declares to be integers: a field keeps its type, whatever number comes first."""
        known = self._schema.predicates.get(predicate)
        if known is None:
            return frozenset()
        of_type = [i for i, kind in enumerate(known.types) if kind == "integer"]
        named = [known.fields[i] for i in of_type if i < len(known.fields)]
        return frozenset([*named, *[f"arg{i + 1}" for i in of_type]])

    def _time(self, point: int) -> int:
        return _checked((point * self._tick).__floor__())

    def _behind(self, hi: int) -> int:
        """The first time behind a range; on rationals, which have no next one, a nanosecond behind it."""
        if self._is_integer or hi & 1:
            return self._time(hi + 1)
        return _checked(self._time(hi) + 1)


_MEASURED = re.compile(r"[, ]")


def _checked(time: int) -> int:
    if not -MOST_TIME - 1 <= time <= MOST_TIME:
        raise ValueError("its time is beyond what 64 bits of nanoseconds hold")
    return time


def _filled(texts: Mapping[str, Scalar], values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _text(text, values) if isinstance(text, str) else text for key, text in texts.items()}


def _name_of(text: Scalar) -> str | None:
    """The name that is all of a template."""
    found = _PLACE.fullmatch(text) if isinstance(text, str) else None
    return None if found is None else found[1]


def _text(text: str, values: Mapping[str, Any]) -> Any:
    """A template's text; the value itself where it is nothing but a name."""
    name = _name_of(text)
    return values.get(name) if name is not None else _PLACE.sub(lambda found: shown(values.get(found[1])), text)


def _name(text: object, special: re.Pattern[str] = _IN_NAMES) -> str:
    """A measurement, a name, or a tag's value. ValueError for what none can be."""
    name = shown(text)
    if not name:
        raise ValueError("a measurement and a name are not empty")
    if "\n" in name or name.endswith("\\"):
        raise ValueError(f"{name!a} has a line end, or a backslash at its end, which no name and no tag has")
    if special is _MEASURED and name[0] == "#":
        raise ValueError(f"{name!a}: a line that begins with `#` is a comment")
    return special.sub(lambda found: "\\" + found[0], name)


def _value(value: Any, is_whole: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and is_whole:
        if not _LEAST <= value <= _MOST:
            raise ValueError(f"{value} is beyond 64 bits")
        return f"{value}i"
    if isinstance(value, int | float):
        if not math.isfinite(number := float(value)):
            raise ValueError(f"{value} is no number that a field has")
        return repr(number)
    if "\n" in str(value):
        raise ValueError("a text has a line end, which no field has")
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
