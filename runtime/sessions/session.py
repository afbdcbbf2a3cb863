"""A session: the engine for embedding, synchronous, in the caller's thread."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Unpack, overload

from tidelog.plans.data.changes import Change
from tidelog.plans.data.dialect import OURS, Dialect, FrameOptions, read_dialect
from tidelog.plans.data.facts import Record, Schema, ValueLike
from tidelog.plans.data.records import RecordMaker, make_record, plain_records
from tidelog.plans.data.timeline import POS
from tidelog.plans.data.times import TimeLike, TimeReader
from tidelog.plans.diagnostics.errors import ConnectorError, LateError
from tidelog.plans.explaining.showing.answers import A, Answers
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer, Status
from tidelog.runtime.intake.intake import MAX_LEAD, Delivery, raise_refused
from tidelog.runtime.network.state_bound import MAX_STATE
from tidelog.runtime.ports.interfaces import Batch, EmitMode
from tidelog.runtime.sessions.acting import Acting
from tidelog.runtime.sessions.questions import Inquiry
from tidelog.runtime.sessions.reasoner import Reasoner
from tidelog.runtime.sessions.settings import SOURCE, SessionOptions, Settings
from tidelog.runtime.sessions.statistics import SessionStatistics

if TYPE_CHECKING:
    from tidelog.runtime.frames.pushing import Frame, OnRejected
    from tidelog.runtime.why.absent.why_not import WhyNot
    from tidelog.runtime.why.explain import Reason


class Session(Reasoner, Acting, Generic[A]):
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
        sources: Sequence[str] = (SOURCE,),
        max_state: int | None = MAX_STATE,
        remember: int = 0,
        explain: bool = False,
        held: bool = False,
    ) -> None:
        settings = Settings(
            emit=emit,
            lateness=lateness,
            start=start,
            max_ahead=max_ahead,
            max_lead=max_lead,
            prospects=prospects,
            min_evidence=min_evidence,
            count_absences=count_absences,
            warn=warn,
            grouped=grouped,
            statuses=statuses,
            sources=sources,
            max_state=max_state,
            remember=remember,
            explain=explain,
            held=held,
        )
        super().__init__(plan, settings)
        self._times = TimeReader(plan.timeline)
        self._records = RecordMaker(plan.schema, self._times)
        self._source = next(iter(sources), SOURCE)
        self._in_columns = 0

    def push(
        self, predicate: str, row: Sequence[ValueLike] = (), time: TimeLike | None = None, interval: str | None = None
    ) -> None:
        """Hand in a fact, at a `time` or over an `interval` such as `"[1,2)"`.

        Raises DataError for a row or a time that the program cannot take, LateError for a fact behind the watermark, or
        behind the stream's end; what was pushed before is not affected.
        """
        record = self._records.make(predicate, row, time, interval)
        if not self._take_one(self._source, record):
            self.push_records([record])

    def push_records(self, records: Iterable[Record]) -> None:
        """Hand in facts that are encoded already, as `Plan.record` makes them. Booleans are what `push` makes of them.

        LateError for the first that is late, DataError for the first beyond `max_ahead`, or that holds too long to be asked
        for; the others count. With `max_ahead` this may be a fact that was handed in before, and waited for others.
        """
        self._check_open()
        given = plain_records(list(records))
        if len(given) != 1 or not self._take_one(self._source, given[0]):
            raise_refused(self._hand_in(Batch(given)))

    def push_frame(
        self, predicate: str, frame: Any, *, on_rejected: OnRejected | None = None, **options: Unpack[FrameOptions]
    ) -> None:
        """Hand in a table of one predicate's facts, such as a data frame of pandas or Polars: see `push_frames`.

        Options name other columns, and other ways to write times, as those of a SPEC do: see `read_frame`.
        """
        self._push_frames({predicate: frame}, on_rejected, read_dialect(options))

    def push_frames(self, frames: Mapping[str, Any], *, on_rejected: OnRejected | None = None) -> None:
        """Hand in tables by the predicate of their facts, in the order of their begins.

        Where the stream begins with many rows, they go through the program in columns; the answers are those of rows, and
        `statistics().in_columns` says how many went so.
        A frame has `__arrow_c_stream__`, the fields of the predicate as columns, and `time`, or `from` and `to`. A row that
        is no fact, or is refused, goes to `on_rejected`; without it, an error names the first, and the others count.
        Raises DataError where a column is missing or of a wrong type, before anything is handed in; ConnectorError without
        pyarrow (the extra `frames`).
        """
        self._push_frames(frames, on_rejected, OURS)

    def _push_frames(self, frames: Mapping[str, Any], on_rejected: OnRejected | None, dialect: Dialect) -> None:
        from tidelog.runtime.frames.pushing import push_frames  # noqa: PLC0415 - only who has frames needs pyarrow

        self._check_open()
        begin = self._begin_with if self.is_beginning else None
        push_frames(self.plan.schema, frames, partial(self.take, self._source), on_rejected, begin, dialect)

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

    def pull(self) -> Answers[A]:
        """The answers since the last call, in the order in which they became known; with `changes`, each is a `Change`."""
        return Answers(self.plan, self.pull_records())

    def pull_frames(self) -> dict[str, Any]:
        """The same as Arrow tables, one for each output predicate, also where it has no answers.

        Columns are the fields (`x1`, `x2` … where none are declared); `from` and `to`, timestamps where the program declares
        a unit, null where there is no end (with `changes`, yet); and `from_open` and `to_open`: whether they are left out.
        Where a field has one of these names, all four have `_` behind them: `from_`.
        ConnectorError without pyarrow (the extra `frames`).
        """
        from tidelog.runtime.frames.tables import tables_of  # noqa: PLC0415 - only who wants frames needs pyarrow

        return tables_of(self.plan.schema, self.plan.outputs, self.pull_records())

    def statistics(self) -> SessionStatistics:
        """An immutable record of what has been done and what is stored."""
        return replace(super().statistics(), in_columns=self._in_columns)

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

    def _asked(self, query: str | None) -> list[Inquiry]:
        found = [inquiry for inquiry in self._inquiries if query in (None, inquiry.question.name)]
        if not found and query is not None:
            raise KeyError(query)
        return found

    # --- inside ---------------------------------------------------------------------------------------------------------

    def _begin_with(self, frames: Sequence[Frame]) -> bool:
        """Let large frames go through the plan in columns; False, and nothing done, where they have to go row by row."""
        try:
            from tidelog.runtime.columns.first_frames import (  # noqa: PLC0415 - only who has large frames needs NumPy
                FirstFrames,
            )
        except ConnectorError:
            return False
        history = self.begun_with
        if not isinstance(history, FirstFrames):
            history = FirstFrames(self.plan, self.settings, self.intake.given_start)
        is_taken = history.read(frames) and self.begin_with(self._source, history)
        self._in_columns += sum(map(len, frames)) if is_taken else 0
        return is_taken

    def _check_open(self) -> None:
        if self._intake.watermarks.watermark >= POS:
            raise LateError("the stream has finished")

    def _hand_in(self, batch: Batch) -> Delivery:
        delivery = self._intake.take(self._source, batch)
        self._deliver(delivery)
        return delivery
