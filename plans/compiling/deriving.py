"""Plans of one program with many values of its parameters: most of them follow from one plan, and are not compiled.

A number that stands for a parameter in comparisons alone decides nothing while a program is compiled, and stands in its plan
as it was given. So a plan is compiled once, with a number for each parameter that the program does not have (its **mark**),
and the plan for other numbers is the same with these in place of the marks. Where a mark is found anywhere else, as a
number that became part of a threshold or of an argument, plans are compiled with each value of that parameter.

To be sure, the plans with the least and with the greatest values are compiled, too: what is derived has to be the same. So
nothing that a comparison with another number decides goes by unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, cast

from tidelog.plans.data.uncollected import uncollected
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.language.printing import format_term
from tidelog.plans.plan.plan import Plan
from tidelog.plans.tree.syntax import Comparison, Constant, Parameter, Value

Values = Mapping[str, Value]
"""The values of parameters, by their names."""
Compile = Callable[[Values], Plan]
"""Compiles the program with these values of its parameters."""

_FEWEST = 4
"""Fewer plans are compiled one by one: to derive any, three are compiled."""
_MARK = 7_340_198_562
"""Marks lie from here on. Numbers as great are exact in floats, and rare."""


class _Misplaced(Exception):
    """The mark of a parameter stands where a value may decide something."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


@uncollected()
def plans_of(compile: Compile, candidates: Sequence[Values]) -> list[Plan]:
    """The plan of each candidate, as `compile` makes them; what that raises, with the first candidate that it is raised for.

    Candidates that set the same parameters to numbers of a kind have a plan compiled for all of them.
    """
    derived = dict[int, Callable[[], Plan]]()
    _derive(compile, list(enumerate(candidates)), frozenset(), derived)
    return [derived[number]() if number in derived else compile(values) for number, values in enumerate(candidates)]


def _derive(
    compile: Compile,
    candidates: Sequence[tuple[int, Values]],
    fixed: frozenset[str],
    derived: dict[int, Callable[[], Plan]],
) -> None:
    """Note how plans are derived of candidates that agree on the `fixed` parameters, and in kinds of numbers."""
    groups: dict[object, list[tuple[int, Values]]] = {}
    for number, values in candidates:
        groups.setdefault(_group(values, fixed), []).append((number, values))
    for group in groups.values():
        if len(group) < _FEWEST:
            continue
        try:
            template = _template(compile, [values for _, values in group], fixed)
        except _Misplaced as misplaced:
            _derive(compile, group, fixed | misplaced.names, derived)
            continue
        except (TidelogError, ValueError, ArithmeticError):  # each candidate tells by itself what is wrong
            continue
        if template is not None:
            for number, values in group:
                derived[number] = _bound(template, values)


def _bound(template: Template, values: Values) -> Callable[[], Plan]:
    return lambda: template.plan(values)


def _group(values: Values, fixed: frozenset[str]) -> object:
    """What candidates have in common that go by one plan: values, or of numbers whether they are whole, and below 0."""
    return tuple(
        (name, type(value), value < 0 if not isinstance(value, str) and name not in fixed and _is_plain(value) else value)
        for name, value in values.items()
    )


def _is_plain(value: Value) -> bool:
    return not isinstance(value, str) and math.isfinite(value) and abs(value) < _MARK


def _template(compile: Compile, candidates: Sequence[Values], fixed: frozenset[str]) -> Template | None:
    """What makes the plans of candidates of one group; None where they have no parameter that a mark can stand for."""
    first = candidates[0]
    names = [name for name, value in first.items() if name not in fixed and _is_plain(value)]
    if not names:
        return None
    marks = {name: _mark(number, first[name]) for number, name in enumerate(names)}
    template = Template(compile({**first, **marks}), marks)
    for choose in (min, max):
        corner = {**first, **{name: choose(values[name] for values in candidates) for name in names}}
        if template.plan(corner) != compile(corner):
            raise _Misplaced(set(names))
    return template


def _mark(number: int, like: Value) -> Value:
    """A number of the same kind as a value."""
    mark: int | float = _MARK + 2 * number + (0.4375 if isinstance(like, float) else 0)
    return -mark if not isinstance(like, str) and like < 0 else mark


Make = Callable[[Any, "Filling"], Any]
"""Makes a part of a plan anew, of the marked part and what is to be in place of marks."""


class Filling:
    """What stands in place of marks: values in place of numbers, and their texts in place of the texts of marks."""

    __slots__ = ("texts", "values")

    def __init__(self, marks: Values, values: Values) -> None:
        self.values = {marks[name]: values[name] for name in marks}
        self.texts = [(_text(mark), _text(values[name])) for name, mark in marks.items()]


