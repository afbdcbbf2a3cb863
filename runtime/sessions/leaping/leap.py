"""A leap of time: where nothing happens in it but what comes again after a period, its rounds are not followed.

Time moves on by itself, from one moment at which a recursion goes on to the next, while it is noted what all steps tell that
have to do with recursion. Once that comes again after a period, for longer than any of them looks back, and nothing of it is
an answer, then all that the network keeps is what it kept a period ago, but for its times. So the times are moved on by as
many periods as there are, and the last moments before the leap's end are followed as always.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from tidelog.operators.stores.notices import Notices
from tidelog.plans.data.facts import Fact
from tidelog.plans.data.timeline import NEG, POS, Metric
from tidelog.plans.plan.feeds import consumers_of
from tidelog.plans.plan.plan import DilateShape, ErodeShape, PairShape, Plan, Shape
from tidelog.runtime.emission.emission import Intervals
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.sessions.leaping.moving import STATES, Form, network_form, outlet_form
from tidelog.runtime.sessions.leaping.periods import period_of

FIRST_MOMENTS = 32
"""So many moments of a leap are followed before it is noted what happens; more where much is kept."""
ROWS_FOR_A_MOMENT = 64
"""So many rows are looked at for one of these moments."""
MOST_MOMENTS = 20_000
"""So many moments are noted; who does not come again by then is followed as if there were no period."""
MOST_FACTS = 1_000_000
"""So many facts that are told in these moments are noted, likewise."""


@dataclass(slots=True)
class _Course:
    """What has happened of late: of each moment its time, what was told, and how much there was of it and of answers.

    All that is kept for ever, or has ended, was there by `settled`; what is to come at another time comes from `distant` on.
    """

    settled: int
    distant: int
    moments: list[tuple[int, Hashable]]
    facts: list[int]
    answers: list[int]


class Leaps:
    """Lets a session's network pass by a leap of time. `steps` are those that have to do with recursion, none of which looks
    further back than `reach` (encoded); `renew` makes an empty network in place of one."""

    def __init__(
        self, plan: Plan, network: Network, outlet: Outlet, steps: frozenset[str], renew: Callable[[], Network]
    ) -> None:
        self._network, self._outlet, self._renew = network, outlet, renew
        self._steps = steps
        shapes = [step.shape for step in plan.steps if step.id in steps]
        leads = [abs(plan.leads[name]) for name in steps if NEG < plan.leads[name] < POS]
        self._reach = sum(map(_reach, shapes)) + 2 * max(leads, default=0) + 2
        self._form: Form = network_form(network.graph, steps)
        self._told: Form = outlet_form(plan, steps)
        self.least = FIRST_MOMENTS * self._reach
        """How far time has to leap (encoded), so that it is looked for a period."""
        self._tells = not isinstance(outlet.emission, Intervals)  # which tells in pieces what goes on holding
        self._heard: set[Hashable] = set()
        self._facts = 0

    def approach(self, network: Network, frontier: int) -> Network:
        """Let a network come up to what lies before a frontier, as far as that is of use; returns the one to go on with."""
        self._network = network
        if not NEG < network.watermark < frontier < POS or network.graph.hearing:
            return network
        while self._pass_by(frontier):
            pass
        return self._network

    def _pass_by(self, frontier: int) -> bool:
        """Follow what happens until it comes again, and pass that by; whether there may be more of that before it ends."""
        rows = sum(operator.entries() for operator in self._network.graph.operators.values())
        for _ in range(FIRST_MOMENTS + rows // ROWS_FOR_A_MOMENT):
            if not self._go_on(frontier):
                return False
        times = self._times()
        near = self._network.watermark + self._reach
        settled = max((time for time in times if time <= near), default=near)
        distant = min((time for time in times if time > near), default=POS)
        course = _Course(max(settled, self._network.watermark), distant, [], [], [])
        with self._hearing():
            found = self._found(course, frontier)
        if found == 0:
            return distant < frontier and self._network.watermark >= distant
        return found is not None and self._move(course, found, frontier)

    def _found(self, course: _Course, frontier: int) -> int | None:
        """After how many moments all comes again; 0 where something else happens before, None where nothing is gained."""
        look_at = 2 * FIRST_MOMENTS
        told = 0
        while len(course.moments) < MOST_MOMENTS and told < MOST_FACTS:
            self._heard.clear()
            self._facts = 0
            if not self._go_on(min(frontier, course.distant)):
                return None if frontier <= course.distant else self._beyond(course.distant, frontier)
            time = self._network.watermark
            if time <= course.settled:
                continue
            course.moments.append((time, frozenset(_moved(self._heard, -time, course))))
            course.facts.append(self._facts)
            told += self._facts
            course.answers.append(len(self._outlet.answers) + len(self._outlet.violated))
            if len(course.moments) < look_at:
                continue
            look_at *= 2
            found = period_of(_numbered(course.moments), self._reach)
            if found:
                return found if course.answers[-1] == course.answers[0] else None
        return None

    def _beyond(self, distant: int, frontier: int) -> int | None:
        """Go on over what happens at a distant time; 0, and None where the leap ends."""
        while self._network.watermark < distant:
            if not self._go_on(frontier):
                return None
        return 0

    def _go_on(self, frontier: int) -> bool:
        """Let time come to the next moment at which a recursion goes on; False, and nothing done, where that is no more
        before the frontier, or is not known beforehand."""
        due = self._network.next_round()
        if not self._network.watermark < due < frontier:
            return False
        self._network.go_on(due, tells=self._tells)
        return True

    def _move(self, course: _Course, number: int, frontier: int) -> bool:
        """Move all on by as many periods as there are before a frontier; whether there may be something else behind them."""
        network, outlet = self._network, self._outlet
        now = network.watermark
        period = now - course.moments[-1 - number][0]
        end = min(frontier - 1, course.distant - 2 * (self._reach + period))
        count = (end - now) // period
        times = self._times()
        if any(now + self._reach < time < course.distant for time in times):
            return False  # something is known so far ahead that it was not heard of
        if count < 1 or count * sum(course.facts[-number:]) < len(times):
            return False
        settled, distant, distance = course.settled, course.distant, count * period

        def move(time: int) -> int:
            return time if time <= settled or time >= distant else time + distance

        kept, told = self._form(network.snapshot(), move), self._told(outlet.snapshot(), move)
        answers, violated = list(outlet.answers), list(outlet.violated)
        outlet.restore(told)
        outlet.answers, outlet.violated = answers, violated
        self._network = self._renew()
        self._network.restore(kept)
        return distant < frontier

    def _times(self) -> list[int]:
        """All times that are kept, but for those that stand for ever."""
        found: set[int] = set()

        def note(time: int) -> int:
            found.add(time)
            return time

        self._form(self._network.snapshot(), note)
        self._told(self._outlet.snapshot(), note)
        return [time for time in found if NEG < time < POS]

    @contextmanager
    def _hearing(self) -> Iterator[None]:
        """While this lasts, it is noted what the steps tell."""
        network = self._network
        for name in self._steps:
            network.listen(name, partial(self._hear, name))
        try:
            yield
        finally:
            for name in self._steps:
                network.listen(name, None)

    def _hear(self, name: str, source: str, facts: Sequence[Fact], notices: Notices | None) -> None:
        if source:
            return
        self._facts += len(facts)
        self._heard.update((name, "", row, lo, hi) for row, lo, hi in facts)
        if notices is not None:
            self._facts += len(notices)
            self._heard.update((name, "begun", row, lo, POS) for row, lo in notices.begun.items())
            self._heard.update((name, "ended", row, lo, hi) for row, lo, hi in notices.ended)


def leaps_of(plan: Plan, network: Network, outlet: Outlet, renew: Callable[[], Network]) -> Leaps | None:
    """What lets a session pass by leaps; None for a plan without recursion through time, or where it rests on steps, or they
    on it, that depend on more than on what was told of late: calendars, windows, machines, and aggregates.

    So it is with points of time that are waited for, and with a desk.
    """
    loops = [name for loop in plan.loops if loop.holds or loop.order for name in loop.members]
    if not loops or outlet.follows_arrivals or outlet.board is not None or network.graph.remote_ports:
        return None
    steps = {step.id: step for step in plan.steps}
    behind = _closed(loops, {name: [reader for reader, _ in ports] for name, ports in consumers_of(plan).items()})
    related = _closed(behind, {name: step.feeders for name, step in steps.items()})
    for name in related:
        metric = _metric(steps[name].shape)
        is_known = type(network.graph.operators[name]) in STATES
        if not is_known or (metric is not None and metric.b >= POS and _is_ahead(steps[name].shape)):
            return None
    return Leaps(plan, network, outlet, frozenset(related), renew)


def _closed(names: Iterable[str], onward: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += onward.get(name, ())
    return found


def _metric(shape: Shape) -> Metric | None:
    return shape.metric if isinstance(shape, DilateShape | ErodeShape | PairShape) else None


def _is_ahead(shape: Shape) -> bool:
    return shape.operator == "until" if isinstance(shape, PairShape) else getattr(shape, "future", False)


def _reach(shape: Shape) -> int:
    """How far a step looks: without an end, what it tells changes no more once it has looked as far as it begins."""
    metric = _metric(shape)
    if metric is None:
        return 0
    return 2 + (metric.b if metric.b < POS else metric.a)


def _moved(heard: Iterable[Any], distance: int, course: _Course) -> Iterator[Hashable]:
    """What was told, with its times as distances, but for those of what has long been there, or is far."""
    for name, kind, row, *times in heard:
        yield (
            name,
            kind,
            row,
            *[(time, False) if time <= NEG or time >= course.distant else (time + distance, True) for time in times],
        )


def _numbered(moments: Sequence[tuple[int, Hashable]]) -> list[tuple[int, Hashable]]:
    """Moments, with numbers in place of what happened: what is the same has the same number."""
    numbers: dict[Hashable, int] = {}
    return [(time, numbers.setdefault(happened, len(numbers))) for time, happened in moments]
