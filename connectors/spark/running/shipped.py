"""A stage's processor on its way to where it works, without what it needs there.

Before the first batch of a query Spark starts a Python of its own, which asks the processor for nothing but the names of its
state. To load all that a stage works with would take it longer than that batch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from tidelog.connectors.spark.running.job import Job
    from tidelog.runtime.ports.interfaces import OpenStage

_ASKS = "pyspark.sql.streaming.transform_with_state_driver_worker"
"""What Spark runs to learn how the state is called."""


class ShippedProcessor(StatefulProcessor):
    """A `StageProcessor`, which is made where rows are to be handled. Until then it is plain data, with the name of the
    function that opens sessions."""

    def __init__(self, job: Job, number: int, open_stage: OpenStage) -> None:
        self._job, self._number = msgspec.msgpack.encode(job), number
        opener: Any = open_stage  # what it is called is no matter of its type
        self._module, self._open = opener.__module__, opener.__qualname__
        self._states = States(keeps_journal=job.keep is not None)
        self._processor: StatefulProcessor | None = None

    def init(self, handle: Any) -> None:
        """A task begins, or Spark asks for the names of the state."""
        if _is_asked():
            self._states.declare(handle)
            return
        job = import_module("tidelog.connectors.spark.running.job").Job
        stage_processor = import_module("tidelog.connectors.spark.running.stream").StageProcessor
        open_stage = getattr(import_module(self._module), self._open)
        processor: StatefulProcessor = stage_processor(msgspec.msgpack.decode(self._job, type=job), self._number, open_stage)
        self._processor = processor
        processor.init(handle)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """What a group begins with."""
        self._own.handleInitialState(key, initialState, timerValues)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """A batch has rows of a group."""
        return self._own.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """A timer of a group has come."""
        return self._own.handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def close(self) -> None:
        """The task ends."""
        if self._processor is not None:
            self._processor.close()

    @property
    def _own(self) -> StatefulProcessor:
        if self._processor is None:
            raise RuntimeError("rows have come before the task has begun")
        return self._processor


@dataclass(frozen=True, slots=True)
class States:
    """The state of a stage's groups: how it is called, and of what it is. It may keep a journal of what buckets are told."""

    keeps_journal: bool = False

    def declare(self, handle: Any) -> list[Any]:
        """The states of buckets, and when these are due; the journal, and when it was tidied: as Spark gives them."""
        found = [
            handle.getMapState("sessions", "bucket int", "state binary"),
            handle.getValueState("dues", "dues binary, timer bigint"),
        ]
        if self.keeps_journal:
            found.append(handle.getMapState("journal", "bucket int, at bigint, first bigint", "block binary"))
            found.append(handle.getValueState("tidied", "at bigint"))
        return found


def _is_asked() -> bool:
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return spec is not None and spec.name == _ASKS
