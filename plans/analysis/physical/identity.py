"""Identity: what a step computes, as a hash that does not depend on how the program is written.

Two steps with one hash compute the same from the same inputs. A hash covers the operator, and the hashes of what feeds it,
down to the stream's predicates and the program's own facts. Names of variables, derived predicates, comments, the order of
rules and what else the program has do not take part, nor do the events that a calendar's file has: like what a stream
brings, they may change. A recursive component is hashed as one.

A step has two hashes. Its **meaning** says what it computes. Its **form** says also how its state is laid out, for which the
plan looks at who reads a step: notices, sleep, `#`-facts in loops. A state can be taken over where forms agree; but a
union that tells less in advance, or again, than it did has to be filled anew (`bridges_less`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from hashlib import sha256
from typing import Any

from tidelog.plans.calendars.calendar import Calendar
from tidelog.plans.plan.guards import Prospects
from tidelog.plans.plan.plan import (
    AntiJoinShape,
    CalendarShape,
    Feed,
    LatchShape,
    PairShape,
    Plan,
    Shape,
    Step,
    ToldShape,
    TupleShape,
    UnionShape,
)
from tidelog.plans.tree.syntax import Constant, Variable, Wildcard

Detail = Callable[[Step], object]
"""What of a step takes part in a hash, beside the hashes of its inputs; None of one that passes on what feeds it."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The hashes of a plan's steps by their ids, and for each step the hash of what feeds each of its ports.

    What feeds a port from inside a recursive component has no hash of its own there: it is that of the component's step.
    """

    meaning: Mapping[str, str]
    form: Mapping[str, str]
    fed_by: Mapping[str, tuple[str, ...]]


def identify(plan: Plan, prospects: bool = True) -> Identity:
    """The identity of each step of a plan; `prospects` as in `Session`."""
    facts = _facts_of(plan)
    meaning, _ = _Hashes(plan, facts, lambda step: _meaning(step.shape, plan)).find()
    detail = _form_of(plan, plan.prospects if prospects else Prospects(), meaning)
    form, fed_by = _Hashes(plan, facts, detail).find()
    return Identity(meaning, form, fed_by)


class Meanings:
    """The meanings of the steps of several plans, which may have parts in common: of these each is looked at once."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._plans: list[Plan] = []  # as long as they are there, their parts' `id`s stand for them

    def of(self, plan: Plan) -> Mapping[str, str]:
        """The meaning of each step of a plan by its id, as `identify` tells it."""
        self._plans.append(plan)
        found, _ = _Hashes(plan, _facts_of(plan), lambda step: _meaning(step.shape, plan), self._texts).find()
        return found


def bridges_less(now: Step, before: Step) -> bool:
    """Whether a union bridged gaps that it leaves open now, or passed on repeats and no longer does.

    For a reader that was not there then, coverage in the gaps, or repeated coverage, is news. One that was there knows it
    already.
    """
    shapes = now.shape, before.shape
    if not isinstance(shapes[0], UnionShape) or not isinstance(shapes[1], UnionShape):
        return False
    return shapes[0].reach < shapes[1].reach or (shapes[1].passes and not shapes[0].passes)


def port_map(before: Sequence[str], now: Sequence[str]) -> list[int]:
    """For each port now, the port before that the same fed.

    >>> port_map(["a", "b", "a"], ["b", "a", "a"])
    [1, 0, 2]
    """
    places: dict[str, list[int]] = {}
    for port, feed in enumerate(before):
        places.setdefault(feed, []).append(port)
    return [places[feed].pop(0) for feed in now]


class _Hashes:
    """Hashes all steps of a plan in their order: each comes behind what feeds it, but for components."""

    def __init__(
        self,
        plan: Plan,
        facts: Mapping[str, str],
        detail: Detail,
        texts: dict[int, str] | None = None,
    ) -> None:
        self._plan, self._facts, self._detail = plan, facts, detail
        self._texts = texts
        """The details of shapes, by their `id`, as text; None where a detail tells more than the shape."""
        self._found: dict[str, str] = {}
        self._fed_by: dict[str, tuple[str, ...]] = {}
        self._steps = {step.id: step for step in plan.steps}

    def find(self) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        for step in self._plan.steps:
            if step.id in self._found:
                continue
            if step.loop is None:
                self._found[step.id] = self._hash(step, [self._feed(feed) for feed in step.inputs])
            else:
                self._hash_component([self._steps[name] for name in self._plan.loops[step.loop].members])
        for step in self._plan.steps:
            self._fed_by[step.id] = tuple(self._feed(feed) for feed in step.inputs)
        return self._found, self._fed_by

    def _hash(self, step: Step, feeds: Iterable[str]) -> str:
        ordered = sorted(feeds) if isinstance(step.shape, UnionShape) else list(feeds)
        text = None if self._texts is None else self._texts.get(id(step.shape))
        if text is None:
            detail = self._detail(step)
            if detail is None:
                return ordered[0]
            text = repr(detail)
            if self._texts is not None:
                self._texts[id(step.shape)] = text
        return _digest_of(f"({text}, {ordered!r})")

    def _feed(self, feed: Feed) -> str:
        if feed.kind == "step":
            return self._found[feed.name]
        if feed.kind == "facts":
            return _digest(("facts", self._facts.get(feed.name, "")))
        if feed.kind == "stream":
            schema = self._plan.schema.predicates[feed.name]
            return _digest(("stream", feed.name, schema.arity, schema.types))
        return feed.kind

    def _hash_component(self, members: Sequence[Step]) -> None:
        """Tell members apart by what feeds them, by what feeds that, and so on round the component."""
        inside = {step.id for step in members}
        colours = dict.fromkeys(inside, "")
        outside = {
            (step.id, port): self._feed(feed)
            for step in members
            for port, feed in enumerate(step.inputs)
            if feed.kind != "step" or feed.name not in inside
        }
        for _ in members:
            colours = {
                step.id: self._hash(
                    step, [outside.get((step.id, port)) or colours[feed.name] for port, feed in enumerate(step.inputs)]
                )
                for step in members
            }
        whole = sorted(colours.values())
        self._found |= {name: _digest((whole, colour)) for name, colour in colours.items()}


