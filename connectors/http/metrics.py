"""`/metrics`: what Prometheus asks for, counted when it asks."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from tidelog.connectors.http.actor_metrics import ActorFamilies
from tidelog.connectors.http.watching.measures import Durations
from tidelog.connectors.http.watching.sources import source_name
from tidelog.connectors.http.watching.state import View, moment_of
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.http.watching.watched import RunCounts, Watched
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.tree.declared.alarms import ACTIONS, STATES
from tidelog.version import VERSION

MAX_PATHS = 1000
"""How many kinds of requests are counted apart."""


class Metrics:
    """A registry with what is known of the watches, of requests, and of the process; it counts nothing by itself."""

    def __init__(self, watches: Mapping[str, Watch], listeners: Callable[[], int], posts: Callable[[], int]) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.requests: dict[tuple[str, str, int], int] = {}
        self._watches, self._listeners, self._posts = watches, listeners, posts
        self.registry.register(_Watches(self))
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    @property
    def watches(self) -> Mapping[str, Watch]:
        """What is measured."""
        return self._watches

    @property
    def listeners(self) -> int:
        """How many are sent answers as they become known."""
        return self._listeners()

    @property
    def posts(self) -> int:
        """How many requests with facts are being answered."""
        return self._posts()

    def count(self, method: str, path: str, status: int) -> None:
        """A request has been answered."""
        key = (method, path, status)
        if key in self.requests or len(self.requests) < MAX_PATHS:
            self.requests[key] = self.requests.get(key, 0) + 1

    def exposition(self, accept: str) -> tuple[bytes, str]:
        """All of it as text, in the format that is asked for, and its content type."""
        encoder, kind = choose_encoder(accept)
        return encoder(self.registry), kind


class _Watches(Collector):
    """What is read from the watches at the moment at which it is asked for."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        build = InfoMetricFamily("tidelog_build", "The version that runs")
        build.add_metric([], {"version": VERSION, "python": platform.python_version()})
        yield build
        families = _Families()
        for watch in self._metrics.watches.values():
            families.read(watch)
        yield from families
        yield from families.actors
        yield self._requests()
        yield GaugeMetricFamily(
            "tidelog_http_listeners", "Who is sent answers as they become known", value=self._metrics.listeners
        )
        yield GaugeMetricFamily(
            "tidelog_http_posts", "Requests with facts that are being answered", value=self._metrics.posts
        )

    def _requests(self) -> Metric:
        requests = CounterMetricFamily(
            "tidelog_http_requests", "Requests that were answered", labels=["method", "path", "status"]
        )
        for (method, path, status), count in self._metrics.requests.items():
            requests.add_metric([method, path, str(status)], count)
        return requests


