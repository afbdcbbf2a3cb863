"""A stage of a stream in columns: its kernels take the facts of a batch at once, and another flow goes on from its snapshot.

A kernel tells what is known up to a watermark. What follows from facts for sure is told with them, also behind it
(`looking_ahead.py`), and then noted, so that nothing is told twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from tidelog.operators.columns.batch import Batch, batch_of, empty, joined
from tidelog.operators.columns.joining import outside
from tidelog.operators.columns.kernel import Resumable
from tidelog.operators.columns.packs import packed, unpacked
from tidelog.operators.columns.pool import Pool
from tidelog.operators.operator import shift
from tidelog.plans.analysis.horizons.notation import encode_distance
from tidelog.plans.analysis.physical.in_columns import stops_row_by_row
from tidelog.plans.data.facts import Fact, Record
from tidelog.plans.data.saved import taking
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.columns.history import ColumnCourse
from tidelog.runtime.columns.stages.looking_ahead import LookingAhead, Standing
from tidelog.runtime.columns.stages.staged import rows_owned
from tidelog.runtime.emission.modes import emission
from tidelog.runtime.ports.interfaces import StageAnswers, StageMode, StageSession
from tidelog.runtime.sessions.staged import Known, open_stage

_MARK = b"columns "
"""What a snapshot begins with. That of a session that goes row by row is a map in MessagePack, which begins otherwise."""
_DIGEST = hashlib.sha256().digest_size
_Pack = bytes | int
"""A batch; one without rows is so many columns wide."""
_name = itemgetter(0)
_encode = msgspec.msgpack.Encoder().encode


class _State(msgspec.Struct, forbid_unknown_fields=True, array_like=True):
    """What a flow is, but for the values of its emission, which checks them itself.

    `held` are the batches of each step's kernel, `reached` how far it is known; `ahead` is what of an output was told behind
    its frontier, `standing` what holds at that frontier, and which it is. The last fact begins at `latest`; `until` says for
    each predicate when the last fact ends.
    """

    watermark: int
    promised: int
    reached: dict[str, int]
    held: dict[str, tuple[int, list[_Pack]]]
    ahead: dict[str, _Pack]
    standing: dict[str, tuple[int, _Pack]]
    emission: Any
    latest: int
    until: dict[str, int]


_decode = msgspec.msgpack.Decoder(_State).decode


def open_flow(
    stage: Stage,
    owns: Callable[[Value], bool],
    *,
    emit: StageMode = "intervals",
    start: int | None = None,
    state: bytes | None = None,
) -> StageSession:
    """A stage of a stream, for the values of its key that it owns: in columns where its plan allows it, else row by row.

    With a `state` it goes on from that snapshot, as it was taken; SnapshotError where it is not one of the same stage.
    """
    if not flows(stage, emit) or not (state is None or is_of_columns(state)):
        if state is not None and is_of_columns(state):
            raise SnapshotError("the state is that of a run in columns, and these answers are told row by row")
        return open_stage(stage, owns, emit=emit, start=start, state=state)
    flow = StageFlow(stage, owns, emit=emit, start=start)
    if state is not None:
        flow.restore(state)
    return flow


def flows(stage: Stage, emit: StageMode) -> bool:
    """Whether a stage of a stream goes in columns."""
    announces = emit != "intervals" and bool(stage.plan.announcing)  # then its session itself tells whole intervals
    return stage.asked is None and not announces and stops_row_by_row(stage.plan) is None


class StageFlow:
    """Implements `runtime.frames.stages.ColumnSession`."""

    def __init__(self, stage: Stage, owns: Callable[[Value], bool], *, emit: StageMode, start: int | None) -> None:
        self._stage, self._owns = stage, owns
        self._emit, self._start = emit, start
        self._steps = {name: step for name, step in stage.plan.outputs.items() if name in stage.outputs}
        self._delays = {name: encode_distance(delay, stage.plan.timeline) for name, delay in stage.outputs.items()}
        self._from_stream = {item.name for item in stage.inputs if item.source is None}
        self._answers = StageAnswers()
        self._begin()

    def _begin(self) -> None:
        self.pool = Pool()
        course = self.course = ColumnCourse(self._stage.plan, self.pool, start=self._start)
        self._looking = LookingAhead(course)
        self.emission = None if self._emit == "intervals" else emission(self._emit, self._stage.told)
        self.ahead = {name: empty(course.widths[name]) for name in self._steps}
        self._standing = {name: Standing(course.widths[name], self.pool) for name in self._steps}
        self._fresh: dict[str, list[Batch]] = {}
        self.promised = self.latest = NEG
        self.until: dict[str, int] = {}
        self._has_begun = False

    def promise(self, watermark: int) -> None:
        """No fact of the stream begins at or before the watermark any more, though earlier stages may still tell some."""
        self.promised = max(self.promised, watermark)

    def take(self, records: Sequence[Record]) -> list[tuple[Record, str]]:
        """Take facts, named as the stage's program names them; returns those that are late, and says why."""
        late: list[tuple[Record, str]] = []
        for name, some in groupby(sorted(records, key=_name), _name):
            facts: list[Fact] = [record[1:] for record in some]
            late += self.take_columns(name, batch_of(facts, len(facts[0][0]), self.pool))
        return late

    def take_columns(self, name: str, batch: Batch) -> list[tuple[Record, str]]:
        """The same of facts of one predicate."""
        late: list[tuple[Record, str]] = []
        if name in self._from_stream and self.promised > NEG:
            is_late = batch.lo <= self.promised
            if is_late.any():
                late = [((name, *fact), self._why_late()) for fact in batch.take(is_late).facts(self.pool)]
                batch = batch.take(~is_late)
        if len(batch):
            self._fresh.setdefault(name, []).append(batch)
            self.latest = max(self.latest, int(batch.lo.max()))
            self.until[name] = max(self.until.get(name, NEG), int(batch.hi.max()))
        return late

    def _why_late(self) -> str:
        return f"late: facts before {self._stage.plan.timeline.format_point(self.promised + 1)} can no longer come"

    def advance(self, watermark: int) -> None:
        """All facts up to the watermark are there, and what earlier stages told when they got it."""
        self.promise(watermark)
        self._go_on(max(watermark, self.course.watermark))

    def finish(self, last: int | None) -> None:
        """All facts are there."""
        self._go_on(POS)

    def pull(self) -> StageAnswers:
        """What became known since the last call."""
        self._go_through()
        answers, self._answers = self._answers, StageAnswers()
        return answers

    def unfinished(self) -> list[str]:
        """What is recursive without an end: nothing of it runs here."""
        return self.course.unfinished()

    def _go_through(self) -> None:
        """Let all be told that follows from what was taken."""
        if self._fresh or not self._has_begun:
            self._go_on(self.course.watermark)

    def _go_on(self, watermark: int) -> None:
        fresh = {name: joined(batches, batches[0].width, self.pool) for name, batches in self._fresh.items()}
        self._fresh, self._has_begun = {}, True
        said = self.course.advance(fresh, watermark)
        sure = self._looking.sure() if watermark < POS else {}
        for name, step in self._steps.items():
            known = self._own(name, said[name])
            ahead = self._own(name, sure[step]) if step in sure else empty(known.width)
            self._tell(name, known, ahead.tidied(self.pool), watermark)

    def _own(self, name: str, batch: Batch) -> Batch:
        return rows_owned(self._stage, self._owns, name, batch, self.pool)

    def _tell(self, name: str, known: Batch, ahead: Batch, watermark: int) -> None:
        """Tell what is new of an output: it is known up to its frontier, and behind that what lies ahead."""
        told = joined([known, ahead], known.width, self.pool).tidied(self.pool)
        new = outside(told, range(told.width), self.ahead[name], self.pool)
        if not self._looking.says_at_once:
            self._standing[name].move(known, self.course.reached(name))
        self.ahead[name] = ahead
        facts = new.facts(self.pool)
        self._answers.passed += [(name, *fact) for fact in facts]
        if name not in self._stage.told:
            return
        if self.emission is None:
            self._answers.told += [(name, *fact) for fact in facts]
        else:
            frontier = watermark if watermark in (NEG, POS) else watermark - self._delays[name]
            self._answers.told += self.emission.receive(name, facts, frontier)

    def noted(self) -> bytes | None:
        """It keeps no journal."""
        return None

    def deadline(self) -> int:
        """The least watermark at which there is something to tell though no fact comes; POS where nothing is."""
        self._go_through()
        dues = [POS]
        if not self._looking.says_at_once:
            to_come = self._looking.all_to_come()
            for name, step in self._steps.items():
                coming = outside(
                    self._own(name, to_come[step]).tidied(self.pool),
                    range(self.ahead[name].width),
                    self.ahead[name],
                    self.pool,
                )
                due, lead = self._standing[name].next(coming), self._looking.leads[step]
                dues.append(shift(due, -lead) if due < POS and lead > NEG else POS)
        if self.emission is not None:
            for name in self._stage.told:
                frontier = self.emission.due(name)
                dues.append(frontier + self._delays[name] if frontier < POS else POS)
        return min(dues)

    def may_wait(self) -> bool:
        """Whether there may ever be a deadline."""
        return self.emission is not None or not self._looking.says_at_once

    def snapshot(self) -> bytes:
        """The whole state; what was not pulled is not part of it."""
        self._go_through()
        course = self.course
        data = _encode(
            _State(
                course.watermark,
                self.promised,
                {name: course.frontier_of_step(name) for name in course.kernels},
                {name: (kernel.frontier, list(map(self._packed, kernel.held()))) for name, kernel in course.kernels.items()},
                {name: self._packed(batch) for name, batch in self.ahead.items()},
                {name: (item.frontier, self._packed(item.rows)) for name, item in self._standing.items()},
                None if self.emission is None else self.emission.snapshot(),
                self.latest,
                self.until,
            )
        )
        return _MARK + hashlib.sha256(data).digest() + data

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot of the same stage. SnapshotError where it is not one."""
        found = _read(state, f"the state of stage {self._stage.number}")
        self._begin()
        self._answers = StageAnswers()
        course = self.course
        if (found.emission is None) != (self.emission is None):
            raise SnapshotError("the state is that of a run that tells its answers in another form")
        if found.held.keys() != course.kernels.keys() or found.ahead.keys() != self._steps.keys():
            raise SnapshotError(f"the state of stage {self._stage.number} is that of another program")
        with taking():
            for name, (frontier, held) in found.held.items():
                kernel = course.kernels[name]
                if not isinstance(kernel, Resumable):
                    raise SnapshotError(f"the step `{name}` keeps no columns")
                kernel.go_on_from(list(map(self._unpacked, held)), frontier)
            course.go_on(found.watermark, found.reached)
            for name, pack in found.ahead.items():
                self.ahead[name] = self._unpacked(pack)
            for name, (frontier, pack) in found.standing.items():
                self._standing[name].rows, self._standing[name].frontier = self._unpacked(pack), frontier
            if self.emission is not None:
                self.emission.restore(found.emission)
        self.promised, self._has_begun = found.promised, True
        self.latest, self.until = found.latest, found.until

    def _packed(self, batch: Batch) -> _Pack:
        return packed(batch, self.pool) if len(batch) else batch.width

    def _unpacked(self, pack: _Pack) -> Batch:
        return empty(pack) if isinstance(pack, int) else unpacked(pack, self.pool)


def is_of_columns(state: bytes) -> bool:
    """Whether a snapshot of a stage is that of a flow."""
    return state.startswith(_MARK)


def known_of(state: bytes) -> Known:
    """What a snapshot of a flow knows of what it was told; SnapshotError where it is damaged."""
    return known_until(_read(state, "the state of a stage").until)


def known_until(until: Mapping[str, int]) -> Known:
    """What is known where the last facts of predicates end then."""
    reach = max((last for last in until.values() if last < POS), default=NEG)
    return Known(reach, sorted(name for name, last in until.items() if last >= POS))


def _read(state: bytes, what: str) -> _State:
    digest, data = state[len(_MARK) : len(_MARK) + _DIGEST], state[len(_MARK) + _DIGEST :]
    try:
        if not state.startswith(_MARK) or hashlib.sha256(data).digest() != digest:
            raise SnapshotError("it is not what was written")
        return _decode(data)
    except (msgspec.MsgspecError, SnapshotError) as error:
        raise SnapshotError(f"{what} is damaged: {error}") from error
