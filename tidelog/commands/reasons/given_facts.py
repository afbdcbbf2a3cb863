"""All facts of a program's inputs at once, for `why` and `verify`, and the plan that takes them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.commands.batch.facts import load_batch_plan, read_all
from tidelog.commands.given import DeadLetters
from tidelog.commands.progress import Progress
from tidelog.compiling import compile_path
from tidelog.connectors.files.batch_files import BatchLoader
from tidelog.connectors.files.fact_columns import FactColumns
from tidelog.connectors.spec import Spec
from tidelog.plans.compiling.batch import BatchPlan
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import ProgramError, SpecError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.ports.collecting import collect_seldom
from tidelog.runtime.why.told import telling_all

_FOR_STREAMS = frozenset({"not-in-batch"})
"""What is wrong with a program for batch reasoning alone."""


class _InOrder(FactColumns):
    """Keeps facts in the order in which they came, which tuple windows count; for whole times, which need no refining."""

    def __init__(self, only: frozenset[str] | None) -> None:
        super().__init__(only)
        self.records: list[Record] = []

    def add(self, records: Iterable[Record]) -> None:
        listed = list(records)
        super().add(listed)
        self.records += listed


@dataclass(frozen=True, slots=True)
class GivenFacts:
    """Facts, encoded for a timeline; on whole times in the order in which they came."""

    timeline: Timeline
    records: Sequence[Record]
    predicates: frozenset[str] = field(default_factory=frozenset)


def load_any_plan(path: str) -> BatchPlan | Plan:
    """The batch plan of a program's file, or, where batch reasoning does not take it, its plan for streams, telling all."""
    try:
        return load_batch_plan(path)
    except ProgramError as error:
        if {problem.code for problem in error.diagnostics} - _FOR_STREAMS:
            raise
    try:
        plan = telling_all(compile_path(path))
    except OSError as error:
        raise SpecError(f"cannot read `{path}`: {os.strerror(error.errno or 0)}") from error
    return plan


def load_given(
    schema: Schema,
    specs: Sequence[Spec],
    progress: Progress,
    only: frozenset[str] | None = None,
    *,
    is_strict: bool,
) -> GivenFacts:
    """The facts of some inputs, those of `only` if it is given.

    What cannot be read is said, and counted, as in a stream; DataError where `is_strict`.
    """
    collect_seldom()
    letters = DeadLetters(progress, is_strict=is_strict)
    loader = BatchLoader(schema, only=only, on_rejected=letters)
    kept = _InOrder(only)
    if schema.timeline.is_integer:
        loader.facts = kept
    read_all(loader, specs, progress)
    letters.close()
    predicates = loader.facts.predicates
    records = kept.records if schema.timeline.is_integer else list(loader.drain())
    wanted = [record for record in records if only is None or record[0] in only]
    return GivenFacts(loader.timeline, wanted, predicates)
