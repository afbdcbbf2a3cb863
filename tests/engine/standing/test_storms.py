"""Each operator over what goes on holding, with events close together for dozens of devices: it tells what the oracle says.

The programs are few and the histories long, so that each store is tidied up again and again while much is open. And where
this tidying is broken on purpose, a wrong answer shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from heapq import heapify
from random import Random
from typing import Any

import pytest
from limits import LEAST, limits

from engine.standing.test_programs import MODES, compiled, points_of, told
from oracle.agreement import Expected, records_of
from oracle.evaluate import GroundFact
from tidelog import Session
from tidelog.operators.grouped.levels import Levels
from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.metric.since import Since
from tidelog.operators.standing.spells import Spells
from tidelog.operators.stores.coverage import Coverage
from tidelog.operators.stores.time_index import TimeIndex
from tidelog.plans.diagnostics.errors import OperatorError
from tidelog.plans.tree.syntax import Interval
from tidelog.runtime.ports.interfaces import EmitMode

Method = Callable[..., Any]

GIVEN = "timeline integer. input on(x). input off(x). input e(x). m(X) :- not off(X) since on(X). "
WATCH = "w(X) :- diamondminus[0,40] on(X), not diamondminus[0,6] e(X). "
RULES = {
    "watchdog": f"{WATCH} output w.",
    "latch": "output m.",
    "join": "o(X) :- m(X), diamondminus[0,3] e(X). output o.",
    "join of what is open": f"{WATCH} o(X) :- m(X), w(X). output o.",
    "negation of what is open": f"{WATCH} o(X) :- m(X), not w(X). output o.",
    "box": f"{WATCH} o(X) :- boxminus[0,4] w(X). output o.",
    "since over what is open": "o(X) :- m(X) since[1,9] e(X). output o.",
    "since from what is open": f"{WATCH} o(X) :- m(X) since[0,5] w(X). output o.",
    "since over events": "o(X) :- diamondminus[0,4] e(X) since[2,9] on(X). output o.",
    "until": f"{WATCH} o(X) :- m(X) until[0,6] w(X). output o.",
    "count": "o(X,N) :- N = count() over m(X) in [5] by X. output o.",
    "threshold": f"{WATCH} n(X) :- w(X). n(X) :- m(X). o(X) :- count() over n(X) in [7] by X >= 5. output o.",
    "count of facts and of what is open": f"{WATCH} boxplus[0,4] n(X) :- e(X). n(X) :- w(X). "
    "o(X,N) :- N = count() over n(X) in [5] by X. output o.",
    "threshold of facts and of what is open": "n(X) :- e(X). n(X) :- m(X). "
    "o(X) :- count() over n(X) in [7] by X >= 4. output o.",
    "join of rows with times": "o(X,T) :- on(X)@T in [9], e(X). output o.",
    "latest": "o(X) :- latest m(X) by X in [4]. output o.",
    "loop": f"{WATCH} o(X) :- w(X). o(X) :- o(X), m(X). output o.",
}
DEVICES, LAST = 40, 60
TIDIEST = {name: least for name, least in LEAST.items() if name != "at_once"}
"""All limits at their least, but for the one that says how far ahead the times of a fact are told as rows."""


def history(randoms: Random) -> list[GroundFact]:
    """What one device `k` tells: events in bursts, with silences between them."""
    facts: list[GroundFact] = []
    time = randoms.randint(0, 4)
    while time < LAST:
        name = randoms.choice(["e", "e", "e", "on", "off"])
        facts.append((name, ("k",), Interval(Fraction(time), Fraction(time + randoms.choice([0, 0, 0, 2])))))
        time += randoms.choice([1, 1, 2, 3, 3, 12])
    return facts


def storm(randoms: Random) -> tuple[list[list[GroundFact]], list[GroundFact]]:
    """Four histories, and the facts of all devices, each of which has one of them."""
    histories = [history(randoms) for _ in range(4)]
    facts = [(name, (device,), when) for device in range(DEVICES) for name, _, when in histories[device % len(histories)]]
    return histories, sorted(facts, key=lambda fact: fact[2].low)


def differences(rules: str, seed: int, batch: int, modes: tuple[EmitMode, ...] = MODES) -> list[str]:
    """Where what is told of many devices differs from the oracle; each has one of four histories."""
    program, plan = compiled(GIVEN + rules)
    histories, facts = storm(Random(seed))
    expected = [Expected(program, history) for history in histories]
    found = []
    for emit in modes:
        runs = told(plan, records_of(plan, facts), batch, emit)
        points = points_of(facts) if emit == "points" else None
        for device in range(DEVICES):
            for predicate in plan.outputs:
                own = {row for name, row in runs if name == predicate and row[0] == device}
                model = expected[device % len(histories)]
                rows = {row[1:] for row in own} | {row[1:] for row in model.model.rows(predicate)}
                for rest in sorted(rows):
                    ranges = runs.get((predicate, (device, *rest)), [])
                    found += [f"{emit}: {text}" for text in model.of_row(predicate, ("k", *rest), ranges, points)]
    return found


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("least", [False, True], ids=["usual limits", "least limits"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_storms_are_told_as_the_oracle_says(rules: str, least: bool) -> None:
    """Alone and in batches, in all modes."""
    with limits(**(LEAST if least else {})):
        assert not differences(rules, 1, 1)
        assert not least or not differences(rules, 2, 7)


def told_when(rules: str, seed: int) -> list[list[str]]:
    """What each event lets be told, as changes."""
    _, plan = compiled(GIVEN + rules)
    session = Session(plan, emit="changes")
    found = []
    for record in records_of(plan, storm(Random(seed))[1]):
        session.push_records([record])
        found.append(list(map(str, session.pull_records())))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_limits_delay_no_answer(rules: str) -> None:
    """With each event the same is told, whatever the limits."""
    usual = told_when(rules, 1)
    with limits(**TIDIEST):
        assert told_when(rules, 1) == usual


# --- tidying up that is broken ------------------------------------------------------------------------------------------


def put_off(schedule: Method) -> Method:
    """What is kept from holding is looked at where what keeps it ends by now, and not where it was to end."""

    def call(self: Any, key: Any, lo: int, hi: int, *, is_open: bool) -> None:
        schedule(self, key, lo, hi, is_open=is_open)
        known = self.frontiers[1]
        kept = {each for each, facts in self.announced.items() if not any(fact[3] for fact in facts)}
        self._ends = [(self._freed(each, known) if each in kept else due, at, each) for due, at, each in self._ends]
        heapify(self._ends)

    return call


def losing_one(name: str) -> Callable[[Method], Method]:
    """Where a heap is made anew without void entries, one that is in use goes with these."""

    def broken(method: Method) -> Method:
        def call(self: Any, *arguments: Any, **options: Any) -> Any:
            before = len(getattr(self, name))
            result = method(self, *arguments, **options)
            if 0 < len(getattr(self, name)) < before:
                getattr(self, name).pop()
            return result

        return call

    return broken


def further(method: Method) -> Method:
    """What ends a little later is let go of, too."""
    return lambda self, bound: method(self, bound + 5)


def forgetting(name: str) -> Callable[[Method], Method]:
    """All that a container has is let go of."""

    def broken(method: Method) -> Method:
        def call(self: Any, *arguments: Any) -> Any:
            result = method(self, *arguments)
            getattr(self, name).clear()
            return result

        return call

    return broken


def without_pairs(method: Method) -> Method:
    """Pairs of which something is to come are let go of."""

    def call(self: Any) -> None:
        method(self)
        for rights in self._met_by.values():
            rights.clear()

    return call


BROKEN: dict[str, tuple[type, str, Callable[[Method], Method]]] = {
    "when a negation is looked at": (AntiJoin, "_schedule", put_off),
    "the heap of a negation": (AntiJoin, "_schedule", losing_one("_ends")),
    "how far rows have been handed on": (Spells, "begun", forgetting("_until")),
    "coverage": (Coverage, "forget", further),
    "the stores of joins": (TimeIndex, "forget", further),
    "what is armed": (Since, "_disarm", further),
    "pairs of since": (Since, "_forget_met", without_pairs),
    "facts that a threshold may need": (Levels, "_forget", forgetting("_idle")),
}


@pytest.fixture(scope="module")
def usual() -> dict[str, list[list[str]]]:
    """What is told when nothing is broken."""
    return {rules: told_when(rules, 1) for rules in RULES.values()}


@pytest.mark.pure
@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN)
def test_tidying_that_is_broken_is_seen(
    name: str, usual: dict[str, list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some storm then tells something late, twice, wrongly, or not at all."""
    owner, method, broken = BROKEN[name]
    monkeypatch.setattr(owner, method, broken(getattr(owner, method)))
    with limits(**TIDIEST):
        every = RULES.values()
        assert any(is_otherwise(rules, usual[rules]) for rules in every) or any(is_wrong(rules) for rules in every)


def is_otherwise(rules: str, usual: list[list[str]]) -> bool:
    """Whether something is told late, twice, or not at all; or an operator fails."""
    try:
        return told_when(rules, 1) != usual
    except (AssertionError, OperatorError):
        return True


def is_wrong(rules: str) -> bool:
    """Whether something is told otherwise than the oracle says; or an operator fails."""
    try:
        return bool(differences(rules, 2, 1, ("final",)))
    except (AssertionError, OperatorError):
        return True
