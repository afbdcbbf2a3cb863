"""A batch in which each fact is as expected takes a short way through the intake, and nobody can tell the difference."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog
from drawing import drawn
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG
from tidelog.runtime.intake.intake import Delivery, Intake
from tidelog.runtime.ports.interfaces import Batch

PROGRAM = "input p(x). input q(x). r(X) :- p(X), q(X)."
PLANS = [tidelog.compile(f"{timeline} {PROGRAM}") for timeline in ("timeline integer.", "timeline rational, resolution 1.")]


@pytest.mark.pure
@given(data=st.data())
@drawn(100)
def test_the_short_way_is_the_long_one(data: st.DataObject) -> None:
    """Late facts, facts far ahead, other predicates, idle sources: the same is taken, refused, counted and promised."""
    plan = data.draw(st.sampled_from(PLANS))
    lateness, ahead = data.draw(st.integers(0, 6)), data.draw(st.sampled_from([None, 8, 50]))
    names, rows = st.sampled_from(data.draw(st.sampled_from(["pq", "pqu"]))), st.sampled_from([("a",), ("b",)])
    facts = data.draw(st.lists(st.tuples(names, rows, st.integers(0, 40), st.integers(0, 2)), min_size=8, max_size=30))
    disorder, size = data.draw(st.sampled_from([1, 1, 3, 8])), data.draw(st.integers(2, 5))
    records: list[Record] = [
        (name, row, lo, lo + length) for name, row, lo, length in sorted(facts, key=lambda fact: fact[2] // disorder)
    ]
    batches = [records[i : i + size] for i in range(0, len(records), size)]
    sources = ["s", "t"][: data.draw(st.integers(1, 2))]
    short, long = (Intake(plan, sources, lateness, None, ahead) for _ in range(2))
    turns = [(data.draw(st.sampled_from(sources)), data.draw(st.sampled_from([None, None, *sources])), b) for b in batches]
    taken = [delivery for turn in turns for delivery in handed_in(short, *turn)]
    with patch.object(Intake, "_take_expected", lambda *_: None):
        wanted = [delivery for turn in turns for delivery in handed_in(long, *turn)]
    assert list(map(fields, taken)) == list(map(fields, wanted))
    assert short.snapshot() == long.snapshot()


def handed_in(intake: Intake, source: str, idle: str | None, batch: list[Record]) -> list[Delivery]:
    """A batch of one source, before which one may have become idle."""
    left = [] if idle is None else [intake.ignore(idle)]
    return [*left, intake.take(source, Batch(list(batch)))]


@pytest.mark.pure
def test_what_has_always_held_is_late_at_the_head_of_a_batch() -> None:
    """A fact without a begin is refused once time has moved, wherever it stands in its batch."""
    intake = Intake(PLANS[0], ["s"])
    intake.take("s", Batch([("p", ("a",), 6, 6)]))
    delivery = intake.take("s", Batch([("p", ("b",), NEG, 4), ("q", ("b",), 8, 8)]))
    assert len(delivery.late) == 1
    assert delivery.facts == {"q": [(("b",), 8, 8)]}


def fields(delivery: Delivery) -> object:
    """What a delivery brings."""
    late, ahead = ([(item.reason, item.raw) for item in some] for some in (delivery.late, delivery.ahead))
    told = delivery.facts, list(delivery.points), delivery.frontier, delivery.watermark, delivery.start
    return told, late, ahead
