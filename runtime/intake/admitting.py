"""Which facts are taken: not those that are late, nor (with `max_ahead`) those of a wrong clock."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tidelog.plans.data.facts import Record, format_atom
from tidelog.plans.data.timeline import NEG, POS, Timeline
from tidelog.runtime.intake.source_state import SourceState
from tidelog.runtime.intake.tracks import Rules, Track, Verdict
from tidelog.runtime.intake.watermarks import Watermarks, plain_name
from tidelog.runtime.ports.interfaces import Batch, Part, Rejected

logger = logging.getLogger("tidelog")


@dataclass(slots=True)
class Admitted:
    """Facts that are taken, in order, and those that are refused: late, or too far ahead."""

    records: list[Record] = field(default_factory=list)
    late: list[Rejected] = field(default_factory=list)
    ahead: list[Rejected] = field(default_factory=list)


class Admitting:
    """Judges facts by the watermark of their part of their source, and by the engine's, and moves both.

    The watermarks move within a batch, so that what is late does not depend on how the stream was cut.
    """

    def __init__(
        self, watermarks: Watermarks, timeline: Timeline, delays: Mapping[str, int], rules: Rules, max_lead: int
    ) -> None:
        self._watermarks = watermarks
        self._timeline = timeline
        self._delays = delays
        self._rules = rules
        self._by_clock = replace(rules, max_ahead=None)  # for facts that lie where the machine's clock allows
        self._max_lead = max_lead

    def admit(self, state: SourceState, batch: Batch, moment: float) -> Admitted:
        """What is taken of a batch; with what it promises, of what was held before, too."""
        admitted = Admitted()
        if batch.parts is None:
            self._admit_in_order(state, batch, moment, admitted)
        else:
            self._admit_parts(state, batch.parts, batch, moment, admitted)
        if batch.watermark is not None:
            self._promise(state, batch.watermark, moment, admitted)
        return admitted

    def drop(self, state: SourceState, tracks: Iterable[Track]) -> Admitted:
        """Nobody waits for these parts any more: what is held of them is decided about."""
        admitted = Admitted()
        for track in tracks:
            self._drop(state, track, admitted)
        return admitted

    def _admit_in_order(self, state: SourceState, batch: Batch, moment: float, admitted: Admitted) -> None:
        """Take the facts of a source that is not divided: the short way for those that are as expected, else `_judge`.

        A fact that begins in the open gap behind a time counts as arriving at that time.
        """
        if not batch.records:
            return
        track = state.track(None, moment)
        watermark = self._watermarks.watermark
        delays, behind, gap, leap = self._delays, self._rules.behind, self._rules.gap, self._rules.leap
        limit, votes, records = max(watermark, track.promised), track.votes, admitted.records
        ceiling, promises = self._watermarks.ceiling, batch.watermark != NEG
        for i, record in enumerate(batch.records):
            lo = record[2]
            is_late = lo <= limit and limit > NEG and lo <= limit - delays.get(record[0], 0)
            if votes or lo - limit > leap or lo > ceiling or is_late:
                self._judge(state, track, record, batch.place(i), admitted)
                limit, votes = max(watermark, track.promised), track.votes
                continue
            if lo > limit + behind and promises:
                track.promised = limit = lo - (lo & gap) - behind
            records.append(record)
        if records:
            state.heard(track, len(records), moment)

    def _admit_parts(
        self, state: SourceState, parts: Sequence[Part], batch: Batch, moment: float, admitted: Admitted
    ) -> None:
        """Take facts of which each may come from another part, as if they came one by one; the short way as above."""
        marks, rules, tracks, records = self._watermarks, self._rules, state.tracks, admitted.records
        behind, gap, leap = rules.behind, rules.gap, rules.leap
        watermark, ceiling, due = marks.watermark, marks.ceiling, state.due(self._max_lead)
        for i, record in enumerate(batch.records):
            lo, before = record[2], len(records)
            track = tracks.get(parts[i])
            if track is None:
                track, due = self._join(state, parts[i], moment), 0  # it may be one too many
            was = track.promised
            limit = watermark if watermark > was else was
            if lo <= limit or lo - limit > leap or lo > ceiling or track.votes:
                self._judge(state, track, record, batch.place(i), admitted)
            else:
                if lo > limit + behind:
                    track.promised = lo - (lo & gap) - behind
                records.append(record)
            if len(records) > before:
                state.heard(track, len(records) - before, moment)
            if state.taken >= due:
                self._drop_silent(state, admitted)
                due, was = state.due(self._max_lead), NEG
            if was <= state.promised:  # otherwise another part is the one that the others wait for
                marks.advance(state)
                watermark = marks.watermark

    def _join(self, state: SourceState, part: Part, moment: float) -> Track:
        """A part that was not there. The source as a whole is one only where a fact names no part."""
        track = state.track(part, moment)
        whole = state.tracks.get(None)
        if part is not None and whole is not None and not whole.heard:
            state.drop(whole)
        return track

    def _judge(self, state: SourceState, track: Track, record: Record, place: str, admitted: Admitted) -> None:
        """Take a fact, refuse it, or hold it until more have come."""
        watermark = self._watermarks.watermark
        stood = max(watermark, track.promised)
        ceiling = self._watermarks.ceiling
        if record[2] > ceiling:
            self._note(Verdict.AHEAD, track, record, place, stood, admitted)
            return
        rules = self._rules if ceiling == POS else self._by_clock
        verdict = track.judge(record[2], self._delays.get(record[0], 0), watermark, rules)
        if verdict is Verdict.HELD and track.held is not None:
            track.held.append((record, place))
            self._release(track, admitted)
            return
        if verdict is Verdict.MOVED:
            self._tell_moved(state, track, stood, record[2])
        self._note(verdict, track, record, place, stood, admitted)

    # --- first facts ----------------------------------------------------------------------------------------------------

    def _release(self, track: Track, admitted: Admitted, *, at_once: bool = False) -> None:
        """Decide about a part's first facts once most of them agree, or at once."""
        max_ahead = self._rules.max_ahead
        if track.held and max_ahead is not None:
            low = track.agreed(max_ahead, at_once=at_once)
            if low is not None:
                self._decide(track, (low - max_ahead, low, low + max_ahead), admitted)

    def _decide(self, track: Track, range_: tuple[int, int, int], admitted: Admitted) -> None:
        """Take the held facts that begin within the range, around where the part stands, and that are not late then."""
        least, stood, most = range_
        held, track.held = track.held or [], None
        for record, place in held:
            is_first = track.promised <= NEG
            limit = track.promised
            verdict = track.judge_first(record[2], self._delays.get(record[0], 0), least, most, self._rules)
            if is_first:
                limit = least - 1 if verdict is Verdict.LATE else stood - self._rules.behind
            self._note(verdict, track, record, place, limit, admitted)

    def _promise(self, state: SourceState, watermark: int, moment: float, admitted: Admitted) -> None:
        """The source promises that no later fact of it begins at or before this time."""
        if not state.tracks:
            state.track(None, moment)
        for track in list(state.tracks.values()):
            before = len(admitted.records)
            if track.held:  # they came before, so none of them is late
                self._decide(track, (NEG, watermark, watermark + (self._rules.max_ahead or 0)), admitted)
            track.promised = max(track.promised, watermark)
            state.heard(track, len(admitted.records) - before, moment)
        state.floor = max(state.floor, watermark)

    # --- parts that are dropped -----------------------------------------------------------------------------------------

    def _drop(self, state: SourceState, track: Track, admitted: Admitted) -> None:
        before = len(admitted.records)
        self._release(track, admitted, at_once=True)
        state.heard(track, len(admitted.records) - before, track.moment)
        state.drop(track)

    def _drop_silent(self, state: SourceState, admitted: Admitted) -> None:
        """Wait no longer for parts that are silent while many facts of the others come, or that are too many."""
        while (track := state.stalest(self._max_lead)) is not None:
            if not state.dropped:
                logger.warning(
                    "%s: nobody waits any more for `%s`, of which nothing could be used while %d facts of others came; "
                    "the same holds for whoever else is silent for so long",
                    plain_name(state.name),
                    track.part,
                    state.taken - track.last,
                )
            state.dropped += 1
            self._drop(state, track, admitted)

    # --- what is refused ------------------------------------------------------------------------------------------------

    def _note(self, verdict: Verdict, track: Track, record: Record, place: str, limit: int, admitted: Admitted) -> None:
        """Keep a fact that is taken; otherwise count it, and say why it is refused."""
        if verdict is Verdict.LATE:
            track.late += 1
            admitted.late.append(self._refuse(record, place, limit))
        elif verdict is Verdict.AHEAD:
            track.ahead += 1
            admitted.ahead.append(self._refuse_leap(record, place, limit + self._rules.behind))
        else:
            admitted.records.append(record)

    def text(self, record: Record) -> str:
        """A fact for people."""
        predicate, row, lo, hi = record
        return f"{format_atom(predicate, row)}@{self._watermarks.times.at(lo, hi)}"

    def _refuse(self, record: Record, place: str, watermark: int) -> Rejected:
        predicate = record[0]
        reached = self._watermarks.times.point(watermark - self._delays.get(predicate, 0) + 1)
        what = f"facts of `{predicate}`" if self._delays else "facts"
        clock = "by the clock, " if watermark <= self._watermarks.floor else ""
        reason = f"late: {clock}{what} before {reached} can no longer come"
        return Rejected(place, reason, self.text(record).encode(), record)

    def _refuse_leap(self, record: Record, place: str, reached: int) -> Rejected:
        marks = self._watermarks
        times = marks.times
        if record[2] > marks.ceiling:
            bound, stood, who = (marks.ceiling - marks.present) & ~self._rules.gap, marks.present, "the clock"
        else:
            bound, stood, who = self._rules.max_ahead or 0, reached, "its source"
        reason = f"ahead: begins more than {times.length(bound)} after {times.point(stood)}, where {who} stood"
        return Rejected(place, reason, self.text(record).encode(), record)

    def _tell_moved(self, state: SourceState, track: Track, stood: int, lo: int) -> None:
        times = self._watermarks.times
        before = times.point(stood + self._rules.behind)
        whose = plain_name(state.name) if track.part is None else f"{plain_name(state.name)}, `{track.part}`"
        after = times.point(lo)
        logger.warning("%s: time goes on at %s: most facts now lie there, and not near %s", whose, after, before)
