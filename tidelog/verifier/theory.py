"""A program and its facts: what a rule gives in a world, and what holds in the end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

from tidelog.plans.language.parser import parse, parse_what_reads
from tidelog.plans.tree.syntax import (
    Aggregate,
    Atom,
    Binary,
    CalendarDeclaration,
    Conjunction,
    FactStatement,
    Formula,
    Interval,
    Latest,
    Period,
    Rule,
    Time,
    Unary,
    Value,
    Window,
    WindowSize,
)
from tidelog.plans.tree.traverse import subformulas
from tidelog.verifier.almanac import Almanac, Events
from tidelog.verifier.counting import with_thresholds
from tidelog.verifier.evaluation import Evaluator
from tidelog.verifier.matching import substitutions, unified, whole_times
from tidelog.verifier.terms import (
    Row,
    Undefined,
    changed,
    components,
    denies,
    head_predicate,
    looks_ahead,
    numbered,
    predicates_in,
    value_of,
)
from tidelog.verifier.times import ALWAYS, Cut, Line, Refused, Times, both
from tidelog.verifier.world import World

MOST_ROUNDS = 1_000
"""So many rounds a recursion is followed, at the most, to see that something is absent."""

_FAR = 40 * 86400
"""So many seconds around what is looked at calendars are worked out, besides how far rules look."""

Given = tuple[str, Row, Interval]
"""A fact of the data: its predicate, its row, and when it holds."""


class Theory:
    """A program and its facts: what a rule gives in a world, and what holds of some predicates."""

    def __init__(
        self,
        text: str,
        facts: Iterable[Given],
        background: Iterable[tuple[str, Row]] = (),
        events: Events = MappingProxyType({}),
    ) -> None:
        program = parse(text)
        self._calendars = [item for item in program.statements if isinstance(item, CalendarDeclaration)]
        self._events = events
        self.line = Line(program)
        self.rules = [item for item in program.statements if isinstance(item, Rule)]
        self._ready = [self._read(rule) for rule in self.rules]
        self.given: dict[str, World] = {kind: World(False) for kind in ("input", "background", "program", "calendar")}
        begins: list[Cut] = []
        arrivals: dict[tuple[str, Row, Time], None] = {}
        given: dict[tuple[str, Row], Times] = {}
        for predicate, row, interval in facts:
            for low, high in self.line.times(interval):
                given.setdefault((predicate, row), []).append((low, high))
                begins.append(low)
                if low[0] > -math.inf:
                    arrivals[predicate, row, low[0]] = None
        for (predicate, row), stretches in given.items():
            self.given["input"].add(predicate, row, stretches)
        for predicate, row in background:
            self.given["background"].add(predicate, row, ALWAYS)
        for item in program.statements:
            if isinstance(item, FactStatement):
                row = tuple(value_of(term, {}) for term in item.atom.arguments)
                self.given["program"].add(
                    item.atom.predicate, row, self.line.times(item.interval) if item.interval else ALWAYS
                )
        self._start = min(begins, default=(-math.inf, 0))
        self._models: dict[tuple[frozenset[str], Time], World] = {}
        self._needs_almanac = bool(self._calendars) or any(map(_counts_per_period, self.rules))
        self._reach = sum(map(_longest, self._ready), Fraction(0)) if self._needs_almanac else Fraction(0)
        self._seen: tuple[Time, Time] = (math.inf, -math.inf)
        self._periods: dict[Period, list[Times]] = {}
        self._almanac: Almanac | None = None
        worlds = [rows for world in self.given.values() for rows in world.held.values()]
        self.look_at(end[0] for rows in worlds for held in rows.values() for stretch in held for end in stretch)
        self._arrivals = sorted(arrivals, key=lambda arrival: arrival[2])

    def look_at(self, times: Iterable[Time]) -> None:
        """Work out calendars around these times, too, as far as rules look from there."""
        finite = [time for time in times if not math.isinf(time)] if self._needs_almanac else []
        if not finite or self.line.unit is None:
            return
        far = _FAR / self.line.unit + self._reach
        low, high = min(finite) - far, max(finite) + far
        if self._seen[0] <= low and high <= self._seen[1]:
            return
        self._seen = low, high = min(low, self._seen[0]) - far, max(high, self._seen[1]) + far  # more than is needed
        self._almanac = Almanac(self._calendars, self._events, self.line, low, high)
        self._periods.clear()
        self._models.clear()
        self.given["calendar"] = World(False)
        for predicate, row, stretches in self._almanac.facts():
            self.given["calendar"].add(predicate, row, stretches)

    def _periods_of(self, period: Period) -> list[Times]:
        if period not in self._periods:
            self._periods[period] = [] if self._almanac is None else self._almanac.periods(period)
        return self._periods[period]

    def _read(self, rule: Rule) -> Rule:
        """A rule with a variable for each `_`, its intervals as the timeline has them."""
        body = with_thresholds(rule.body, [rule.head])
        return Rule(self.read(rule.head), tuple(map(self.read, numbered(body))), rule.span, rule.assigns)

    def read(self, formula: Formula) -> Formula:
        def window(size: WindowSize | Period) -> WindowSize | Period:
            if isinstance(size, Period):
                return size
            plain = size if size.tuples else replace(size, size=self.line.time(size.size, size.size_unit), size_unit="")
            step = None if plain.step is None else self.line.time(plain.step, plain.step_unit)
            return replace(plain, step=step, step_unit="")

        return changed(formula, lambda term: term, self.line.interval, window)

    def rule(self, text: str) -> Rule:
        """The rule of the program that reads like this."""
        written = [
            item for item in parse_what_reads(text)[0].statements if isinstance(item, Rule) and item.assigns != "holds"
        ]
        if len(written) != 1:
            raise Refused(f"`{text}` is no rule")
        for rule, ready in zip(self.rules, self._ready, strict=True):
            if written[0] == (replace(rule, assigns="") if rule.assigns == "holds" else rule):
                return ready
        raise Refused(f"the program has no rule `{text}`")

    def evaluator(self, world: World, judge: World | None = None) -> Evaluator:
        judging = None if judge is None else self.evaluator(judge)
        return Evaluator(self.line, world, self._start, self._arrivals, self._periods_of, judging)

    def derived(
        self, rule: Rule, world: World, wanted: tuple[Row, Times] | None = None, judge: World | None = None
    ) -> Iterator[tuple[Row, Times]]:
        """What a rule gives in a world: rows with their times; of a row that is wanted, this one alone.

        What it asks to be absent is so in the world that is `judge`, if there is one.
        """
        boxes, head = [], rule.head
        while isinstance(head, Unary):
            boxes.append(head)
            head = head.operand
        if not isinstance(head, Atom):
            return
        evaluator = self.evaluator(world, judge)
        for given in self._starts(head, wanted):
            for binding in substitutions(evaluator, rule.body, given):
                try:
                    times = evaluator.truth(Conjunction(rule.body), binding)
                    row = tuple(value_of(term, binding) for term in head.arguments)
                except Undefined:
                    continue
                for box in boxes:  # `boxplus[a,b] p` at t says p at all times from t+a to t+b
                    times = self.line.moved(times, box.interval, 1 if box.operator == "boxplus" else -1)
                if head.at is not None and times:
                    value = binding[head.at.variable.name]
                    time = Fraction(value + head.at.shift) if isinstance(value, int) else None
                    times = [] if time is None else self.line.times(Interval(time, time))
                if times:
                    yield row, times

    def _starts(self, head: Atom, wanted: tuple[Row, Times] | None) -> Iterator[dict[str, Value]]:
        if wanted is None:
            yield {}
            return
        start = unified(head, wanted[0], {})
        if start is None:
            return
        if head.at is None:
            yield start
            return
        name = head.at.variable.name
        for time in whole_times(wanted[1]):
            if start.get(name, time - head.at.shift) == time - head.at.shift:
                yield {**start, name: time - head.at.shift}

    # --- what holds: the least model, stratum by stratum

    def model(self, predicates: Iterable[str], until: Time) -> World:
        """All that holds of some predicates, at least up to a time; Refused where that does not come to an end."""
        needed = self._needed(set(predicates))
        key = frozenset(needed), until
        if key not in self._models:
            self._models[key] = self._evaluated(needed, until)
        return self._models[key]

    def _needed(self, predicates: set[str]) -> set[str]:
        while True:
            more = {name for rule in self._ready if head_predicate(rule) in predicates for name in predicates_in(rule.body)}
            if more <= predicates:
                return predicates
            predicates = predicates | more

    def _evaluated(self, needed: set[str], until: Time) -> World:
        world = World(False)
        for given in self.given.values():
            for predicate in needed & given.held.keys():
                for row, times in given.held[predicate].items():
                    world.add(predicate, row, times)
        rules = [rule for rule in self._ready if head_predicate(rule) in needed]
        looks_back = until < math.inf and not any(map(looks_ahead, rules))
        region: Times = [((-math.inf, 0), (until, 1))] if looks_back else ALWAYS
        for component in components(rules):
            names = {str(head_predicate(rule)) for rule in component}
            if any(denies(part, names) for rule in component for part in rule.body):
                world = self._settled(component, world, region)
            else:
                self._follow(component, world, region)
        return world

    def _follow(self, component: list[Rule], world: World, region: Times, judge: World | None = None) -> None:
        """Add all that rules give, round by round, within some times."""
        for _ in range(MOST_ROUNDS):
            news = [
                (head_predicate(rule), row, both(times, region))
                for rule in component
                for row, times in self.derived(rule, world, judge=judge)
            ]
            added = [world.add(str(name), row, times) for name, row, times in news]
            if not any(added):
                return
        raise _endless(component)

    def _settled(self, component: list[Rule], below: World, region: Times) -> World:
        """The one world in which rules that ask for their own absence, at earlier times, give just what was assumed.

        What follows from an assumption is the next one. It is right at all times before the first at which it was wrong, and
        a while longer; so it comes to this world, time by time.
        """
        assumed = below
        for _ in range(MOST_ROUNDS):
            found = World(False, {name: dict(rows) for name, rows in below.held.items()})
            self._follow(component, found, region, assumed)
            if found.held == assumed.held:
                return found
            assumed = found
        raise _endless(component)


def _endless(component: list[Rule]) -> Refused:
    names = ", ".join(sorted({f"`{head_predicate(rule)}`" for rule in component}))
    return Refused(f"an absence cannot be checked: {names} did not come to an end in {MOST_ROUNDS} rounds")


def _counts_per_period(rule: Rule) -> bool:
    parts = (part for formula in rule.body for part in subformulas(formula))
    return any(isinstance(part, Aggregate) and isinstance(part.window, Period) for part in parts)


def _longest(rule: Rule) -> Fraction:
    """How far the operators and windows of a rule look, all together, as far as they have an end."""
    found = Fraction(0)
    for part in (each for formula in (rule.head, *rule.body) for each in subformulas(formula)):
        ends: tuple[Time, ...] = ()
        if isinstance(part, Unary | Binary):
            ends = part.interval.low, part.interval.high
        elif isinstance(part, Window | Latest | Aggregate) and isinstance(part.window, WindowSize):
            ends = (part.window.size,)
        found += max((Fraction(end) for end in ends if not math.isinf(end)), default=Fraction(0))
    return found
