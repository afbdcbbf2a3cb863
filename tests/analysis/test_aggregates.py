"""What the analyses say of aggregates and held values."""

from __future__ import annotations

import tidelog
from tidelog.plans.analysis.horizons.delay import delays
from tidelog.plans.explaining.reports.report import analyse, format_analysis
from tidelog.plans.plan.plan import AggregateShape, LatestShape, ThresholdShape

TEXT = """timeline integer.
input temp(sensor, value). input fail(sensor, what).
output mean, held, burst, spread.
mean(S, A) :- A = avg(V) over temp(S, V) in [10 step 5] by S.
held(S, V) :- latest temp(S, V) by S in [20].
burst(S) :- count() over fail(S, _) in [7] by S >= 3.
spread(S) :- distinct(W) over fail(S, W) in [3] by S > 1, max(V) over temp(S, V) in [2] by S >= 9.
"""


def test_each_is_an_operator_of_its_own() -> None:
    """A threshold of `max` is a window; one of `distinct` counts windows that overlap."""
    steps = tidelog.compile(TEXT).steps
    assert [step.predicate for step in steps if isinstance(step.shape, AggregateShape)] == ["mean"]
    assert [step.predicate for step in steps if isinstance(step.shape, LatestShape)] == ["held"]
    assert {step.shape.size for step in steps if isinstance(step.shape, ThresholdShape)} == {7, 0}


def test_delay() -> None:
    """What depends on all that comes waits for the watermark; a threshold does not."""
    why = {item.predicate: (item.delay, item.why) for item in delays(tidelog.compile(TEXT))}
    assert why == {
        "mean": (0, "behind the watermark, for which an aggregate waits"),
        "held": (0, "behind the watermark, for which `latest` waits"),
        "burst": (0, "waits for nothing in the future"),
        "spread": (0, "waits for nothing in the future"),
    }


def test_retention_strata_and_growth() -> None:
    """A reading matters as long as a window may have it; a mean is above what it is of."""
    analysis = analyse(tidelog.compile(TEXT))
    assert {item.predicate: item.keeps for item in analysis.retention} | {"mean": 0} == {
        "temp": 20,
        "fail": 7,
        **dict.fromkeys(["mean", "held", "burst", "spread"], 0),
    }
    assert [set(names) for names in analysis.strata] == [{"temp", "fail", "burst", "spread"}, {"mean", "held"}]
    assert "Theorem 12: does not apply" in format_analysis(analysis)
    endless = analyse(tidelog.compile("p(S, V) :- latest q(S, V) by S in [inf]."))
    assert [hint.why for hint in endless.growth] == ["`latest in [inf]` holds the last value of each group for ever"]
