"""What kernels once got wrong, and what no drawn case says of them: how much they keep, and what they refuse."""

from __future__ import annotations

from tidelog.operators.columns.batch import batch_of
from tidelog.operators.columns.kernel import Kernel
from tidelog.operators.columns.pool import Pool
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS, Metric, Timeline
from tidelog.plans.plan.plan import DilateShape, ErodeShape, Feed, PairShape, Shape, Step
from tidelog.runtime.columns.deploy import build_kernel

INTEGER = Timeline("integer")


def kernel_of(shape: Shape, *widths: int) -> Kernel:
    """The kernel of a step with this shape, over ports of so many arguments."""
    feeds = (Feed("stream", "p"),) * len(widths)
    return build_kernel(Step("step", "m", shape, feeds), widths, INTEGER, Pool())


def told(kernel: Kernel, frontier: int, *ports: list[Fact], reached: int | None = None) -> list[Fact]:
    """What a kernel tells when facts come on its ports, and these are known so far."""
    batches = [batch_of(facts, width, kernel.pool) for facts, width in zip(ports, kernel.widths, strict=True)]
    found = kernel.advance(batches, [frontier] * len(ports), frontier if reached is None else reached)
    return sorted(found.tidied(kernel.pool).facts(kernel.pool), key=repr)


def test_what_has_no_begin_is_told_without_one() -> None:
    """The first stretch begins where nothing does: not one tick later."""
    kernel = kernel_of(DilateShape(Metric(0, 0), False), 1)
    assert told(kernel, 5, [(("a",), NEG, 9)]) == [(("a",), NEG, 5)]
    assert told(kernel, POS, []) == [(("a",), 6, 9)]


def test_nothing_is_told_before_anything_is_known() -> None:
    """An `until` without an end reaches back to all times: it tells nothing before the end, and all of it then."""
    kernel = kernel_of(PairShape("until", Metric(0, POS), ("x",), ("x",)), 1, 1)
    assert told(kernel, 5, [(("a",), NEG, 9)], [(("a",), 3, 3)], reached=NEG) == []
    assert told(kernel, POS, [], []) == [(("a",), NEG, 3)]


def test_what_has_a_begin_has_not_always_held() -> None:
    """□[0,∞) of what goes on from 3 holds never, not at the end of time."""
    kernel = kernel_of(ErodeShape(Metric(0, POS), False), 1)
    assert told(kernel, POS, [(("a",), 3, POS), (("b",), NEG, 4)]) == [(("b",), NEG, 4)]
