"""What is proved of drawn rules is so in the oracle, whatever facts are drawn: nothing refutes a finding."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

from drawing import drawn
from oracle.evaluate import GroundFact, Model, evaluate, head_atom, rules_of
from oracle.lars_programs import COUNTED, EVERY_FORM, lars_programs, lars_streams
from oracle.programs import EVERYTHING, NON_RECURSIVE, PAST_ONLY, programs, streams
from oracle.reach import exact_range, horizon
from proving.drawing_rules import book_of_text, mixed
from tidelog.plans.checks.check import check
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.proving.judging import Judge
from tidelog.plans.tree.syntax import Atom, Program, Rule, Truth

DENSE = {
    "past": ("rational", PAST_ONLY),
    "both ways": ("rational", replace(NON_RECURSIVE, nested_negation=True, constraints=False)),
    "whole numbers": ("integer", replace(NON_RECURSIVE, nested_negation=True, constraints=False)),
    "recursion": ("integer", replace(EVERYTHING, constraints=False)),
}
WINDOWS = {"every form": EVERY_FORM, "counted": replace(COUNTED, recursion=False)}
FIRED = "fired"


class Proved(NamedTuple):
    """A judge that has judged, the predicates that it says never end, and the pairs that never hold together."""

    judge: Judge
    lasting: list[str]
    excluding: list[tuple[str, str]]


def judged(program: Program) -> Proved:
    """All that is proved of a program."""
    judge = Judge(book_of_text(program))
    judge.find_dead()
    names = sorted(judge.book.clauses)
    for find in (judge.needless_rules(), judge.needless_conditions(), judge.together(names)):
        list(find)
    return Proved(judge, [name for name in names if judge.lasts(name)], list(judge.excluding(names)))


class Refuter:
    """Evaluates variants of a program over the same facts."""

    def __init__(self, program: Program, facts: list[GroundFact]) -> None:
        self.program, self._facts = program, facts
        self._low, self._high = horizon(program, facts)
        self._first, self._last = exact_range(program, facts, low=self._low, high=self._high)

    def model(self, program: Program) -> dict[str, set[tuple[object, ...]]]:
        """What holds in a variant, at the times at which the oracle is right, by predicates."""
        model: Model = evaluate(program, self._facts, low=self._low, high=self._high)
        assume(not model.meets_edge)
        names = {head.predicate for rule in rules_of(program) if (head := head_atom(rule.head)) is not None}
        names |= set(model.coverage)
        return {name: set(self._points(model, name)) for name in names if name != FIRED}

    def _points(self, model: Model, name: str):  # type: ignore[no-untyped-def]
        for row in model.rows(name):
            for time in model.points(name, row):
                if self._first <= time <= self._last:
                    yield row, Fraction(time)

    def check(self, proved: Proved) -> None:
        """Each finding, by what it says."""
        judge = proved.judge
        rules = list(rules_of(self.program))
        whole = self.model(self.program)
        for number in judge.dead:
            body = rules[number].body
            fired = self._with([*rules, Rule(Atom("fires"), body)])
            assert not self.model(fired)["fires"], f"rule {number} fires"
        for number in judge.needless:
            assert (
                self.model(self._with([rule for other, rule in enumerate(rules) if other != number])).items()
                >= {name: points for name, points in whole.items() if points}.items()
            ), f"rule {number} is needed"
        for number, place in judge.needless_parts:
            less = tuple(part for other, part in enumerate(rules[number].body) if other != place)
            changed = [replace(rule, body=less) if other == number else rule for other, rule in enumerate(rules)]
            assert self.model(self._with(changed)) == whole, f"part {place} of rule {number} is needed"
        for one, other in judge.alike:
            assert whole[one] == whole[other], f"{one} and {other} differ"
        for one, other in proved.excluding:
            assert not whole[one] & whole[other], f"{one} and {other} hold together"
        for name in proved.lasting:
            self._check_lasting(name, whole[name])

    def _check_lasting(self, name: str, points: set[tuple[object, ...]]) -> None:
        model = evaluate(self.program, self._facts, low=self._low, high=self._high)
        for row, begin in points:
            times = [time for time in model.times() if begin <= time <= self._last]
            assert all((row, time) in points for time in times), f"{name} ends: {row} from {begin}"

    def _with(self, rules: list[Rule]) -> Program:
        others = tuple(item for item in self.program.statements if not isinstance(item, Rule))
        return replace(self.program, statements=(*others, *rules))


def found(proved: Proved) -> bool:
    """Whether anything was proved at all."""
    judge = proved.judge
    return bool(judge.dead or judge.needless or judge.needless_parts or judge.alike or proved.lasting or proved.excluding)


def is_right(program: Program) -> bool:
    """Whether a program passes the checks, as each does that is judged."""
    return not any(item.severity == "error" for item in check(program)) and not any(
        isinstance(rule.head, Truth) for rule in rules_of(program)
    )


@pytest.mark.parametrize("fragment", DENSE)
@given(data=st.data())
@drawn(300, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_proved_of_operators_is_so(fragment: str, data: st.DataObject) -> None:
    """Boxes, diamonds, since, until, negation, comparisons, recursion."""
    timeline, features = DENSE[fragment]
    program = data.draw(mixed(data.draw(programs(timeline, features))))
    _check(program, data.draw(streams(program)))


@pytest.mark.parametrize("forms", WINDOWS)
@given(data=st.data())
@drawn(300, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_proved_of_windows_is_so(forms: str, data: st.DataObject) -> None:
    """Windows, times as values, held values and aggregates."""
    program = data.draw(mixed(data.draw(lars_programs(WINDOWS[forms]))))
    _check(program, data.draw(lars_streams()))


def _check(program: Program, facts: list[GroundFact]) -> None:
    assume(is_right(program))
    try:
        proved = judged(program)
    except ProgramError:
        assume(False)
        return
    assume(found(proved))
    try:
        Refuter(program, facts).check(proved)
    except (ValueError, RuntimeError):  # the oracle does not cover it
        assume(False)
