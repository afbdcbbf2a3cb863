"""Which alarm is folded into which: against derivations that are looked for point by point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from tidelog.plans.data.changes import Change
from tidelog.plans.plan.plan import Plan

LAST = 14
ROWS = ("u", "v", "w")
LAYERS = ("a", "m", "b", "n", "c")
"""Derived predicates: each reads inputs, and those before it."""
ALARMS = ("a", "b", "c")
INPUTS = ("p", "q")
LINKS = (("u", "v"), ("v", "w"), ("u", "u"))

Point = tuple[str, int]
"""A row, which is one constant, at a time."""


@dataclass(frozen=True)
class Literal_:
    """`p(X)`, or of a neighbour, `p(Y), link(Y, X)`; with an operator over the last `back` time units before it."""

    predicate: str
    operator: Literal["", "diamondminus", "boxminus", "since"] = ""
    back: int = 0
    is_linked: bool = False

    def text(self, variable: str) -> str:
        atom = f"{self.predicate}({variable if self.is_linked else 'X'})"
        link = f", link({variable}, X)" if self.is_linked else ""
        if self.operator == "since":
            return f"p({variable if self.is_linked else 'X'}) since[0,{self.back}] {atom}{link}"
        return (f"{self.operator}[0,{self.back}] {atom}" if self.operator else atom) + link


@dataclass(frozen=True)
class Rule_:
    head: str
    body: tuple[Literal_, ...]

    def text(self) -> str:
        return f"{self.head}(X) :- {', '.join(part.text(f'Y{i}') for i, part in enumerate(self.body))}."


@st.composite
def rules(draw: st.DrawFn) -> tuple[Rule_, ...]:
    found = []
    for place, head in enumerate(LAYERS):
        known = (*INPUTS, *LAYERS[:place], *LAYERS[:place])
        literals = st.builds(
            Literal_,
            st.sampled_from(known),
            st.sampled_from(("", "", "diamondminus", "boxminus", "since")),
            st.integers(0, 3),
            st.booleans(),
        )
        bodies = st.lists(literals, min_size=1, max_size=2).map(tuple)
        found += [Rule_(head, body) for body in draw(st.lists(bodies, min_size=1, max_size=2))]
    return tuple(found)


facts = st.frozensets(st.tuples(st.sampled_from(INPUTS), st.sampled_from(ROWS), st.integers(0, LAST)), max_size=40)
Facts = frozenset[tuple[str, str, int]]


class Derivations:
    """All that holds, and what of it has a derivation of a kind: one without alarms, or one that rests on one alarm.

    `cause` is an alarm with its row; None asks for derivations without any. A derivation rests on a cause where one literal
    of its rule does, over the whole of what its operator asks for; on the left of since there are inputs alone.
    """

    def __init__(self, program: Sequence[Rule_], given: Facts, holds: Mapping[str, set[Point]] | None = None) -> None:
        self.program, self.given = program, given
        self.holds: dict[str, set[Point]] = {name: set() for name in LAYERS} if holds is None else dict(holds)
        for name in INPUTS:
            self.holds[name] = {(row, time) for predicate, row, time in given if predicate == name}

    def all(self) -> dict[str, set[Point]]:
        for head in LAYERS:
            self.holds[head] = self._derive(head, self.holds, self.holds)
        return self.holds

    def of(self, cause: tuple[str, str] | None) -> dict[str, set[Point]]:
        """What is derived in this way."""
        found: dict[str, set[Point]] = {
            name: {point for point in self.holds[name] if cause is None or cause == (name, point[0])} for name in INPUTS
        }
        for head in LAYERS:
            kind = {name: self._as_read(name, found, cause) for name in (*INPUTS, *found)}
            found[head] = self._derive(head, kind, kind if cause is None else self.holds)
        return found

    def _as_read(self, name: str, found: Mapping[str, set[Point]], cause: tuple[str, str] | None) -> set[Point]:
        if name not in ALARMS:
            return found[name]
        if cause is None or cause[0] != name:
            return set()
        return {point for point in self.holds[name] if point[0] == cause[1]}

    def _derive(self, head: str, one: Mapping[str, set[Point]], others: Mapping[str, set[Point]]) -> set[Point]:
        return {
            (row, time)
            for rule in self.program
            if rule.head == head
            for row, time in product(ROWS, range(LAST + 1))
            if any(
                all(self._holds(part, row, time, one if i == place else others) for i, part in enumerate(rule.body))
                for place in range(len(rule.body))
            )
        }

    def _holds(self, part: Literal_, row: str, time: int, among: Mapping[str, set[Point]]) -> bool:
        rows = [first for first, second in LINKS if second == row] if part.is_linked else [row]
        points, times = among.get(part.predicate, set()), range(time - part.back, time + 1)
        for each in rows:
            at = [when for when in times if (each, when) in points]
            if part.operator == "boxminus":
                if len(at) == part.back + 1:
                    return True
            elif part.operator == "since":
                left = self.holds["p"]
                if any(all((each, when) in left for when in range(begin + 1, time)) for begin in at):
                    return True
            elif at if part.operator else (each, time) in points:
                return True
        return False


def _rests(program: Sequence[Rule_], head: str, on: str) -> bool:
    """Whether a rule leads from an input, or an alarm, to a predicate, with no other alarm between."""
    read = {part.predicate for rule in program if rule.head == head for part in rule.body}
    return on in read or any(_rests(program, name, on) for name in read if name in LAYERS and name not in ALARMS)


def _is_above(program: Sequence[Rule_], child: str, cause: str) -> bool:
    """Whether rules lead from an alarm to another one, over any alarms."""
    return any(_rests(program, child, each) and (each == cause or _is_above(program, each, cause)) for each in ALARMS)


def _always_rests(program: Sequence[Rule_], head: str, on: str) -> bool:
    """Whether all rules of a predicate need facts of an input."""
    return all(
        any(
            part.predicate == on
            or (part.predicate in LAYERS and part.predicate not in ALARMS and _always_rests(program, part.predicate, on))
            for part in rule.body
        )
        for rule in program
        if rule.head == head
    )


def _share(program: Sequence[Rule_], child: str, head: str, on: str) -> bool:
    """Whether an alarm may be folded into another one since both rest on the same fact of an input."""
    are_related = _is_above(program, child, head) or _is_above(program, head, child)
    return not are_related and _rests(program, head, on) and _always_rests(program, child, on)


def _depth(program: Sequence[Rule_], name: str) -> int:
    return max((_depth(program, each) + 1 for each in ALARMS if _rests(program, name, each)), default=0)


def expected(program: Sequence[Rule_], given: Facts) -> dict[tuple[str, str], set[tuple[str, str, int]]]:
    """Which alarm is folded into which, by their predicates: row, row of the cause, time."""
    derivations = Derivations(program, given)
    holds = derivations.all()
    alone = derivations.of(None)
    found: dict[tuple[str, str], set[tuple[str, str, int]]] = {}
    for place, cause in enumerate(ALARMS):
        for row in ROWS:
            resting = derivations.of((cause, row))
            for child in ALARMS[place + 1 :]:
                found.setdefault((child, cause), set()).update(
                    (own, row, time)
                    for own, time in resting[child]
                    if (row, time) in holds[cause] and (own, time) not in alone[child]
                )
    for fact, row in product(INPUTS, ROWS):
        resting = derivations.of((fact, row))
        for child, head in product(ALARMS, ALARMS):
            is_before = (_depth(program, head), head) < (_depth(program, child), child)
            if is_before and _share(program, child, head, fact):
                found.setdefault((child, head), set()).update(
                    (own, other, time) for own, time in resting[child] for other, moment in resting[head] if time == moment
                )
    return found


def program_of(program: Sequence[Rule_], outputs: Sequence[str] = ()) -> str:
    lines = ["timeline integer.", "input p(x).", "input q(x).", *(f"link({a},{b})." for a, b in LINKS)]
    lines += [rule.text() for rule in program]
    lines += [f"alarm {name}(x)." for name in ALARMS]
    return "\n".join([*lines, *(f"output '{name}'." for name in outputs)])


def folded(plan: Plan, given: Facts, single: bool) -> dict[str, set[tuple[tuple[object, ...], int]]]:
    """What is told of the outputs, point by point."""
    session = tidelog.Session(plan)
    ordered = sorted((time, name, row) for name, row, time in given)
    if single:
        for time, name, row in ordered:
            session.push(name, [row], time)
    else:
        session.push_records([plan.record(name, [row], time) for time, name, row in ordered])
    session.finish()
    found: dict[str, set[tuple[tuple[object, ...], int]]] = {}
    for name, told, lo, hi in session.pull_records():
        found.setdefault(name, set()).update((told, time) for time in range(max(lo, 0), min(hi, LAST) + 1))
    return found


def _pairs(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for child, cause in product(ALARMS, ALARMS):
        if (name := f"{child} folded into {cause}") in plan.outputs:
            yield child, cause, name


@given(rules(), facts, st.booleans())
def test_an_alarm_is_folded_into_what_all_its_derivations_rest_on(
    program: tuple[Rule_, ...], given: Facts, single: bool
) -> None:
    pairs = [*_pairs(tidelog.compile(program_of(program), desk=True))]
    told = folded(tidelog.compile(program_of(program, [name for *_, name in pairs]), desk=True), given, single)
    wanted = expected(program, given)
    for child, cause, name in pairs:
        assert told.get(name, set()) == {((own, row), time) for own, row, time in wanted.pop((child, cause), set())}, name
    assert not any(wanted.values())  # where rules lead from no alarm to another one, no derivation does


PUMPS = """
timeline integer, unit 1 s.
input tripped(pump: text).
input low(line: text).
feeds(p1,l1). feeds(p1,l2). feeds(p2,l3). cools(l1,c1). cools(l2,c2).
stopped(P) :- tripped(P).
dry(L) :- stopped(P), feeds(P, L).
flow_low(L) :- dry(L) for 3 s.
flow_low(L) :- low(L).
cell_warm(C) :- flow_low(L), cools(L, C).
alarm stopped(pump: text), priority critical, acknowledge.
alarm flow_low(line: text), priority high, acknowledge, shelve at most 1 h.
alarm cell_warm(cell: text), priority medium.
"""


def _open(session: tidelog.Session[Change]) -> dict[str, str | None]:
    """The open alarms, each with what it is folded into."""
    items = session.open_alarms()
    names = {item.id: f"{item.alarm} {item.args[0]}" for item in items}
    return {names[item.id]: None if item.cause is None else names[item.cause] for item in items}


@pytest.fixture
def session() -> tidelog.Session[Change]:
    session: tidelog.Session[Change] = tidelog.Session(tidelog.compile(PUMPS, desk=True), emit="changes", held=True)
    session.push("tripped", ["p1"], interval="[10,60]")
    return session


def test_followers_are_folded_into_the_first_cause(session: tidelog.Session[Change]) -> None:
    session.push("low", ["l3"], interval="[12,100]")
    session.advance(20)
    first = "stopped p1"
    assert _open(session) == {
        first: None,
        "flow_low l1": first,
        "flow_low l2": first,
        "cell_warm c1": first,
        "cell_warm c2": first,
        "flow_low l3": None,
    }
    assert session.open_alarms()[0].folded == 4


def test_a_reason_of_its_own_is_told_by_itself(session: tidelog.Session[Change]) -> None:
    session.push("low", ["l1"], interval="[20,30]")
    session.advance(25)
    assert _open(session)["flow_low l1"] is None
    assert _open(session)["cell_warm c1"] == "flow_low l1"
    session.advance(35)
    assert _open(session)["flow_low l1"] == "stopped p1"


def test_a_cause_that_is_shelved_explains_nothing(session: tidelog.Session[Change]) -> None:
    session.shelve("flow_low", ["l1"], who="anna", lasting="10 s", time=20)
    session.advance(25)
    assert _open(session)["cell_warm c1"] is None
    assert _open(session)["flow_low l1"] is None
    session.advance(31)
    assert _open(session)["cell_warm c1"] == "stopped p1"


def test_what_has_returned_stays_with_its_cause(session: tidelog.Session[Change]) -> None:
    session.advance(70)
    assert _open(session) == {"stopped p1": None, "flow_low l1": "stopped p1", "flow_low l2": "stopped p1"}
    session.acknowledge("stopped", ["p1"], who="anna", time=71)
    session.advance(72)
    assert _open(session) == {"flow_low l1": None, "flow_low l2": None}


def test_alarms_of_one_fact_are_folded_into_the_most_urgent() -> None:
    text = """
    timeline integer, unit 1 s.
    input status(pump: text, state: text).
    feeds(p1,l1). feeds(p1,l2).
    pump_off(P) :- status(P, off).
    line_dry(L) :- status(P, off) for 3 s, feeds(P, L).
    alarm line_dry(line: text), priority high.
    alarm pump_off(pump: text), priority critical.
    """
    session: tidelog.Session[Change] = tidelog.Session(tidelog.compile(text, desk=True), emit="changes", held=True)
    session.push("status", ["p1", "off"], interval="[10,60]")
    session.advance(40)
    assert _open(session) == {"pump_off p1": None, "line_dry l1": "pump_off p1", "line_dry l2": "pump_off p1"}


def test_alarms_that_rest_on_each_other_are_no_cause_of_each_other() -> None:
    text = """
    timeline integer.
    input failed(x). input link(x, y).
    down(X) :- failed(X).
    down(Y) :- down(X), link(X, Y).
    warm(X) :- down(X), failed(X).
    cold(X) :- warm(X).
    warm(X) :- cold(X).
    alarm down(x). alarm warm(x). alarm cold(x).
    """
    plan = tidelog.compile(text, desk=True)
    assert [name for name in plan.outputs if "folded" in name] == ["warm folded into down"]