class Template:
    """A plan with marks; `plan` makes the plan of other values.

    Parts without a mark are shared by all plans. Raises what tells which parameters' marks are out of place.
    """

    def __init__(self, plan: Plan, marks: Values) -> None:
        self._plan = plan
        self._marks = marks
        self._names: dict[Value, str] = {mark: name for name, mark in marks.items()}
        self._texts = {_text(mark): name for name, mark in marks.items()}
        self._found: dict[int, Make | None] = {}
        misplaced = {name for text, name in self._texts.items() if text in plan.program.text}
        if misplaced or plan.questions:
            raise _Misplaced(misplaced or set(marks))
        self._make = self._maker(plan, may_stand=False)

    def plan(self, values: Values) -> Plan:
        """The plan with these values."""
        if self._make is None:  # no rule has the parameters
            return self._plan
        found: Plan = self._make(self._plan, Filling(self._marks, values))
        return found

    def _maker(self, part: Any, *, may_stand: bool) -> Make | None:
        """What makes a part anew; None for one without marks. `may_stand` tells whether it is a side of a comparison."""
        if isinstance(part, str):
            return _in_text if any(text in part for text in self._texts) else None
        if isinstance(part, int | float | Fraction):
            misplaced = {name for mark, name in self._names.items() if part == mark}
            if misplaced:
                raise _Misplaced(misplaced)
            return None
        if isinstance(part, Constant) and may_stand and not isinstance(part.value, str) and part.value in self._names:
            return _in_constant
        if is_dataclass(part):
            return self._of_fields(part, may_stand=may_stand or isinstance(part, Comparison))
        if isinstance(part, tuple | list):
            return self._of_items(part, may_stand=may_stand)
        if isinstance(part, Mapping):
            return self._of_mapping(part)
        if isinstance(part, frozenset | set):
            for item in part:
                if self._maker(item, may_stand=False) is not None:
                    raise _Misplaced(set(self._marks))
        return None

    def _of_fields(self, part: Any, *, may_stand: bool) -> Make | None:
        if not may_stand and id(part) in self._found:  # the plan holds it for as long
            return self._found[id(part)]
        makers: dict[str, Make] = {}
        for name in _names_of(cast(Hashable, type(part))):
            value = getattr(part, name)
            if isinstance(part, Parameter) and name == "value":
                if not isinstance(value, str) and value in self._names:
                    makers[name] = _in_number
                continue
            make = self._maker(value, may_stand=may_stand)
            if make is not None:
                makers[name] = make
        found = _fields_anew(makers) if makers else None
        if not may_stand:
            self._found[id(part)] = found
        return found

    def _of_items(self, part: Sequence[Any], *, may_stand: bool) -> Make | None:
        found = [self._maker(item, may_stand=may_stand) for item in part]
        makers = {place: make for place, make in enumerate(found) if make is not None}
        return _items_anew(type(part), makers) if makers else None

    def _of_mapping(self, part: Mapping[Any, Any]) -> Make | None:
        keys = {key: make for key in part if (make := self._maker(key, may_stand=False)) is not None}
        values = {key: make for key, value in part.items() if (make := self._maker(value, may_stand=False)) is not None}
        return _mapping_anew(keys, values) if keys or values else None


def _items_anew(kind: Callable[[Iterable[Any]], Any], makers: Mapping[int, Make]) -> Make:
    def make(marked: Sequence[Any], filling: Filling) -> Any:
        items = list(marked)
        for place, each in makers.items():
            items[place] = each(items[place], filling)
        return kind(items)

    return make


def _mapping_anew(keys: Mapping[Any, Make], values: Mapping[Any, Make]) -> Make:
    def make(marked: Mapping[Any, Any], filling: Filling) -> dict[Any, Any]:
        return {
            keys[key](key, filling) if key in keys else key: values[key](value, filling) if key in values else value
            for key, value in marked.items()
        }

    return make


def _fields_anew(makers: Mapping[str, Make]) -> Make:
    def make(marked: Any, filling: Filling) -> Any:
        return replace(marked, **{name: each(getattr(marked, name), filling) for name, each in makers.items()})

    return make


def _in_text(marked: str, filling: Filling) -> str:
    for mark, text in filling.texts:
        marked = marked.replace(mark, text)
    return marked


def _in_constant(marked: Constant, filling: Filling) -> Constant:
    return Constant(filling.values[marked.value], marked.span)


def _in_number(marked: Value, filling: Filling) -> Value:
    return filling.values[marked]


def _text(value: Value) -> str:
    return format_term(Constant(value))


@cache
def _names_of(kind: Hashable) -> tuple[str, ...]:
    return tuple(item.name for item in fields(cast(Any, kind)))