def _facts_of(plan: Plan) -> dict[str, str]:
    by_predicate: dict[str, list[str]] = {}
    for predicate, row, lo, hi in plan.facts:
        by_predicate.setdefault(predicate, []).append(repr((row, lo, hi)))
    return {name: _digest(sorted(rows)) for name, rows in by_predicate.items()}


def _form_of(plan: Plan, prospects: Prospects, meaning: Mapping[str, str]) -> Detail:
    """All that the layout of a step's state depends on, besides what the step computes."""
    sleepers = {sleeper.step: sleeper for sleeper in prospects.sleepers}

    def asleep(name: str | None) -> object:
        if name is None:
            return None
        sleeper = sleepers[name]
        return meaning.get(name, ""), sorted(sleeper.predicates), sleeper.shortest, sleeper.clipped

    def gate_at(port: tuple[str, int]) -> object:
        guard = prospects.gates.get(port)
        groups = guard and sorted(
            repr(sorted(repr((asleep(item.sleeper), item.low, item.high)) for item in group)) for group in guard
        )
        rows = prospects.rows.get(port)
        blocked = rows and (asleep(rows.sleeper), rows.low, rows.high, rows.columns)
        return groups, blocked

    def form(step: Step) -> object:
        announced = plan.announcing.get(step.id)
        reach = 1  # outside loops readers take what was bridged once more
        if isinstance(step.shape, UnionShape) and step.loop is not None:
            reach = step.shape.reach
        told = announced and (announced.beyond, announced.is_fed)
        gates = [gate_at((step.id, port)) for port in range(len(step.inputs))]
        if isinstance(step.shape, UnionShape):
            gates.sort(key=repr)
        return _shape(step.shape, plan), reach, told, step.id in prospects.far_sighted, gates

    return form


def _meaning(shape: Shape, plan: Plan) -> object:
    """The part of a shape that says what the step computes, without the form in which it is sent."""
    return None if isinstance(shape, ToldShape) else _shape(shape, plan)


def _shape(shape: Shape, plan: Plan) -> object:
    """A shape with its variables numbered in the order in which they occur."""
    numbers: dict[str, int] = {}
    if isinstance(shape, UnionShape):
        return "union"
    if isinstance(shape, CalendarShape) and shape.calendar.calendar.file:
        return "calendar", _plain(shape.calendar, numbers)
    if isinstance(shape, PairShape):
        left, right = (tuple(numbers.setdefault(name, len(numbers)) for name in side) for side in (shape.left, shape.right))
        return "pair", shape.operator, _plain(shape.metric, numbers), left, right
    if isinstance(shape, AntiJoinShape | LatchShape):
        columns = tuple(numbers.setdefault(name, len(numbers)) for name in shape.columns)
        return "antijoin" if isinstance(shape, AntiJoinShape) else "latch", columns, _plain(shape.negated, numbers)
    counted = sorted(plan.normal.inputs) if isinstance(shape, TupleShape) and not shape.of else None
    return _plain(shape, numbers), counted


def _plain(value: object, numbers: dict[str, int]) -> object:
    if isinstance(value, Variable):
        return "variable", numbers.setdefault(value.name, len(numbers))
    if isinstance(value, Wildcard):
        return "_"
    if isinstance(value, Constant):
        return "constant", value.value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Calendar) and value.file:
        return value.file, value.is_named, _plain(value.excepted, numbers)
    if is_dataclass(value):
        parts = [_plain(getattr(value, item.name), numbers) for item in fields(value) if item.compare]
        return type(value).__name__, parts
    if isinstance(value, tuple):
        return [_plain(item, numbers) for item in value]
    return value


def _digest(value: Any) -> str:
    return _digest_of(repr(value))


def _digest_of(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]
