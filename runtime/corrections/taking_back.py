"""What an engine needs to let facts be taken back, and how it cuts a batch that takes some back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from tidelog.plans.data.facts import format_record
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.interfaces import Batch, EmitMode, Rejected, Retraction, Sink

_UNWANTED = "not retracted: this run takes nothing back (`--corrections`)"


@runtime_checkable
class TakesBack(Protocol):
    """A sink that says whether it has a form for answers that are taken back (`RetractedChange`)."""

    @property
    def takes_back(self) -> bool: ...


def check_corrections(plan: Plan, emit: EmitMode, *, keeps: bool) -> None:
    """SpecError unless a run can take facts back; `keeps` says whether it has a state with a journal."""
    if not keeps:
        raise SpecError("corrections tell the journal again: add `--state DIR --keep 7d`")
    if emit != "changes":
        raise SpecError("corrections take back changes alone: add `--emit changes`")
    if plan.questions:
        raise SpecError("corrections cannot take back what `ask` answers: leave the question out of the program")


def check_takes_back(sinks: Sequence[Sink]) -> None:
    """SpecError unless all sinks can take back what they are told."""
    for sink in sinks:
        if not isinstance(sink, TakesBack) or not sink.takes_back:
            raise SpecError(f"`{sink.name}` has no form for answers that are taken back: use text or JSON lines")


def pieces_of(batch: Batch) -> Iterator[Batch]:
    """A batch as pieces: of each the facts are taken first, and then its retractions.

    A retraction waits for facts that follow it, unless one of them is what it takes back: so many cost one correction.
    """
    begin = looked = 0
    pending: list[Retraction] = []
    for item in (*batch.retractions, None):
        until = len(batch.records) if item is None else item.behind
        rows = {waiting.record[:2] for waiting in pending}
        again = next((i for i in range(looked, until) if batch.records[i][:2] in rows), None)
        if again is not None:
            yield _piece(batch, begin, again, pending)
            begin, pending = again, []
        if item is not None:
            pending.append(item)
        looked = until
    last = _piece(batch, begin, len(batch.records), pending)
    yield replace(last, rejected=batch.rejected, watermark=batch.watermark, position=batch.position)


def _piece(batch: Batch, begin: int, end: int, retractions: Sequence[Retraction]) -> Batch:
    return replace(
        batch,
        records=batch.records[begin:end],
        rejected=[],
        watermark=None,
        places=None if batch.places is None else batch.places[begin:end],
        position=None,
        parts=None if batch.parts is None else batch.parts[begin:end],
        retractions=retractions,
    )


def refused(plan: Plan, batch: Batch) -> list[Rejected]:
    """The retractions of a batch, which the run does not take."""
    texts = [f"retract {format_record(item.record, plan.timeline)}" for item in batch.retractions]
    return [Rejected(item.place, _UNWANTED, text.encode()) for item, text in zip(batch.retractions, texts, strict=True)]
