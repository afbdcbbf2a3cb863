"""Mistakes in Python that would otherwise be answered with `false`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tidelog

TEXT = "q(X) :- p(X)."
STREAM = tidelog.compile(TEXT)
BATCH = tidelog.compile_batch(TEXT)
FACT = BATCH.record("p", ["a"], time=1)


@pytest.mark.parametrize(
    "use",
    [
        lambda plan: tidelog.entails(plan, [FACT], FACT),
        lambda plan: tidelog.consistent(plan, [FACT]),
        tidelog.Materialisation,
    ],
)
def test_a_plan_of_a_stream(use: Callable[[Any], object]) -> None:
    """Batch reasoning says which plan it takes."""
    with pytest.raises(TypeError, match="takes a plan of `compile_batch`, got Plan"):
        use(STREAM)
    use(BATCH)


@pytest.mark.parametrize("use", [tidelog.Session, lambda plan: tidelog.Engine(plan, [], [])])
def test_a_plan_for_batch_reasoning(use: Callable[[Any], object]) -> None:
    """A session and an engine say which plan they take."""
    with pytest.raises(TypeError, match="takes a plan of `compile`, got BatchPlan"):
        use(BATCH)
    use(STREAM)


def loaded(facts: Any) -> None:
    tidelog.Materialisation(BATCH).load(facts)


@pytest.mark.parametrize("facts", ["p(a)@1", b"p@1", ["p(a)@1"], ["p@12"], [FACT, "p@12"], [("p", ("a",), 1)], [["p"]]])
def test_facts_that_are_no_records(facts: Any) -> None:
    """Text, or a tuple of another size: what makes a record is told, also where no rule mentions it."""
    decide: list[Callable[[], object]] = [
        lambda: tidelog.entails(BATCH, facts, FACT),
        lambda: tidelog.consistent(BATCH, facts),
        lambda: loaded(facts),
    ]
    for use in decide:
        with pytest.raises(TypeError, match=r"plan\.record\("):
            use()


@pytest.mark.parametrize("fact", ["p(a)@1", "p@12", None, ("p", ("a",), 1)])
def test_a_question_that_is_no_record(fact: Any) -> None:
    """Of `entails`, and of `holds`."""
    with pytest.raises(TypeError, match=r"plan\.record\("):
        tidelog.entails(BATCH, [FACT], fact)
    with pytest.raises(TypeError, match=r"plan\.record\("):
        tidelog.Materialisation(BATCH).holds(fact)
