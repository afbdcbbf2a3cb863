"""A session: the engine for embedding, synchronous, in the caller's thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Unpack, overload

from tidelog.operators.ask.telling.telling import Telling
from tidelog.operators.stores.room import NoRoomError
from tidelog.plans.analysis.horizons.absences import absences
from tidelog.plans.data.changes import Change
from tidelog.plans.data.facts import Record, Schema, ValueLike
from tidelog.plans.data.records import RecordMaker, make_record, plain_records
from tidelog.plans.data.saved import seal, taking, unseal
from tidelog.plans.data.timeline import POS
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import LateError, MethodError, SnapshotError, StateError
from tidelog.plans.explaining.showing.answers import A, Answers
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer, Status
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.intake.arguments import check_lead, require_stream_plan
from tidelog.runtime.intake.intake import MAX_LEAD, Delivery, Intake, raise_refused
from tidelog.runtime.intake.watermarks import Watermarks
from tidelog.runtime.network.graph import Hear
from tidelog.runtime.network.network import Network
from tidelog.runtime.network.outlet import Outlet
from tidelog.runtime.network.state_bound import MAX_STATE, ON_THE_WAY, Holding, StateBound
from tidelog.runtime.ports.interfaces import Batch, EmitMode, Rejected, Tick
from tidelog.runtime.sessions.fingerprints import fingerprint
from tidelog.runtime.sessions.options import SessionOptions
from tidelog.runtime.sessions.questions import Inquiry, answer_filter, inquiries
from tidelog.runtime.sessions.statistics import SessionStatistics

if TYPE_CHECKING:
    from tidelog.runtime.frames.pushing import OnRejected
    from tidelog.runtime.why.absent.why_not import WhyNot
    from tidelog.runtime.why.explain import Reason
    from tidelog.runtime.why.memory import Memory

_SOURCE = "session"
_SNAPSHOT_VERSION = 13


class Session(Generic[A]):
    """Push facts, advance time, pull answers.

    The same plan gives the same answers, however facts are batched and in whatever order they come, as long as none is late.
    A fact that begins at time t promises that none comes any more that begins before t − `lateness`; what does is late, and
    refused. `advance` promises it without a fact.

    `emit` is one of `intervals`, `final`, `changes`, `points`; `start` is the stream's start where it is not that of the
    first fact. With `max_ahead`, a fact that begins more than this beyond all before it is refused: the work of a wrong
    clock, unless most of the next ones agree with it; and the first fact waits until another one agrees. Without
    `prospects`, nothing sleeps while it cannot hold; the answers are the same. Where the program asks, only answers of
    `statuses` (without: all) are told, and what is possible only with `min_evidence` facts as evidence
    (with `count_absences`, absences count, too); with `warn`, an answer is told again when its deadline is so near; if
    `grouped`, of answers that rest on the same evidence and differ in time only the one that is decided first is.

    Where what is held (stored, on its way, waiting to be pulled) grows beyond `max_state` rows, StateError is raised and
    tells what grows; the session is of no use then, unless that is what waits to be pulled. With None there is no bound.

    With `remember`, so many of the facts that were accepted last are kept for `why`; with `explain`, too, changes carry the
    premises that they follow from (`ExplainedChange`). With `held`, what holds is kept for `holding`.

    Where several hand in facts, each with a watermark of its own, `sources` names them: then `take`, `ignore` and `end` say
    what comes from whom, in place of `push`, `advance` and `finish`, which speak for the first; `open` names further ones
    later. A part of a source (`Batch.parts`) counts as idle once more than `max_lead` facts of its others came without it.

    >>> import tidelog
    >>> session = tidelog.Session(tidelog.compile("alarm(X) :- boxminus[0,2] hot(X)."))
    >>> for second in range(4):
    ...     session.push("hot", ["pump"], interval=f"[{second},{second + 1})")
    >>> [str(answer) for answer in session.pull()]
    ['alarm(pump)@[2,3)', 'alarm(pump)@[3,4)']
    """

    @overload
    def __init__(
        self: Session[Change], plan: Plan, *, emit: Literal["changes"], **options: Unpack[SessionOptions]
    ) -> None: ...

    @overload
    def __init__(self, plan: Plan, *, emit: EmitMode = "intervals", **options: Unpack[SessionOptions]) -> None: ...

    def __init__(  # noqa: PLR0913 - every option has a default, and names what it is
        self,
        plan: Plan,
        *,
        emit: EmitMode = "intervals",
        lateness: TimeLike | timedelta = 0,
        start: TimeLike | None = None,
        max_ahead: TimeLike | timedelta | None = None,
        max_lead: int = MAX_LEAD,
        prospects: bool = True,
        min_evidence: int = 0,
        count_absences: bool = False,
        warn: TimeLike | timedelta | None = None,
        grouped: bool = False,
        statuses: Collection[Status] | None = None,
        sources: Sequence[str] = (_SOURCE,),
        max_state: int | None = MAX_STATE,
        remember: int = 0,
        explain: bool = False,
        held: bool = False,
    ) -> None:
        self._options = {name: value for name, value in locals().items() if name not in ("self", "plan")}
        require_stream_plan(plan)
        self.plan = plan
        self._times = TimeReader(plan.timeline)
        self._records = RecordMaker(plan.schema, self._times)
        begin = None if start is None else self._times.point(start)
        ahead = None if max_ahead is None else self._times.duration(max_ahead)
        self._source = next(iter(sources), _SOURCE)
        self._intake = Intake(plan, sources, self._times.duration(lateness), begin, ahead, check_lead(max_lead))
        self._bound = StateBound(max_state)
        self._outlet = Outlet(plan, emit, self._bound, keeps_held=held)
        self._network = Network(plan, self._outlet, self._bound, prospects)
        self._bound.watch("answers", self._holdings)
        self._emit: EmitMode = emit
        self._prospects = prospects
        near = None if warn is None else self._times.duration(warn)
        chosen = answer_filter(Telling(min_evidence, count_absences, near, grouped), statuses)
        self._inquiries = inquiries(plan, chosen, self._times.duration(lateness), self._bound)
        self._hypothetical: list[HypotheticalAnswer] = []
        self._told = 0
        self._memory = self._remembering(remember) if remember else None
        self._explains = explain

    def push(
        self, predicate: str, row: Sequence[ValueLike] = (), time: TimeLike | None = None, interval: str | None = None
    ) -> None:
        """Hand in a fact, at a `time` or over an `interval` such as `"[1,2)"`.

        Raises DataError for a row or a time that the program cannot take, LateError for a fact behind the watermark, or
        behind the stream's end; what was pushed before is not affected.
        """
        record = self._records.make(predicate, row, time, interval)
        delivery = self._intake.take_one(self._source, record)
        if delivery is None:
            self.push_records([record])
        else:
            self._deliver(delivery)

    def push_records(self, records: Iterable[Record]) -> None:
        """Hand in facts that are encoded already, as `Plan.record` makes them. Booleans are what `push` makes of them.

        LateError for the first that is late, DataError for the first beyond `max_ahead`, or that holds too long to be asked
        for; the others count. With `max_ahead` this may be a fact that was handed in before, and waited for others.
        """
        self._check_open()
        raise_refused(self._hand_in(Batch(plain_records(list(records)))))

    def push_frame(self, predicate: str, frame: Any, *, on_rejected: OnRejected | None = None) -> None:
        """Hand in a table of one predicate's facts, such as a data frame of pandas or Polars: see `push_frames`."""
        self.push_frames({predicate: frame}, on_rejected=on_rejected)

    def push_frames(self, frames: Mapping[str, Any], *, on_rejected: OnRejected | None = None) -> None:
        """Hand in tables by the predicate of their facts, row by row in the order of their begins.

        A frame has `__arrow_c_stream__`, the fields of the predicate as columns, and `time`, or `from` and `to`. A row that
        is no fact, or is refused, goes to `on_rejected`; without it, an error names the first, and the others count.
        Raises DataError where a column is missing or of a wrong type, before anything is handed in; ConnectorError without
        pyarrow (the extra `frames`).
        """
        from tidelog.runtime.frames.pushing import push_frames  # noqa: PLC0415 - only who has frames needs pyarrow

        self._check_open()
        push_frames(self.plan.schema, frames, partial(self.take, self._source), on_rejected)

    def advance(self, time: TimeLike) -> None:
        """Promise that no later fact begins at or before `time`; LateError where the stream has finished."""
        self._check_open()
        self._hand_in(Batch(watermark=self._times.promise(time)))

    def finish(self) -> None:
        """The stream has ended: everything that is still open becomes final. Nothing can be pushed any more.

        With `max_ahead`, raises what `push_records` does where first facts do not agree; the stream has ended nevertheless.
        """
        if self.is_finished:
            return
        raise_refused(*self._end(self._source))

    def begin_at(self, start: int | None) -> None:
        """The stream starts at this encoded time, which may be a gap, or `NEG`; before anything is handed in."""
        self._intake.given_start = start

    def open(self, source: str) -> None:
        """A further source has come: it holds back the others from now on, and is forgotten once it has ended."""
        self._deliver(self._intake.open(source))

    def take(self, source: str, batch: Batch, moment: float = 0.0) -> list[Rejected]:
        """Hand in what a source says; returns what was refused of it: late, too far ahead, or too long to be asked for.

        `moment` is when it said so, by any clock, for `ignore`.
        """
        delivery = self._intake.take(source, batch, moment)
        self._deliver(delivery)
        return delivery.refused

    def ignore(self, source: str, before: float = math.inf) -> list[Rejected]:
        """The source is idle: it no longer holds back the others, until it speaks again.

        Where it is divided, this is so for those of its parts that said nothing after the moment `before`. Returns what was
        refused of its first facts (`max_ahead`), which wait for others no longer.
        """
        delivery = self._intake.ignore(source, before)
        self._deliver(delivery)
        return delivery.refused

    def leave(self, source: str) -> list[Rejected]:
        """The source will say nothing more, though the stream has not ended; returns what was refused of its first facts."""
        deliveries = self._intake.leave(source)
        for delivery in deliveries:
            self._deliver(delivery)
        return [item for delivery in deliveries for item in delivery.refused]

    def pass_time(self, tick: Tick) -> None:
        """The machine's clock has gone on: a floor for what every source promises."""
        if tick.unheard:
            until = {step: tick.present + min(size, tick.unheard) for step, size in absences(self.plan).items()}
            self._network.presume(until)
        self._deliver(self._intake.pass_time(tick))

    def end(self, source: str) -> list[Rejected]:
        """The source has ended, and with the last of them the stream; returns what was refused of its first facts."""
        return [item for delivery in self._end(source) for item in delivery.refused]

    def _end(self, source: str) -> list[Delivery]:
        deliveries = self._intake.finish(source)
        for delivery in deliveries:
            self._deliver(delivery)
        if self.is_finished:
            self._outlet.finish()
        return deliveries

    def rest(self) -> None:
        """Nothing more is handed in, though the stream has not ended: what is known by now waits to be pulled."""
        self._network.rest()

    def listen(self, step: str, hear: Hear | None) -> None:
        """Tell `hear` what a step takes and sends from now on; with None, nobody any more."""
        self._network.listen(step, hear)

    def watch(self, name: str, holder: Callable[[], Iterable[Holding]]) -> None:
        """What somebody else holds for this session counts for `max_state`, too."""
        self._bound.watch(name, holder)

    @property
    def watermarks(self) -> Watermarks:
        """How far each source has come."""
        return self._intake.watermarks

    @property
    def frontier(self) -> int:
        """Up to when (encoded) the stream is complete."""
        return self._intake.frontier

    @property
    def deadline(self) -> int:
        """The least frontier (encoded) at which something is to be told though no fact comes; POS where nothing is."""
        return min([self._network.deadline(), *(inquiry.deadline for inquiry in self._inquiries)])

    @property
    def may_wait(self) -> bool:
        """Whether there may ever be a `deadline`: a plan without absences, loops, long ranges and questions has none."""
        return bool(self._inquiries) or self._network.may_wait()

    @property
    def is_finished(self) -> bool:
        """Whether the stream has ended."""
        return self._intake.frontier >= POS

    def pull(self) -> Answers[A]:
        """The answers since the last call, in the order in which they became known; with `changes`, each is a `Change`."""
        return Answers(self.plan, self.pull_records())

    def pull_frames(self) -> dict[str, Any]:
        """The same as Arrow tables, one for each output predicate, also where it has no answers.

        Columns are the fields (`x1`, `x2` … where none are declared); `from` and `to`, timestamps where the program declares
        a unit, null where there is no end (with `changes`, yet); and `from_open` and `to_open`: whether they are left out.
        ConnectorError without pyarrow (the extra `frames`).
        """
        from tidelog.runtime.frames.tables import tables_of  # noqa: PLC0415 - only who wants frames needs pyarrow

        return tables_of(self.plan.schema, self.plan.outputs, self.pull_records())

    def pull_records(self) -> list[Record]:
        """The same as encoded records; with `changes`, each is a `ChangeRecord`."""
        outlet = self._outlet
        if not self._network.has_begun:
            self._network.begin()
        answers = outlet.answers
        if answers:
            outlet.answers = []
            self._told += len(answers)
            return self._memory.explained(answers) if self._explains and self._memory is not None else answers
        return []

    def why(
        self,
        predicate: str,
        row: Sequence[ValueLike] = (),
        time: TimeLike | None = None,
        interval: str | None = None,
        *,
        depth: int = 1,
    ) -> Reason | WhyNot:
        """Why a fact holds, or why not, from the facts that the session remembers (see `remember`).

        Its `notes` say what is not known any more, and what is not decided yet. `depth` is how many levels are explained
        where it does not hold. Raises DataError for what is no fact, MethodError where nothing is remembered, or where the
        search was stopped.
        """
        schema = Schema(self.plan.timeline)  # also what is derived may be asked for
        return self.memory.known().why(make_record(schema, self._times, predicate, row, time, interval), depth)

    def holding(self, present: int) -> list[Record]:
        """All answers that hold at a time (encoded), or have no end that is known; what begins last comes first.

        Each has the range over which it is known to hold, `POS` standing for an end that is not known. Empty without `held`.
        """
        return [] if self._outlet.held is None else self._outlet.held.at(present, self._intake.frontier)

    @property
    def memory(self) -> Memory:
        """The facts that the session remembers; MethodError where it remembers none."""
        if self._memory is None:
            raise MethodError(
                "the session remembers no facts: make it with `remember`, such as `Session(plan, remember=10_000)`"
            )
        return self._memory

    def _remembering(self, most: int) -> Memory:
        from tidelog.runtime.why.memory import Memory  # noqa: PLC0415 - only who asks for reasons loads what finds them

        def replay(plan: Plan, facts: Sequence[Record], start: int | None, frontier: int) -> list[Record]:
            twin = Session(plan, lateness=math.inf, max_state=self._options["max_state"])
            twin.begin_at(start)
            twin.take(_SOURCE, Batch(list(facts), watermark=None if frontier >= POS else frontier))
            if frontier >= POS:
                twin.finish()
            return twin.pull_records()

        return Memory(self.plan, most, replay)

    def pull_hypothetical(self) -> list[HypotheticalAnswer]:
        """What became known of the answers to the program's questions since the last call, in order."""
        answers, self._hypothetical = self._hypothetical, []
        self._told += len(answers)
        return answers

    def supported(self, query: str | None = None) -> list[HypotheticalAnswer]:
        """All answers that facts speak for at this moment: to one question, by its name, or to all.

        KeyError if there is no such question.
        """
        return [answer for inquiry in self._asked(query) for answer in inquiry.supported()]

    def schemata(self, query: str | None = None) -> list[HypotheticalAnswer]:
        """What answers look like for which no fact speaks yet: each instance in the future is possible.

        To one question, by its name, or to all; KeyError if there is no such question.
        """
        return [answer for inquiry in self._asked(query) for answer in inquiry.schemata()]

    def pull_violations(self) -> list[Violation]:
        """The constraints violated since the last call."""
        self._network.begin()
        violated, self._outlet.violated = self._outlet.violated, []
        return violated

    def unfinished(self) -> list[str]:
        """After `finish`: what is recursive without an end, and was followed only as far as the stream went, or was to."""
        return self._network.graph.unfinished() + [line for inquiry in self._inquiries for line in inquiry.unfinished()]

    def _asked(self, query: str | None) -> list[Inquiry]:
        found = [inquiry for inquiry in self._inquiries if query in (None, inquiry.question.name)]
        if not found and query is not None:
            raise KeyError(query)
        return found

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._intake.watermarks.watermark >= POS:
            raise LateError("the stream has finished")

    def _hand_in(self, batch: Batch) -> Delivery:
        delivery = self._intake.take(self._source, batch)
        self._deliver(delivery)
        return delivery

    def _deliver(self, delivery: Delivery) -> None:
        outlet, bound = self._outlet, self._bound
        waiting = len(outlet.answers)
        if self._memory is not None:
            self._memory.take(delivery)
        try:
            self._network.deliver(delivery)
            told = len(outlet.answers) - waiting
            for inquiry in self._inquiries:
                known = inquiry.take(delivery)
                self._hypothetical += known
                told += len(known)
            self._outlet.forget(self._intake.frontier)
            bound.left -= told
            if bound.left < 0:
                bound.count()
        except (StateError, NoRoomError) as full:
            error = bound.too_many_answers(full) if isinstance(full, NoRoomError) else full
            error.accepted, error.told = self._intake.accepted, self._told
            raise error from None

    def _holdings(self) -> Iterator[Holding]:
        """What waits to be told, and to be pulled."""
        for name, rows in self._outlet.entries():
            yield self._network.graph.answers_of(name, rows)
        waiting = len(self._outlet.answers) + len(self._hypothetical) + len(self._outlet.violated)
        yield Holding(waiting // ON_THE_WAY, lambda: ("answers that wait to be pulled", ""))

    # --- state ----------------------------------------------------------------------------------------------------------

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        questions = {inquiry.question.name: inquiry.statistics() for inquiry in self._inquiries}
        steps = self._network.graph.statistics()
        sources = self.watermarks.statistics()
        return SessionStatistics(self._intake.statistics(), steps, self._outlet.violations, questions, sources)

    @property
    def intake(self) -> Intake:
        """Where facts enter; its statistics are there at once."""
        return self._intake

    def snapshot(self) -> dict[str, Any]:
        """The whole state as plain data (numbers, text, lists, dicts with text keys), fit for JSON or MessagePack.

        Pull the answers first: those not pulled are not part of it.
        """
        return seal(self.state())

    def state(self) -> dict[str, Any]:
        """The same without a checksum, for who has one for what he stores."""
        return {
            **self._kind(),
            "intake": self._intake.snapshot(),
            "network": self._network.snapshot(),
            "outlet": self._outlet.snapshot(),
            "questions": [inquiry.snapshot() for inquiry in self._inquiries],
        }

    def restore(self, data: dict[str, Any]) -> None:
        """Continue where a snapshot of the same plan was taken.

        SnapshotError if it was another plan, mode or version, or if the snapshot is damaged: the session is then as before.
        """
        self.load(unseal(data))

    def load(self, state: dict[str, Any]) -> None:
        """Continue where a `state` of the same plan was taken; raises what `restore` does."""
        twin = Session(self.plan, **self._options)
        twin.begin_at(self._intake.given_start)
        twin.go_on_from(state)
        if twin._memory is not None:
            twin._memory.begin_anew(twin.frontier, twin._intake.accepted)
        twin._network.hear_as(self._network)
        vars(self).update(vars(twin))
        self._bound.watch("answers", self._holdings)  # no longer those of the twin

    def go_on_from(self, state: dict[str, Any]) -> None:
        """What `load` does, for a session that is new: where this raises SnapshotError, it is of no use any more."""
        if any(state.get(name) != value for name, value in self._kind().items()):
            other = "another program, mode or version, with other sources, or with other prospects"
            raise SnapshotError(f"the snapshot was taken from {other}")
        with taking():
            self._load(state)

    def _kind(self) -> dict[str, Any]:
        """What a session has to share with the one that a snapshot was taken from."""
        return {
            "version": _SNAPSHOT_VERSION,
            "plan": fingerprint(self.plan),
            "emit": self._emit,
            "prospects": self._prospects,
            "sources": list(self._options["sources"]),
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._intake.restore(state["intake"])
        self._outlet.restore(state["outlet"])
        self._network.restore(state["network"])  # it asks the outlet what is due
        for inquiry, saved in zip(self._inquiries, state["questions"], strict=True):
            inquiry.restore(saved)
        self._hypothetical.clear()
