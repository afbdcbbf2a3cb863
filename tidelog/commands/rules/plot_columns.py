"""A picture of many facts: what follows is found in columns, and only what the picture shows becomes rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tidelog.commands.progress import Progress
from tidelog.commands.streams.histories import LEAST
from tidelog.compiling import compile_whole_path
from tidelog.connectors.spec import Spec
from tidelog.plans.analysis.horizons.around import Around
from tidelog.plans.analysis.physical.in_columns import refused
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.plan.plan import Plan

if TYPE_CHECKING:
    from tidelog.operators.columns.batch import Batch
    from tidelog.runtime.columns.stretches import Block
    from tidelog.runtime.frames.columns import ColumnBatch


class OnlyByRowsError(Exception):
    """There is something that columns do not carry: all has to be read row by row."""


def plan_in_columns(path: str, specs: Sequence[Spec]) -> Plan | None:
    """The plan of a program with all that it derives; None where it, or what is read, had better go row by row."""
    if not are_large(specs) or find_spec("numpy") is None or find_spec("pyarrow") is None:
        return None
    try:
        plan = compile_whole_path(path)
    except ProgramError:  # batch reasoning can take more than a stream
        return None
    has_start = any(feed.kind == "start" for step in plan.steps for feed in step.inputs)
    moves = any(loop.holds for loop in plan.loops)
    if not plan.timeline.is_integer or plan.constraints or has_start or moves or refused(plan) is not None:
        return None
    return plan


def are_large(specs: Sequence[Spec]) -> bool:
    """Whether all are regular files, and so large together that loading NumPy is worth it."""
    sizes = []
    for spec in specs:
        status = os.stat(spec.path) if spec.path else None
        if status is None or not stat.S_ISREG(status.st_mode):
            return False
        sizes.append(status.st_size)
    return sum(sizes) >= LEAST


class Seen:
    """What holds by a program and facts, in columns."""

    def __init__(self, plan: Plan, most: int) -> None:
        from tidelog.operators.columns.pool import Pool  # noqa: PLC0415 - only many facts need NumPy

        self._plan, self._most = plan, most
        self._pool = Pool()
        self._parts: dict[str, list[Batch]] = {}
        self._rows = 0

    def read(self, specs: Sequence[Spec], needed: Around, progress: Progress) -> None:
        """Read all facts, in whatever order, and derive what follows from those that are needed.

        OnlyByRowsError where one is no plain fact.
        """
        from tidelog.runtime.columns.history import ColumnCourse  # noqa: PLC0415 - as above
        from tidelog.runtime.columns.stretches import LONG_STRETCH, Stretches  # noqa: PLC0415 - as above

        plan, pool = self._plan, self._pool
        self._add({name: [] for name in plan.outputs})
        course = ColumnCourse(plan, pool)
        sources = [self._blocks(spec, needed, progress) for spec in specs]
        for stretch in Stretches(plan.timeline, sources, pool, lateness=POS, rows=LONG_STRETCH):
            self._add({name: [batch] for name, batch in stretch.fresh.items()})
            self._add({name: [batch] for name, batch in course.advance(stretch.fresh, stretch.watermark).items()})
            progress.rows(self._rows)

    def _blocks(self, spec: Spec, needed: Around, progress: Progress) -> Iterator[Block]:
        from tidelog.connectors.files.history_files import open_history  # noqa: PLC0415 - as above
        from tidelog.runtime.columns.stretches import blocks_of  # noqa: PLC0415 - as above

        known = self._plan.schema.predicates
        for block in blocks_of(open_history(spec, self._plan.schema, self._pool, on_read=progress.note)):
            for batch in block:
                if batch.rejected or (len(batch) and batch.predicate not in known):
                    raise OnlyByRowsError
            yield block if needed.is_all else [_only(batch, needed) for batch in block]

    def _add(self, found: dict[str, list[Batch]]) -> None:
        for name, batches in found.items():
            parts = self._parts.setdefault(name, [])
            parts += [batch for batch in batches if len(batch)]
            self._rows += sum(map(len, batches))
        if self._rows > self._most:
            raise OnlyByRowsError

    def records(self, begin: int | None, end: int | None) -> list[Record]:
        """What holds at some time between, encoded, as maximal runs."""
        from tidelog.operators.columns.batch import batch_of, joined  # noqa: PLC0415 - as above

        for name, row, lo, hi in self._plan.facts:
            self._parts.setdefault(name, []).append(batch_of([(row, lo, hi)], len(row), self._pool))
        found: list[Record] = []
        names = [name for name, batches in self._parts.items() if batches]
        for name in names:
            batches = self._parts.pop(name)
            runs = joined(batches, batches[0].width, self._pool).tidied(self._pool)
            met = (runs.hi >= (NEG if begin is None else begin)) & (runs.lo <= (POS if end is None else end))
            found += [(name, *fact) for fact in runs.take(met).facts(self._pool)]
        return found


def _only(batch: ColumnBatch, needed: Around) -> ColumnBatch:
    """The facts of a batch that are needed."""
    met = (batch.rows.hi >= needed.first) & (batch.rows.lo <= needed.last)
    return batch if met.all() else replace(batch, rows=batch.rows.take(met), numbers=batch.numbers[met])
