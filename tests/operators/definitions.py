"""The operators' definitions over real time (or integer time), evaluated by brute force on sample points.

On the rational timeline an even number stands for a time point, the odd one behind it for the open gap up to the next. Eight
samples a unit of time decide every definition exactly: all ends lie on points or, seen from the middle of a gap, halfway
between them; so what is met is met in a quarter, and what lies strictly between two quarters has an eighth in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hypothesis import strategies as st

from operators.driving import FIRST, LAST
from tidelog.plans.data.timeline import POS, Metric

Holds = Callable[[int], bool]
"""Whether something holds at an encoded time."""

FAR = 100
"""How many encoded times an unbounded operator looks: what is drawn lies in 0 … 20, and results are compared near it."""


@dataclass(frozen=True)
class Clock:
    """Sample times of one timeline: `per_cell` samples an encoded time, of which every `stride`th can be a partner."""

    is_integer: bool

    @property
    def touch(self) -> int:
        return 1 if self.is_integer else 0

    def sample(self, encoded: int) -> int:
        """The sample that stands for an encoded time: the point, or the middle of the gap."""
        return encoded if self.is_integer else 4 * encoded

    def encoded(self, sample: int) -> int:
        """The encoded time in which a sample lies."""
        if self.is_integer:
            return sample
        whole, rest = divmod(sample, 8)
        return 2 * whole + (1 if rest else 0)

    def partners(self, metric: Metric) -> Iterator[int]:
        """The distances, in samples, that lie in a metric interval."""
        factor, stride = (1, 1) if self.is_integer else (4, 2)
        high = factor * min(metric.b, FAR)
        for distance in range(factor * metric.a, high + 1, stride):
            if metric.left_open and distance == factor * metric.a:
                continue
            if metric.right_open and distance == high and metric.b < POS:
                continue
            yield distance


def sometime(clock: Clock, metric: Metric, holds: Holds, at: int, sign: int) -> bool:
    """◇ (sign −1) and ◇⁺ (sign 1)."""
    now = clock.sample(at)
    return any(holds(clock.encoded(now + sign * distance)) for distance in clock.partners(metric))


def always(clock: Clock, metric: Metric, holds: Holds, at: int, sign: int) -> bool:
    """□ (sign −1) and □⁺ (sign 1)."""
    now = clock.sample(at)
    return all(holds(clock.encoded(now + sign * distance)) for distance in clock.partners(metric))


def always_since_start(clock: Clock, metric: Metric, holds: Holds, at: int, start: int) -> bool:
    """LARS's clipped □: at all times of the window that are not before the start; never before the start itself."""
    now = clock.sample(at)
    window = [clock.encoded(now - distance) for distance in clock.partners(metric)]
    return at >= start and all(holds(time) for time in window if time >= start)


def paired(clock: Clock, metric: Metric, sides: tuple[Holds, Holds], at: int, sign: int) -> bool:
    """Since (sign −1) and until (sign 1): the right side at some distance, the left side at all times strictly between."""
    left, right = sides
    now = clock.sample(at)
    wanted = set(clock.partners(metric))
    for distance in range(max(wanted, default=-1) + 1):
        time = clock.encoded(now + sign * distance)
        if distance in wanted and right(time):
            return True
        if distance > 0 and not left(time):
            return False
    return False


def times_where(decide: Callable[[int], bool]) -> set[int]:
    """The encoded times compared at which something is so."""
    return {time for time in range(FIRST, LAST + 1) if decide(time)}


CLOCKS = {"integer": Clock(True), "rational": Clock(False)}


@st.composite
def metrics(draw: st.DrawFn, clock: Clock, unbounded: bool = True) -> Metric:
    """An operator's interval, encoded: up to 6 on integers, up to 4 units with any brackets on rationals."""
    if clock.is_integer:
        a, b = sorted((draw(st.integers(0, 6)), draw(st.integers(0, 6))))
        return Metric(a, POS if unbounded and draw(st.integers(0, 7)) == 7 else b)
    a, b = sorted((2 * draw(st.integers(0, 4)), 2 * draw(st.integers(0, 4))))
    left, right = draw(st.integers(0, 1)), draw(st.integers(0, 1))
    if unbounded and draw(st.integers(0, 7)) == 7:
        return Metric(a, POS, left, 0)
    return Metric(a, b, left, right) if a < b else Metric(a, b)