class _Families:
    """The metrics of all watches, one family each."""

    def __init__(self) -> None:
        counter, gauge = CounterMetricFamily, GaugeMetricFamily
        own, of_source, of_step = ["program"], ["program", "source"], ["program", "step"]
        self.facts = counter("tidelog_facts_received", "Facts that sources brought", labels=of_source)
        self.accepted = counter("tidelog_facts_accepted", "Those of them that the rules have taken", labels=of_source)
        self.unused = counter("tidelog_facts_unused", "Facts of predicates that the program does not use", labels=own)
        self.late = counter("tidelog_facts_late", "Facts that came too late", labels=of_source)
        self.dead = counter(
            "tidelog_dead_letters", "Records that could not be used, by reason", labels=[*of_source, "reason"]
        )
        self.silence = gauge("tidelog_source_silence_seconds", "Since when a source has said nothing", labels=of_source)
        self.lag = gauge("tidelog_watermark_lag_seconds", "How far a source's watermark lies behind now", labels=of_source)
        self.ticks = gauge(
            "tidelog_watermark_lag_ticks", "The same, behind the latest fact, for a program without a unit", labels=of_source
        )
        self.ahead = gauge("tidelog_source_lead_facts", "Facts of a source that wait for slower ones", labels=of_source)
        self.answers = counter("tidelog_answers", "Answers that became known", labels=["program", "output"])
        self.holding = gauge("tidelog_holding", "Answers that hold now", labels=["program", "output"])
        self.alarms = gauge("tidelog_alarms_open", "Alarms that are not normal", labels=["program", "priority", "state"])
        self.begun = counter("tidelog_alarms_begun", "Alarms that began", labels=["program", "alarm"])
        self.actions = counter("tidelog_alarm_actions", "What people did with alarms", labels=["program", "action"])
        self.violations = counter("tidelog_violations", "Constraints that began to be violated", labels=own)
        self.queue = gauge("tidelog_queue_length", "What waits for the engine, or for a sink", labels=["program", "queue"])
        self.lost = counter("tidelog_sink_lost_answers", "Answers that a sink may have lost", labels=["program", "sink"])
        self.connected = gauge(
            "tidelog_connected", "Whether a source or a sink is open, and the other side there", labels=["program", "end"]
        )
        of_end = ["program", "end"]
        self.since = gauge(
            "tidelog_connected_since_seconds", "Since when the other side is there, since 1970", labels=of_end
        )
        self.connections = counter("tidelog_connections", "How often a connection was made", labels=of_end)
        self.asked = counter("tidelog_requests", "Requests to the other side", labels=of_end)
        self.failed = counter("tidelog_request_errors", "Those that had an error, or nothing, as answer", labels=of_end)
        self.program = InfoMetricFamily("tidelog_program", "The program that runs, by the SHA-256 of its text", labels=own)
        self.undelivered = counter(
            "tidelog_sink_dead_letters", "Answers that a sink can never deliver", labels=["program", "sink"]
        )
        self.breaks = counter("tidelog_sink_breaks", "How often a sink's connection broke", labels=["program", "sink"])
        self.dropped = counter(
            "tidelog_sink_dropped_answers", "Answers that were dropped, as too many waited", labels=["program", "sink"]
        )
        self.slowest = gauge(
            "tidelog_slowest_sink_waiting", "Answers that wait for the sink for which most wait", labels=["program", "sink"]
        )
        self.owed = gauge("tidelog_owed_bytes", "Answers that wait for sinks, as they are stored", labels=own)
        self.owed_most = gauge("tidelog_owed_limit_bytes", "How many bytes of them may wait", labels=own)
        self.blocked = gauge("tidelog_sources_wait_for_sinks", "Whether sources wait, as too much waits", labels=own)
        self.rows = gauge("tidelog_step_rows", "Ranges that a step stores", labels=of_step)
        self.received = counter("tidelog_step_received", "Facts that a step was given", labels=of_step)
        self.sent = counter("tidelog_step_sent", "Facts that a step has told", labels=of_step)
        self.ready = gauge("tidelog_ready", "Whether the program runs", labels=own)
        self.latency = HistogramMetricFamily(
            "tidelog_event_latency_seconds", "From a batch's receipt until all that follows is derived", labels=own
        )
        self.commits = HistogramMetricFamily("tidelog_commit_seconds", "How long a commit took", labels=own)

        self.actors = ActorFamilies()

    def __iter__(self) -> Iterator[Metric]:
        return (family for family in vars(self).values() if isinstance(family, Metric))

    def read(self, watch: Watch) -> None:
        """Add what a watch knows."""
        name = watch.name
        self.ready.add_metric([name], float(watch.is_ready))
        self.program.add_metric([name], {"version": watch.version})
        self.queue.add_metric([name, watch.ingest.name], len(watch.ingest))
        _add_durations(self.latency, name, watch.latency)
        _add_durations(self.commits, name, watch.commits)
        for output, count in watch.told_counts.items():
            self.answers.add_metric([name, output], count)
        self.violations.add_metric([name], watch.violation_count)
        for source, heard in watch.sources.heard.items():
            self.facts.add_metric([name, source], heard.facts)
            self.accepted.add_metric([name, source], heard.accepted)
            self.late.add_metric([name, source], heard.dead.get("late", 0))
            for reason, count in heard.dead.items():
                self.dead.add_metric([name, source, reason], count)
        self._read_silence(watch)
        self._read_links(watch)
        if watch.desk.has_alarms:
            self._read_desk(watch)
        if watch.engine is not None:
            self._read_run(watch, watch.engine.statistics())
            for end, is_connected in watch.engine.connected():
                self.connected.add_metric([name, source_name(end)], float(is_connected))
            for sink, waiting in watch.engine.waiting():
                self.queue.add_metric([name, sink], waiting)
            self._read_owing(watch.engine, name)
            for sink, statistics in watch.engine.sink_statistics():
                self.lost.add_metric([name, sink], statistics.lost)
                self.breaks.add_metric([name, sink], statistics.breaks)
                self.undelivered.add_metric([name, sink], statistics.undelivered)
                self.dropped.add_metric([name, sink], statistics.dropped)

    def _read_owing(self, engine: Watched, name: str) -> None:
        """How much waits for sinks, and for which of them most does."""
        slowest, waiting = max(engine.waiting(), key=lambda item: item[1], default=("", 0))
        if waiting:
            self.slowest.add_metric([name, slowest], waiting)
        owing = engine.owing()
        if owing is not None:
            self.owed.add_metric([name], owing.size)
            self.owed_most.add_metric([name], owing.most)
            self.blocked.add_metric([name], float(owing.are_sources_waiting))

    def _read_links(self, watch: Watch) -> None:
        for end, linked in watch.links.items():
            found, labels = linked.link(), [watch.name, end]
            if found.since is not None:
                self.since.add_metric(labels, found.since)
            self.connections.add_metric(labels, found.connections)
            self.asked.add_metric(labels, found.requests)
            self.failed.add_metric(labels, found.errors)

    def _read_silence(self, watch: Watch) -> None:
        for source, silence in watch.sources.silences():
            self.silence.add_metric([watch.name, source], silence)

    def _read_desk(self, watch: Watch) -> None:
        name, desk = watch.name, watch.desk
        found: Counter[tuple[str, str]] = Counter((item.priority, item.state) for item in desk.open_alarms(moment_of(watch)))
        for priority, state in product(dict.fromkeys(alarm.declared.priority for alarm in watch.plan.alarms), STATES):
            self.alarms.add_metric([name, priority, state], found[priority, state])
        done = dict.fromkeys(ACTIONS, 0)
        for (kind, alarm), count in desk.history.counts.items():
            if kind == "began":
                self.begun.add_metric([name, alarm], count)
            elif kind in done:
                done[kind] += count
        for action, count in done.items():
            self.actions.add_metric([name, action], count)

    def _read_run(self, watch: Watch, counts: RunCounts) -> None:
        name = watch.name
        self.unused.add_metric([name], counts.intake.unused)
        for step, done in counts.steps.items():
            self.rows.add_metric([name, step], done.entries)
            self.received.add_metric([name, step], done.received)
            self.sent.add_metric([name, step], done.sent)
        view = View(watch)
        self.actors.read(name, view.actors, view)
        held = Counter(record[0] for record in watch.engine.holding(view.present)) if watch.engine is not None else Counter()
        for output in watch.plan.told:
            self.holding.add_metric([name, output], held[output])
        lags: dict[str, float] = {}
        leads: dict[str, int] = {}
        for full_name, source in counts.sources.items():
            known = source_name(full_name)
            leads[known] = leads.get(known, 0) + source.lead
            if source.parts and NEG < source.watermark < POS:
                lags[known] = max(lags.get(known, 0.0), view.lag(source.watermark))
        for source_, lag in lags.items():
            (self.ticks if watch.plan.timeline.unit is None else self.lag).add_metric([name, source_], lag)
        for source_, lead in leads.items():
            self.ahead.add_metric([name, source_], lead)


def _add_durations(family: HistogramMetricFamily, name: str, durations: Durations) -> None:
    family.add_metric([name], durations.cumulative(), durations.total)
