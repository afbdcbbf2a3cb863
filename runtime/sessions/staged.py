"""A stage of a program in a session of its own: what runs wherever the stages of a program are spread.

Each session holds some values of the stage's key, and nothing tells whether other sessions exist: it keeps to itself what is
about keys that it does not own (`plans/stages/stages.py`). It need not be told every watermark: before its deadline none has
anything to tell, unless a fact comes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Self

import msgspec

from tidelog.operators.sld.unfold import unfold
from tidelog.plans.analysis.horizons.notation import encode_distance
from tidelog.plans.data.facts import Record
from tidelog.plans.data.once import once_per_object
from tidelog.plans.data.saved import seal, taking, unseal
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SnapshotError
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.plans.stages.stages import Stage
from tidelog.plans.tree.syntax import Value, Variable
from tidelog.runtime.emission.emission import Emission
from tidelog.runtime.emission.modes import emission
from tidelog.runtime.ports.interfaces import Batch, Rejected, StageAnswers, StageMode
from tidelog.runtime.sessions.history import History
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import Settings

_STREAM, _EARLIER = "stream", "earlier stages"
"""Who hands in facts: of the stream none is left behind a watermark when earlier stages may still tell some."""


def open_stage(
    stage: Stage,
    owns: Callable[[Value], bool],
    *,
    emit: StageMode = "intervals",
    start: int | None = None,
    state: bytes | None = None,
) -> StageRun:
    """The session of a stage for the values of its key that it owns. `emit` is the form in which users get its answers.

    With a `state` it goes on from that snapshot; SnapshotError where it is not one of the same stage.
    """
    return StageRun(stage, owns, emit=emit, start=start).opened(state)


class Known(msgspec.Struct):
    """What is known of all that a session was told: with `reach` (encoded) its last fact ends, but for those of the
    predicates `endless`; `heard` tells since when facts of a predicate count that did not from the begin on. `events` are
    how many were noted, `marked` is when the last mark was set, in seconds since 1970."""

    reach: int = NEG
    endless: list[str] = []
    heard: dict[str, int] = {}
    events: int = 0
    marked: float = 0.0

    def reach_as_far_as(self, records: Sequence[Record]) -> None:
        """These facts have come."""
        last = max(record[3] for record in records)
        if last >= POS:
            self.endless = sorted({*self.endless, *(record[0] for record in records if record[3] >= POS)})
            last = max((record[3] for record in records if record[3] < POS), default=NEG)
        self.reach = max(self.reach, last)


class StageRun:
    """Implements `runtime.ports.interfaces.StageSession`."""

    def __init__(self, stage: Stage, owns: Callable[[Value], bool], *, emit: StageMode, start: int | None) -> None:
        self._stage = stage
        self._owns = owns
        self._emit, self._start = emit, start
        self.known = Known()
        self._is_whole = emit == "intervals" or bool(stage.plan.announcing)
        # where later stages read what is told, they get it as intervals, and so does what tells users otherwise
        plan = stage.plan if stage.asked is None else _unfolded(stage.plan)
        self._plan = plan if self._is_whole else _in_pieces(plan)
        self._sources = (_STREAM, _EARLIER) if stage.asked is None else (_STREAM,)
        self._from_stream = {item.name for item in stage.inputs if item.source is None}
        self._behind = max(stage.plan.delays.values(), default=0)
        self._delays = {name: encode_distance(delay, stage.plan.timeline) for name, delay in stage.outputs.items()}
        self._answers = StageAnswers()

    def opened(self, state: bytes | None) -> Self:
        """It, begun, or as the state has it."""
        if state is None:
            self.begin()
        else:
            self.restore(state)
        return self

    def begin(self) -> None:
        """Nothing has come yet."""
        self._session, self._emission = self._opened(), self._new_emission()
        self.known = Known()
        if self._start is not None:
            self._tell(_STREAM, Batch())  # it tells of the start, from which something may follow at once
        self._collect(NEG)

    def _opened(self) -> Reasoner:
        emit = self._emit if self._is_whole else "intervals"
        # Spark has a bound of its own on what its processes hold
        session = Reasoner(self._plan, Settings(emit=emit, lateness=math.inf, sources=self._sources, max_state=None))
        if self._start is not None:
            session.begin_at(self._start)
        return session

    def _new_emission(self) -> Emission | None:
        return None if self._is_whole else emission(self._emit, self._stage.told)

    def promise(self, watermark: int) -> None:
        """No fact of the stream begins at or before the watermark any more, though earlier stages may still tell some."""
        self._tell(_STREAM, Batch(watermark=watermark))

    def take(self, records: Sequence[Record]) -> list[tuple[Record, str]]:
        """Take facts, named as the stage's program names them; returns those that are late, and says why."""
        late: list[tuple[Record, str]] = []
        for source, some in groupby(records, self._source_of):
            found = list(some)
            numbers = list(map(str, range(len(found))))
            refused = self._tell(source, Batch(found, places=numbers))
            late += [(found[int(item.place)], item.reason) for item in refused]
            self.known.reach_as_far_as(found)
        return late

    def _tell(self, source: str, batch: Batch) -> list[Rejected]:
        return self._session.take(source, batch)

    def noted(self) -> bytes | None:
        """It keeps no journal."""
        return None

    def _source_of(self, record: Record) -> str:
        return _STREAM if record[0] in self._from_stream else _EARLIER

    def advance(self, watermark: int) -> None:
        """All facts up to the watermark are there, and what earlier stages told when they got it."""
        for source in self._sources:
            self._tell(source, Batch(watermark=watermark))
        self._collect(watermark)

    def finish(self, last: int | None) -> None:
        """All facts are there; what recurs without an end is followed up to the `last` fact's begin."""
        if last is not None:
            self.advance(last + self._behind + (0 if self._stage.plan.timeline.is_integer else 1))
        for source in self._sources:
            self._session.end(source)
        self._collect(POS)

    def pull(self) -> StageAnswers:
        """What became known since the last call."""
        self._collect(NEG)
        answers, self._answers = self._answers, StageAnswers()
        return answers

    def unfinished(self) -> list[str]:
        """After `finish`: what is recursive without an end, and was followed only as far as the stream went."""
        return self._session.unfinished()

    def deadline(self) -> int:
        """The least watermark at which there is something to tell though no fact comes; POS where nothing is."""
        dues = [self._session.deadline]
        if dues[0] < POS:
            dues[0] += self._behind
        if self._emission is not None:
            for name in self._stage.told:
                frontier = self._emission.due(name)
                if frontier < POS:
                    dues.append(frontier + self._delays[name])
        return min(dues)

    def may_wait(self) -> bool:
        """Whether there may ever be a deadline."""
        return self._emission is not None or self._session.may_wait

    def snapshot(self) -> bytes:
        """The whole state as MessagePack; what was not pulled is not part of it."""
        emission = None if self._emission is None else self._emission.snapshot()
        known = msgspec.to_builtins(self.known)
        return msgspec.msgpack.encode(seal({"session": self._session.state(), "emission": emission, "known": known}))

    def restore(self, state: bytes) -> None:
        """Go on from a snapshot of the same stage. SnapshotError where it is not one; the session is then as before."""
        session, emission = self._opened(), self._new_emission()
        data = _content(state, f"the state of stage {self._stage.number}")
        if (data["emission"] is None) != (emission is None):
            raise SnapshotError("the state is that of a run that tells its answers in another form")
        if emission is not None:
            with taking():
                emission.restore(data["emission"])
        session.go_on_from(data["session"])
        self._session, self._emission = session, emission
        self._answers = StageAnswers()
        self.known = _known(data, [item.name for item in self._stage.inputs])

    def begin_with(self, history: History, watermarks: tuple[int, int], emission: Any, known: Known) -> None:
        """Go on from where a history has come to, which has told what it knew; the first source, and the others, have said
        so far what has come. SnapshotError where an operator cannot."""
        if not self._session.begin_with(_STREAM, history):
            raise SnapshotError(f"the state of stage {self._stage.number} in columns cannot go on row by row")
        for source, watermark in zip(self._sources, watermarks, strict=False):
            self._session.take(source, Batch(watermark=watermark))
        if self._emission is not None:
            with taking():
                self._emission.restore(emission)
        self.known = known

    # --- as one session, for a program that changes ---------------------------------------------------------------------

    @property
    def stage(self) -> Stage:
        """Its stage."""
        return self._stage

    @property
    def emit(self) -> StageMode:
        """The form in which it tells users answers."""
        return self._emit

    @property
    def plan(self) -> Plan:
        """The plan of its session."""
        return self._plan

    @property
    def settings(self) -> Settings:
        """The settings of one session that told users the answers itself."""
        return replace(self._session.settings, emit=self._emit)

    @property
    def start(self) -> int | None:
        """When the stream starts, if that is known."""
        return self._start

    def state_as_one(self) -> dict[str, Any]:
        """The state of one session that told users the answers itself."""
        state = self._session.state()
        if self._emission is None:
            return state
        blank = emission(self._emit, self._plan.outputs).snapshot()
        own = self._emission.snapshot()
        told = {part: {**found, **own[part]} if isinstance(found, dict) else own[part] for part, found in blank.items()}
        return {**state, "emit": self._emit, "outlet": {**state["outlet"], "emission": told}}

    def go_on_as_one(self, state: dict[str, Any], known: Known) -> None:
        """Go on from the state of such a session. SnapshotError where it is not one of this stage."""
        session, found = self._opened(), self._new_emission()
        if found is not None:
            own, told = found.snapshot(), state["outlet"]["emission"]
            kept = {
                part: {name: told[part][name] for name in blank} if isinstance(blank, dict) else told[part]
                for part, blank in own.items()
            }
            with taking():
                found.restore(kept)
            blank = session.state()["outlet"]["emission"]
            state = {**state, "emit": "intervals", "outlet": {**state["outlet"], "emission": blank}}
        session.go_on_from(state)
        self._session, self._emission, self.known = session, found, known
        self._answers = StageAnswers()

    def counts(self, record: Record) -> bool:
        """Whether it is an answer for users, about a key of this session's own, if it shows one."""
        return record[0] in self._stage.told and self._counts(record)

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
        self._answers.asked += filter(None, map(self._own, self._session.pull_hypothetical()))
        for found in self._session.pull_violations():
            self._answers.violations.append((found.rule, found.facts, found.during, found.lo, found.hi))

    def _counts(self, record: Record) -> bool:
        """Whether it is an output, and about a key of this session's own, if it shows one."""
        name, row = record[0], record[1]
        if name not in self._stage.outputs:
            return False
        key = self._stage.key
        return key is None or name not in key or self._owns(row[key[name]])

    def _own(self, answer: HypotheticalAnswer) -> HypotheticalAnswer | None:
        """The answer as one to the program's question, if it is about a key of this session's own.

        Where the key is open, only what the program states speaks for the answer, which all sessions know.
        """
        question, key = self._stage.asked, self._stage.key
        if question is None:
            return None
        if key is not None:
            shown = question.query.arguments[key[question.query.predicate]]
            value = answer.answer[shown.name] if isinstance(shown, Variable) else None
            if value is None or not self._owns(value):
                return None
        return replace(answer, query=question.name)


