"""A law of why-not: adding what it says is missing, once or a few times, gives the answer; and what it names is missing."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.runtime.why.explain import Reason
from why.explaining import explainer, records

START = -20
MOST_ADDED = 60
"""So often something is added, at the most: a law that needs more would be none."""
_FACT = re.compile(r"(?P<atom>\w+\([^@]*\)|\w+)@(?P<times>.+)")
_TIMES = re.compile(r"(?P<open>[\[(])(?P<low>.+),(?P<high>.+)(?P<close>[\])])")


@st.composite
def brackets(draw: st.DrawFn, kind: str) -> str:
    """A metric interval that holds a distance, with any brackets; now and then without an end."""
    low = draw(st.integers(0, 2))
    high = low + draw(st.integers(0, 3))
    if draw(st.integers(0, 7)) == 7:
        return f"[{low},inf)"
    left, right = draw(st.sampled_from(["[]", "(]", "[)", "()"]))
    least = {"[]": 0, "()": 2 if kind == "integer" else 1}.get(left + right, 1)
    return f"{left}{low},{high}{right}" if high - low >= least else f"[{low},{high}]"


@st.composite
def formulas(draw: st.DrawFn, kind: str, depth: int = 3, *, is_left: bool = False) -> str:
    """A formula without `not`, of operators in operators, windows too; the left side of since binds no variable."""
    choice = draw(st.integers(0, 7)) if depth else 0
    if choice <= 1:
        own = ["p(X)", "s(X)", "s(k)", "u"]
        return draw(st.sampled_from(own if is_left else [*own, "p(Y)", "r(X,Y)", "s(Y)"]))
    inner = draw(formulas(kind, depth - 1, is_left=is_left))
    if choice <= 4:
        operator = draw(st.sampled_from(["diamondminus", "diamondplus", "boxminus", "boxplus"]))
        return f"{operator}{draw(brackets(kind))} ({inner})"
    if choice == 5:
        return f"({draw(formulas(kind, depth - 1, is_left=is_left))}, {inner})"
    if choice == 6:
        mode = draw(st.sampled_from(["sometime", "always"]))
        return f"({mode} ({inner}) in [{draw(st.integers(0, 3))}])"
    operator = draw(st.sampled_from(["since", "until"]))
    return f"(({draw(formulas(kind, depth - 1, is_left=True))}) {operator}{draw(brackets(kind))} (p(X), {inner}))"


@st.composite
def facts(draw: st.DrawFn, kind: str) -> list[str]:
    """A few facts in the times around those that are asked for."""
    found = [f"start@{START}"]
    for _ in range(draw(st.integers(0, 6))):
        atom = draw(st.sampled_from(["p(k)", "p(j)", "r(k,j)", "r(k,k)", "s(k)", "s(j)", "u"]))
        low = draw(st.integers(-6, 6))
        high = low + draw(st.integers(0, 6))
        closed = kind == "integer" or low == high
        left, right = "[]" if closed else draw(st.sampled_from(["[]", "(]", "[)", "()"]))
        found.append(f"{atom}@{left}{low},{high}{right}")
    return found


def added(fails: str, *, anywhere: bool) -> str:
    """The fact to add for what is said to be missing: `_` stands for any value, one time of the range does if it says so."""
    told = _FACT.fullmatch(fails)
    assert told is not None, fails
    atom, times = told["atom"].replace("_", "k"), told["times"]
    span = _TIMES.fullmatch(times)
    if not anywhere or span is None:
        return f"{atom}@{times}"
    low, high = span["low"], span["high"]
    if span["close"] == "]":
        return f"{atom}@{high}"
    if span["open"] == "[":
        return f"{atom}@{low}"
    if high == "inf":
        return f"{atom}@{int(low) + 1 if low != '-inf' else 0}"
    return f"{atom}@{int(high) - 1}" if low == "-inf" else f"{atom}@{span['open']}{low},{high}{span['close']}"


def steps(program: str, known: list[str], fact: str) -> int:
    """How often something has to be added until the fact holds; what is said to be missing is not known before."""
    known = list(known)
    for step in range(MOST_ADDED):
        found, schema = explainer(program, known)
        (asked,) = records(schema, [fact])
        answer = found.why(asked)
        if isinstance(answer, Reason):
            return step
        (attempt,) = answer.attempts
        wanted = attempt.miss.wanted
        if wanted is not None:
            assert found.model.ranges(*wanted) == [], f"{attempt.miss.fails} holds in part: {known}"
        elif attempt.miss.times[1] < found.model.timeline.encode_point(Fraction(START)):
            return step  # no fact helps: `always` holds at no time before the stream starts
        new = added(attempt.miss.fails, anywhere=attempt.miss.anywhere)
        known.append(new)
    raise AssertionError(f"{program} lacks {known}")


@pytest.mark.parametrize("kind", ["integer", "rational"])
@given(data=st.data())
def test_adding_what_is_missing_gives_the_answer(kind: str, data: st.DataObject) -> None:
    """What a why-not of a rule without `not` says is missing does not hold; added, a few times, it gives the answer."""
    program = f"timeline {kind}. q(X) :- {data.draw(formulas(kind))}, p(X)."
    steps(program, data.draw(facts(kind)), "q(k)@0")


@pytest.mark.parametrize(
    ("program", "known", "fact", "first"),
    [
        (
            "timeline rational. q(Z) :- boxminus[1,3] (c(Z) until(2,4] p(Z)).",
            ["p(a)@(2,6]", "c(a)@(2,3)"],
            "q(a)@3",
            "c(a)@(0,2]",
        ),
        (
            "timeline integer. q(Y) :- boxplus[2,5] boxminus[2,2] (a(X), X >= 2), c(Y).",
            ["a(1)@3", "c(k)@3"],
            "q(k)@3",
            "a(_)@[3,6]",
        ),
        ("timeline integer. q :- boxminus[0,9] diamondminus[0,1] a.", ["a@[0,4]"], "q@9", "a@[6,9]"),
        ("timeline integer. q :- diamondminus[0,9] (a, b).", ["a@[0,4]", "b@6"], "q@9", "b@[0,4]"),
        ("timeline integer. q :- diamondminus[0,9] boxminus[0,3] a.", ["a@[3,5]"], "q@9", "a@6"),
        (
            "timeline integer. q :- boxminus[0,inf) (always a in [0]).",
            ["start@-20", "a@[-20,9]"],
            "q@9",
            "always a in [0]@(-inf,-21]",
        ),
        ("timeline integer. q :- diamondminus[0,9] (always a in [9]).", ["start@5", "a@5"], "q@3", "always a in [9]@[-6,3]"),
        ("timeline integer. q :- always a in [10 step 5].", ["start@7", "a@[7,9]"], "q@8", "always a in [10 step 5]@8"),
        ("timeline integer. q :- diamondminus[0,9] (always a in [9]).", ["start@5"], "q@9", "a@5"),
    ],
)
def test_what_is_missing_holds_nowhere_yet(program: str, known: list[str], fact: str, first: str) -> None:
    """Under operators in operators that is named which does not hold, with values that no comparison excludes."""
    found, schema = explainer(program, known)
    (asked,) = records(schema, [fact])
    answer = found.why(asked)
    assert not isinstance(answer, Reason)
    assert answer.attempts[0].miss.fails == first
