"""How far rules look from where they hold: what decides whether a stretch of the timeline determines the next one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tidelog.plans.data.timeline import POS
from tidelog.plans.plan.plan import (
    AggregateShape,
    AntiJoinShape,
    AssignShape,
    DilateShape,
    ErodeShape,
    LatestShape,
    PairShape,
    PeriodShape,
    Shape,
    Step,
    SteppedShape,
    ThresholdShape,
)

_SLACK = 2
"""Open ends and gaps: a point of a gap sees a part of the gap beyond."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far `back` and `ahead` (encoded) a rule looks, an operator without an end counted with its near end alone.

    `past` and `future` count the operators without an end on the way: where what they look at repeats, each looks one period
    further at most, since what it has not met by then it never meets.
    """

    back: int = 0
    ahead: int = 0
    past: int = 0
    future: int = 0

    def behind(self, first: Reach) -> Reach:
        """This reach, seen from where `first` looks."""
        return Reach(self.back + first.back, self.ahead + first.ahead, self.past + first.past, self.future + first.future)

    def or_else(self, other: Reach) -> Reach:
        """The larger of two reaches on each side."""
        return Reach(
            max(self.back, other.back),
            max(self.ahead, other.ahead),
            max(self.past, other.past),
            max(self.future, other.future),
        )

    @property
    def width(self) -> int:
        """How much of the timeline it sees at once."""
        return self.back + self.ahead + 2 * _SLACK

    def within(self, period: int) -> tuple[int, int]:
        """How far back and ahead it looks at most into what repeats after each `period` (encoded)."""
        return self.back + self.past * period + _SLACK, self.ahead + self.future * period + _SLACK


@dataclass(frozen=True, slots=True)
class Outlook:
    """How far some steps look, and which predicates of the program's text they read.

    `steps` are they and what feeds them within a round, `reads` these predicates, `reach` is how far they look; `endless`
    are the steps whose operator has no end, `always` what a box without an end looks at, `step` is a number of which each
    stepped window's step is a divisor (encoded), and `clip` how far behind the first fact a window may still be cut off
    there; None if none is.
    """

    steps: tuple[str, ...]
    reads: tuple[str, ...]
    reach: Reach
    endless: tuple[str, ...]
    always: tuple[str, ...]
    step: int
    clip: int | None


def outlook(ends: Iterable[str], steps: Mapping[str, Step], text: Iterable[str]) -> Outlook:
    """The outlook of the steps `ends`, with all that feeds them within a round; `text` are the predicates of the text."""
    known = frozenset(text)
    reaches: dict[str, Reach] = {}
    for name in _in_order(ends, steps, known):
        reaches[name] = _reach_of(steps[name], reaches)
    every = [steps[name] for name in reaches]
    feeds = dict.fromkeys(name for step in every for name in step.feeders)
    clips = [step.shape.metric.b for step in every if isinstance(step.shape, ErodeShape) and step.shape.clipped]
    ended = [reaches[name] for name in ends if name in reaches]
    return Outlook(
        steps=tuple(reaches),
        reads=tuple(name for name in feeds if name in known),
        reach=_largest(ended),
        endless=tuple(step.id for step in every if is_endless(step.shape)),
        always=tuple(step.feeders[0] for step in every if isinstance(step.shape, ErodeShape) and is_endless(step.shape)),
        step=math.lcm(1, *(step.shape.step for step in every if isinstance(step.shape, SteppedShape | AggregateShape))),
        clip=max(clips, default=None),
    )


def negated_by(step: Step) -> str | None:
    """The step whose absence a step asks for, if by counting what is there."""
    if isinstance(step.shape, AntiJoinShape) and step.inputs[1].kind == "step":
        return step.inputs[1].name
    counting = AggregateShape | AssignShape | LatestShape | PeriodShape
    if isinstance(step.shape, counting) and step.inputs[0].kind == "step":
        return step.inputs[0].name
    return None


def is_endless(shape: Shape) -> bool:
    """Whether an operator looks at all times on one side."""
    if isinstance(shape, LatestShape):
        return shape.size >= POS
    if isinstance(shape, AssignShape):
        return True
    return isinstance(shape, DilateShape | ErodeShape | PairShape) and shape.metric.b >= POS


def _reach_of(step: Step, reaches: Mapping[str, Reach]) -> Reach:
    own = _own_reach(step.shape)
    return _largest(reaches.get(name, Reach()) for name in step.feeders).behind(own)


def _largest(reaches: Iterable[Reach]) -> Reach:
    largest = Reach()
    for reach in reaches:
        largest = largest.or_else(reach)
    return largest


def _own_reach(shape: Shape) -> Reach:
    if isinstance(shape, SteppedShape):
        return Reach(back=shape.step)
    if isinstance(shape, AggregateShape):
        return Reach(back=shape.size + shape.step)
    if isinstance(shape, ThresholdShape):
        return Reach(back=shape.size)
    if isinstance(shape, PeriodShape):
        return Reach(back=shape.calendar.longest, ahead=shape.calendar.longest)
    if isinstance(shape, AssignShape):
        return Reach(back=2, past=1)
    if isinstance(shape, LatestShape):
        return Reach(back=0 if is_endless(shape) else shape.size, past=int(is_endless(shape)))
    if not isinstance(shape, DilateShape | ErodeShape | PairShape):
        return Reach()
    endless = is_endless(shape)
    far = shape.metric.a if endless else shape.metric.b
    is_future = shape.operator == "until" if isinstance(shape, PairShape) else shape.future
    return Reach(ahead=far, future=int(endless)) if is_future else Reach(back=far, past=int(endless))


def _in_order(ends: Iterable[str], steps: Mapping[str, Step], text: frozenset[str]) -> Iterator[str]:
    """Some steps and all that feed them within a round, each behind what feeds it."""
    done: set[str] = set()
    work = [(name, False) for name in ends if name not in text]
    while work:
        name, is_fed = work.pop()
        if is_fed:
            yield name
        elif name not in done:
            done.add(name)
            work.append((name, True))
            work += [(source, False) for source in steps[name].feeders if source not in text]
