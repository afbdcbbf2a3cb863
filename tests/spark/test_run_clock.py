"""Spark's time beside ours: what it can follow, and what its watermark promises."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tidelog.connectors.spark.running.clock import ORIGIN, Clock
from tidelog.plans.data.timeline import LIMIT, Timeline

SECOND = Fraction(1)


@pytest.mark.parametrize(
    ("timeline", "grain"),
    [
        (Timeline("integer"), 1),
        (Timeline("integer", unit=SECOND), 1),
        (Timeline("integer", unit=SECOND / 10**6), 2),
        (Timeline("rational", SECOND / 10**6, SECOND), 2),
        (Timeline("rational", SECOND / 1000, SECOND), 1),
    ],
)
def test_dates_fit(timeline: Timeline, grain: int) -> None:
    """As many ticks are one of Spark's as it takes to reach dates of 250 years, and no more."""
    clock = Clock.of(timeline)
    assert clock.grain == grain
    if timeline.unit is not None:
        assert clock.limit >= timeline.encode_point(Fraction(8 * 10**9) / timeline.unit) - clock.unit


@pytest.mark.parametrize("timeline", [Timeline("integer"), Timeline("rational", SECOND / 10**9, SECOND)])
@pytest.mark.parametrize("last", [-LIMIT // 300, -7, 0, 5000, 123_456_789, LIMIT // 300])
@pytest.mark.parametrize("lateness", [0, 2, 6000])
def test_a_watermark_promises_no_more_than_a_source(timeline: Timeline, last: int, lateness: int) -> None:
    """What is not late in one process is not late on Spark; and the watermark is behind by less than two grains."""
    clock = Clock.of(timeline)
    last -= last % 2
    milliseconds = last // clock.unit + ORIGIN - clock.delay(lateness)
    watermark = clock.watermark(milliseconds)
    assert watermark is not None
    assert 0 <= (last - lateness - 1) - watermark < 2 * clock.unit
    assert clock.watermark(0) is None
