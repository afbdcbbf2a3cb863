"""How long stores keep their entries: worked out by hand, and against the bounds by which the operators forget."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from oracle.programs import EVERYTHING, Kind, programs
from tidelog.operators.joins.antijoin import AntiJoin
from tidelog.operators.joins.join import Join
from tidelog.operators.metric.dilate import Dilate
from tidelog.operators.metric.erode import Erode
from tidelog.operators.metric.latch import Latch
from tidelog.operators.metric.pairing import PairingOperator
from tidelog.operators.metric.union import Union
from tidelog.operators.operator import Operator
from tidelog.operators.standing.told import DistinctPieces, Told
from tidelog.operators.stores.coverage import Coverage
from tidelog.plans.analysis.horizons.retention import predicate_retention, retention_of
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.plan.plan import LatchShape, Plan
from tidelog.runtime.network import graph as graph_module
from tidelog.runtime.network.graph import Graph

WATERMARK = 10_000


def kept(text: str) -> dict[tuple[str, str], Fraction | float]:
    return {(item.step, item.store): item.keeps for item in retention_of(tidelog.compile(text))}


def test_join_waits_for_the_slower_atom() -> None:
    """q is kept until diamondplus has looked its 5 ahead; what diamondplus gives goes as q's watermark passes."""
    assert kept("input q(x). input r(x). output p. p(X) :- q(X), diamondplus[0,5] r(X).") == {
        ("q", "union"): 0,
        ("p.1", "sent"): 5,
        ("p", "atom 1"): 5,
        ("p", "atom 2"): 0,
    }


def test_union_keeps_to_its_own_frontier() -> None:
    """A dilation by [2,4] is final 2 ahead of the watermark: what has been sent goes that much earlier."""
    assert kept("input q(x). p(X) :- diamondminus[2,4] q(X). output p. output q.") == {("q", "union"): 0, ("p", "sent"): -2}


def test_punctual_dilation_keeps_nothing() -> None:
    """A shift in time has no store."""
    assert kept("input q(x). p(X) :- diamondminus[2,2] q(X).") == {("q", "union"): 0}


def test_single_atoms_are_stored_only_where_columns_go() -> None:
    """A selection stores nothing; a projection remembers what it sent, as long as it may come again."""
    assert kept("input q(x,y). p(X) :- q(X,3).") == {("q", "union"): 0}
    assert kept("input q(x,y). p(X) :- q(X,_).") == {("q", "union"): 0, ("p", "atom 1"): 0}


def test_negation_waits() -> None:
    """The positive side waits for the negated one; the negated side is kept until both have passed."""
    stores = kept("input q(x). input r(x). output p. p(X) :- q(X), not diamondplus[0,3] r(X).")
    assert stores[("p", "waiting")] == 3
    assert stores[("p", "negated")] == 3


def test_since_keeps_the_right_side_for_the_left() -> None:
    """M2 stays until M1's frontier is there, runs of M1 until both have passed."""
    stores = kept("input q(x). input r(x). output p. p(X) :- diamondplus[0,3] q(X) since[1,4] r(X).")
    assert (stores[("p", "left")], stores[("p", "right")], stores[("p", "sent")]) == (3, 3, 3)


# --- of predicates ------------------------------------------------------------------------------------------------------


def lives(text: str) -> dict[str, Fraction | float]:
    return {item.predicate: item.keeps for item in predicate_retention(tidelog.compile(text))}


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("input q(x). p(X) :- q(X), diamondminus[0,10] q(X).", {"q": 10, "p": 0}),
        ("input q(x). p(X) :- boxminus[2,7] q(X).", {"q": 7, "p": 0}),
        ("input q(x). p(X) :- q(X). boxplus[1,3] s(X) :- p(X).", {"q": 0, "p": 3, "s": 0}),
        ("input q(x). p(X) :- boxminus[0,4] diamondminus[0,2] q(X).", {"q": 6, "p": 0}),
        ("input q(x). input r(x). p(X) :- q(X) since[1,4] r(X).", {"q": 0, "r": 4, "p": 0}),
        ("input q(x). p(X) :- diamondminus[3,inf) q(X).", {"q": math.inf, "p": 0}),
        ("input q(x). input r(x). p(X) :- q(X), diamondplus[0,5] r(X).", {"q": 5, "r": 0, "p": 5}),
        ("input q(x). p(X) :- diamondminus[0,3] q(X), diamondplus[0,5] q(X).", {"q": 8, "p": 5}),
        ("input q(x). p(X) :- q(X), not r(X). r(X) :- diamondplus[0,3] q(X).", {"q": 3, "r": 3, "p": 3}),
    ],
)
def test_predicates_are_kept_as_long_as_they_matter(text: str, keeps: dict[str, Fraction | float]) -> None:
    """What readers look back counts, through operators that nest, with what partners are late."""
    assert lives(text) == keeps


def test_the_reason_names_the_operator_as_written() -> None:
    """The reader that is the cause is told in the program's own words, units and MeTeoR's names included."""
    text = (
        "timeline integer, unit 1 s. p(X) :- q(X), SOMETIME[-10min,0] r(X). s(X) :- boxminus[0,2] diamondminus[0,1h] p(X)."
    )
    why = {item.predicate: item.why for item in predicate_retention(tidelog.compile(text))}
    assert why["r"].startswith("`SOMETIME[-10min,0]` in p(X) :- ")
    assert why["p"].startswith("`diamondminus[0,1h]` below `boxminus[0,2]` in s(X) :- ")
    assert why["q"] == "matters at its own time alone"


