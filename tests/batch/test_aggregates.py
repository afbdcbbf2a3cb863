"""Aggregates and held values in batch: as the oracle has them, by every strategy, and over what repeats for ever."""

from __future__ import annotations

import pytest
from engine.programs.test_aggregates_equal_oracle import HELD_ON_RATIONALS
from hypothesis import given
from hypothesis import strategies as st

from batch.materialising import STRATEGIES
from batch.test_equals_oracle import Comparison, materialised, show
from drawing import drawn
from oracle.agreement import records_of
from oracle.lars_programs import AGGREGATES, COUNTED, HELD, lars_programs, lars_streams
from oracle.programs import streams
from tidelog.compiling import compile_batch as compile_text
from tidelog.plans.compiling.batch import compile_batch
from tidelog.plans.language.parser import parse
from tidelog.runtime.batch.decisions.entailment import entails
from tidelog.runtime.batch.strategies import StrategyName


@pytest.mark.slow
@drawn(60)
@given(st.data(), st.sampled_from([AGGREGATES, HELD, COUNTED]), st.sampled_from(STRATEGIES))
def test_what_holds_is_the_oracles(data: st.DataObject, forms: object, strategy: StrategyName) -> None:
    """What has come to its end holds exactly, whatever the strategy; what has not holds nothing that does not follow."""
    program = data.draw(lars_programs(forms))  # type: ignore[arg-type] # one of these
    facts = data.draw(lars_streams())
    plan = compile_batch(program)
    done, ended = materialised(plan, records_of(plan, facts), strategy)
    assert not Comparison(program, facts).differences(done, sound_only=not ended), show(program, facts)


REPEATS = """timeline integer.
tick@0.
boxplus[3,3] tick :- tick.
n(N) :- N = count() over tick in [10].
k :- count() over tick in [10] >= 4.
far :- latest tick in [1], not tick.
"""


@pytest.mark.parametrize(
    ("fact", "holds"),
    [
        ("n(4)@1000", True),
        ("n(4)@1001", False),
        ("n(3)@1001", True),
        ("k@[1002,1003]", True),
        ("k@1001", False),
        ("far@1000", True),
        ("far@1001", False),
    ],
)
def test_over_what_repeats_for_ever(fact: str, holds: bool) -> None:
    """What is counted over a model without an end is known at any time of it."""
    plan = compile_text(REPEATS)
    name, time = fact.split("@")
    predicate, _, rest = name.partition("(")
    row = [int(rest[:-1])] if rest else []
    asked = plan.record(predicate, row, interval=time) if "[" in time else plan.record(predicate, row, time=int(time))
    assert entails(plan, [], asked).answer == ("true" if holds else "false")


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ("p(N) :- N = count() over q(X) in [5].", "aggregates"),
        ("p(X) :- latest q(X) in [5].", "`latest`"),
        ("p(X) :- count() over q(X) in [5] by X >= 2.", "aggregates"),
    ],
)
@pytest.mark.parametrize("method", ["automata", "ltl"])
def test_what_automata_do_not_take_is_refused_by_name(rule: str, what: str, method: str) -> None:
    """The message says what in which rule they do not take."""
    plan = compile_text(f"timeline integer. {rule}")
    decision = entails(plan, [plan.record("q", [1], time=1)], plan.record("p", [1], time=1), method)  # type: ignore[arg-type]
    assert decision.answer == "undecided"
    assert f"automata and LTL do not take {what}" in decision.reason


@pytest.mark.slow
@drawn(40)
@given(st.data(), st.sampled_from(STRATEGIES), st.sampled_from(["0", "1/2", "3", "inf"]))
def test_values_are_held_on_rationals(data: st.DataObject, strategy: StrategyName, size: str) -> None:
    """In batch as in streams, also for facts without a begin or an end."""
    program = parse(HELD_ON_RATIONALS.format(size=size))
    facts = data.draw(streams(program, size=8, last=6, infinite=True))
    plan = compile_batch(program)
    done, ended = materialised(plan, records_of(plan, facts), strategy)
    assert ended
    assert not Comparison(program, facts).differences(done), show(program, facts)
