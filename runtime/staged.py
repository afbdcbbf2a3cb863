"""A stage of a program in a session of its own: what runs wherever the stages of a program are spread.

Each session holds some values of the stage's key, and nothing tells whether other sessions exist: it is told the same
watermarks as all of them, and keeps to itself what is about keys that it does not own (`plans.analysis.stages`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from tidelog.plans.analysis.notation import encode_distance
from tidelog.plans.analysis.stages import Stage
from tidelog.plans.errors import SnapshotError
from tidelog.plans.facts import Record
from tidelog.plans.plan import Plan
from tidelog.plans.saved import seal, taking, unseal
from tidelog.plans.syntax import Value
from tidelog.plans.timeline import NEG, POS
from tidelog.runtime.emission import emission
from tidelog.runtime.interfaces import Batch, StageAnswers, StageMode
from tidelog.runtime.session import Session

_SOURCE = "stage"


def open_stage(
    stage: Stage, owns: Callable[[Value], bool], *, emit: StageMode = "intervals", start: int | None = None
) -> StageRun:
    """The session of a stage for the values of its key that it owns. `emit` is the form in which users get its answers."""
    return StageRun(stage, owns, emit=emit, start=start)


class StageRun:
    """Implements `runtime.interfaces.StageSession`."""

    def __init__(
        self, stage: Stage, owns: Callable[[Value], bool], *, emit: StageMode = "intervals", start: int | None = None
    ) -> None:
        self._stage = stage
        self._owns = owns
        plan = stage.plan if emit == "intervals" else _in_pieces(stage.plan)
        # Spark has a bound of its own on what its processes hold
        self._session = Session(plan, lateness=math.inf, sources=(_SOURCE,), max_state=None)
        if start is not None:
            self._session.begin_at(start)
        self._behind = max(plan.delays.values(), default=0)
        self._delays = {name: encode_distance(delay, plan.timeline) for name, delay in stage.outputs.items()}
        self._emit = emit
        self._emission = None if emit == "intervals" else emission(emit, stage.told)
        self._answers = StageAnswers()
        self._collect(NEG)

    def take(self, records: Sequence[Record]) -> list[tuple[Record, str]]:
        """Take facts, named as the stage's program names them; returns those that are late, and says why."""
        numbers = list(map(str, range(len(records))))
        late = self._session.take(_SOURCE, Batch(list(records), places=numbers))
        return [(records[int(item.place)], item.reason) for item in late]

    def advance(self, watermark: int) -> None:
        """All facts up to the watermark are there, and what earlier stages told when they got it."""
        self._session.take(_SOURCE, Batch(watermark=watermark))
        self._collect(watermark)

    def finish(self, last: int | None) -> None:
        """All facts are there; what recurs without an end is followed up to the `last` fact's begin."""
        if last is not None:
            self.advance(last + self._behind + (0 if self._stage.plan.timeline.is_integer else 1))
        self._session.finish()
        self._collect(POS)

    def pull(self) -> StageAnswers:
        """What became known since the last call."""
        self._collect(NEG)
        answers, self._answers = self._answers, StageAnswers()
        return answers

    def unfinished(self) -> list[str]:
        """After `finish`: what is recursive without an end, and was followed only as far as the stream went."""
        return self._session.unfinished()

    def snapshot(self) -> bytes:
        """The whole state as MessagePack; what was not pulled is not part of it."""
        emission = None if self._emission is None else self._emission.snapshot()
        return msgspec.msgpack.encode(seal({"session": self._session.snapshot(), "emission": emission}))

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot of the same stage. SnapshotError where it is not one; the session is then as before."""
        try:
            data = unseal(msgspec.msgpack.decode(state))
        except (msgspec.MsgspecError, UnicodeDecodeError, SnapshotError) as error:
            raise SnapshotError(f"the state of stage {self._stage.number} is damaged: {error}") from error
        if (data["emission"] is None) != (self._emission is None):
            raise SnapshotError("the state is that of a run that tells its answers in another form")
        restored = None if self._emit == "intervals" else emission(self._emit, self._stage.told)
        if restored is not None:
            with taking():
                restored.restore(data["emission"])
        self._session.restore(data["session"])
        self._emission = restored
        self._answers = StageAnswers()

    def _collect(self, watermark: int) -> None:
        """Sort what the session told: new answers of an output begin after the watermark less its delay from now on."""
        told = dict[str, list[Record]]()
        for record in self._session.pull_records():
            if self._counts(record):
                self._answers.passed.append(record)
                told.setdefault(record[0], []).append(record)
        for name in self._stage.told:
            records = told.get(name, [])
            if self._emission is None:
                self._answers.told += records
            else:
                frontier = watermark if watermark in (NEG, POS) else watermark - self._delays[name]
                self._answers.told += self._emission.receive(name, [record[1:] for record in records], frontier)
        for found in self._session.pull_violations():
            self._answers.violations.append((found.rule, found.facts, found.during, found.lo, found.hi))

    def _counts(self, record: Record) -> bool:
        """Whether it is an output, and about a key of this session's own, if it shows one."""
        name, row = record[0], record[1]
        if name not in self._stage.outputs:
            return False
        key = self._stage.key
        return key is None or name not in key or self._owns(row[key[name]])


def _in_pieces(plan: Plan) -> Plan:
    """What looks for the ends of maximal intervals has to be told at once how far all has come."""
    return replace(plan, announcing={})
