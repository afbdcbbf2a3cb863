"""What the analyses say of tuple windows and stepped windows."""

from __future__ import annotations

import math

import tidelog
from tidelog.plans.analysis.horizons.delay import delays
from tidelog.plans.analysis.horizons.extent import extent_of
from tidelog.plans.analysis.horizons.retention import predicate_retention
from tidelog.plans.explaining.text import explain
from tidelog.plans.plan.plan import Plan
from tidelog.plans.stages.partition import partitions_of


def plan_of(text: str) -> Plan:
    return tidelog.compile(f"timeline integer. {text}")


def test_a_tuple_window_has_no_partition_key() -> None:
    """What is among the last facts depends on all that are counted, also on inputs that no rule reads; and on no others."""
    plan = plan_of("input p(x). input q(x). input r(x). w(X) :- p(X) in [#3 of p, q]. v(X) :- r(X).")
    parts = {part.predicates: part for part in partitions_of(plan)}
    counted = next(part for names, part in parts.items() if "p" in names)
    assert set(counted.predicates) == {"p", "q", "w"}
    assert counted.keys == ()
    assert counted.prevented_by == "w(X) :- sometime p(X) in [#3 of p, q]."
    assert next(part for names, part in parts.items() if "r" in names).keys == ({"r": 0, "v": 0},)


def test_a_stepped_window_keeps_its_key() -> None:
    """It moves rows in time alone."""
    [part] = partitions_of(plan_of("w(X) :- p(X) in [4 step 5]."))
    assert part.keys


def test_tuple_windows_wait_for_the_watermark() -> None:
    """Their delay is 0, and said to be behind the watermark."""
    [delay] = delays(plan_of("w(X) :- p(X) in [#3]."))
    assert (delay.delay, delay.why) == (0, "behind the watermark, for which a tuple window waits")


def test_retention() -> None:
    """A counted fact is kept while it is among the last; one in a stepped window for its size and the step, less one."""
    kept = {
        item.predicate: item for item in predicate_retention(plan_of("w(X) :- p(X) in [#3]. v(X) :- q(X) in [4 step 6]."))
    }
    assert (kept["p"].keeps, kept["p"].most) == (math.inf, 3)
    assert kept["q"].keeps == 4 + 6 - 1


def test_the_extent_of_a_step() -> None:
    """A step of d looks back by up to d less one."""
    assert extent_of(plan_of("v(X) :- q(X) in [4 step 9].")).window == 8


def test_explain_says_what_is_counted() -> None:
    """The plan names the window, the part of it that a step tells, and that it is fed by all arrivals."""
    text = explain(
        plan_of(
            "input p(x). input q(x). w(X) :- p(X) in [#3 of p, q]. v(X) :- always q(X) in [#2]. u(X) :- p(X) in [4 step 5]."
        )
    )
    assert "w.1: tuples entered p in [#3 of p, q]\n  inputs:  stream arrivals" in text
    assert "w.2: tuples left p in [#3 of p, q]\n  inputs:  stream arrivals" in text
    assert "v.1: tuples always q in [#2]\n  inputs:  facts: stream arrivals; start: stream start" in text
    assert "u: stepped in [0 step 5]\n  inputs:  u.1" in text
