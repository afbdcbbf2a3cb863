"""What an engine tells: to the page and the metrics, and to those who listen in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.sinks.choosing import Choice
from tidelog.gateway.listening.taps import Taps
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import AnyAnswer, Batch, Observer, Rejected
from tidelog.runtime.ports.observing import ObservesSinks


@runtime_checkable
class OfARun(Protocol):
    """A sink that has to know which run's answers it is given."""

    def going_on(self, run: str) -> None:
        """A run begins, or goes on. Called before the sink is entered."""
        ...


class TracesSinks(Observer, ObservesSinks, Protocol):
    """An observer that makes spans."""


class Observers:
    """Several observers as one; they also tell `sinks` that want to know which run it is."""

    def __init__(self, observers: Sequence[Observer], sinks: Iterable[object] = ()) -> None:
        self._observers = list(observers)
        self._sinks = [sink for sink in sinks if isinstance(sink, OfARun)]

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        for observer in self._observers:
            observer.took(source, batch, refused)

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        for observer in self._observers:
            observer.told(answers)

    def going_on(self, run: str, events: int) -> None:
        for observer in self._observers:
            observer.going_on(run, events)
        for sink in self._sinks:
            sink.going_on(run)

    def committing(self, events: int) -> None:
        for observer in self._observers:
            observer.committing(events)

    def committed(self, seconds: float) -> None:
        for observer in self._observers:
            observer.committed(seconds)

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        for observer in self._observers:
            observer.gave_up(sink, letters)


class TracedObservers(Observers):
    """The same, with one that is also told what sinks have taken."""

    def __init__(self, observers: Sequence[Observer], sinks: Iterable[object], tracing: TracesSinks) -> None:
        super().__init__([*observers, tracing], sinks)
        self.delivered = tracing.delivered


class TapObserver:
    """Lets those who listen in have the facts of sources that have no messages, and the answers that go to sinks.

    `sources` are the names of sources in the order in which the engine has them, `sinks` those of sinks with what each is
    told.
    """

    def __init__(self, taps: Taps, plan: Plan, sources: Sequence[str], sinks: Mapping[str, Choice], *, iso: bool) -> None:
        self._taps, self._sources, self._sinks = taps, sources, sinks
        self._encoder = JsonEncoder(plan.schema, iso=iso)

    def took(self, source: str, batch: Batch | None, refused: Sequence[Rejected]) -> None:
        """The facts of a batch, if somebody listens in to its source."""
        number = source.partition(":")[0]
        if batch is None or not number.isdigit() or int(number) >= len(self._sources):
            return
        self._taps.pass_on(self._sources[int(number)], batch.records, self._encoder.encode)

    def told(self, answers: Sequence[AnyAnswer]) -> None:
        """The answers that each sink is told, if somebody listens in to it."""
        for name, choice in self._sinks.items():
            if self._taps.is_tapped(name):
                chosen = [answer for answer in map(choice, answers) if answer is not None]
                self._taps.pass_on(name, chosen, self._encoder.encode)

    def going_on(self, run: str, events: int) -> None:
        """Nothing passes here."""

    def committing(self, events: int) -> None:
        """Nothing passes here."""

    def committed(self, seconds: float) -> None:
        """Nothing passes here."""

    def gave_up(self, sink: str, letters: Sequence[Rejected]) -> None:
        """Nothing passes here: the answers were told when they became known."""
