"""Questions: what `ask` asks, and the hypothetical answers to it, as the definitions have them.

Cruz-Filipe, Gaspar and Nunes 2020, section 3: a **hypothetical answer** to a query is a substitution θ with the facts H that
must still come (the hypotheses); it is **supported** by the facts E that have come (the evidence). Here a fact may also be
the absence of one, after `not` (section 6).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal as OneOf

from tidelog.plans.calendars.ticks import TickCalendar
from tidelog.plans.data.facts import format_constant, format_predicate
from tidelog.plans.data.timeline import POS
from tidelog.plans.language.printing import format_formula
from tidelog.plans.tree.brief import cut, number
from tidelog.plans.tree.syntax import Atom, Comparison, Rule, Value

Status = OneOf["possible", "certain", "rejected", "unsupported"]
"""What is known of an answer; `unsupported` where nothing that has come speaks for it (as schemata alone)."""


@dataclass(frozen=True, slots=True)
class Question:
    """An `ask`: what is asked, and all that its unfolding needs; times are in ticks of an integer timeline.

    `rules` are those that the query depends on, `inputs` the predicates that streams bring, `delays` how late their facts
    may come, `calendars` those that they read. With `depth` a recursion is unfolded so often and no further: what lies
    deeper is not seen.
    """

    name: str
    query: Atom
    rules: tuple[Rule, ...]
    inputs: frozenset[str]
    delays: Mapping[str, int] = field(default_factory=dict)
    depth: int | None = None
    calendars: Mapping[str, TickCalendar] = field(default_factory=dict)

    @property
    def time(self) -> str:
        """The variable that stands for the time in the answers."""
        return self.query.at.variable.name if self.query.at is not None else ""

    def delay(self, predicate: str) -> int:
        """How late a fact of this input may come."""
        return self.delays.get(predicate, 0)


@dataclass(frozen=True, slots=True)
class Open:
    """A value in a literal that is not known yet: a variable, and what is added to it."""

    name: str
    offset: int = 0

    def __str__(self) -> str:
        return f"{self.name}{self.offset:+}" if self.offset else self.name


@dataclass(frozen=True, slots=True)
class GroundLiteral:
    """A fact that has come or may come, or with `negated` its absence: a premise of an answer.

    As text it is a fact as in data: `temp(wt25,high)@1`, `not ok(wt25)@3`; what is open is a variable: `temp(wt25,n/a)@T2`.
    With `until` it is so many premises, one at each time point up to that one: `not heard(n1)@[5,34]`.
    `shown` stands in place of predicate and arguments where `not` stands before more than an atom.
    """

    predicate: str
    arguments: tuple[Value | Open, ...]
    time: int | Open
    negated: bool = False
    shown: str = ""
    until: int | Open | None = None
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """It is computed once: sets of premises are compared all the time."""
        known = self._hash
        if not known:
            known = hash((self.predicate, self.arguments, self.time, self.negated, self.shown, self.until)) or 1
            object.__setattr__(self, "_hash", known)
        return known

    def __str__(self) -> str:
        time = str(self.time) if self.until is None else f"[{self.time},{self.until}]"
        return f"{self.untimed}@{time}"

    @property
    def untimed(self) -> str:
        """The literal as text, without its time."""
        atom = f"({self.shown})" if self.shown else format_predicate(self.predicate) + _arguments(self.arguments)
        return f"{'not ' if self.negated else ''}{atom}"

    @property
    def count(self) -> int:
        """At how many time points it stands for a premise."""
        return self.until - self.time + 1 if isinstance(self.until, int) and isinstance(self.time, int) else 1


def _arguments(arguments: tuple[Value | Open, ...]) -> str:
    if not arguments:
        return ""
    return f"({','.join(str(item) if isinstance(item, Open) else format_constant(item) for item in arguments)})"


@dataclass(frozen=True, slots=True)
class HypotheticalAnswer:
    """What is known of one answer to a query, at the time point `at`.

    `answer` gives each variable of the query its value, None where it is open. `hypotheses` are what is still needed; none
    for a `certain` answer. `failed` is the premise by which an answer was `rejected`. `deadline` is the time point by which
    it is decided at the latest; None where nothing bounds it (unbound wait), and once it is decided. `where` has what the
    values of open variables must fulfil for the answer to follow. Answers that rest on the same facts and differ in time
    have the same `group`. `failed` in a `possible` line is what a way to the answer lacks that was told before.
    """

    query: str
    answer: Mapping[str, Value | None]
    status: Status
    evidence: tuple[GroundLiteral, ...] = ()
    hypotheses: tuple[GroundLiteral, ...] = ()
    at: int | None = None
    deadline: int | None = None
    failed: GroundLiteral | None = None
    where: tuple[Comparison, ...] = ()
    group: str = ""

    def __repr__(self) -> str:
        shown = {name: "?" if value is None else format_constant(value) for name, value in self.answer.items()}
        values = ", ".join(f"{name} = {value}" for name, value in shown.items())
        rest = f"{number(len(self.evidence), 'fact')} for it, {len(self.hypotheses)} needed"
        return f"<{type(self).__name__} {cut(self.query, 40)}, {self.status}: {cut(values)}; {rest}>"

    @property
    def conditions(self) -> tuple[str, ...]:
        """`where` as text: `("C >= 80",)`."""
        return tuple(map(format_formula, self.where))

    @property
    def is_final(self) -> bool:
        """Whether nothing more is said of it."""
        return self.status in ("certain", "rejected")


NEVER = POS
"""A deadline that nothing sets."""
