"""Preconditions made ready for facts to come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from tidelog.operators.ask.premises.awaited import Awaited, Binding, sum_of
from tidelog.operators.ask.premises.conditions import Conditions
from tidelog.operators.ask.premises.layout import layout_of
from tidelog.operators.ask.premises.runs import Run, lasting, own_variables, runs_of
from tidelog.operators.ask.premises.spells import Given, Spells, calendar_of
from tidelog.operators.sld.leaves.minimal import pairs
from tidelog.plans.calendars.ticks import Range
from tidelog.plans.data.facts import Row
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.plan.preconditions import START, Argument, Precondition, Premise, Slot, UnfoldedQuery
from tidelog.plans.plan.questions import NEVER, GroundLiteral, Question
from tidelog.plans.tree.syntax import Comparison, Value

MOST_TIMES = 64
"""Where a premise can still come at more times than these, it is not asked at which of them it can come no more."""
MOST_INTERVALS = 64
"""Where more intervals of a calendar are left than these, it is not told apart which of them a fact to come may lie in."""
_KEPT_CONDITIONS = 64
"""For so many values of its variables a pattern keeps what has to hold of the others: each is asked for several times."""


class Pattern:
    """A precondition, its premises in the order of their deadlines: a set of premises is a number, bit i for premise i.

    `asked` gives the auxiliary queries, each with how long after an answer's time it may be decided, `calendars` the
    intervals of calendars.
    """

    __slots__ = (
        *(
            "_absences",
            "_clash_bits",
            "_open_conditions",
            "_run_of",
            "_shown",
            "_streamed",
            "_twin_bits",
            "_upper",
            "all",
            "all_negated",
            "answer",
            "asks_start",
            "came",
            "clashes",
            "conditions",
        ),
        *(
            "deadlines",
            "excluding",
            "first",
            "given",
            "is_connected",
            "last",
            "lasting",
            "layout",
            "names",
            "negated",
            "number",
            "own",
            "passed",
        ),
        *("premises", "query", "rivals", "runs", "start", "stretches", "time", "times", "twins"),
    )

    def __init__(
        self,
        query: str,
        number: int,
        source: Precondition,
        question: Question,
        asked: Mapping[str, tuple[UnfoldedQuery, int]],
        calendars: Mapping[str, Spells],
    ) -> None:
        self.query, self.number = query, number
        self.names = source.variables
        self.answer = source.answer
        awaited = [Awaited(premise, question.delay(premise.predicate)) for premise in source.premises]
        self.premises = sorted(awaited, key=lambda item: item.offset + item.delay)
        self.negated = [_absent(premise, question, asked) for premise in source.negated]
        self._absences = [*enumerate(self.negated)]
        self.all, self.all_negated = (1 << len(self.premises)) - 1, (1 << len(self.negated)) - 1
        last = self.answer[-1] if self.answer else None
        self.time = last.variable if isinstance(last, Slot) else None
        self.is_connected = self.time is not None and all(item.time == self.time for item in self.premises)
        self.first, self.last = self._ends(last)
        self.deadlines = [item.offset + item.delay for item in self.premises]
        self.excluding: dict[int | None, list[Awaited]] = {}
        """The inputs that must not come at a time of a premise that is open until that fact comes."""
        for item in self.negated:
            if item.asked is None and any(each.time == item.time is not None for each in self.premises):
                self.excluding.setdefault(item.time, []).append(item)
        self.stretches = [item for item in self.negated if item.width]
        self.runs = runs_of(self.premises)
        self.own = own_variables(source)
        self.lasting = lasting(self.premises, self.own)
        self.layout = layout_of(self.time, self.premises, self.negated, self.runs)
        self._run_of = {i: run for run in self.runs for i in run.places.values()}
        times = {item.time for item in (*self.premises, *self.negated) if item.time is not None}
        times |= {
            term.variable for item in source.given for term in (item.time, item.arguments[-1]) if isinstance(term, Slot)
        }
        self.conditions = Conditions(source.comparisons, [self.names[i] for i in times | {self.time} if i is not None])
        self.asks_start = self.conditions.asks_start
        self.given = [self._given(premise, calendars) for premise in source.given]
        self._streamed = _variables(source.premises)
        self._shown = self._streamed | _variables(source.negated) | {t.variable for t in self.answer if isinstance(t, Slot)}
        order = (*(item.time for item in self.premises), self.time, *(item.time for item in self.negated))
        self.times = [variable for variable in dict.fromkeys(order) if variable is not None]
        self._upper = self._upper_bounds()
        self.twins = [pair for pair in pairs([item.premise for item in self.premises]) if self._may_be_one(*pair)]
        self.clashes = list(self._clashes())
        self._twin_bits = _bits(i for pair in self.twins for i in pair)
        self._clash_bits = _bits(i for i, _ in self.clashes)
        self._open_conditions = lru_cache(_KEPT_CONDITIONS)(self._where)
        self.rivals: list[Pattern] = []
        self.passed: Callable[[Awaited], int] = _never
        """Up to when it is known what has come of an input; whoever knows that says so."""
        self.came: Callable[[str, Row, int], bool] = _not_come
        """Whether a fact has come, likewise."""
        self.start: Callable[[], int | None] = _unknown
        """The stream's start, once it is known."""

    def lead(self, i: int) -> int:
        """By how much the watermark has to lie behind a fact with which an answer begins, that has come for premise i.

        All others still have to come then, the first of them at the earliest. Where times are open it does not matter.
        """
        if not self.is_connected or len(self.premises) == 1:
            return -NEVER
        return self.premises[i].offset - self.deadlines[0 if i else 1]

    @property
    def is_wide(self) -> bool:
        """Whether an answer leaves anything of it open: a variable, or what an auxiliary query decides."""
        bound = {term.variable for term in self.answer if isinstance(term, Slot)}
        return len(bound) < len(self.names) or self.asks_others(self.all_negated)

    def run_of(self, i: int, binding: Binding) -> Run | None:
        """The run with which a premise is waited for, if it is."""
        run = self._run_of.get(i)
        return run if run is not None and run.is_fixed(binding) else None

    def divided(self, bits: int, binding: Binding) -> tuple[list[Run], int]:
        """The runs of which premises are in a set, and the rest of it: premises that are waited for by themselves."""
        found = [run for run in self.runs if run.mask & bits and run.is_fixed(binding)] if self.runs else []
        for run in found:
            bits &= ~run.mask
        return found, bits

    def is_closed(self, binding: Binding) -> bool:
        """Whether nothing is open, in the premises or in what is compared."""
        return None not in binding

    def own_time(self, binding: Binding) -> Value | None:
        """The value of the variable in the answer's time; None while it is open, or where the time has no variable."""
        return None if self.time is None else binding[self.time]

    def _ends(self, own: Argument | None) -> tuple[int, int]:
        """How long after the answer's time the first premise is decided, and the last; NEVER where that is open."""
        if not self.is_connected or not isinstance(own, Slot):
            return NEVER, NEVER
        ends = [item.offset + item.delay - own.offset for item in self.premises]
        absences = [
            item.offset + item.width + item.delay - own.offset if item.time == own.variable and item.delay < NEVER else NEVER
            for item in self.negated
        ]
        return min(ends, default=NEVER), max([*ends, *absences], default=NEVER)

    def _may_be_one(self, i: int, j: int) -> bool:
        """Whether two premises whose times may be the same could become one fact."""
        one, other = self.premises[i], self.premises[j]
        return all(other.constants.get(at, value) == value for at, value in one.constants.items())

    def has_one_twice(self, binding: Binding, missing: int) -> bool:
        """Whether two premises that are missing have become the same fact, which another precondition stands for."""
        return bool(missing & self._twin_bits) and any(
            missing >> i & 1 and missing >> j & 1 and self._literal(i, binding) == self._literal(j, binding)
            for i, j in self.twins
        )

    def _literal(self, i: int, binding: Binding) -> GroundLiteral:
        return self.premises[i].literal(binding, self.names)

    def contradicts_itself(self, binding: Binding, missing: int) -> bool:
        """Whether a fact that is missing must not come."""
        return bool(missing & self._clash_bits) and any(
            missing >> i & 1
            and self.premises[i].is_ground(binding)
            and item.is_ground(binding)
            and item.denies(*self.premises[i].fact(binding), binding)
            for i, item in self.clashes
        )

    def _clashes(self) -> Iterator[tuple[int, Awaited]]:
        """The premises that could be the very fact that an absence denies."""
        for item in self.negated:
            for i, premise in enumerate(self.premises):
                if premise.premise.predicate == item.premise.predicate and all(
                    item.constants.get(at, value) == value for at, value in premise.constants.items()
                ):
                    yield i, item

    def _upper_bounds(self) -> dict[int, list[tuple[int | None, int]]]:
        """For each time variable its upper bounds: another variable (0 if None) and a distance."""
        number = {name: i for i, name in enumerate(self.names)}
        return {
            number[name]: [
                (None if other is None else number[other], k) for other, k in found if other is None or other in number
            ]
            for name, found in self.conditions.upper.items()
            if name in number
        }

    def settle(self, binding: Binding, start: int | None) -> bool:
        """Decide the comparisons as far as the values go, and compute what they give; False if not all of them can hold."""
        if not self.conditions:
            return True
        values = self._values(binding, start)
        before = len(values)
        if not self.conditions.settle(values):
            return False
        if len(values) > before:
            binding[:] = [values.get(name) for name in self.names]
        return True

    def fits(self, binding: Binding, start: int | None) -> Sequence[Binding]:
        """The values with all that comparisons and calendars give, for each choice of intervals that they leave.

        An interval is chosen once it is known where it has to be; of those that make no difference to anything, one is.
        """
        if not self.settle(binding, start):
            return ()
        return [*self._chosen(binding, start)] if self.given else (binding,)

    def _chosen(self, binding: Binding, start: int | None) -> Iterator[Binding]:
        for given in self.given:
            found = self._intervals(given, binding, start) if given.is_open(binding) else None
            if found is None:
                continue
            one_does = all(binding[variable] is not None for variable in self._shown)
            for interval in found:
                made = list(binding)
                if given.choose(interval, made) and self.settle(made, start):
                    for fit in self._chosen(made, start):
                        yield fit
                        if one_does:
                            return
            return
        yield binding

    def _intervals(self, given: Given, binding: Binding, start: int | None) -> Iterable[Range] | None:
        """Those of a calendar that values leave; None while these are too many, or it is open where they are."""
        values = self._values(binding, start)
        low, _ = self.conditions.left(self.names[given.end], values)
        _, high = self.conditions.left(self.names[given.begin], values)
        has_come = all(binding[variable] is not None for variable in self._streamed)
        if low <= NEG or high >= POS:
            if not has_come:
                return None
            low, high = _bounded(low, high, self.own_time(binding), given.year)
        found = given.intervals(binding, min(low, high) - given.width, max(low, high) + given.width)
        if found is None or has_come:
            return found
        some = [*islice(found, MOST_INTERVALS + 1)]
        return some if len(some) <= MOST_INTERVALS else None

    def _given(self, premise: Premise, calendars: Mapping[str, Spells]) -> Given:
        begin, end = (self.names[t.variable] for t in (premise.time, premise.arguments[-1]) if isinstance(t, Slot))
        return Given(premise, calendars[calendar_of(premise.predicate)], -self.conditions.most(begin, end))

    def where(self, binding: Binding, start: int | None = None) -> list[Comparison]:
        """The comparisons that the open variables have to meet, with known values put in."""
        return [*self._open_conditions((*binding,), start)] if self.conditions else []

    def _where(self, binding: tuple[Value | None, ...], start: int | None) -> list[Comparison]:
        return self.conditions.open(self._values(binding, start))

    def _values(self, binding: Sequence[Value | None], start: int | None) -> dict[str, Value]:
        values = {name: value for name, value in zip(self.names, binding, strict=True) if value is not None}
        return values if start is None else {**values, START: start}

    def row(self, binding: Binding) -> tuple[Value | None, ...]:
        """The answer's columns, None where one is open; the time last."""
        return tuple(
            term if not isinstance(term, Slot) else None if binding[term.variable] is None else self._value(term, binding)
            for term in self.answer
        )

    def _value(self, term: Slot, binding: Binding) -> Value:
        return sum_of(binding[term.variable], term.offset)

    def binding_of(self, row: Sequence[Value | None], known: Sequence[Value | None] = ()) -> Binding | None:
        """The values that an answer gives the variables, added to the known ones; None where the two do not fit."""
        binding: Binding = list(known) or [None] * len(self.names)
        for term, value in zip(self.answer, row, strict=True):
            if value is None:
                continue
            if not isinstance(term, Slot):
                if term != value:
                    return None
                continue
            if term.offset:
                if not isinstance(value, int):
                    return None
                value -= term.offset
            if binding[term.variable] not in (None, value):
                return None
            binding[term.variable] = value
        return binding

    def deadline(self, item: Awaited, binding: Binding) -> int:
        """The watermark at which a premise is decided; NEVER while nothing bounds its time."""
        time = item.at(binding)
        if time is None:
            time = self.latest(item, binding)
        return NEVER if time >= NEVER or item.delay >= NEVER else time + item.width + item.delay

    def first_deadline(self, binding: Binding, missing: int) -> int:
        """The watermark at which the first of these premises is decided."""
        if self.is_connected and missing:
            own = self.own_time(binding)
            return own + self.deadlines[(missing & -missing).bit_length() - 1] if isinstance(own, int) else NEVER
        return min((self.deadline(item, binding) for _, item in self.missing(missing)), default=NEVER)

    def asks_others(self, pending: int) -> bool:
        """Whether some of these absences are of what auxiliary queries ask."""
        return any(item.asked is not None for _, item in self.pending(pending))

    def latest(self, item: Awaited, binding: Binding) -> int:
        """The latest value of a premise's open time that comparisons allow and that no fact excludes."""
        found = self._bound(item, binding)
        if found >= NEVER or item.time is None:
            return found
        first = self.passed(item) + 1
        while first <= found < first + MOST_TIMES and self._is_excluded(item, binding, found - item.offset):
            found -= 1
        return found

    def _is_excluded(self, item: Awaited, binding: Binding, value: int) -> bool:
        """Whether facts exclude a value of an open time: one that must not come has come, or the fact itself has come
        already and counts for another answer."""
        own = () if item.negated else (item,)
        for other in (*own, *self.excluding.get(item.time, ())):
            if any(binding[variable] is None for _, variable, _ in other.where):
                continue
            row, first = other.row(binding), value + other.offset
            if any(self.came(other.premise.predicate, row, time) for time in range(first, first + other.width + 1)):
                return True
        return False

    def _bound(self, item: Awaited, binding: Binding) -> int:
        found = NEVER
        if item.time is None:
            return found
        if not self.conditions.is_linear:
            _, high = self.left(item.time, binding, self.start())
            return NEVER if high >= NEVER else high + item.offset
        for other, distance in self._upper.get(item.time, ()):
            value = 0 if other is None else binding[other]
            if isinstance(value, int):
                found = min(found, value + distance + item.offset)
        return found

    def left(self, variable: int, binding: Binding, start: int | None) -> tuple[int, int]:
        """The least and the greatest time that comparisons leave to a variable; the least is greater if there is none."""
        return self.conditions.left(self.names[variable], self._values(binding, start))

    def missing(self, bits: int) -> Iterator[tuple[int, Awaited]]:
        """The premises of a set."""
        while bits:
            low = bits & -bits
            i = low.bit_length() - 1
            yield i, self.premises[i]
            bits ^= low

    def pending(self, bits: int) -> Sequence[tuple[int, Awaited]]:
        """The negated premises of a set."""
        if bits == self.all_negated:
            return self._absences
        return [(i, item) for i, item in self._absences if bits >> i & 1] if bits else ()


def _variables(premises: Iterable[Premise]) -> frozenset[int]:
    return frozenset(term.variable for item in premises for term in (*item.arguments, item.time) if isinstance(term, Slot))


def _bounded(low: int, high: int, own: Value | None, year: int) -> tuple[int, int]:
    """Where a calendar is looked at that nothing bounds: a year of it."""
    if low <= NEG and high >= POS:
        low = high = own if isinstance(own, int) else 0
    return (high - year if low <= NEG else low), (low + year if high >= POS else high)


def _bits(numbers: Iterable[int]) -> int:
    return sum(1 << i for i in {*numbers})


def _never(_: Awaited) -> int:
    return NEG


def _unknown() -> int | None:
    return None


def _not_come(_predicate: str, _row: Row, _time: int) -> bool:
    return False


def _absent(premise: Premise, question: Question, asked: Mapping[str, tuple[UnfoldedQuery, int]]) -> Awaited:
    query, horizon = asked.get(premise.predicate, (None, question.delay(premise.predicate)))
    return Awaited(premise, horizon, negated=True, asked=query)