UNKNOWN = ""
"""Stands among the predicates of facts without an end for all of them, in a snapshot that an earlier version has stored."""


def known_in(state: bytes) -> Known:
    """What a snapshot of a session knows of what it was told; SnapshotError where it is damaged."""
    return _known(_content(state, "the state of a stage"), [UNKNOWN])


def _known(data: dict[str, Any], inputs: Sequence[str]) -> Known:
    # what an earlier version has stored does not tell how far its facts reach, so all of them may
    return msgspec.convert(data.get("known", {"endless": list(inputs)}), Known)


def _content(state: bytes, what: str) -> dict[str, Any]:
    try:
        return unseal(msgspec.msgpack.decode(state))
    except (msgspec.MsgspecError, UnicodeDecodeError, SnapshotError) as error:
        raise SnapshotError(f"{what} is damaged: {error}") from error


def _without_announcing(plan: Plan) -> Plan:
    """What looks for the ends of maximal intervals has to be told at once how far all has come."""
    return replace(plan, announcing={})


def _with_unfoldings(plan: Plan) -> Plan:
    return replace(plan, unfoldings=tuple(unfold(question, plan.facts) for question in plan.questions))


_in_pieces = once_per_object(_without_announcing, most=16)
_unfolded = once_per_object(_with_unfoldings, most=16)
