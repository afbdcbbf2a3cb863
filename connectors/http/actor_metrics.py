"""What `/metrics` has of the actors over which a run is spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tidelog.connectors.http.watching.state import View
from tidelog.plans.data.timeline import NEG, POS
from tidelog.runtime.ports.actors import SILENT, ActorStatistics

_WAITS = ("facts", "islands", "process", "nothing")


class ActorFamilies:
    """The metrics of all actors, one family each; none where no run is spread."""

    def __init__(self) -> None:
        counter, gauge = CounterMetricFamily, GaugeMetricFamily
        own = ["program", "island", "shard", "name"]
        self.facts = counter("tidelog_actor_facts", "Facts that an actor was told", labels=own)
        self.inbox = gauge("tidelog_actor_inbox", "What an actor was told, and has not answered", labels=own)
        self.rows = gauge("tidelog_actor_rows", "Rows that an actor holds", labels=own)
        self.busy = counter("tidelog_actor_busy_seconds", "How long an actor was at work", labels=own)
        self.restarts = counter("tidelog_actor_restarts", "How often an actor was started anew", labels=own)
        self.poisons = counter("tidelog_actor_poisons", "Facts that an actor cannot take, and has left out", labels=own)
        self.log = gauge("tidelog_actor_log_length", "What an actor would be told again, if it was started anew", labels=own)
        self.state = gauge("tidelog_actor_state_bytes", "From how large a state it would then go on", labels=own)
        self.lag = gauge("tidelog_actor_lag_seconds", "How far what an actor knows all of lies behind now", labels=own)
        self.waits = gauge("tidelog_actor_waits", "What an actor waits for", labels=[*own, "for"])
        self.aside = gauge("tidelog_actor_aside", "Whether an actor was set aside", labels=own)
        self._is_empty = True

    def __iter__(self) -> Iterator[Metric]:
        return (family for family in ([] if self._is_empty else vars(self).values()) if isinstance(family, Metric))

    def read(self, program: str, actors: Sequence[ActorStatistics], view: View) -> None:
        """Add the actors of a program."""
        for actor in actors:
            self._is_empty = False
            own = [program, str(actor.island), str(actor.shard), actor.name]
            self.facts.add_metric(own, actor.facts)
            self.inbox.add_metric(own, actor.waits)
            self.rows.add_metric(own, actor.rows)
            self.busy.add_metric(own, actor.seconds)
            self.restarts.add_metric(own, actor.restarts)
            self.poisons.add_metric(own, actor.poisons)
            self.log.add_metric(own, actor.log)
            self.state.add_metric(own, actor.state_bytes)
            self.aside.add_metric(own, float(bool(actor.aside)))
            if view.has_unit and NEG < actor.frontier < POS:
                self.lag.add_metric(own, view.lag(actor.frontier))
            waits = _waits_for(actor.waits_for)
            for each in _WAITS:
                self.waits.add_metric([*own, each], float(each == waits))


def _waits_for(told: str) -> str:
    """One of `_WAITS`: islands are told by their names, and a process with how long it has not answered."""
    if told.startswith(SILENT):
        return "process"
    return "islands" if told not in ("", "facts") else told or "nothing"
