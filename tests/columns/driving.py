"""Kernels beside the operators of the same steps: drawn facts, told in stretches that are cut anywhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import shift
from tidelog.plans.data.facts import Fact, Row
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.plans.plan.plan import BindShape, Feed, Shape, Step
from tidelog.plans.plan.shapes import lead
from tidelog.runtime.columns.deploy import build_kernel
from tidelog.runtime.network.deploy import build_operator

FAR = 1 << 59
"""Times near this do not fit on one axis with those of other keys."""
Ranges = dict[str, list[tuple[int, int]]]


@dataclass(frozen=True)
class Case:
    """A step, and what comes on its ports: for each stretch the facts of each port, and how far the port is known then."""

    step: Step
    timeline: Timeline
    widths: tuple[int, ...]
    stretches: list[list[tuple[list[Fact], int]]]

    def facts(self, port: int) -> list[Fact]:
        """All that comes on a port."""
        return [fact for ports in self.stretches for fact in ports[port][0]]


def step_of(shape: Shape, ports: int) -> Step:
    """A step with this shape."""
    return Step("step", "p", shape, (Feed("stream", "p"),) * ports)


@st.composite
def times(draw: st.DrawFn) -> Callable[[], int]:
    """Where times lie in one example: close together, behind 32 bits, at the ends of time, or at several of these."""
    near = [0]
    place = st.sampled_from([near, near, near, near, [1 << 33], [-(1 << 33)], [FAR], [-FAR], [0, 1 << 33], [-FAR, 0, FAR]])
    bases = draw(place)
    return lambda: draw(st.sampled_from(bases)) + draw(st.integers(-4, 14))


@st.composite
def cases(
    draw: st.DrawFn,
    shape: Shape,
    rows: Sequence[Sequence[Row]],
    timeline: Timeline,
    *,
    most: int = 8,
    of_points: bool = False,
    is_sharp: bool = True,
) -> Case:
    """Facts of some rows for each port, told in any stretch in which they are not late."""
    time = draw(times())
    cuts = sorted({time() for _ in range(draw(st.integers(0, 5)))})
    lags = [draw(st.sampled_from([0, 0, 0, 1, 3])) for _ in rows]
    ends = [*[[cut - lag for lag in lags] for cut in cuts], [POS] * len(rows)]
    stretches: list[list[tuple[list[Fact], int]]] = [[([], end) for end in known] for known in ends]
    for port, choices in enumerate(rows):
        for _ in range(draw(st.integers(0, most if choices else 0))):
            lo, length = time(), 0 if of_points else draw(st.sampled_from([0, 0, 0, 1, 2, 5]))
            fact = draw(st.sampled_from(choices)), lo, lo + length
            if not of_points and is_sharp:
                end = draw(st.integers(0, 15))
                fact = (fact[0], NEG, fact[2]) if end == 0 else (fact[0], lo, POS) if end == 1 else fact
            last = next(at for at, known in enumerate(ends) if known[port] >= fact[1])
            stretches[draw(st.integers(0, last)) if draw(st.booleans()) else last][port][0].append(fact)
    return Case(step_of(shape, len(rows)), timeline, tuple(len(choices[0]) if choices else 0 for choices in rows), stretches)


def said_by_kernel(case: Case) -> Ranges:
    """What the kernel of a step says; each stretch brings what lies behind the frontier before, and up to its own."""
    pool = Pool()
    kernel = build_kernel(case.step, case.widths, case.timeline, pool)
    told: list[Fact] = []
    before = NEG
    for ports in case.stretches:
        known = [end for _, end in ports]
        frontier = min([shift(end, lead(case.step.shape, port)) for port, end in enumerate(known)])
        batches = [batch_of(facts, width, pool) for (facts, _), width in zip(ports, case.widths, strict=True)]
        found = kernel.advance(batches, known, frontier).facts(pool)
        assert all((lo > before or before <= NEG) and lo <= hi <= frontier for _, lo, hi in found), (found, before, frontier)
        told += found
        before = frontier
    assert kernel.kept() == 0
    return united(told)


def said_by_operator(case: Case) -> Ranges:
    """What the operator of a step says to the same, told all at once."""
    operator = build_operator(case.step, case.timeline)
    told: list[Fact] = []
    ports = range(len(case.widths))
    if isinstance(case.step.shape, BindShape):  # the clock comes first, as far as it got before the end
        told += operator.receive(1, [], max([ends[0][1] for ends in case.stretches[:-1]], default=NEG))
    for port in ports:
        told += operator.receive(port, told_once(case.facts(port)), NEG)
    for port in ports:
        told += operator.receive(port, [], POS)
    return united(told)


def told_once(facts: Sequence[Fact]) -> list[Fact]:
    """The same coverage in maximal ranges, in the order of their begins."""
    by_row: dict[Row, list[tuple[int, int]]] = {}
    for row, lo, hi in facts:
        by_row.setdefault(row, []).append((lo, hi))
    once = [(row, lo, hi) for row, spells in by_row.items() for lo, hi in maximal(spells)]
    return sorted(once, key=lambda fact: fact[1])


def united(facts: Sequence[Fact]) -> Ranges:
    """What holds when, in maximal ranges, by rows as they are printed: 1 and 1.0 are not the same there."""
    by_row: Ranges = {}
    for row, lo, hi in facts:
        by_row.setdefault(repr(row), []).append((lo, hi))
    return {row: maximal(spells) for row, spells in by_row.items()}


def maximal(spells: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for lo, hi in sorted(spells):
        if found and lo <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(hi, found[-1][1])
        else:
            found.append((lo, hi))
    return found