def test_the_reason_names_the_word_as_written() -> None:
    """Not as the time of an atom, `@5 min`, which it once was."""
    plan = tidelog.compile(
        "timeline integer, unit 1 min. input o(x). input q(x). "
        "p(X) for 3 min :- o(X). r(X) :- p(X) for 5 min, not q(X) Within 2 min."
    )
    why = {item.predicate: item.why for item in predicate_retention(plan)}
    assert why["o"].startswith("`for 3 min` in p(X) for 3 min :- ")
    assert why["q"].startswith("`within 2 min` in r(X) :- ")
    assert why["p"].startswith("`for 5 min` in r(X) :- ")


def test_rows_kept_for_ever_are_told() -> None:
    """An unbounded diamond keeps its rows for ever, an unbounded since as long as its left side holds."""
    text = "p(X) :- diamondminus q(X). s(X) :- t(X) since u(X)."
    why = {item.predicate: item.why for item in predicate_retention(tidelog.compile(text))}
    assert "keeps each row for ever, as one range a row" in why["q"]
    assert "as long as its left side holds" in why["u"]


# --- against the operators ----------------------------------------------------------------------------------------------


def stores_of(operator: Operator) -> Iterator[tuple[str, Coverage]]:
    """An operator's coverage stores, by the names that the analysis gives them."""
    match operator:
        case Union():
            yield "union", operator.coverage
        case Dilate() if operator.coverage is not None:
            yield "sent", operator.coverage
        case Told() if isinstance(operator.pieces, DistinctPieces):
            yield "sent", operator.pieces.coverage
        case Erode():
            yield "runs", operator.coverage
        case PairingOperator():
            yield from (("left", operator.left), ("right", operator.right), ("sent", operator.sent_coverage))
        case AntiJoin():
            yield "negated", operator.negative
        case Latch():
            yield "negated", operator.negative
        case Join():
            yield from ((f"atom {i + 1}", store) for i, store in enumerate(operator.stores))
            if operator.sent_coverage is not None:
                yield "sent", operator.sent_coverage


def bounds_at_run_time(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], int]:
    """The bound that each store was last told to forget by, once the watermark has reached `WATERMARK`."""
    told: dict[int, int] = {}
    with monkeypatch.context() as patch:
        patch.setattr(Coverage, "forget", lambda store, bound: told.__setitem__(id(store), bound) or [])
        patch.setattr(
            graph_module, "arrange", lambda *_: ({}, {})
        )  # what joins share is kept as long as one of them needs it
        session = tidelog.Session(plan, start=0, prospects=False)  # which forget even sooner
        session._network.eager = True
        session.advance(WATERMARK)
        graph: Graph = session._network.graph
        return {
            (step, name): told[id(store)]
            for step, operator in graph.operators.items()
            for name, store in stores_of(operator)
            if id(store) in told
        }


def assert_as_the_operators_forget(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {(item.step, item.store): item.keeps for item in retention_of(plan) if item.store != "waiting"}
    longest = {item.predicate: item.keeps for item in predicate_retention(plan)}
    assert all(item.keeps <= longest.get(item.predicate, math.inf) for item in retention_of(plan))
    # what goes on holding is forgotten where it ends, and not by a bound: it is compared where it comes piece by piece
    latches = {step.id: plan.announcing[step.id] for step in plan.steps if isinstance(step.shape, LatchShape)}
    in_pieces = replace(plan, announcing=latches)  # a latch has no pieces
    told = {key: bound for key, bound in bounds_at_run_time(in_pieces, monkeypatch).items() if bound < POS}
    assert set(told) == set(expected)
    watermark: Any = plan.timeline.encode_point(Fraction(WATERMARK))
    unit = 1 if plan.timeline.is_integer else Fraction(plan.timeline.resolution) / 2
    for key, bound in told.items():
        if bound <= NEG:  # it lets nothing go
            assert expected[key] == math.inf, key
            continue
        # runs are kept one more encoded time, since they may still be continued
        assert (watermark - bound) * unit - expected[key] in (0, unit), key


@pytest.mark.pure
@pytest.mark.parametrize(
    "text",
    [
        "p(X) :- q(X), not diamondplus[0,3] r(X), boxminus[1,2] s(X,_).",
        "p(X) :- not diamondplus[0,3] r(X) since boxminus[1,2] s(X,Y).",
        "p(X) :- diamondplus[0,3] q(X,Y) since[1,4] r(X). p(X) :- always q(X,X) in [3].",
        "Flag(X,Z) :- Monit(X,Z), boxminus[0,4] diamondminus[0,2] Signal(Z). boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), C(X,Y).",
        "p(X) :- q(X,Y,Z), r(X,W), W < Z. p(Y) :- diamondminus[1,2] p(X), e(X,Y), X != Y.",
        "a(X) :- p(X), diamondplus(0,inf) diamondminus[2,inf) r(X). c(X) :- a(X).",
    ],
)
def test_analysis_is_what_operators_do(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each store forgets by the bound that the analysis tells."""
    assert_as_the_operators_forget(tidelog.compile(text), monkeypatch)


@pytest.mark.pure
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rational", "integer"])
@given(data=st.data())
@drawn(100, suppress_health_check=list(HealthCheck))
def test_analysis_is_what_operators_do_drawn(kind: Kind, data: st.DataObject, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for random programs with everything in them."""
    try:
        plan = compile_program(data.draw(programs(kind, EVERYTHING)))
    except ProgramError:
        assume(False)
        raise
    assert_as_the_operators_forget(plan, monkeypatch)
