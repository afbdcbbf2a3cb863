"""Reasons beside the lines of a diff: why something was told that nobody expected, or was not told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import POS
from tidelog.plans.diagnostics.errors import TidelogError
from tidelog.plans.plan.plan import Plan
from tidelog.runtime.sessions.explained import explainer_of_stream
from tidelog.runtime.why.absent.misses import first_time
from tidelog.runtime.why.absent.why_not import WhyNot
from tidelog.runtime.why.explain import Explainer, Reason
from tidelog.runtime.why.proofs.proof import PARTS
from tidelog.runtime.why.told import telling_all
from tidelog.testing.comparing import VIOLATED, Difference

MOST_REASONS = 10
"""So many lines of one diff have a reason, at the most."""
_MOST_LINES = 8
"""So many lines one reason has, at the most."""


def with_reasons(difference: Difference, plan: Plan, facts: Sequence[Record]) -> Difference:
    """The difference with a reason for each fact that was told or missed: for the first `MOST_REASONS` of them."""
    asked = [record for sign, _, record in difference.lines if sign != " " and record is not None and record[0] != VIOLATED]
    if not asked:
        return difference
    try:
        explainer = explainer_of_stream(telling_all(plan), facts)
    except (TidelogError, OverflowError):  # the difference has to be told without reasons
        return difference
    reasons = {record: tuple(_reason(explainer, record)) for record in asked[:MOST_REASONS]}
    return replace(difference, reasons=reasons)


def _reason(explainer: Explainer, record: Record) -> Iterator[str]:
    predicate, row, lo, hi = record
    if isinstance(record, ChangeRecord) and not record.has_ended:
        lo, hi = first_time([(lo, POS)], is_integer=explainer.model.timeline.is_integer)
    try:
        answer = explainer.why((predicate, row, lo, hi))
    except TidelogError:  # a search that was stopped
        return
    lines = list(_proof(answer) if isinstance(answer, Reason) else _attempts(answer))
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield "..."


def _proof(reason: Reason) -> Iterator[str]:
    """The rule and its premises, one level deep; of a fact that holds for one reason after the other, those of each part."""
    deepest = 4 if reason.proof.by == PARTS else 2
    for line in reason.text().split("\n")[1:]:
        if len(line) - len(line.lstrip()) <= deepest:
            yield line[2:] if deepest == 4 else line.strip()


def _attempts(answer: WhyNot) -> Iterator[str]:
    """The rules and what they lack."""
    yield from (line.strip() if line.startswith("  by") else line[2:] for line in answer.text().split("\n")[1:])
