"""The proved checker works out aggregates: each function, in each place of a rule; other values and pairs it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from why.explaining import refusal, verifier, why

from proofs.checker import Checker, checker


class Case(NamedTuple):
    """A rule, facts, and an answer."""

    rules: str
    facts: tuple[str, ...]
    fact: str


READINGS = ("a(x,7)@1", "a(y,5)@3", "a(x,3.5)@3")
GROUPS = ("c(x)@[0,9]", "c(y)@[0,9]", "a(x,2)@1", "a(y,5)@3", "a(y,2)@3")
CASES = {
    "sum that is rounded": Case(
        "b(N) :- N = sum(V) over a(_, V) in [3].", ("a(x,0.1)@1", "a(y,0.2)@2"), "b(0.30000000000000004)@3"
    ),
    "mean that is rounded": Case("b(N) :- N = avg(V) over a(_, V) in [3].", READINGS, "b(5.166666666666667)@3"),
    "distinct": Case("b(N) :- N = distinct(V) over a(_, V) in [3].", ("a(x,1)@1", "a(y,1)@2", "a(x,3)@3"), "b(2)@3"),
    "first": Case("b(N) :- N = first(V) over a(_, V) in [2].", READINGS, "b(3.5)@[4,5]"),
    "last": Case("b(N) :- N = last(V) over a(_, V) in [3].", READINGS, "b(5)@3"),
    "greatest of texts": Case("b(N) :- N = max(V) over a(_, V) in [3].", (*READINGS, "a(x,zz)@2"), "b(zz)@3"),
    "least": Case("b(N) :- N = min(V) over a(_, V) in [3].", (*READINGS, "a(x,zz)@2"), "b(3.5)@3"),
    "deviation": Case("b(N) :- N = stddev(V) over a(_, V) in [3].", READINGS, "b(1.755942292142123)@3"),
    "quantile": Case("b(N) :- N = quantile(0.9, V) over a(_, V) in [3].", READINGS, "b(6.6)@3"),
    "two values": Case(
        "b(N, M) :- N = sum(V) over a(S, V) in [3] by S, M = max(V) over a(S, V) in [3] by S.", READINGS, "b(10.5,7)@3"
    ),
    "units": Case("b(N) :- N = sum(V) over a(_, V) in [2 min].", ("a(x,7)@60", "a(x,5)@120", "a(x,3)@190"), "b(8)@190"),
    "what holds for ever": Case("b(N) :- N = avg(V) over a(_, V) in [3].", ("a(x,1)@[1,inf)", "a(y,3)@[5,inf)"), "b(2)@90"),
    "more than a threshold shows": Case(
        "b :- count() over a(_, _) in [40] >= 30.", tuple(f"a(x,{i})@{i}" for i in range(40)), "b@35"
    ),
    "more than are shown": Case(
        "b(N) :- N = count() over a(_, _) in [40].", tuple(f"a(x,{i})@{i}" for i in range(40)), "b(36)@35"
    ),
    "comparison": Case("b(S) :- avg(V) over a(S, V) in [3] by S > 3.", GROUPS, "b(y)@3"),
    "no such comparison": Case("b(S) :- c(S), not avg(V) over a(S, V) in [3] by S > 3.", GROUPS, "b(x)@3"),
    "look ahead": Case("b(N) :- diamondplus[0,2] (N = count() over a(_, _) in [2]).", READINGS, "b(3)@1"),
    "value of a value": Case(
        "n(S, C) :- C = count() over a(S, _) in [2] by S. b(N) :- N = max(C) over n(_, C) in [3].", GROUPS, "b(2)@3"
    ),
    "no threshold below": Case("n(S) :- count() over a(S, _) in [2] by S >= 2. b(S) :- c(S), not n(S).", GROUPS, "b(x)@3"),
    "no value below": Case("n(S, C) :- C = avg(V) over a(S, V) in [2] by S. b(S) :- c(S), not n(S, 3).", GROUPS, "b(x)@3"),
    "no deviation below": Case("n(S) :- stddev(V) over a(S, V) in [2] by S > 1. b(S) :- c(S), not n(S).", GROUPS, "b(x)@3"),
    "held by steps": Case("b(V) :- latest a(x, V) in [4 step 5].", ("a(x,1)@3", "a(x,2)@4", "a(x,3)@6"), "b(2)@[5,9]"),
    "held in a row of twice": Case("b(V) :- latest a(V, V) in [4].", ("a(1,1)@3", "a(1,2)@4", "a(2,2)@6"), "b(1)@[4,5]"),
}
COMPLETE = "timeline integer, unit 1 s. "


@pytest.fixture(scope="module")
def proved() -> Iterator[Checker]:
    """The proved checker."""
    with checker("--json") as process:
        yield process


@pytest.mark.parametrize("name", CASES)
def test_values_are_worked_out(proved: Checker, name: str) -> None:
    """What ours proves is accepted; with one more fact of the same kind both say the same of the old certificate."""
    rules, facts, fact = CASES[name]
    certificate = json.loads(why(COMPLETE + rules, facts, fact).json())
    assert certificate["holds"] is True
    told = proved.verdict(COMPLETE + rules, facts, certificate)
    assert told["verdict"] == "accepted", told
    for more in ("a(x,-1)@2", "a(y,99)@3", "a(z,4)@3", "a(x,1)@[0,9]", "a(y,1)@30"):
        ours = refusal(verifier(COMPLETE + rules, [*facts, more]), certificate)
        told = proved.verdict(COMPLETE + rules, [*facts, more], certificate)
        assert told["verdict"] == ("accepted" if ours is None else "refused"), (more, told, ours)


def test_a_value_needs_the_promise_and_a_threshold_does_not(proved: Checker) -> None:
    """Of an input that has told all up to 2, nobody knows how many there are up to 3; two are known to be there."""
    counted, reached = "b(N) :- N = count() over a(_, _) in [3].", "b :- count() over a(_, _) in [3] >= 2."
    certificate = json.loads(why(COMPLETE + counted, READINGS, "b(3)@3").json())
    assert proved.verdict(COMPLETE + counted, READINGS, certificate) == {"verdict": "accepted", "complete_until": "3"}
    told = proved.verdict(COMPLETE + counted, READINGS, certificate, complete_until="2")
    assert (told["verdict"], "complete up to 3" in told["met"]) == ("not covered", True)
    certificate = json.loads(why(COMPLETE + reached, READINGS, "b@3").json())
    assert proved.verdict(COMPLETE + reached, READINGS, certificate, complete_until="2") == {"verdict": "accepted"}


def test_a_value_that_rests_on_its_own_absence_is_not_taken(proved: Checker) -> None:
    """`b` holds if nothing is counted but `b`: there is no stable model, and no value is accepted."""
    rules = "b :- a(_, _), N = count() over (a(_, _), not b) in [0], N = 1."
    node = {
        "aggregate": "1 = count() over (a(_, _), not b) in [0]@1",
        "premises": [{"fact": "a(x,7)@1", "by": "input"}],
        "more": 0,
    }
    proof = {"fact": "b@1", "by": rules, "premises": [{"fact": "a(x,7)@1", "by": "input"}, node]}
    told = proved.verdict(COMPLETE + rules, READINGS, {"holds": True, "fact": "b@1", "proof": proof})
    assert told["verdict"] != "accepted", told
