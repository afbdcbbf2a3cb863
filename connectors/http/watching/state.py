"""What the page shows of a watch, as plain data: times as numbers to draw with, and as text to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tidelog.connectors.formats.formatting import TimeFormatter
from tidelog.connectors.formats.json.hypothetical import HypotheticalEncoder
from tidelog.connectors.http.watching.lanes import Lane
from tidelog.connectors.http.watching.sources import Heard, source_name
from tidelog.connectors.http.watching.watch import Watch
from tidelog.connectors.http.watching.watched import SourceCounts
from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.data.facts import Row, format_atom, format_constant
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.visible import visible
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.actors import ActorStatistics

MOST_LINES = 40
"""How many premises of one answer are shown; the page says how many more there are."""
HELD_AT_ONCE = 100
"""So many answers that hold now are told at once: a page of them."""
_RAW = 160
"""So many bytes of a dead letter are shown."""


class View:
    """A watch's state for the page. With a unit, numbers are seconds since 1970; otherwise they are the program's own."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._timeline = watch.plan.timeline
        self._unit = float(self._timeline.unit) if self._timeline.unit is not None else None
        self._times = TimeFormatter(self._timeline, self._unit is not None)
        self._hypothetical = HypotheticalEncoder(watch.plan.schema, self._times)
        self._now, self._moment = watch.now(), watch.clock()
        self._counts = watch.engine.statistics() if watch.engine is not None else None
        self.actors: Sequence[ActorStatistics] = watch.engine.actors() if watch.engine is not None else []
        """Those over which the run is spread."""
        self._watermark = _least_watermark({} if self._counts is None else self._counts.sources)
        frontier = self._counts.intake.frontier if self._counts is not None else NEG
        self.present = _present(watch.engine.latest if watch.engine is not None else NEG, self._watermark, frontier)
        """What time it is (encoded): as far as the stream is complete, by its sources or a clock, or its latest fact."""

    def head(self) -> dict[str, Any]:
        """What stands at the head of the page: what runs, how far it is, what is away, and what tells of news of alarms."""
        watch, counts, present = self._watch, self._counts, self.present
        desk = watch.desk
        return {
            "program": watch.name,
            "ready": watch.is_ready,
            "now": self._now,
            "unit": self._unit,
            "tick": (self._unit or 1) if self._timeline.is_integer else 0,
            "present": self._number(present),
            "present_text": self._point(present),
            "facts": {"accepted": counts.intake.accepted, "late": counts.intake.late} if counts is not None else None,
            "queues": dict(watch.engine.waiting()) if watch.engine is not None else {},
            "away": self._away(),
            "aside": [name for name, _ in watch.set_aside()],
            "explains": watch.engine is not None and watch.engine.remembers,
            "alarms": desk.tag(moment_of(watch)) if desk.has_alarms else None,
        }

    def state(self, *, lanes: int = -1, letters: int = -1, first: int = 0) -> dict[str, Any]:
        """All that changes; without lanes, or dead letters, where the caller has this version of them already.

        Of what holds now there are `HELD_AT_ONCE` answers, behind the `first` ones.
        """
        watch, counts, present = self._watch, self._counts, self.present
        found: dict[str, Any] = {
            **self.head(),
            "steps": {
                name: {"received": step.received, "sent": step.sent, "rows": step.entries, "lag": self._lag(name)}
                for name, step in (counts.steps.items() if counts is not None else ())
            },
            "actors": [self._actor(actor) for actor in self.actors],
            "told": dict(watch.told_counts),
            "sources": self._sources(),
            "possible": [self._possible(item, present) for item in watch.possible.at(present)],
            "violations": [self._violation(moment, item) for moment, item in reversed(watch.violations)],
            "violated": watch.violation_count,
            "holding": self._holding(first),
            "lanes_dropped": watch.lanes.dropped,
            "lanes_version": watch.lanes.version,
            "letters_version": watch.letters_count,
        }
        if watch.lanes.version != lanes:
            found["lanes"] = [self._lane(lane) for lane in watch.lanes]
        if watch.letters_count != letters:
            found["letters"] = self._letters()
        return found

    # --- parts ----------------------------------------------------------------------------------------------------------

    def _holding(self, first: int) -> dict[str, Any]:
        """How many answers hold now, and some of them; what began last comes first."""
        held = self._watch.engine.holding(self.present) if self._watch.engine is not None else []
        first = min(max(0, first), max(0, len(held) - 1) // HELD_AT_ONCE * HELD_AT_ONCE)
        rows = [
            {**self._atom(name, row), "bar": self._bar(lo, hi)} for name, row, lo, hi in held[first : first + HELD_AT_ONCE]
        ]
        return {"count": len(held), "first": first, "size": HELD_AT_ONCE, "rows": rows}

    def _lane(self, lane: Lane) -> dict[str, Any]:
        bars = [self._bar(lo, hi) for lo, hi in lane.bars]
        return {**self._atom(lane.predicate, lane.row), "bars": bars, "dropped": lane.dropped}

    def _atom(self, name: str, row: Row) -> dict[str, Any]:
        known = self._watch.plan.schema.predicates.get(name)
        return {
            "name": name,
            "fields": list(known.fields) if known is not None and known.is_named else [],
            "row": [value if isinstance(value, str) else format_constant(value) for value in row],
            "text": format_atom(name, row),
            "raw": msgspec.json.encode(row).decode(),
        }

    def _bar(self, lo: int, hi: int) -> list[Any]:
        return [self._number(lo), self._end(hi), self._times.at(lo, hi), f"{lo}:{hi}"]

    def _possible(self, item: HypotheticalAnswer, present: int) -> dict[str, Any]:
        told = msgspec.json.decode(self._hypothetical.encode(item))
        column = self._watch.plan.schema.questions[item.query]
        moment = item.answer.get(column)
        left = None if item.deadline is None else item.deadline - present
        evidence, hypotheses = told["evidence"], told["hypotheses"]
        return {
            "query": item.query,
            "answer": ", ".join(
                "?" if value is None else format_constant(value) for name, value in item.answer.items() if name != column
            ),
            "time": self._number(moment) if isinstance(moment, int) else None,
            "evidence": evidence[:MOST_LINES],
            "more_evidence": max(0, len(evidence) - MOST_LINES),
            "hypotheses": hypotheses[:MOST_LINES],
            "more_hypotheses": max(0, len(hypotheses) - MOST_LINES),
            "where": told.get("where", []),
            "left": None if left is None else left * (self._unit or 1),
        }

    def _sources(self) -> list[dict[str, Any]]:
        counts = self._counts.sources if self._counts is not None else {}
        marks: dict[str, list[int]] = {}
        states: dict[str, str] = {}
        for name, source in counts.items():
            known = source_name(name)
            if source.has_ended:
                states.setdefault(known, "ended")
            elif source.parts:
                states[known] = "counts"
                marks.setdefault(known, []).append(source.watermark)
            else:
                states.setdefault(known, "idle")
        heard = self._watch.sources.heard
        return [
            self._source(name, heard.get(name, Heard()), states.get(name, "ended"), min(marks.get(name, [POS])))
            for name in dict.fromkeys([*states, *heard])
        ]

    def _away(self) -> list[str]:
        """The ends that are not open, or of which the other side is not there."""
        connected = self._watch.engine.connected() if self._watch.engine is not None else []
        return [source_name(name) for name, is_connected in connected if not is_connected]

    def _actor(self, actor: ActorStatistics) -> dict[str, Any]:
        is_known = NEG < actor.frontier < POS
        return {
            "name": actor.name,
            "island": actor.island,
            "shard": actor.shard,
            "process": actor.process,
            "facts": actor.facts,
            "inbox": actor.waits,
            "rows": actor.rows,
            "seconds": actor.seconds,
            "restarts": actor.restarts,
            "poisons": actor.poisons,
            "frontier": self._number(actor.frontier),
            "lag": self.lag(actor.frontier) if is_known else None,
            "waits_for": actor.waits_for,
            "aside": visible(actor.aside),
        }

    def _source(self, name: str, heard: Heard, state: str, mark: int) -> dict[str, Any]:
        moment = self._moment
        is_known = NEG < mark < POS
        return {
            "name": name,
            "state": state if heard.moment is not None or state == "ended" else "silent",
            "facts": heard.facts,
            "dead": heard.dead,
            "silence": None if heard.moment is None else moment - heard.moment,
            "lag": self.lag(mark) if is_known else None,
            "last": [
                {
                    "text": format_atom(record[0], record[1]),
                    "at": self._number(record[2]),
                    "silence": moment - came,
                }
                for record, came in reversed(heard.last.values())
            ],
        }

    @property
    def has_unit(self) -> bool:
        """Whether times are times of the calendar, so that there is a now."""
        return self._unit is not None

    def lag(self, mark: int) -> float:
        """How far a watermark lies behind now, in seconds; without a unit, behind the latest fact."""
        now = self._now if self._unit is not None else self._number(self.present)
        return max(0.0, (now or 0.0) - (self._number(mark) or 0.0))

    def _lag(self, step: str) -> float | None:
        """How far what a step tells lies behind the present."""
        lead = self._watch.plan.leads.get(step, 0)
        if lead >= POS or self.present <= NEG:
            return None
        behind = float(decode_distance(max(0, -lead), self._timeline)) * (self._unit or 1)
        return round(behind + (self.lag(self._watermark) if NEG < self._watermark < POS else 0.0), 1)

    def _letters(self) -> list[dict[str, Any]]:
        return [
            {
                "at": moment,
                "source": source,
                "place": visible(item.place),
                "kind": kind,
                "reason": visible(item.reason),
                "raw": visible(item.raw[:_RAW].decode("utf-8", "backslashreplace")),
            }
            for moment, source, kind, item in reversed(self._watch.letters)
        ]

    def _violation(self, moment: float, item: Any) -> dict[str, Any]:
        return {"at": moment, "time": self._number(item.lo), "rule": item.rule, "facts": list(item.facts)}

    # --- times ----------------------------------------------------------------------------------------------------------

    def _number(self, time: int) -> float | None:
        """An encoded time as a number to draw with; None for what is not finite."""
        if not NEG < time < POS:
            return None
        return float(self._timeline.decode_interval(time, time).low) * (self._unit or 1)

    def _end(self, hi: int) -> float | None:
        if hi >= POS:
            return None
        return float(self._timeline.decode_interval(hi, hi).high) * (self._unit or 1)

    def _point(self, time: int) -> str | None:
        if not NEG < time < POS:
            return None
        return self._times.point(time if self._timeline.is_integer else time & ~1)


def _least_watermark(sources: Mapping[str, SourceCounts]) -> int:
    """How far all sources that count have come; `POS` where none does."""
    counting = (source.watermark for source in sources.values() if source.parts and not source.has_ended)
    return min(counting, default=POS)


def _present(latest: int, watermark: int, frontier: int) -> int:
    return max([latest, *(time for time in (watermark, frontier) if time < POS)])


def moment_of(watch: Watch) -> int:
    """What time it is for who acts (encoded): by the machine's clock where the program goes by it, or else as far as the
    stream has come."""
    unit, timeline = watch.plan.timeline.unit, watch.plan.timeline
    if not watch.goes_by_clock or unit is None:
        engine = watch.engine
        if engine is None:
            return NEG
        return _present(engine.latest, _least_watermark(engine.source_statistics()), engine.frontier)
    tick = unit if timeline.is_integer else unit * timeline.resolution
    ticks = int(watch.now() / tick)
    return ticks if timeline.is_integer else 2 * ticks
