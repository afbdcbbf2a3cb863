"""An operator that fails stops the run, and says which: in sessions and on engines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.running import BACKENDS, engine_answers, plan_of, records, run
from tidelog import Engine, MemorySink, MemorySource, Session
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.erode import Erode
from tidelog.plans.data.facts import Fact
from tidelog.plans.diagnostics.errors import OperatorError
from tidelog.runtime.network import loop_control

TEXT = "timeline integer.\ninput p(x).\na(X) :- diamondminus[0,5] p(X).\nb(X) :- boxminus[0,1] a(X).\n"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dilate fails on the row `(bad)`."""
    feed = Dilate.feed

    def feed_unless_bad(self: Dilate, port: int, facts: Sequence[Fact]) -> list[Fact]:
        if any(row == ("bad",) for row, _, _ in facts):
            raise RuntimeError("cannot do this")
        return feed(self, port, facts)

    monkeypatch.setattr(Dilate, "feed", feed_unless_bad)


def check(error: OperatorError) -> None:
    assert error.step == "a"
    assert error.rule == "a(X) :- diamondminus[0,5] p(X)."
    assert error.fact == "p(bad)"
    assert error.reason == "RuntimeError: cannot do this"
    assert isinstance(error.__cause__, RuntimeError)


@pytest.mark.pure
@pytest.mark.usefixtures("failing")
def test_a_session_names_step_rule_and_fact() -> None:
    """The fact is found in its batch; what came before it is answered."""
    plan = plan_of(TEXT)
    session = Session(plan)
    session.push_records(records(plan, ["p(good)@1"]))
    assert session.pull_records()
    with pytest.raises(OperatorError) as caught:
        session.push_records(records(plan, ["p(good)@9", "p(bad)@9", "p(fine)@9"]))
    check(caught.value)


def test_a_row_that_the_program_would_have_refused_is_named() -> None:
    """A record is taken as it is: where its row is too short for a rule, the error names both."""
    session = Session(plan_of("timeline integer.\ninput p(x, y).\ninput q(y).\na(X) :- p(X, Y), q(Y).\n"))
    session.push_records([("q", ("y",), 1, 1), ("p", ("good", "y"), 1, 1)])
    assert session.pull_records() == [("a", ("good",), 1, 1)]
    with pytest.raises(OperatorError) as caught:
        session.push_records([("p", ("good", "y"), 2, 2), ("p", ("bad",), 2, 2)])
    assert (caught.value.rule, caught.value.fact) == ("a(X) :- p(X, Y), q(Y).", "p(bad)")


@pytest.mark.pure
@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_engine_stops_with_the_same(backend: str) -> None:
    """The engine ends by itself, with the same error."""
    plan = plan_of(TEXT)
    source = MemorySource(records(plan, [*(f"p(good)@{t}" for t in range(2000)), "p(bad)@2000", "p(good)@3000"]))
    with pytest.raises(OperatorError) as caught:
        engine_answers(backend, plan, [source])
    check(caught.value)


@pytest.mark.pure
@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_failure_inside_a_loop(backend: str) -> None:
    """Inside a recursive component, too, the engine stops and names the rule."""
    plan = plan_of("timeline integer. input p(x). input on(x). a(X) :- p(X). a(X) :- diamondminus[1,2] a(X), on(X).")
    facts = records(plan, ["on(good)@[0,9]", "on(bad)@[0,9]", "p(good)@1", "p(bad)@2"])
    with pytest.raises(OperatorError) as caught:
        engine_answers(backend, plan, [MemorySource(facts, batch_size=1)])
    assert "diamondminus[1,2] a(X)" in caught.value.rule
    assert "bad" in caught.value.fact


@pytest.mark.pure
def test_a_failure_at_a_frontier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no fact is to blame, the error says that it was the frontier."""

    def settle(self: Erode, port: int) -> list[Fact]:
        raise ArithmeticError("odd")

    monkeypatch.setattr(Erode, "settle", settle)
    session = Session(plan_of(TEXT))
    with pytest.raises(OperatorError, match=r"step b failed on \(the frontier\): ArithmeticError: odd"):
        session.push("p", ["x"], 1)
        session.finish()


VALUES = "n(X) :- p(X). n(Y) :- n(X), Y = X + 1."


@pytest.mark.parametrize("through", ["session", *BACKENDS])
def test_recursion_that_creates_values_without_end_is_stopped(through: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting on at one time never ends: the run stops, and the error names the rule and the reason."""
    monkeypatch.setattr(loop_control, "MOST_VALUES", 2_000)
    plan = plan_of(VALUES)
    facts = records(plan, ["p(1)@1"])
    with pytest.raises(OperatorError, match="the recursion creates new values without end") as caught:
        if through == "session":
            Session(plan).push_records(facts)
        else:
            run(through, Engine(plan, [MemorySource(facts)], [MemorySink()]).run)
    assert caught.value.rule == "n(Y) :- n(X), Y = X + 1."
    assert caught.value.fact.startswith("n(")


@pytest.mark.parametrize(
    "text",
    [
        "n(X) :- p(X). n(Y) :- n(X), Y = X + 1, Y <= 50.",
        "n(X) :- p(X). n(Y) :- n(X), Y = (X * 7) mod 50.",
        "n(X) :- p(X). n(Y) :- diamondminus[0,2] n(X), Y = X + 1, Y <= 50.",
    ],
)
def test_values_within_bounds_come_to_rest(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recursion that computes, but stays within bounds, is not stopped, however often it is admitted."""
    monkeypatch.setattr(loop_control, "MOST_VALUES", 2_000)
    plan = plan_of(text)
    session = Session(plan)
    for time in range(60):
        session.push_records(records(plan, [f"p(1)@{time}"]))
    assert session.pull_records()


def test_counting_through_time_is_not_creating_values() -> None:
    """Where each round moves on in time, the stream's own time bounds it: the loop is not guarded."""
    assert not plan_of("n(0)@0. boxplus[1,1] n(Y) :- n(X), Y = X + 1.").loops[0].creates_values
    assert plan_of(VALUES).loops[0].creates_values
    assert plan_of("n(X) :- p(X). n(Y) :- diamondminus[0,1] n(X), Y = X + 1.").loops[0].creates_values
    assert not plan_of("n(X) :- p(X). n(X) :- n(X), q(Y), X > Y + 1.").loops[0].creates_values
